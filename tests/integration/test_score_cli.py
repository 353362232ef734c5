"""Scores and profiles as a person meets them, and a crawl that scores by itself."""

import re
from pathlib import Path

import pytest

from contract.storage.helpers import ready_database
from crawls import FAST, answer, crawl_arguments, run
from forked_simulators import start_forked
from property_worlds import advert, save
from sale_sofia.advice.scoring.store import count_verdicts
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings
from sale_sofia_simulator.simulation import SimulatorConfig

GOOD = advert("a", construction="brick", year_built=2005, elevator=True, condition="renovated")
GROUND = advert("b", floor=0, construction="brick", year_built=2005, price_eur=120_000.0, area_sqm=70.0)
SHARE = advert("c", construction="brick", year_built=1999, floor=2, price_eur=90_000.0, area_sqm=66.0)
LET = advert("d", deal="rent", price_eur=700.0)
NOW = 1.8e9
"""In 2027: what was built by then is finished."""
WIDE = {"COLUMNS": "200"}
READ = {"share_of_ownership": {"value": True, "status": "stated", "quote": "идеална част", "method": "rules"}}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    database = ready_database(folder / "sale_sofia.db")
    save(database, [GOOD, GROUND, SHARE, LET], seen_at=NOW)
    row = {
        "listing_id": 3, "content_hash": "x", "rules": "r", "attributes": READ, "open_fields": [],
        "open_count": 0, "read_at": 1.0,
    }  # fmt: skip
    database.run_write(lambda c: c.execute(description_reads.insert().values(row)))
    PropertyMatching(Settings(data_dir=folder), database).match_new()
    database.dispose()
    return folder


def test_flats_are_ranked_and_what_fails_comes_last(data: Path) -> None:
    found = answer(run(data, "score", "--json"))
    assert found["scores"][0]["property_id"] == 1
    assert {one["property_id"]: one["failed"] for one in found["scores"]} == {
        1: [], 2: ["ground_floor"], 3: ["traps"],
    }  # fmt: skip
    assert found["verdicts"] == {"pass": 1, "fail": 2}
    passing = answer(run(data, "score", "--passing", "--json"))
    assert [one["property_id"] for one in passing["scores"]] == [1]
    told = run(data, "score", "--limit", "1", **WIDE)
    assert "+ passes; ? No legal trap" in told.stdout
    assert told.stderr.strip() == "1 of 3 shown: 1 pass, 0 may pass, 2 fail"


def test_one_flat_is_explained_in_full_in_both_languages(data: Path) -> None:
    view = answer(run(data, "score", "3", "--json"))
    traps = next(one for one in view["breakers"] if one["breaker"] == "traps")
    assert (traps["state"], traps["quote"]) == ("fail", "идеална част")
    assert view["known"] == pytest.approx(sum(one["known"] * one["weight"] for one in view["criteria"]))
    told = run(data, "score", "3", "--lang", "bg", **WIDE)
    english = set(re.findall(r"[A-Za-z]{4,}", told.stdout))
    assert english == set(), "headings are of the language too"
    ranking = run(data, "score", "--lang", "bg", **WIDE)
    assert re.findall(r"[A-Za-z]{4,}", ranking.stdout.replace("default", "")) == []
    assert ranking.stderr.strip() == "Показани 3 от 3: минават 1, може да минат 0, не минават 2"
    assert "продава се идеална част – “идеална част”" in told.stdout
    assert "Местоположение" in told.stdout
    assert "местен данък, нотариус, вписване" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("score", "99"), "no property 99; `sale-sofia properties` lists them"),
        (("score", "--profile", "nobody"), "no profile 'nobody'; there are default"),
        (("profiles", "edit", "default", "budget_eur=0"), "budget_eur: '0' is not allowed; a number above 0"),
        (("profiles", "edit", "default", "budget_eur"), "'budget_eur' is no change; write it as key=value"),
    ],
)
def test_wrong_input_is_one_sentence_and_changes_nothing(
    data: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    told = run(data, *arguments, **WIDE)
    assert told.returncode == 2
    assert sentence in " ".join(told.stderr.replace("│", "").split())
    assert "Traceback" not in told.stderr
    assert not (data / "profiles" / "default.yaml").exists()


def test_a_profile_is_made_changed_checked_and_used(data: Path) -> None:
    assert run(data, "profiles", "new", "dear").returncode == 0
    changed = run(data, "profiles", "edit", "dear", "budget_eur=50000", "weights.price=40", **WIDE)
    assert "the weights sum to 120, not 100; they count as location 20.8%" in changed.stderr
    assert answer(run(data, "profiles", "show", "dear", "--json"))["profile"]["weights"]["price"] == 40
    assert answer(run(data, "score", "--json"))["profile"] == "dear"
    (data / "profiles" / "broken.yaml").write_text("budget_eur: 1\nbuget: 2\n", "utf-8")
    scored = run(data, "score", "--profile", "dear", "--json", **WIDE)
    assert "the weights sum to 120" in scored.stderr
    assert "unknown key buget" in scored.stderr  # of another profile: said, and no more
    assert all("budget" in one["failed"] for one in answer(scored)["scores"])
    checked = run(data, "profiles", "check", **WIDE)
    assert checked.returncode == 2
    assert "broken.yaml: the file: unknown key buget; allowed: budget_eur" in checked.stderr


def test_a_crawl_scores_what_it_brought(tmp_path: Path) -> None:
    with start_forked(SimulatorConfig(properties=20, seed=5, sites=("imot.bg",), port=0)) as simulator:
        told = run(tmp_path, *crawl_arguments(simulator, "imot.bg"), **FAST)
        assert told.returncode == 0, told.stderr
    database = ready_database(tmp_path / "sale_sofia.db")
    verdicts = database.run_read(lambda connection: count_verdicts(connection, "default"))
    database.dispose()
    assert sum(verdicts.values()) > 0
