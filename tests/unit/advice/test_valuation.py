"""The fair price of a stored property: its interval, its verdict, its comparables, and the model's file."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from contract.storage.helpers import ready_database
from property_worlds import ids_of
from sale_sofia.advice.settings import COMPARABLES_SHOWN, MODEL_FILE, MODEL_FORMAT
from sale_sofia.advice.tables import valuation_models
from sale_sofia.advice.valuation.model import Current, FairBand, stored_model, write_file
from sale_sofia.advice.valuation.valuation import (
    Verdict,
    compare,
    current_model,
    judge,
    value_flat,
    value_property,
)
from sale_sofia.flats.flat import Trap
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import WITHDRAWN
from sale_sofia.history.tables import listings
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from tables import each_row
from valued_flats import some_adverts, some_flats

COUNT = 260
FAIR = FairBand(1000.0, 1300.0, 1600.0)
FLAT = replace(some_flats(1)[0], area_sqm=100.0, condition="good", vat="included")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(data_dir=tmp_path_factory.mktemp("valued"))


@pytest.fixture(scope="module")
def database(settings: Settings) -> Iterator[Database]:
    made = ready_database(settings.data_dir / "x.db")
    adverts = [*some_adverts(COUNT), some_adverts(1)[0].model_copy(update=RENTED)]
    made.run_write(
        lambda connection: save_listings(
            connection, [Sighting(one, time.time(), None, None) for one in adverts]
        )
    )
    PropertyMatching(settings, made).match_new()
    yield made
    made.dispose()


RENTED = {"external_id": "r", "url": "https://imot.bg/r", "deal": "rent", "price_eur": 700.0}


def models(database: Database) -> list[Any]:
    with database.read() as connection:
        return list(connection.execute(select(valuation_models).order_by(valuation_models.c.made_at)))


@pytest.mark.slow
def test_a_stored_property_is_valued(database: Database, settings: Settings) -> None:
    found = value_property(database, settings, 7)
    told = found.as_json()
    asked, fair = told["asked"]["price_eur"], told["fair_eur"]
    assert fair["low"] < fair["middle"] < fair["high"]
    assert 0.6 < asked / fair["middle"] < 1.6
    assert fair["low"] == pytest.approx(told["fair_eur_sqm"]["low"] * told["asked"]["area_sqm"], rel=0.001)
    assert told["verdict"] == judge(found.flat, found.fair or FAIR)[0]
    assert told["basis"] == "asking prices, de-duplicated, VAT included"


def test_comparables_are_others_that_weigh_most(database: Database, settings: Settings) -> None:
    found = value_property(database, settings, 7)
    weights = [one.weight for one in found.comparables]
    assert len(weights) == COMPARABLES_SHOWN
    assert weights == sorted(weights, reverse=True)
    assert 7 not in {one.flat.property_id for one in found.comparables}
    assert found.rests_on > COMPARABLES_SHOWN
    near = [one for one in found.comparables if one.flat.neighbourhood == found.flat.neighbourhood]
    assert len(near) > COMPARABLES_SHOWN // 2
    assert all(one.kilometres == 0 and "same neighbourhood" in one.why for one in near)


def test_the_error_is_stored_with_the_model(database: Database, settings: Settings) -> None:
    current = current_model(database, settings)
    row = models(database)[-1]
    assert (row.flats, row.format, row.report) == (COUNT, MODEL_FORMAT, current.report)
    assert 0 < row.report["error"]["median"] < row.report["neighbourhood_median"]["median"]
    assert 0.7 < row.report["error"]["coverage"] < 0.9


def test_an_advert_that_is_not_matched_yet_is_valued_by_itself(
    database: Database, settings: Settings
) -> None:
    own = {"external_id": "u", "url": "https://imot.bg/u", "price_eur": None}  # without a price no comparable
    advert = some_adverts(1)[0].model_copy(update=own)
    database.run_write(partial(save_listings, batch=[Sighting(advert, time.time(), None, None)]))
    number = ids_of(database)["u"]
    found = value_property(database, settings, number)
    assert (found.flat.property_id, found.flat.area_sqm) == (number, advert.area_sqm)
    assert found.fair is not None


@pytest.mark.slow
def test_the_stored_model_answers_as_the_fitted_one(database: Database, settings: Settings) -> None:
    fitted = value_property(database, settings, 9, refit=True)
    made = len(models(database))
    stored = value_property(database, settings, 9)
    assert stored.as_json() == fitted.as_json()
    assert len(models(database)) == made


def stored(database: Database, settings: Settings, made_since: float = 0.0) -> Current | None:
    work = partial(stored_model, data_dir=settings.data_dir, made_since=made_since, least_flats=COUNT)
    return database.run_read(work)


def test_a_file_that_the_database_does_not_know_is_not_read(database: Database, settings: Settings) -> None:
    current_model(database, settings)
    path = settings.data_dir / MODEL_FILE
    good = path.read_bytes()
    assert stored(database, settings) is not None
    path.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    assert stored(database, settings) is None
    path.unlink()
    assert stored(database, settings) is None
    path.write_bytes(good)
    assert stored(database, settings) is not None


@pytest.mark.slow
def test_a_model_of_another_form_or_too_old_is_fitted_anew(database: Database, settings: Settings) -> None:
    made_at = current_model(database, settings).made_at
    assert stored(database, settings, made_at - 1) is not None
    assert stored(database, settings, made_at + 1) is None
    of_before = update(valuation_models).values(format=MODEL_FORMAT - 1)
    database.run_write(lambda connection: connection.execute(of_before))
    assert stored(database, settings) is None
    assert current_model(database, settings).made_at > made_at
    assert models(database)[-1].format == MODEL_FORMAT


def test_too_few_flats_are_a_sentence_and_no_guess(database: Database, settings: Settings) -> None:
    current_model(database, settings)
    demanding = settings.model_copy(update={"valuation_least_flats": 5000})
    found = value_property(database, demanding, 7)
    assert (found.fair, found.verdict, found.comparables) == (None, "unknown", ())
    assert found.explanation == (
        "no fair price: 260 flats with a price, an area and a place are known, "
        "and 5000 are needed (VALUATION_LEAST_FLATS)"
    )


@pytest.mark.slow
def test_the_model_is_fitted_again_as_asked_for_a_flat_without_a_fair_price(
    database: Database, settings: Settings
) -> None:
    value_property(database, settings, 9)
    before = models(database)[-1].made_at
    found = value_property(database, settings, ids_of(database)["r"], refit=True)
    assert (found.fair, models(database)[-1].made_at > before) == (None, True)


def test_a_flat_to_let_has_no_fair_price(database: Database, settings: Settings) -> None:
    found = value_property(database, settings, ids_of(database)["r"])
    assert (found.verdict, found.fair) == ("unknown", None)
    assert found.explanation == "no fair price: only flats for sale have a fair price here"


def test_an_unknown_property_is_said_to_be(database: Database, settings: Settings) -> None:
    with pytest.raises(UnknownProperty, match="no property 999"):
        value_property(database, settings, 999)


@each_row(
    ("fields", "verdict"),
    [
        ({"price_eur": 99_900.0}, "below"),
        ({"price_eur": 100_100.0}, "within"),
        ({"price_eur": 130_000.0}, "within"),
        ({"price_eur": 159_900.0}, "within"),
        ({"price_eur": 160_100.0}, "above"),
        ({"price_eur": None}, "unknown"),
        # Without VAT, 90 000 are 108 000 for the buyer.
        ({"price_eur": 90_000.0, "vat": "excluded"}, "within"),
        ({"price_eur": 80_000.0, "vat": "excluded"}, "below"),
        ({"price_eur": 140_000.0, "vat": "excluded"}, "above"),
        # Nobody says whether VAT is in the price of a new building.
        ({"price_eur": 90_000.0, "vat": None, "act_status": "act14"}, "unknown"),
        ({"price_eur": 80_000.0, "vat": None, "act_status": "act14"}, "below"),
        ({"price_eur": 140_000.0, "vat": None, "act_status": "act14"}, "unknown"),
        ({"price_eur": 120_000.0, "vat": None, "act_status": "act14"}, "within"),
        ({"price_eur": 90_000.0, "vat": None}, "below"),
        ({"price_eur": 50_000.0, "traps": {"share_of_ownership": Trap(True, "1/2 ид. част")}}, "unknown"),  # noqa: FBT003
    ],
)
def test_verdicts(fields: dict[str, Any], verdict: Verdict) -> None:
    assert judge(replace(FLAT, **fields), FAIR)[0] == verdict


def test_no_verdict_in_a_neighbourhood_of_which_little_is_known(
    database: Database, settings: Settings
) -> None:
    current, flat = current_model(database, settings), value_property(database, settings, 7).flat
    alone = value_flat(database, replace(flat, neighbourhood="Бояна"), current)
    assert alone.fair is not None
    assert (alone.verdict, alone.explanation) == (
        "unknown",
        "flats known of its neighbourhood: 0, needed to judge: 15",
    )


def test_the_verdict_says_why() -> None:
    assert judge(replace(FLAT, price_eur=91_000.0), FAIR)[1] == (
        "below the interval in which 80% of such flats are asked for, 30% under the middle: "
        "look for the reason"
    )
    unsure = replace(FLAT, price_eur=90_000.0, vat=None, act_status="act14")
    assert judge(unsure, FAIR)[1] == (
        "below the interval if the price includes VAT, within if not; no advert says"
    )


def test_what_is_alike_and_what_is_not() -> None:
    home = replace(FLAT, neighbourhood="Лозенец")
    other = replace(home, property_id=2, area_sqm=92.5, floor=(FLAT.floor or 0) + 2, condition="renovated")
    (found,) = compare(home, {2: other}, {2: 0.1, 3: 0.2})
    assert found.why == (
        "same neighbourhood", "7.5 m² smaller", "2 floors higher", "same year", "condition renovated",
    )  # fmt: skip
    assert (found.weight, found.kilometres, found.as_json()["eur_sqm"]) == (
        0.1,
        0.0,
        round((FLAT.price_eur or 0) / 92.5),
    )


def test_two_flats_of_unknown_neighbourhoods_are_not_in_the_same_one() -> None:
    home = replace(FLAT, neighbourhood=None, lat=42.69, lon=23.32)
    (found,) = compare(home, {2: replace(home, property_id=2, lat=42.62)}, {2: 0.1})
    assert "same neighbourhood" not in found.why


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, database: Database, settings: Settings) -> None:
    """A folder in the place of the file cannot be replaced."""
    (tmp_path / MODEL_FILE / "x").mkdir(parents=True)
    with pytest.raises(ValueError, match=MODEL_FILE):
        write_file(tmp_path, current_model(database, settings).model)
    assert [one.name for one in tmp_path.iterdir()] == [MODEL_FILE]


def test_a_withdrawn_advert_is_no_second_flat(tmp_path: Path) -> None:
    """It turned out to be the flat that had its id before."""
    made = ready_database(tmp_path / "x.db")
    first, *others = some_adverts(COUNT)
    later = first.model_copy(update={"area_sqm": 300.0, "floor": 20})
    between = first.model_copy(update={"area_sqm": 300.0})
    now = time.time()
    seen = [(one, now - 60) for one in (first, *others)] + [(later, now - 20), (between, now - 40)]
    for one, at in seen:
        made.run_write(partial(save_listings, batch=[Sighting(one, at, None, None)]))
    settings = Settings(data_dir=tmp_path)
    PropertyMatching(settings, made).match_new()
    with made.read() as connection:
        assert connection.scalar(select(func.count()).where(listings.c.closed_reason == WITHDRAWN)) == 1
    assert len(current_model(made, settings).model.ids) == COUNT
    made.dispose()
