"""Prices that are held back: never believed, kept with their visit, and believed when they are let go."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, select

from contract.storage.helpers import advert, database
from history_rows import whole_history
from sale_sofia.history.drift.store import (
    DriftRun,
    accept_last,
    held_jobs,
    hold_prices,
    hold_types,
    judge_run,
    lock_counters,
    open_drift,
    release_prices,
    release_types,
    sound_runs,
)
from sale_sofia.history.jobs import create_job
from sale_sofia.history.listings import Sighting, save_listings, validators
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import listings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import (
    IncidentKind,
    Trouble,
    close_incident,
    open_incident,
    open_incidents,
)

RULES = HistoryRules()
FLAT: dict[str, Any] = {"deal": "sale", "property_type": "apartment", "area_sqm": 70.0, "floor": 3}


@pytest.fixture
def connection(store_url: str) -> Iterator[Connection]:
    db: Database = database(store_url)
    with db.write() as opened:
        for number in range(6):
            create_job(
                opened, job_id=f"run{number}", site="imot.bg", start_urls=[], listing_limit=None, now=1.0
            )
        yield opened
    db.dispose()


def see(connection: Connection, run: int, price: float | None, *, held: bool = False) -> None:
    """The same flat in a run, at this price."""
    seen = Sighting(advert(price_eur=price, **FLAT), float(run), f"run{run}", f"{run}" * 64, held=held)
    save_listings(connection, [seen], RULES)


def price(connection: Connection) -> float | None:
    found: float | None = connection.execute(select(listings.c.price_eur)).scalar_one()
    return found


def test_a_held_price_leaves_what_was_known(connection: Connection) -> None:
    see(connection, 0, 150_000)
    for run in range(1, 5):  # however often
        see(connection, run, 195_000, held=True)
        assert price(connection) == 150_000
    see(connection, 5, 151_000)
    assert price(connection) == 151_000
    (history,) = whole_history(connection)
    assert [one["price_eur"] for one in history["prices"]] == [150_000, 151_000]
    assert [one["result"] for one in history["visits"]] == ["new", *["quarantined"] * 4, "changed"]


def test_a_held_page_without_a_price_keeps_the_price(connection: Connection) -> None:
    see(connection, 0, 150_000)
    see(connection, 1, None, held=True)
    assert price(connection) == 150_000


def test_a_new_flat_whose_price_is_held_has_none(connection: Connection) -> None:
    see(connection, 0, 150_000, held=True)
    assert price(connection) is None
    assert release_prices(connection, "run0", RULES, now=9.0) == 1
    assert price(connection) == 150_000


def test_holding_a_run_takes_its_prices_back_and_releasing_brings_them_again(connection: Connection) -> None:
    see(connection, 0, 150_000)
    see(connection, 1, 195_000)
    see(connection, 2, 196_000)
    believed = whole_history(connection)
    assert hold_prices(connection, "run1", RULES, now=9.0) == 1
    assert hold_prices(connection, "run2", RULES, now=9.0) == 1
    assert price(connection) == 150_000
    assert sorted(held_jobs(connection, "imot.bg")) == ["run1", "run2"]
    (held,) = whole_history(connection)
    assert [one["price_eur"] for one in held["prices"]] == [150_000]
    release_prices(connection, "run2", RULES, now=9.0)
    release_prices(connection, "run1", RULES, now=9.0)
    assert whole_history(connection) == believed


def test_only_prices_that_moved_are_held(connection: Connection) -> None:
    see(connection, 0, 150_000)
    see(connection, 1, 150_000)
    assert hold_prices(connection, "run1", RULES, now=9.0) == 0


def test_a_price_of_a_square_metre_that_is_held_does_not_count_towards_belief(connection: Connection) -> None:
    see(connection, 0, 150_000)
    for run in range(1, 5):
        see(connection, run, 2143)
        hold_prices(connection, f"run{run}", RULES, now=9.0)
        assert price(connection) == 150_000


def types(connection: Connection) -> dict[str, str | None]:
    rows = connection.execute(select(listings.c.external_id, listings.c.property_type))
    return {row.external_id: row.property_type for row in rows}


def test_a_type_that_is_held_stays_what_it_was_and_of_a_new_advert_is_unknown(connection: Connection) -> None:
    before = [Sighting(advert(1, property_type="maisonette"), 0.0, "run0")]
    rougher = [Sighting(advert(number, property_type="apartment"), 1.0, "run1") for number in (1, 2)]
    save_listings(connection, [*before, *rougher], RULES)
    believed = whole_history(connection)
    assert types(connection) == {"id1": "apartment", "id2": "apartment"}
    assert hold_types(connection, "run1", RULES, now=9.0) == 2
    assert types(connection) == {"id1": "maisonette", "id2": None}
    assert [one["changes"] for one in whole_history(connection)] == [[], []]
    assert hold_types(connection, "run1", RULES, now=9.0) == 0
    assert release_types(connection, "imot.bg", RULES, now=9.0) == 2
    assert whole_history(connection) == believed


@pytest.mark.parametrize(
    ("deal", "kind", "shown", "stored"),
    [
        ("sale", "apartment", 2143, None),
        ("sale", "apartment", 10_000, 10_000),
        ("sale", "plot", 2143, 2143),
        ("rent", "apartment", 9, None),
        ("rent", "apartment", 400, 400),
        (None, "apartment", 2143, 2143),
    ],
)
def test_a_first_price_that_is_too_little_for_a_whole_flat(
    connection: Connection, deal: str | None, kind: str, shown: float, stored: float | None
) -> None:
    flat = advert(price_eur=shown, deal=deal, property_type=kind)
    save_listings(connection, [Sighting(flat, 1.0)], RULES)
    assert price(connection) == stored
    assert open_incidents(connection) == []


def test_a_price_that_is_too_little_is_believed_when_it_stays(connection: Connection) -> None:
    for run in (0, 1):
        see(connection, run, 5000)
        assert price(connection) is None
    see(connection, 2, 5000)
    assert price(connection) == 5000


def test_a_portal_is_held_back_while_any_drift_is_open(connection: Connection) -> None:
    open_incident(connection, Trouble(IncidentKind.COLLAPSE, "imot.bg", Said.of("few")), now=1.0)
    assert not open_drift(connection, "imot.bg")
    open_incident(connection, Trouble(IncidentKind.DRIFT_FILL, "imot.bg", Said.of("floor")), now=1.0)
    assert open_drift(connection, "imot.bg")
    assert not open_drift(connection, "bazar.bg")
    close_incident(connection, IncidentKind.DRIFT_FILL, "imot.bg", now=2.0)
    assert not open_drift(connection, "imot.bg")


def judged(connection: Connection, number: int, *, sound: bool, limit: int | None = None) -> DriftRun:
    lock_counters(connection, f"run{number}", "imot.bg")
    run = DriftRun(f"run{number}", "imot.bg", {}, 7, limit, {}, [], sound, float(number))
    judge_run(connection, run)
    return run


def test_only_sound_runs_of_the_same_searches_say_what_is_usual(connection: Connection) -> None:
    for number, sound in enumerate((True, False, True, True)):
        judged(connection, number, sound=sound)
    judged(connection, 4, sound=True, limit=25)
    now = judged(connection, 5, sound=True)
    assert [one.job_id for one in sound_runs(connection, now, 14)] == ["run3", "run2", "run0"]
    assert [one.job_id for one in sound_runs(connection, now, 2)] == ["run3", "run2"]


def test_what_is_accepted_is_usual_from_now_on(connection: Connection) -> None:
    for number in range(3):
        judged(connection, number, sound=number != 2)
    accepted = accept_last(connection, "imot.bg")
    assert accepted is not None
    assert accepted.job_id == "run2"
    now = judged(connection, 3, sound=True)
    assert [one.job_id for one in sound_runs(connection, now, 14)] == ["run2"]


def test_a_type_that_was_held_is_believed_when_a_sound_run_reads_the_same_page(
    connection: Connection,
) -> None:
    seen = [
        Sighting(advert(1, property_type="apartment"), float(run), f"run{run}", etag="e") for run in (1, 2)
    ]
    save_listings(connection, seen[:1], RULES)
    hold_types(connection, "run1", RULES, now=1.5)
    assert types(connection) == {"id1": None}
    assert validators(connection, "imot.bg", ["id1"]) == {}
    assert save_listings(connection, seen[1:], RULES) == ["changed"]
    assert types(connection) == {"id1": "apartment"}
