"""A value that a page no longer shows stays until enough sound visits agree that it is gone."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, select

from contract.storage.helpers import advert, database
from history_rows import whole_history
from sale_sofia.history.drift.store import hold_gaps, release_gaps
from sale_sofia.history.jobs import create_job
from sale_sofia.history.listings import SaveResult, Sighting, save_listings, validators
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import listing_changes, listings, scrape_history
from sale_sofia.storage.database import Database

RULES = HistoryRules()
KNOWN: dict[str, Any] = {
    "deal": "sale", "property_type": "apartment", "area_sqm": 70.0, "floor": 3, "year_built": 2012,
    "phones": ("0888123456",), "elevator": False, "price_eur": 150_000.0, "title": "а",
}  # fmt: skip
GAPS: dict[str, Any] = {"year_built": None, "phones": (), "elevator": None}
LOST: list[tuple[str, Any, Any]] = [
    ("elevator", False, None),
    ("phones", ["0888123456"], []),
    ("year_built", 2012, None),
]
RUNS = 7


@pytest.fixture
def connection(store_url: str) -> Iterator[Connection]:
    db: Database = database(store_url)
    with db.write() as opened:
        for run in range(RUNS):
            create_job(opened, job_id=f"run{run}", site="imot.bg", start_urls=[], listing_limit=None, now=1.0)
        yield opened
    db.dispose()


def see(
    connection: Connection,
    run: int,
    *,
    rules: HistoryRules = RULES,
    held_gaps: bool = False,
    **fields: Any,  # noqa: ANN401 - of an advert
) -> SaveResult:
    """The flat in a run, with these fields instead of the known ones."""
    listing = advert(**KNOWN | fields)
    seen = Sighting(listing, float(run), f"run{run}", f"{run}" * 64, etag="a", held_gaps=held_gaps)
    return save_listings(connection, [seen], rules)[0]


def stored(connection: Connection) -> dict[str, Any]:
    return dict(connection.execute(select(listings)).mappings().one())


def kept(connection: Connection) -> bool:
    now = stored(connection)
    return {name: now[name] for name in GAPS} == {name: advert_value(KNOWN[name]) for name in GAPS}


def advert_value(value: Any) -> Any:  # noqa: ANN401 - of any field
    return list(value) if isinstance(value, tuple) else value


def changes(connection: Connection) -> list[tuple[str, Any, Any]]:
    columns = (listing_changes.c.field, listing_changes.c.old, listing_changes.c.new)
    return sorted(tuple(row) for row in connection.execute(select(*columns)))


def results(connection: Connection) -> list[str]:
    found = select(scrape_history.c.result).order_by(scrape_history.c.fetched_at)
    return list(connection.scalars(found))


def test_a_value_is_gone_when_enough_visits_in_a_row_do_not_show_it(connection: Connection) -> None:
    see(connection, 0)
    assert see(connection, 1, **GAPS) == "unchanged"
    assert kept(connection)
    assert changes(connection) == []
    assert validators(connection, "imot.bg", ["1b1"]) == {}  # the next visit must be a whole one
    assert see(connection, 2, **GAPS) == "changed"  # the page is the same as before
    assert changes(connection) == LOST
    now = stored(connection)
    assert [now[name] for name in GAPS] == [None, [], None]
    assert now["unseen"] is None
    assert see(connection, 3, **GAPS) == "unchanged"
    assert results(connection) == ["new", "unchanged", "changed", "unchanged"]
    assert len(changes(connection)) == len(LOST)


def test_a_value_that_is_shown_again_never_left(connection: Connection) -> None:
    see(connection, 0)
    before = stored(connection)["content_hash"]
    for run in range(1, 5):
        see(connection, run, **(GAPS if run % 2 else {}))
        assert kept(connection)
        assert bool(stored(connection)["unseen"]) == bool(run % 2)
    assert stored(connection)["content_hash"] == before
    assert changes(connection) == []
    assert results(connection) == ["new", *["unchanged"] * 4]


def test_another_value_after_a_gap_is_one_change(connection: Connection) -> None:
    see(connection, 0)
    see(connection, 1, year_built=None)
    see(connection, 2, year_built=2014)
    assert changes(connection) == [("year_built", 2012, 2014)]


def test_beside_a_gap_other_fields_change_as_ever(connection: Connection) -> None:
    see(connection, 0)
    assert see(connection, 1, title="б", price_eur=140_000.0, **GAPS) == "changed"
    assert changes(connection) == [("price_eur", 150_000.0, 140_000.0), ("title", "а", "б")]
    assert kept(connection)


def test_what_belongs_together_goes_together(connection: Connection) -> None:
    """No old street in a new neighbourhood, no old number beside a new seller; unless nothing is believed."""
    place: dict[str, Any] = {"neighbourhood": "Лозенец", "street": "ул. Първа", "seller_name": "Агенция Едно"}
    moved: dict[str, Any] = {
        "neighbourhood": "Изток",
        "street": None,
        "seller_name": "Агенция Две",
        "phones": (),
    }
    see(connection, 0, **place)
    see(connection, 1, held_gaps=True, **moved)
    assert stored(connection)["street"] == "ул. Първа"
    see(connection, 2, **place)
    see(connection, 3, year_built=None, **moved)
    now = stored(connection)
    assert (now["street"], now["phones"], now["year_built"]) == (None, [], 2012)


def test_prices_and_flags_have_rules_of_their_own(connection: Connection) -> None:
    see(connection, 0, flags=("floor_conflict",), vat="excluded")
    see(connection, 1, price_eur=None, vat=None)
    assert changes(connection) == [
        ("flags", ["floor_conflict"], []), ("price_eur", 150_000.0, None), ("vat", "excluded", None),
    ]  # fmt: skip


def test_one_visit_is_enough_where_the_settings_say_so(connection: Connection) -> None:
    rules = HistoryRules(gone_value_visits=1)
    see(connection, 0, rules=rules)
    assert see(connection, 1, rules=rules, **GAPS) == "changed"
    assert changes(connection) == LOST


def test_visits_that_are_held_back_never_count(connection: Connection) -> None:
    see(connection, 0)
    see(connection, 1, **GAPS)
    for run in range(2, 5):
        assert see(connection, run, held_gaps=True, **GAPS) == "unchanged"
        assert kept(connection)
    see(connection, 5, **GAPS)  # the second that counts
    assert changes(connection) == LOST


@pytest.mark.parametrize("visits", [1, 2])
def test_a_run_that_is_found_to_have_drifted_takes_nothing(connection: Connection, visits: int) -> None:
    """Also what it took before that was known; let go, it is as if it had never been held."""
    rules = HistoryRules(gone_value_visits=visits)
    see(connection, 0, rules=rules)
    for run in range(1, visits + 1):
        see(connection, run, rules=rules, **GAPS)
    found = whole_history(connection)
    assert changes(connection) == LOST
    for run in range(1, visits + 1):
        assert hold_gaps(connection, f"run{run}", rules, now=9.0) == 1
    assert kept(connection)
    assert changes(connection) == []
    assert hold_gaps(connection, f"run{visits}", rules, now=9.0) == 0
    for run in range(1, visits + 1):
        held = scrape_history.c.job_id == f"run{run}"
        assert release_gaps(connection, held, rules, now=9.0) == 1
    assert whole_history(connection) == found


def test_a_visit_is_held_also_for_what_was_not_known_then(connection: Connection) -> None:
    """A sighting that comes late tells what the held one did not show."""
    see(connection, 1, **GAPS)
    see(connection, 2, **GAPS)
    for run in (1, 2):
        assert hold_gaps(connection, f"run{run}", RULES, now=9.0) == 0
    see(connection, 0)
    assert kept(connection)
    assert changes(connection) == []
