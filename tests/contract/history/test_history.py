"""What a sighting means: another flat, a price of another meaning, another VAT, an advert that came back."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from contract.storage.helpers import advert, database, rows
from history_rows import whole_history
from sale_sofia.advice.market.market import read_histories
from sale_sofia.advice.search.conditions import read_around
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.alerts.store import as_of
from sale_sofia.flats.rows import previous_price, price_steps
from sale_sofia.history.changes import happenings
from sale_sofia.history.listings import Sighting, Visit, load_listing, record_visits, save_listings
from sale_sofia.history.market_events import set_gone
from sale_sofia.history.prices import price_history
from sale_sofia.history.pruning import prune_visits
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import listing_changes, listings, market_events, price_points, scrape_history
from sale_sofia.history.timeline import (
    NOTHING_ODD,
    Odd,
    another_meaning,
    next_interval,
    point_kind,
    revisit_at,
)
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents
from tables import each_row

FLAT: dict[str, Any] = {"price_eur": 120_000.0, "area_sqm": 60.0, "floor": 3, "vat": "none"}
HOUR = 3600.0
DAY = 24 * HOUR


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def see(db: Database, at: float, **fields: Any) -> str:  # noqa: ANN401 - any field
    sighting = Sighting(advert(**(FLAT | fields)), at, page_digest=f"{round(at):064x}")
    return db.run_write(lambda connection: save_listings(connection, [sighting])[0])


def prices(connection: Connection) -> list[tuple[Any, ...]]:
    return rows(connection, price_points, "price_eur", "vat", "kind", "seen_at")


def kinds(connection: Connection, since: float = 0.0) -> list[tuple[str, float]]:
    return [(one.kind, one.at) for one in happenings(connection, since)]


def test_another_flat_under_the_same_id_is_a_listing_of_its_own(db: Database) -> None:
    see(db, 1.0, title="първи")
    assert see(db, 2.0, area_sqm=63.0, floor=7, price_eur=168_000.0, title="втори") == "new"
    see(db, 3.0, area_sqm=63.0, floor=7, price_eur=160_000.0, title="втори")
    with db.read() as connection:
        stored = rows(
            connection, listings, "generation", "closed_at", "closed_reason", "first_seen_at", "title"
        )
        assert stored == [(1, 2.0, "reused", 1.0, "първи"), (2, None, None, 2.0, "втори")]
        assert [row[:1] for row in rows(connection, listing_changes, "field")] == [("price_eur",)]
        assert load_listing(connection, "imot.bg", "id1").title == "втори"  # type: ignore[union-attr]
        assert prices(connection) == [
            (120_000.0, "none", "first", 1.0),
            (168_000.0, "none", "first", 2.0),
            (160_000.0, "none", "price", 3.0),
        ]
        assert kinds(connection) == [("new", 1.0), ("new", 2.0), ("gone", 2.0), ("price", 3.0)]
        first, second = price_history(connection, "imot.bg", "id1", now=4.0)
    assert (first.closed_reason, second.closed_reason) == ("reused", None)
    assert second.price_per_sqm == 160_000.0 / 63.0


@pytest.mark.parametrize("edit", [{"area_sqm": 63.0}, {"floor": 7}, {"area_sqm": None, "floor": 7}])
def test_one_of_area_and_floor_alone_is_an_edit(db: Database, edit: dict[str, Any]) -> None:
    see(db, 1.0)
    assert see(db, 2.0, **edit) == "changed"
    with db.read() as connection:
        assert rows(connection, listings, "generation") == [(1,)]
        assert kinds(connection, 2.0) == [("edit", 2.0)]


@pytest.mark.parametrize("odd", [2000.0, 1995.0, 12_000.0, 120.0, 1_200_000.0])
def test_a_price_of_another_meaning_is_not_believed_and_leaves_no_trace(db: Database, odd: float) -> None:
    see(db, 1.0)
    assert see(db, 2.0, price_eur=odd, title="нов") == "changed"
    with db.read() as connection:
        assert rows(connection, listings, "price_eur", "odd_price_eur", "odd_visits", "title") == [
            (120_000.0, odd, 1, "нов")
        ]
        (incident,) = open_incidents(connection)
        assert (incident.kind, incident.details["odd_price_eur"]) == (IncidentKind.PRICE_MEANING, odd)
        assert incident.details["external_id"] in incident.message
        assert rows(connection, listings, "revisit_at") == [(2.0,)]
        assert price_history(connection, "imot.bg", "id1", now=3.0)[0].odd_price_eur == odd
    assert see(db, 3.0, title="нов") == "unchanged"
    with db.read() as connection:
        assert prices(connection) == [(120_000.0, "none", "first", 1.0)]
        assert rows(connection, listing_changes, "field") == [("title",)]
        assert rows(connection, scrape_history, "result") == [("new",), ("quarantined",), ("unchanged",)]
        assert rows(connection, listings, "odd_price_eur", "odd_visits") == [(None, 0)]
        assert open_incidents(connection) == []


def test_a_price_of_another_meaning_that_stays_is_the_price(db: Database) -> None:
    see(db, 1.0)
    for at in (2.0, 3.0):
        assert see(db, at, price_eur=12_000.0) == "unchanged"
    assert see(db, 4.0, price_eur=12_000.0) == "changed"
    with db.read() as connection:
        assert prices(connection)[1:] == [(12_000.0, "none", "price", 4.0)]
        assert open_incidents(connection) == []


def test_other_prices_of_another_meaning_begin_to_count_anew(db: Database) -> None:
    see(db, 1.0)
    for at, odd in enumerate((12_000.0, 12_000.0, 2000.0, 12_000.0), start=2):
        see(db, float(at), price_eur=odd)
    with db.read() as connection:
        assert rows(connection, listings, "price_eur", "odd_price_eur", "odd_visits") == [
            (120_000.0, 12_000.0, 1)
        ]


def test_the_incident_stays_while_any_advert_of_the_portal_is_in_doubt(db: Database) -> None:
    for number in (1, 2):
        see(db, 1.0, number=number)
        see(db, 2.0, number=number, price_eur=12_000.0)
    see(db, 3.0, number=1)
    with db.read() as connection:
        assert len(open_incidents(connection)) == 1
    see(db, 4.0, number=2)
    with db.read() as connection:
        assert open_incidents(connection) == []


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ({"price_eur": 110_000.0}, "price"),
        ({"vat": "excluded"}, "vat"),
        ({"vat": "excluded", "price_eur": 100_000.0}, "vat"),
        ({"vat": "excluded", "price_eur": 99_000.0}, "price"),
        ({"vat": "included"}, "vat"),
        ({"price_bgn": 234_699.6}, "currency"),
        ({"price_eur": None}, "price"),
    ],
)
def test_what_moved_in_a_price(db: Database, after: dict[str, Any], kind: str) -> None:
    see(db, 1.0)
    see(db, 2.0, **after)
    with db.read() as connection:
        assert prices(connection)[1][2] == kind
        assert kinds(connection, 2.0)[0][0] == ("price" if kind == "price" else "edit")


def test_an_earlier_price_in_print_is_a_point_of_its_own_once_for_each_sum(db: Database) -> None:
    see(db, 1.0, previous_price_eur=130_000.0)
    see(db, 2.0)
    see(db, 3.0, previous_price_eur=130_000.0)
    see(db, 4.0, price_eur=115_000.0, previous_price_eur=140_000.0)
    see(db, 5.0, price_eur=11_500.0, previous_price_eur=99.0)  # of another meaning, and so is what it was
    see(db, 6.0, price_eur=115_000.0, previous_price_eur=130_000.0)
    see(db, 7.0, price_eur=115_000.0, previous_price_eur=150_000.0)
    with db.read() as connection:
        assert prices(connection) == [
            (130_000.0, None, "printed_before", 1.0),
            (120_000.0, "none", "first", 1.0),
            (140_000.0, None, "printed_before", 4.0),
            (115_000.0, "none", "price", 4.0),
            (150_000.0, None, "printed_before", 7.0),
        ]
        moved = [("edit", 2.0), ("edit", 3.0), ("price", 4.0), ("edit", 6.0), ("edit", 7.0)]
        assert kinds(connection) == [("new", 1.0), *moved]
        points = price_history(connection, "imot.bg", "id1", now=7.0)[0].points
        assert [(one.kind, one.price_eur) for one in points] == [
            ("printed_before", 130_000.0),
            ("first", 120_000.0),
            ("printed_before", 140_000.0),
            ("price", 115_000.0),
            ("printed_before", 150_000.0),
        ]
        (one,) = connection.scalars(select(listings.c.id))
        asked = price_steps(connection, [one])[one]
        assert [step.price_eur for step in asked] == [120_000.0, 115_000.0]
        assert previous_price(asked) == 120_000.0
        assert as_of(connection, {one: 9.0})[one].price_eur == 115_000.0
        assert read_histories(connection, [one])[one].prices[0].price_eur == 120_000.0
        cuts = read_around(connection, SearchQuery(cut_days=1), now=7.0).cuts
        assert cuts is not None
        assert cuts == {one: pytest.approx(100 / 24)}


def test_a_late_page_tells_when_an_earlier_price_was_first_in_print(db: Database) -> None:
    see(db, 1.0)
    see(db, 5.0, previous_price_eur=130_000.0)
    see(db, 3.0, previous_price_eur=130_000.0)
    with db.read() as connection:
        assert sorted(prices(connection), key=lambda row: row[-1]) == [
            (120_000.0, "none", "first", 1.0),
            (130_000.0, None, "printed_before", 3.0),
        ]


def test_vat_that_is_now_included_raises_the_sum_and_not_the_price() -> None:
    old, new = (
        {"price_eur": 100.0, "price_bgn": None, "vat": "excluded"},
        {"price_bgn": None, "vat": "included"},
    )
    assert point_kind(old, {**new, "price_eur": 120.0}) == "vat"
    assert point_kind(old, {**new, "price_eur": 130.0}) == "price"
    assert point_kind(old, old) is None


@each_row(("old", "new"), [(None, 1.0), (1.0, None), (100.0, 90.0), (100.0, 50.0), (100.0, 200.0)])
def test_prices_like_any_other(old: float | None, new: float | None) -> None:
    assert another_meaning({"price_eur": old, "area_sqm": 60.0}, {"price_eur": new, "area_sqm": None}) is None


def test_an_advert_that_was_gone_is_back(db: Database) -> None:
    see(db, 1.0)
    with db.write() as connection:
        one = connection.execute(select(listings.c.id)).scalar_one()
        set_gone(connection, {one: 5.0}, now=7.0, reason="missed")
    with db.read() as connection:
        assert price_history(connection, "imot.bg", "id1", now=99.0)[0].days_on_market == 4 / DAY
        assert kinds(connection, 6.0) == [("gone", 5.0)]  # known at 7, dated 5
    see(db, 4.0, title="стар")  # a page from before it went says nothing
    with db.read() as connection:
        assert rows(connection, listings, "gone_at") == [(5.0,)]
    see(db, 9.0, title="стар")
    with db.read() as connection:
        assert rows(connection, listings, "gone_at") == [(None,)]
        assert rows(connection, market_events, "kind", "at", "reason") == [
            ("gone", 5.0, "missed"),
            ("back", 9.0, "seen again"),
        ]


@pytest.mark.parametrize("fields", [{}, {"title": "стар"}], ids=["unchanged", "changed"])
def test_a_page_read_before_a_removal_was_noted_is_noted_after_it(
    db: Database, fields: dict[str, str]
) -> None:
    see(db, 1.0)
    with db.write() as connection:
        one = connection.execute(select(listings.c.id)).scalar_one()
        set_gone(connection, {one: 5.0}, now=7.0, reason="missed")
    see(db, 6.0, **fields)
    with db.read() as connection:
        assert rows(connection, listings, "gone_at") == [(None,)]
        assert rows(connection, market_events, "kind", "at", "noted_at") == [
            ("gone", 5.0, 7.0),
            ("back", 6.0, 7.0),
        ]
        assert kinds(connection, 7.0)[-2:] == [("gone", 5.0), ("back", 6.0)]


def test_of_two_pages_of_one_moment_the_believed_one_leaves_its_validators(db: Database) -> None:
    for order in ((0, 1), (1, 0)):
        number = f"id{order[0]}"
        pages = [
            Sighting(
                advert(**FLAT, external_id=number, title=title),
                1.0,
                page_digest=title.encode().hex(),
                etag=title,
            )
            for title in ("а", "б")
        ]
        db.run_write(partial(save_listings, batch=[pages[place] for place in order]))
    with db.read() as connection:
        found = rows(connection, listings, "title", "etag")
    assert [title == etag for title, etag in found] == [True, True]
    assert len(set(found)) == 1


def test_a_flat_that_was_gone_does_not_come_back_with_another_under_its_id(db: Database) -> None:
    see(db, 1.0)
    with db.write() as connection:
        first = connection.execute(select(listings.c.id)).scalar_one()
        set_gone(connection, {first: 2.0}, now=3.0, reason="missed")
    gone_once = [(first, "gone", 2.0, "missed")]
    assert see(db, 5.0, area_sqm=63.0, floor=7) == "new"
    with db.read() as connection:
        assert rows(connection, market_events, "listing_id", "kind", "at", "reason") == gone_once
        assert rows(connection, listings, "gone_at", "closed_at") == [(2.0, 5.0), (None, None)]
    see(db, 4.0, area_sqm=63.0, floor=7)  # late: all is worked out anew
    with db.read() as connection:
        assert rows(connection, listings, "gone_at", "closed_at") == [(2.0, 4.0), (None, None)]
        assert rows(connection, market_events, "listing_id", "kind", "at", "reason") == gone_once


def test_unchanged_visits_are_counted_and_come_less_often(db: Database) -> None:
    see(db, 0.0)
    for at in (1.0, 2.0, 3.0):
        see(db, at)
    with db.read() as connection:
        (counted, interval) = rows(connection, listings, "consecutive_unchanged", "revisit_seconds")[0]
    assert (counted, interval) == (3, 720 * HOUR)
    see(db, 4.0, title="друг")
    with db.read() as connection:
        assert rows(connection, listings, "consecutive_unchanged", "revisit_seconds") == [(0, 360 * HOUR)]


def test_the_interval_keeps_its_bounds() -> None:
    rules = HistoryRules(first_seconds=100, least_seconds=40, most_seconds=200)
    assert [next_interval(100, result, rules) for result in ("unchanged", "changed", "new")] == [150, 50, 100]
    assert next_interval(150, "unchanged", rules) == 200
    assert next_interval(50, "quarantined", rules) == 40


def test_adverts_of_one_day_come_due_on_different_days() -> None:
    due = [revisit_at(str(number), 0.0, 20 * DAY, NOTHING_ODD) / DAY for number in range(400)]
    assert min(due) >= 10
    assert max(due) <= 20
    assert all(25 <= sum(day <= one < day + 1 for one in due) <= 55 for day in range(10, 20))
    assert revisit_at("1", 7.0, 20 * DAY, Odd(1.0, 1)) == 7.0


def test_a_page_that_is_read_again_by_a_better_reader_is_corrected_in_its_place(db: Database) -> None:
    see(db, 1.0)
    see(db, 2.0, title="крив")
    see(db, 3.0)
    assert see(db, 2.0) == "changed"
    with db.read() as connection:
        assert rows(connection, listing_changes, "field") == []
        assert rows(connection, scrape_history, "fetched_at", "result") == [
            (1.0, "new"),
            (2.0, "unchanged"),
            (3.0, "unchanged"),
        ]


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_pruning_keeps_what_the_history_is_made_of(db: Database, at_once: int) -> None:
    for at in (1.0, 2.0, 3.0):
        see(db, at)
    see(db, 4.0, title="друг")
    for at in (5.0, 6.0):
        see(db, at, title="друг")
    see(db, 7.0, number=2)
    with db.write() as connection:
        record_visits(connection, [Visit("imot.bg", "search:x", None, 1.0, "HttpBlocked")])
        before = [one["changes"] for one in whole_history(connection)]
    assert prune_visits(db, before=6.5, at_once=at_once) == 4
    with db.read() as connection:
        assert sorted(rows(connection, scrape_history, "fetched_at")) == [(1.0,), (4.0,), (6.0,), (7.0,)]
        assert [one["changes"] for one in whole_history(connection)] == before
    see(db, 4.5, title="трети")  # late, between what is left
    with db.read() as connection:
        changes = rows(connection, listing_changes, "new", "seen_at")
    assert changes == [("друг", 4.0), ("трети", 4.5), ("друг", 6.0)]


def test_pruning_goes_by_the_advert_whichever_flat_it_offered(db: Database) -> None:
    for at in (1.0, 2.0):
        see(db, at)
    see(db, 3.0, area_sqm=90.0, floor=9, price_eur=300_000.0)
    assert prune_visits(db, before=9.0) == 1
    with db.read() as connection:
        assert sorted(rows(connection, scrape_history, "fetched_at")) == [(1.0,), (3.0,)]


def test_pruning_keeps_the_usual_price_between_two_odd_ones(db: Database) -> None:
    see(db, 1.0)
    for at, price in ((2.0, 12_000.0), (3.0, 120_000.0), (4.0, 12_000.0), (5.0, 12_000.0), (6.0, 120_000.0)):
        see(db, at, price_eur=price)
    assert prune_visits(db, before=5.5) == 0
    see(db, 5.6, title="друг")  # late: all is worked out anew, and there were never three odd ones in a row
    with db.read() as connection:
        assert prices(connection) == [(120_000.0, "none", "first", 1.0)]


def test_pruning_keeps_what_was_shown_between_two_gaps(db: Database) -> None:
    for at, year in ((1.0, 2012), (2.0, None), (3.0, 2012), (4.0, None), (5.0, 2012), (6.0, 2012)):
        see(db, at, year_built=year)
    assert prune_visits(db, before=5.5) == 0
    see(db, 5.6, title="друг")  # late: all is worked out anew, and there were never two gaps in a row
    with db.read() as connection:
        assert "year_built" not in {name for (name,) in rows(connection, listing_changes, "field")}


def test_at_most_one_generation_is_open(db: Database) -> None:
    see(db, 1.0)
    see(db, 2.0, area_sqm=70.0, floor=9)
    with pytest.raises(Exception, match=r"listings\.external_id|wrote the same"), db.write() as connection:
        connection.execute(update(listings).values(closed_at=None))


def test_a_flat_that_was_withdrawn_may_come_after_all(db: Database) -> None:
    see(db, 1.0)
    see(db, 3.0, area_sqm=70.0, floor=5)
    see(db, 2.0, area_sqm=70.0)  # late: between the two, so that it was one flat all the time
    with db.read() as connection:
        assert rows(connection, listings, "generation", "closed_reason") == [(1, None), (2, "withdrawn")]
        assert kinds(connection) == [("new", 1.0), ("edit", 2.0), ("edit", 3.0)]
        assert len(price_history(connection, "imot.bg", "id1", now=9.0)) == 1
    assert see(db, 4.0, area_sqm=60.0, floor=9, price_eur=90_000.0) == "new"
    with db.read() as connection:
        assert rows(connection, listings, "generation", "closed_at", "first_seen_at", "area_sqm") == [
            (1, 4.0, 1.0, 70.0),
            (2, None, 4.0, 60.0),
        ]
