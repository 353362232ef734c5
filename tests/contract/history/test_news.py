"""Adverts of a run that did not read them are not new; they are, once, when they are read right."""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from contract.storage.helpers import advert, database, ready_database
from flat_checks import Around, judge
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.tables import listing_sources, properties
from sale_sofia.history.cards import Scope, SeenCard, mark_opened, see_cards
from sale_sofia.history.changes import happenings
from sale_sofia.history.jobs import create_job
from sale_sofia.history.listings import Sighting, save_listings, validators
from sale_sofia.history.news import (
    count_held,
    held_properties,
    hold_news,
    release_adverts,
    release_all,
    release_read,
)
from sale_sofia.history.sweeps import begin_sweep, scope_of
from sale_sofia.history.tables import listings
from sale_sofia.storage.database import Database

SITE = "imot.bg"


@pytest.fixture
def connection(store_url: str) -> Iterator[Connection]:
    db: Database = database(store_url)
    with db.write() as opened:
        for number in range(4):
            create_job(opened, job_id=f"run{number}", site=SITE, start_urls=[], listing_limit=None, now=1.0)
        yield opened
    db.dispose()


def see(
    connection: Connection, run: int, *numbers: int, price: float | None = None, held: bool = False
) -> None:
    """A run reads these adverts at ten times its number."""
    save_listings(
        connection,
        [
            Sighting(
                advert(number, price_eur=price, deal="sale"),
                run * 10.0,
                f"run{run}",
                None,
                etag="e",
                held_news=held,
            )
            for number in numbers
        ],
    )


def told(connection: Connection, since: float) -> list[tuple[str, str, float]]:
    """What the command `changes` shows."""
    return [(one.kind, one.about["external_id"], one.noted_at) for one in happenings(connection, since)]


def new_flats(connection: Connection, since: float) -> list[int]:
    """What the dashboard and a search show as new."""
    flats = {flat.property_id: flat for flat in read_flats(connection)}
    news = [
        number
        for number, flat in flats.items()
        if flat.new_at is not None and flat.new_at >= since and flat.offered
    ]
    query = SearchQuery(new_since=datetime.fromtimestamp(since, UTC), deal="sale", city=None)
    assert all(judge(flats[number], query, Around(100.0)) for number in news)
    return sorted(news)


def test_what_a_run_saw_first_is_held_back_and_nothing_else(connection: Connection) -> None:
    see(connection, 0, 1)
    see(connection, 1, 1, 2, 3)
    hold_news(connection, SITE, "run1", now=12.0)
    assert told(connection, 0.0) == [("new", "id1", 0.0)]
    assert len(new_flats(connection, 0.0)) == 1
    assert (count_held(connection, "run0"), count_held(connection, "run1")) == (0, 2)


def test_what_a_later_run_reads_right_is_new_then_and_once(connection: Connection) -> None:
    see(connection, 1, 1, 2, held=True)
    assert told(connection, 0.0) == []
    hold_news(connection, SITE, "run1", now=12.0)
    see(connection, 2, 1, price=150_000)
    assert release_read(connection, SITE, "run2", now=25.0) == 1
    assert told(connection, 0.0) == [("new", "id1", 25.0)]  # that it has a price now is no news besides
    assert told(connection, 20.0) == told(connection, 0.0)
    assert told(connection, 25.5) == []
    assert len(new_flats(connection, 21.0)) == 1
    assert release_read(connection, SITE, "run2", now=35.0) == 0
    see(connection, 3, 1, price=149_000)
    assert told(connection, 25.5) == [("price", "id1", 30.0)]
    assert count_held(connection, "run1") == 1


def test_a_page_that_is_not_modified_was_not_read_again(connection: Connection) -> None:
    see(connection, 1, 1)
    assert validators(connection, SITE, ["id1"]) == {"id1": {"If-None-Match": "e"}}
    hold_news(connection, SITE, "run1", now=12.0)
    assert validators(connection, SITE, ["id1"]) == {}


def test_a_reparse_and_a_person_let_go_of_adverts(connection: Connection) -> None:
    see(connection, 1, 1, 2, 3)
    hold_news(connection, SITE, "run1", now=12.0)
    assert release_adverts(connection, SITE, {"id2", "id9"}, now=30.0) == 1
    assert release_adverts(connection, "bazar.bg", {"id1"}, now=30.0) == 0
    assert told(connection, 0.0) == [("new", "id2", 30.0)]
    assert release_all(connection, SITE, now=40.0) == 2
    assert told(connection, 35.0) == [("new", "id1", 40.0), ("new", "id3", 40.0)]


def test_what_is_held_back_is_opened_again_though_its_card_is_the_same(connection: Connection) -> None:
    begin_sweep(connection, job_id="run2", site=SITE, searches=["s"], everything=False, now=15.0)
    scope = scope_of(connection, "run2")
    assert scope is not None
    shown = [SeenCard("id1", "hash"), SeenCard("id2", "hash")]
    assert see_cards(connection, scope, shown, at=9.0) == {"id1", "id2"}
    see(connection, 1, 1, 2)
    mark_opened(connection, SITE, {"id1": 10.0, "id2": 10.0})
    assert opened(connection, scope, shown) == set()
    hold_news(connection, SITE, "run1", now=12.0)
    release_adverts(connection, SITE, {"id2"}, now=15.0)
    see(connection, 2, 2)
    assert opened(connection, scope, shown) == {"id1"}


def opened(connection: Connection, scope: Scope, shown: Sequence[SeenCard]) -> set[str]:
    return see_cards(connection, scope, shown, at=21.0)


def test_a_flat_is_held_back_when_all_its_adverts_are(connection: Connection) -> None:
    see(connection, 0, 1)
    see(connection, 1, 2, 3)
    hold_news(connection, SITE, "run1", now=12.0)
    first, second, third = connection.scalars(select(listings.c.id).order_by(listings.c.id)).all()
    connection.execute(insert(properties), [{"id": one, "made_at": 1.0} for one in (first, third)])
    members = [(first, first), (second, first), (third, third)]
    connection.execute(
        insert(listing_sources),
        [
            {
                "listing_id": one,
                "property_id": whose,
                "probability": 1.0,
                "decided_by": "rule",
                "evidence": {},
                "decided_at": 1.0,
            }
            for one, whose in members
        ],
    )
    assert held_properties(connection) == {third}
    assert {flat.property_id: flat.new_at for flat in read_flats(connection)} == {first: 0.0, third: None}


def test_more_adverts_are_released_than_a_statement_has_room_for(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db")
    with db.write() as connection:
        create_job(connection, job_id="run1", site=SITE, start_urls=[], listing_limit=None, now=1.0)
        see(connection, 1, *range(20), held=True)
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 10)
        assert release_all(connection, SITE, now=9.0) == 20
        assert count_held(connection, "run1") == 0
    db.dispose()
