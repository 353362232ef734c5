"""A database as it is at one moment, as a SQLite file, while others go on writing to it.

SQLite's own online copy, within one read transaction: writers neither wait for it nor begin it anew. From a
server the rows come by `copying.py`, read in one snapshot: so a backup of either can be restored into either,
and needs no program of the server's.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sqlalchemy import Connection, text

from sale_sofia.operations.backup.format import SQLITE_PAGES_AT_ONCE, BackupDamaged, BackupRefused
from sale_sofia.operations.copying import copy_database, row_count
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError, DatabaseMissing
from sale_sofia.storage.migrate import current_revision
from sale_sofia.storage.sqlite import explain

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much it is in all."""
_COPY_PASSES = 3
"""`copy_database` reads, writes and compares every row."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a database holds."""

    revision: str
    rows: dict[str, int]


def open_file(file: Path) -> Database:
    """A SQLite file that nobody else uses."""
    return Database(f"sqlite:///{file}", busy_timeout_seconds=0, busy_retries=0)


def check_source(source: Database) -> None:
    """Whether there is anything to copy; raises DatabaseMissing."""
    if current_revision(source) is None:
        raise DatabaseMissing(f"There is nothing to back up: {source.name} has no tables yet.")


def take_snapshot(source: Database, file: Path, progress: Progress) -> Content:
    """Make the file: the source as it is at one moment, found sound; raises BackupDamaged."""
    if source.url.get_backend_name() == "sqlite":
        _copy_online(source, file, progress)
    else:
        target = open_file(file)
        try:
            copy_rows(source, target, progress)
        finally:
            target.dispose()
    return examined(file, source.name)


def size_of(source: Database) -> int:
    """About how many bytes a snapshot has."""

    def read(connection: Connection) -> int:
        if connection.dialect.name == "sqlite":
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            return int(pages * connection.exec_driver_sql("PRAGMA page_size").scalar_one())
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    return source.run_read(read)


def _copy_online(source: Database, file: Path, progress: Progress) -> None:
    def told(_status: int, left: int, total: int) -> None:
        progress("copying the database", total - left, total)

    with closing(sqlite3.connect(file)) as target, source.read() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()  # the moment begins
        reader = cast("sqlite3.Connection", connection.connection.driver_connection)
        try:
            reader.backup(target, pages=SQLITE_PAGES_AT_ONCE, progress=told)
        except sqlite3.Error as error:
            raise explain(error, file, 0) or error from error


def copy_rows(source: Database, target: Database, progress: Progress) -> None:
    """`copy_database`, told of in the way of backups."""
    total, done = _COPY_PASSES * source.run_read(row_count), 0

    def told(_table: str, more: int) -> None:
        nonlocal done
        done += more
        progress("copying the database", min(done, total), total)

    copy_database(source, target, told)


def examined(file: Path, name: str) -> Content:
    """What is in the file, after a look at all of it; raises BackupDamaged."""
    database = open_file(file)
    try:
        if faults := database.faults():
            raise BackupDamaged(f"The copy of {name} is not sound: {faults[0]}.")
        if odd := database.run_read(_programs):
            raise BackupRefused(f"{name} has {odd[0]}, which no database of ours has.")
        if (revision := current_revision(database)) is None:
            raise BackupDamaged(f"{name} has no tables of ours.")
        return Content(revision, database.run_read(_rows))
    except DatabaseError as error:
        raise BackupDamaged(f"The copy of {name} is not sound: {error}") from error
    finally:
        database.dispose()


def _programs(connection: Connection) -> list[str]:
    """Triggers and views: they would act on whoever opens the file."""
    found = connection.execute(
        text("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')")
    )
    return [f"a {kind} {name}" for kind, name in found]


def _rows(connection: Connection) -> dict[str, int]:
    named = text(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    )
    tables = list(connection.execute(named).scalars())
    quoted = {name: connection.dialect.identifier_preparer.quote(name) for name in tables}
    return {
        name: connection.exec_driver_sql(f"SELECT count(*) FROM {quoted[name]}").scalar_one()  # noqa: S608 - quoted
        for name in tables
    }
