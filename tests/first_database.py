"""The database of the first version that had one, and what must be left of it after any upgrade."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

DUMP = Path(__file__).with_name("first_database.sql")
REVISION = "0001_first"
TABLES = ("jobs", "frontier", "listings", "listing_changes", "price_points", "pages")

Rows = dict[str, dict[Any, dict[str, Any]]]


def make_first_database(file: Path) -> Rows:
    """The file as that version left it; all its rows."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(DUMP.read_text("utf-8"))
    return rows_of(file)


def rows_of(file: Path) -> Rows:
    """Every row of the first tables by its id, as SQLite has it."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        return {table: _rows(connection, table) for table in TABLES}


def _rows(connection: sqlite3.Connection, table: str) -> dict[Any, dict[str, Any]]:
    return {row["id"]: dict(row) for row in connection.execute(f"SELECT * FROM {table}")}  # noqa: S608


def losses(before: Rows, file: Path) -> list[str]:
    """What of the first rows is no longer there, or is another value; empty when all is kept."""
    after = rows_of(file)
    lost = [
        f"{table} {key} {name}: {value!r}"
        for table, rows in before.items()
        for key, row in rows.items()
        for name, value in row.items()
        if after[table].get(key, {}).get(name, "nothing") != value and (table, name) != CHANGE_JOB
    ]
    return lost + [f"job of change {key}" for key in _lost_jobs(before, file)]


CHANGE_JOB = ("listing_changes", "job_id")
"""Since 0004_history a change names the visit that saw it, and the visit its job."""


def _lost_jobs(before: Rows, file: Path) -> list[int]:
    with closing(sqlite3.connect(file)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(listing_changes)")]
        asked = "SELECT id, job_id FROM listing_changes"
        if "visit_id" in columns:
            asked = "SELECT c.id, v.job_id FROM listing_changes c JOIN scrape_history v ON v.id = c.visit_id"
        after = dict(connection.execute(asked).fetchall())
    return [key for key, row in before["listing_changes"].items() if after.get(key) != row["job_id"]]
