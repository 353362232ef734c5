"""The step to histories made of visits: what an older program stored is kept, and goes on."""

from collections.abc import Iterator
from typing import Any

import pytest
from alembic import command
from sqlalchemy import Connection, text

from contract.data.helpers import advert, database, rows
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.tables import listing_changes, listings, price_points, scrape_history
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import check, upgrade
from sale_sofia.storage.migrations import runner

JOB = {
    "id": "job", "site": "imot.bg", "state": "COMPLETE", "start_urls": "[]", "created_at": 1.0, "requests": 0,
    "new_listings": 0, "changed_listings": 0, "seconds": 0.0,
}  # fmt: skip
LISTS = dict.fromkeys(
    ("heating", "orientation", "parking", "phones", "photo_urls", "features", "flags"), "[]"
)
LISTING = {
    "id": 7, "site": "imot.bg", "external_id": "id1", "url": "https://imot.bg/1", "title": "нов",
    "price_eur": 90.0, "content_hash": "old form", "first_seen_at": 1.0, "last_seen_at": 9.0, **LISTS,
}  # fmt: skip
CHANGES = [
    {
        "id": 3,
        "listing_id": 7,
        "job_id": "job",
        "field": "title",
        "old": '"стар"',
        "new": '"нов"',
        "seen_at": 5.0,
    },
    {
        "id": 4,
        "listing_id": 7,
        "job_id": "job",
        "field": "price_eur",
        "old": "100.0",
        "new": "90.0",
        "seen_at": 5.0,
    },
]
POINTS = [
    {"id": 1, "listing_id": 7, "price_eur": 100.0, "vat": None, "seen_at": 1.0},
    {"id": 2, "listing_id": 7, "price_eur": 90.0, "vat": None, "seen_at": 5.0},
]


@pytest.fixture
def db(empty_store_url: str) -> Iterator[Database]:
    """A database as the program before this step left it."""
    made = _upgraded(empty_store_url, LISTING, CHANGES)
    yield made
    made.dispose()


def _upgraded(url: str, listing: dict[str, Any], changes: list[dict[str, Any]]) -> Database:
    made = database(url)
    made.prepare()
    with made.write() as connection:
        _steps_before(connection)
        for table, stored in (
            ("jobs", [JOB]),
            ("listings", [listing]),
            ("listing_changes", changes),
            ("price_points", POINTS),
        ):
            _insert(connection, table, stored)
    upgrade(made)
    return made


def _steps_before(connection: Connection) -> None:
    config = runner._config()  # noqa: SLF001 - up to a step of our choice, which no other caller may
    config.attributes["connection"] = connection
    command.upgrade(config, "0003_monitoring")


def _insert(connection: Connection, table: str, stored: list[dict[str, Any]]) -> None:
    names = ", ".join(stored[0])
    marks = ", ".join(f":{name}" for name in stored[0])
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), stored)  # noqa: S608 - our own


def test_the_history_is_kept_and_its_moments_are_visits(db: Database) -> None:
    assert check(db) == []
    with db.read() as connection:
        assert rows(
            connection, listings, "id", "title", "generation", "visited_at", "revisit_at", "closed_at"
        ) == [(7, "нов", 1, 9.0, 0.0, None)]
        visits = rows(connection, scrape_history, "id", "url_key", "fetched_at", "job_id", "result")
        assert [visit[1:] for visit in visits] == [
            ("listing:id1", 1.0, None, "new"),
            ("listing:id1", 5.0, "job", "changed"),
            ("listing:id1", 9.0, None, "changed"),
        ]
        second = visits[1][0]
        assert rows(connection, listing_changes, "id", "visit_id", "field", "old", "new") == [
            (3, second, "title", "стар", "нов"),
            (4, second, "price_eur", 100.0, 90.0),
        ]
        assert rows(connection, price_points, "id", "visit_id", "price_eur", "kind") == [
            (1, visits[0][0], 100.0, "first"),
            (2, second, 90.0, "price"),
        ]


def test_a_late_sighting_finds_its_place_among_what_was_kept(db: Database) -> None:
    late = Sighting(advert(title="среден", price_eur=100.0), 3.0)
    with db.write() as connection:
        assert save_listings(connection, [late]) == ["changed"]
    with db.read() as connection:
        assert sorted(rows(connection, listing_changes, "seen_at", "field", "old", "new")) == [
            (3.0, "title", "стар", "среден"),
            (5.0, "price_eur", 100.0, 90.0),
            (5.0, "title", "среден", "нов"),
        ]


def test_new_rows_get_new_numbers(db: Database) -> None:
    with db.write() as connection:
        save_listings(connection, [Sighting(advert(title="друг", price_eur=80.0), 11.0)])
    with db.read() as connection:
        assert [row[0] for row in rows(connection, listing_changes, "id")] == [3, 4, 5, 6]
        assert [row[0] for row in rows(connection, price_points, "id")] == [1, 2, 3]


@pytest.mark.slow
def test_earlier_prices_that_were_in_print_become_price_points(empty_store_url: str) -> None:
    """As if the program had known them all along: a page that comes late changes nothing of them."""
    moved = [(2, "130.0", "null"), (4, "null", "110.0"), (6, "110.0", "150.0"), (8, "150.0", "110.0")]
    changes = [
        CHANGES[0] | {"id": at, "field": "previous_price_eur", "old": old, "new": new, "seen_at": float(at)}
        for at, old, new in moved
    ]
    db = _upgraded(empty_store_url, LISTING | {"previous_price_eur": 110.0}, changes)

    def printed() -> list[tuple[Any, ...]]:
        with db.read() as connection:
            visits = dict(rows(connection, scrape_history, "id", "fetched_at"))
            found = rows(connection, price_points, "kind", "price_eur", "seen_at", "visit_id")
        return [(kind, eur, at, visits[visit]) for kind, eur, at, visit in found if kind == "printed_before"]

    assert check(db) == []
    points = [("printed_before", eur, at, at) for eur, at in ((130.0, 1.0), (110.0, 4.0), (150.0, 6.0))]
    assert printed() == points
    with db.write() as connection:
        late = Sighting(advert(title="среден", price_eur=90.0, previous_price_eur=150.0), 7.0)
        save_listings(connection, [late])
    assert printed() == points
    db.dispose()
