"""Statements that go to SQLite's driver as they are mean what they mean to everybody else."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Text, bindparam, cast, event, insert, select, update
from sqlalchemy.exc import IntegrityError

from contract.storage.helpers import ready_database
from sale_sofia.history.tables import scrape_history as visits
from sale_sofia.storage.database import Database
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_for

SITE = "imot.bg"
VALUES: list[dict[str, Any]] = [
    {"odd": None, "unseen": [], "held": False, "seconds": None, "page_digest": None},
    {
        "odd": {"price_eur": 1.5, "цена": None},
        "unseen": ["floor"],
        "held": True,
        "seconds": 2.0,
        "page_digest": "0a" * 32,
    },
]
ROWS = [
    {"site": SITE, "url_key": f"listing:{number}", "fetched_at": 1.0, "verdict": "ok", **values}
    for number, values in enumerate(VALUES)
]
ADD = Quick(insert(visits))
OF_SITE = select(visits).where(visits.c.site == bindparam("of_site")).order_by(visits.c.url_key)
NAMED = Quick(
    select(visits.c.url_key)
    .where(visits.c.url_key.in_(bindparam("keys", expanding=True)), visits.c.verdict.in_(["ok", "card"]))
    .order_by(visits.c.url_key)
)


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = ready_database(store_url)
    yield made
    made.dispose()


def test_what_is_stored_and_found_is_what_execute_stores_and_finds(db: Database) -> None:
    with db.write() as connection:
        assert ADD.run(connection, ROWS) == len(ROWS)
        connection.execute(insert(visits), [row | {"site": "alo.bg"} for row in ROWS])
        found = Quick(OF_SITE).mappings(connection, {"of_site": SITE})
        assert found == connection.execute(OF_SITE, {"of_site": SITE}).mappings().all()
        alike = Quick(OF_SITE).mappings(connection, {"of_site": "alo.bg"})
    assert [{name: row[name] for name in VALUES[0]} for row in found] == VALUES
    assert [row["held"] for row in found] == [False, True]
    assert {type(row["held"]) for row in found} == {bool}
    assert [{**row, "id": 0} for row in found] == [{**row, "id": 0, "site": SITE} for row in alike]


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (["Лозенец", 1.5, None], '["Лозенец",1.5,null]'),
        (["half \ud800"], '["half \\ud800"]'),  # no database keeps it but in ASCII
    ],
)
def test_json_is_kept_in_letters(db: Database, value: list[Any], kept: str) -> None:
    with db.write() as connection:
        ADD.run(connection, [ROWS[0] | {"unseen": value}])
        assert connection.execute(select(cast(visits.c.unseen, Text))).scalar_one() == kept
        assert [row["unseen"] for row in Quick(OF_SITE).mappings(connection, {"of_site": SITE})] == [value]


@pytest.mark.parametrize("keys", [[], ["listing:1"], ["listing:0", "listing:1", "listing:2"]])
def test_lists_may_have_any_length(db: Database, keys: list[str]) -> None:
    with db.write() as connection:
        ADD.run(connection, ROWS)
        found = [key for (key,) in NAMED.rows(connection, {"keys": keys})]
    assert found == [key for key in keys if key != "listing:2"]


def test_an_update_tells_how_many_rows_it_wrote(db: Database) -> None:
    own = update(visits).where(visits.c.url_key == bindparam("of_key"), visits.c.verdict == "ok")
    moved = Quick(own.values(odd=bindparam("new_odd", type_=visits.c.odd.type), verdict="seen"))
    with db.write() as connection:
        ADD.run(connection, ROWS)
        changes = [{"of_key": f"listing:{number}", "new_odd": {"rooms": number}} for number in (1, 2)]
        assert moved.run(connection, changes) == 1
        assert moved.run(connection, changes) == 0
        assert moved.run(connection, []) == 0
        odd = connection.execute(OF_SITE, {"of_site": SITE}).mappings().all()
    assert [(row["odd"], row["verdict"]) for row in odd] == [(None, "ok"), ({"rooms": 1}, "seen")]


def test_what_is_returned_is_read_too(db: Database) -> None:
    with db.write() as connection:
        new = insert_for(connection.dialect.name, visits).returning(visits.c.odd, visits.c.held)
        assert list(Quick(new).rows(connection, ROWS[1])) == [(ROWS[1]["odd"], True)]


def test_a_refused_row_is_refused_as_always_and_nothing_is_kept(db: Database) -> None:
    def twice(connection: Connection) -> None:
        ADD.run(connection, ROWS)
        ADD.run(connection, [{**ROWS[0], "verdict": None}])

    with pytest.raises(IntegrityError):
        db.run_write(twice)
    with db.read() as connection:  # nothing is begun yet: its view begins with this
        assert list(Quick(OF_SITE).rows(connection, {"of_site": SITE})) == []
        assert connection.in_transaction()


def test_who_listens_hears_of_each_statement(db: Database) -> None:
    """The tests that kill a crawl at each of its statements do so by this."""
    heard: list[str] = []

    def hear(_connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if visits.name in statement:  # a server's commit has statements of its own
            heard.append(statement.split(maxsplit=1)[0])

    event.listen(Engine, "before_cursor_execute", hear)
    try:
        with db.write() as connection:
            ADD.run(connection, ROWS)
            NAMED.rows(connection, {"keys": ["listing:0"]})
    finally:
        event.remove(Engine, "before_cursor_execute", hear)
    assert heard == ["INSERT", "SELECT"]
