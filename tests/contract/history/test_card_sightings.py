"""A card on a page of results is a sighting of its advert, and the advert's own page has the last word."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, select

from contract.storage.helpers import advert, database
from sale_sofia.history.cards import Scope, SeenCard, Source, card_hash, mark_opened, see_cards
from sale_sofia.history.changes import happenings
from sale_sofia.history.drift.store import hold_prices, release_prices
from sale_sofia.history.jobs import create_job
from sale_sofia.history.listings import Sighting, save_listings, validators
from sale_sofia.history.pruning import prune_visits
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.sightings import work_out_anew
from sale_sofia.history.sweeps import begin_sweep, scope_of
from sale_sofia.history.tables import listing_changes, listings, price_points, scrape_history
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents

SITE = "imot.bg"
CARD: dict[str, Any] = {
    "deal": "sale", "property_type": "apartment", "rooms": 2, "price_eur": 150_000.0, "area_sqm": 70.0,
    "floor": 3, "city": "София", "neighbourhood": "Борово", "seller_name": "Агенция",
}  # fmt: skip
PAGE = {**CARD, "year_built": 2012, "title": "а"}
RESULTS = "d" * 64


@pytest.fixture
def connection(store_url: str) -> Iterator[Connection]:
    db: Database = database(store_url)
    with db.write() as opened:
        for number in range(3):
            job_id = f"run{number}"
            create_job(opened, job_id=job_id, site=SITE, start_urls=[], listing_limit=None, now=1.0)
            begin_sweep(opened, job_id=job_id, site=SITE, searches=["all"], everything=False, now=1.0)
        create_job(opened, job_id="run9", site=SITE, start_urls=[], listing_limit=None, now=1.0)
        begin_sweep(opened, job_id="run9", site=SITE, searches=["others"], everything=False, now=1.0)
        yield opened
    db.dispose()


def see(connection: Connection, at: float, *, held: bool = False, run: int = 0, **other: Any) -> bool:  # noqa: ANN401
    """The card at a moment, with these facts instead; whether its advert is to be opened."""
    scope = scope_of(connection, f"run{run}")
    assert isinstance(scope, Scope)
    said = {name: value for name, value in {**CARD, **other}.items() if value is not None}
    card = SeenCard("id1", card_hash(said), url="https://imot.bg/1", said=said)
    return bool(see_cards(connection, scope, [card], at=at, source=Source(f"run{run}", RESULTS, held=held)))


def read(connection: Connection, at: float, *, run: int = 0, **other: Any) -> str:  # noqa: ANN401
    """The advert's own page at a moment."""
    seen = Sighting(advert(**{**PAGE, **other}), at, f"run{run}", f"{int(at):064}")
    [result] = save_listings(connection, [seen])
    mark_opened(connection, SITE, {"id1": at})
    return result


def stored(connection: Connection) -> dict[str, Any]:
    return dict(connection.execute(select(listings)).mappings().one())


def points(connection: Connection) -> list[tuple[float, float | None, str]]:
    rows = connection.execute(select(price_points).order_by(price_points.c.seen_at)).mappings()
    return [(row["seen_at"], row["price_eur"], row["kind"]) for row in rows]


def changes(connection: Connection) -> list[tuple[float, str, Any, Any]]:
    rows = connection.execute(select(listing_changes).order_by(listing_changes.c.seen_at)).mappings()
    return [(row["seen_at"], row["field"], row["old"], row["new"]) for row in rows]


def test_a_card_is_an_advert_that_was_not_opened_yet(connection: Connection) -> None:
    assert see(connection, 2.0)
    row = stored(connection)
    assert {name: row[name] for name in CARD} == CARD
    assert (row["opened_at"], row["first_seen_at"], row["revisit_at"]) == (None, 2.0, 2.0)
    assert points(connection) == [(2.0, 150_000.0, "first")]
    # Where it was read: the page of results, and word for word what the card said.
    visit = connection.execute(select(scrape_history)).mappings().one()
    assert (visit["verdict"], visit["page_digest"], visit["job_id"]) == ("card", RESULTS[:32], "run0")
    assert visit["said"].items() >= CARD.items()


def test_the_page_wins_and_is_no_change(connection: Connection) -> None:
    see(connection, 2.0)
    assert read(connection, 3.0, area_sqm=72.0, floor=4, vat="excluded") == "new"
    row = stored(connection)
    assert (row["area_sqm"], row["floor"], row["year_built"], row["opened_at"]) == (72.0, 4, 2012, 3.0)
    assert changes(connection) == []
    assert points(connection) == [(2.0, 150_000.0, "first")]
    assert connection.execute(select(price_points.c.vat)).scalar_one() == "excluded"


def test_what_only_the_card_says_stays_and_is_named(connection: Connection) -> None:
    see(connection, 2.0)
    for at in (3.0, 4.0, 5.0, 6.0):
        read(connection, at, floor=None)
        assert (stored(connection)["floor"], stored(connection)["flags"]) == (3, ["floor_on_card"])
    read(connection, 7.0, floor=5)
    assert (stored(connection)["floor"], stored(connection)["flags"]) == (5, [])


def test_a_card_overwrites_nothing_that_the_page_said(connection: Connection) -> None:
    see(connection, 2.0)
    read(connection, 3.0)
    before = stored(connection)
    assert see(connection, 4.0, rooms=3, neighbourhood="Лозенец", seller_name="Друга", floor=9)
    assert stored(connection) == before | {"last_seen_at": 4.0}
    assert changes(connection) == []


def test_another_price_on_a_card_is_a_change_of_its_moment(connection: Connection) -> None:
    see(connection, 2.0)
    read(connection, 3.0)
    assert see(connection, 4.0, price_eur=140_000.0)
    assert (stored(connection)["price_eur"], stored(connection)["price_by_card"]) == (140_000.0, True)
    assert points(connection) == [(2.0, 150_000.0, "first"), (4.0, 140_000.0, "price")]
    # Its page confirms it, and nothing is told twice.
    read(connection, 5.0, price_eur=140_000.0)
    assert not stored(connection)["price_by_card"]
    assert changes(connection) == [(4.0, "price_eur", 150_000, 140_000)]
    assert len(points(connection)) == 2


def test_a_sum_that_moved_by_the_vat_on_a_card_is_no_price_change(connection: Connection) -> None:
    see(connection, 2.0)
    read(connection, 3.0, vat="excluded")
    see(connection, 4.0, price_eur=180_000.0)
    assert read(connection, 5.0, price_eur=180_000.0, vat="included") == "changed"
    assert points(connection) == [(2.0, 150_000.0, "first"), (4.0, 180_000.0, "vat")]
    told = [(one.kind, one.at, one.fields) for one in happenings(connection, 3.5)]
    assert told == [
        ("edit", 4.0, {"price_eur": (150_000, 180_000)}),
        ("edit", 5.0, {"vat": ("excluded", "included")}),
    ]


def test_a_price_that_goes_back_is_opened_though_other_searches_saw_it_last(connection: Connection) -> None:
    see(connection, 2.0)
    read(connection, 3.0)
    assert see(connection, 4.0, run=9, price_eur=140_000.0)
    read(connection, 5.0, run=9, price_eur=140_000.0)
    assert see(connection, 6.0)
    read(connection, 7.0)
    assert not see(connection, 8.0)
    assert not see(connection, 9.0, run=9)
    assert [price for _, price, _ in points(connection)] == [150_000.0, 140_000.0, 150_000.0]


def test_a_price_that_the_page_does_not_have_was_never_asked(connection: Connection) -> None:
    see(connection, 2.0)
    read(connection, 3.0)
    see(connection, 4.0, price_eur=97_000.0)  # of another advert, as the page shows
    read(connection, 5.0)
    assert stored(connection)["price_eur"] == 150_000.0
    assert points(connection) == [(2.0, 150_000.0, "first")]
    assert changes(connection) == []


def test_a_card_price_that_differs_by_the_vat_alone_is_a_cards_too(connection: Connection) -> None:
    read(connection, 3.0, vat="excluded")
    see(connection, 4.0, price_eur=150_000.0, vat="excluded")
    see(connection, 5.0, price_eur=180_000.0, vat="included")
    assert (stored(connection)["price_eur"], stored(connection)["price_by_card"]) == (180_000.0, True)
    read(connection, 6.0, vat="excluded")
    assert (stored(connection)["price_eur"], stored(connection)["vat"]) == (150_000.0, "excluded")
    assert points(connection) == [(3.0, 150_000.0, "first")]
    assert changes(connection) == []


def test_a_page_that_disproves_a_card_leaves_its_validators(connection: Connection) -> None:
    """With those of before, a page that goes back would say that it is not modified."""
    for at, etag in ((3.0, "before"), (5.0, "after"), (4.5, "late")):
        if at == 5.0:
            see(connection, 3.5)
            see(connection, 4.0, price_eur=97_000.0)
        page = advert(**{**PAGE, "price_eur": 150_000.0 - at})
        save_listings(connection, [Sighting(page, at, "run0", f"{int(at):064}", etag=etag)])
    assert (stored(connection)["price_eur"], stored(connection)["etag"]) == (149_995.0, "after")


def test_a_page_of_another_meaning_after_a_card_is_an_incident_until_it_is_settled(
    connection: Connection,
) -> None:
    read(connection, 3.0)
    see(connection, 3.5)
    see(connection, 4.0, price_eur=140_000.0)
    read(connection, 5.0, price_eur=2143.0)
    (incident,) = open_incidents(connection, SITE)
    assert (incident.kind, incident.details["odd_price_eur"]) == (IncidentKind.PRICE_MEANING, 2143.0)
    see(connection, 5.5)
    see(connection, 6.0, price_eur=139_000.0)
    read(connection, 7.0, price_eur=138_000.0)
    assert (stored(connection)["odd_visits"], open_incidents(connection, SITE)) == (0, [])


def test_a_first_price_that_the_page_does_not_have_was_never_asked(connection: Connection) -> None:
    see(connection, 2.0, price_eur=97_000.0)
    assert read(connection, 3.0) == "new"
    assert points(connection) == [(3.0, 150_000.0, "first")]
    assert changes(connection) == []


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(150_000.0, [(2.0, 150_000.0, "first")], id="as before the cards"),
        pytest.param(145_000.0, [(2.0, 150_000.0, "first"), (6.0, 145_000.0, "price")], id="as none"),
        pytest.param(140_000.0, [(2.0, 150_000.0, "first"), (4.0, 140_000.0, "price")], id="as the first"),
        pytest.param(
            130_000.0,
            [(2.0, 150_000.0, "first"), (4.0, 140_000.0, "price"), (5.0, 130_000.0, "price")],
            id="as the last",
        ),
    ],
)
def test_of_card_prices_in_a_row_those_that_no_page_has_are_taken_back(
    connection: Connection, page: float, expected: list[tuple[float, float, str]]
) -> None:
    see(connection, 2.0)
    read(connection, 3.0)
    see(connection, 4.0, price_eur=140_000.0)
    see(connection, 5.0, price_eur=130_000.0)
    read(connection, 6.0, price_eur=page)
    assert (stored(connection)["price_eur"], points(connection)) == (page, expected)


def test_first_prices_of_cards_that_the_page_does_not_have_were_never_asked(connection: Connection) -> None:
    see(connection, 2.0, price_eur=160_000.0)
    see(connection, 3.0, price_eur=97_000.0)
    assert read(connection, 4.0) == "new"
    assert (points(connection), changes(connection)) == ([(4.0, 150_000.0, "first")], [])


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"price_eur": 2143.0}, id="per m²"),
        pytest.param({"price_eur": 15_000.0}, id="a digit too few"),
        pytest.param({"price_eur": 140_000.0, "area_sqm": 90.0}, id="the card of another flat"),
        pytest.param({"price_eur": 140_000.0, "held": True}, id="a run whose pages are not read right"),
    ],
)
def test_a_wrong_card_is_doubted(connection: Connection, wrong: dict[str, Any]) -> None:
    see(connection, 2.0)
    read(connection, 3.0)
    assert see(connection, 4.0, **wrong)  # so its page is asked
    assert stored(connection)["price_eur"] == 150_000.0
    assert points(connection) == [(2.0, 150_000.0, "first")]
    said = select(scrape_history.c.said).where(scrape_history.c.result == "quarantined")
    assert connection.execute(said).scalar_one()["price_eur"] == wrong["price_eur"]


def test_a_price_per_sqm_at_first_sight_is_none(connection: Connection) -> None:
    see(connection, 2.0, price_eur=2143.0)
    assert (stored(connection)["price_eur"], points(connection)) == (None, [])
    read(connection, 3.0)
    assert points(connection) == [(3.0, 150_000.0, "first")]


def test_a_card_that_never_has_the_price_of_the_page_tells_no_change(connection: Connection) -> None:
    see(connection, 2.0, price_eur=125_000.0)  # say, without VAT
    read(connection, 3.0)
    see(connection, 4.0, price_eur=125_000.0, seller_name="Друга")
    see(connection, 5.0, price_eur=125_000.0)
    assert points(connection) == [(3.0, 150_000.0, "first")]


def test_cards_of_an_advert_that_was_not_opened_follow_each_other(connection: Connection) -> None:
    see(connection, 2.0)
    see(connection, 3.0)  # the same again is no sighting
    see(connection, 4.0, price_eur=140_000.0, seller_name="Друга")
    see(connection, 1.0, price_eur=999_000.0)  # one that comes too late says nothing
    assert (stored(connection)["price_eur"], stored(connection)["seller_name"]) == (140_000.0, "Друга")
    assert points(connection) == [(2.0, 150_000.0, "first"), (4.0, 140_000.0, "price")]
    assert len(connection.execute(select(scrape_history.c.id)).all()) == 2


def test_prices_of_a_run_are_held_back_on_cards_and_pages(connection: Connection) -> None:
    rules = HistoryRules()
    see(connection, 2.0)
    read(connection, 3.0)
    see(connection, 4.0, run=1, price_eur=140_000.0)
    read(connection, 5.0, run=1, price_eur=140_000.0)
    assert hold_prices(connection, "run1", rules, now=6.0) == 1
    assert (stored(connection)["price_eur"], len(points(connection))) == (150_000.0, 1)
    release_prices(connection, "run1", rules, now=7.0)
    assert points(connection) == [(2.0, 150_000.0, "first"), (4.0, 140_000.0, "price")]


def test_a_price_that_a_page_confirmed_outlives_the_pruning_of_that_visit(store_url: str) -> None:
    db = database(store_url)
    with db.write() as connection:
        create_job(connection, job_id="run0", site=SITE, start_urls=[], listing_limit=None, now=1.0)
        begin_sweep(connection, job_id="run0", site=SITE, searches=["all"], everything=False, now=1.0)
        see(connection, 2.0)
        read(connection, 3.0)
        see(connection, 4.0, price_eur=145_000.0)
        read(connection, 5.0, price_eur=145_000.0)
        for at in (6.0, 7.0):
            read(connection, at, price_eur=145_000.0)
        read(connection, 8.0, price_eur=140_000.0)
        before = points(connection), changes(connection)
    assert prune_visits(db, before=7.5) == 2
    with db.write() as connection:
        work_out_anew(connection, (SITE, "id1"), HistoryRules(), {}, now=9.0)
        assert (points(connection), changes(connection)) == before
    db.dispose()


def test_a_page_is_asked_for_whole_while_its_price_is_a_cards(connection: Connection) -> None:
    """A page that is not modified has the price from before the card, which would stay all the same."""
    see(connection, 2.0)
    page = Sighting(advert(**PAGE), 3.0, "run0", f"{3:064}", etag="e")
    save_listings(connection, [page])
    mark_opened(connection, SITE, {"id1": 3.0})
    assert validators(connection, SITE, ["id1"]) == {"id1": {"If-None-Match": "e"}}
    assert see(connection, 4.0, price_eur=145_000.0)
    assert validators(connection, SITE, ["id1"]) == {}
