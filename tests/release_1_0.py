"""A database of release 1.0.0 with rows in every table, and what must be left of it after any upgrade."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

DUMP = Path(__file__).with_name("release_1_0.sql")
REVISION = "0013_pruned"

DERIVED = frozenset({"alembic_version", "alert_seen"})
"""Tables without a word of their own: what they held is worked out again, or not needed any more."""
TOLD_BY_CODES = frozenset(
    {
        ("sweeps", "reason"),
        ("frontier", "reason"),
        ("incidents", "message"),
        ("alert_messages", "last_error"),
    }
)
"""Sentences that became codes; that each says the same, `test_migrate.py` shows."""
SHORTENED = frozenset(
    {
        ("listings", "content_hash"),
        ("match_fingerprints", "content_hash"),
        ("description_reads", "content_hash"),
        ("scrape_history", "content_hash"),
        ("scrape_history", "page_digest"),
    }
)
SHORT_DIGITS = 32
STANDS_ELSEWHERE = frozenset({("listings", "page_digest")})
"""With the visit."""

Rows = dict[str, dict[Any, dict[str, Any]]]


def make_release_database(file: Path) -> Rows:
    """The file as release 1.0.0 left it; all its rows."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(DUMP.read_text("utf-8"))
    return rows_of(file)


def rows_of(file: Path) -> Rows:
    """Every row of every table by its key, as SQLite has it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: _rows(connection, name) for (name,) in tables}


def _rows(connection: sqlite3.Connection, table: str) -> dict[Any, dict[str, Any]]:
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    key = [column["name"] for column in columns if column["pk"]]
    found = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - names of our own
    return {tuple(row[name] for name in key): dict(row) for row in found}


def losses(before: Rows, file: Path) -> list[str]:
    """What of the rows is no longer there, or is another value; empty when all is kept."""
    after = rows_of(file)
    return [
        f"{table} {key} {name}: {value!r}"
        for table, rows in before.items()
        if table not in DERIVED
        for key, row in rows.items()
        for name, value in row.items()
        if (table, name) not in TOLD_BY_CODES | STANDS_ELSEWHERE
        and not _is_kept(table, name, row, after[table].get(key, {}).get(name, "nothing"))
    ]


def _is_kept(table: str, name: str, row: Mapping[str, Any], now: object) -> bool:
    """Whether a value is there: digests became bytes, then shorter, and visits name their advert once."""
    before, after = _as_text(row[name]), _as_text(now)
    if (table, name) in SHORTENED and before is not None:
        return after in {before, str(before)[:SHORT_DIGITS]}
    if (table, name) == ("scrape_history", "url_key") and row["listing_id"] is not None:
        return after in {None, before}
    return after == before


def _as_text(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
