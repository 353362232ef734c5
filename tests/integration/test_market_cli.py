"""The market and fair prices as a person asks for them."""

import re
import time
from pathlib import Path

import pytest

from contract.storage.helpers import ready_database
from crawls import answer, run
from sale_sofia.advice.valuation.flats import TooFewFlats
from sale_sofia.advice.valuation.trial import try_file
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.settings.model import Settings
from valued_flats import some_adverts, write_table

COUNT = 220


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    database = ready_database(folder / "sale_sofia.db")
    sightings = [Sighting(one, time.time(), None, None) for one in some_adverts(COUNT)]
    database.run_write(lambda connection: save_listings(connection, sightings))
    PropertyMatching(Settings(data_dir=folder), database).match_new()
    database.dispose()
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "adverts.parquet"
    write_table(path, COUNT, seed=2)
    return path


def test_the_market_says_that_these_are_asking_prices(data: Path) -> None:
    found = answer(run(data, "market", "--json"))
    assert found["label"] == "asking prices, de-duplicated"
    assert "20 % VAT" in found["vat"]
    whole = found["cells"][0]
    assert (whole["neighbourhood"], whole["rooms"], whole["stock"]) == (None, None, COUNT)
    assert whole["eur_sqm"]["low"] < whole["eur_sqm"]["median"] < whole["eur_sqm"]["high"]
    few = [cell for cell in found["cells"] if cell["prices"] < 15]
    assert few
    assert {cell["eur_sqm"] is None for cell in few} == {True}


def test_one_neighbourhood_by_kind_of_flat(data: Path) -> None:
    told = run(data, "market", "--neighbourhood", "lozenets", COLUMNS="160")
    assert "The market (asking prices, de-duplicated)" in told.stdout
    lines = [line.split()[:2] for line in told.stdout.splitlines() if "Лозенец" in line]
    assert lines[0] == ["Лозенец", "all"]
    assert ["Лозенец", "2"] in lines
    assert "all of Sofia" not in told.stdout
    assert "what fewer than 15 flats make is not shown" in told.stderr


def test_a_property_is_valued_with_its_comparables(data: Path) -> None:
    found = answer(run(data, "value", "5", "--json"))
    assert found["verdict"] in {"below", "within", "above"}
    assert len(found["comparables"]) == 8
    assert {"property", "eur_sqm", "area_sqm", "floor", "year_built", "condition", "kilometres"} <= set(
        found["comparables"][0]
    )
    told = run(data, "value", "5", COLUMNS="200")
    assert told.returncode == 0
    assert re.search(r"Fair: [\d ]+–[\d ]+ €, the middle [\d ]+ €", told.stdout)
    assert "of asking prices inside the interval" in told.stdout


def test_a_table_of_adverts_is_tried(data: Path, table: Path) -> None:
    found = answer(run(data, "value", "--adverts", table, "--json"))
    assert found["flats"] == found["error"]["flats"] == COUNT
    assert 0 < found["error"]["median"] < found["neighbourhood_median"]["median"]
    assert found["neighbourhoods_left_out"]["error"]["flats"] == COUNT
    assert len(found["worst"]) == 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("value",), "give the id of a property, or --adverts FILE"),
        (("value", "--adverts", "/nowhere/x.parquet"), "/nowhere/x.parquet: there is no such file"),
        (("value", "9999"), "no property 9999; `sale-sofia properties` lists them"),
        (("market", "--neighbourhood", "Атлантида"), "no neighbourhood 'Атлантида' in Sofia is known"),
    ],
)
def test_wrong_input_is_one_sentence(data: Path, arguments: tuple[str, ...], sentence: str) -> None:
    told = run(data, *arguments, COLUMNS="200")
    assert (told.returncode, told.stdout) == (2, "")
    assert sentence in " ".join(told.stderr.replace("│", " ").split())
    assert "Traceback" not in told.stderr


def test_too_few_flats_in_a_table_are_said_to_be(table: Path) -> None:
    with pytest.raises(
        TooFewFlats, match="220 flats with a price, an area and a place are known, and 500 are"
    ):
        try_file(table, Settings(valuation_least_flats=500))
