"""What can be found wrong with the tables of a server from outside: all of them are read."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.data.errors import CheckStopped, Stop

_UNFINISHED: Final = text(
    "SELECT format('index %s is not valid', indexrelid::regclass) FROM pg_index WHERE NOT indisvalid "
    "UNION ALL SELECT format('constraint %s of %s was never checked', conname, conrelid::regclass) "
    "FROM pg_constraint WHERE NOT convalidated AND contype <> 'n'"
)
_TABLES: Final = text(
    "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' "
    "AND relnamespace = current_schema()::regnamespace ORDER BY 1"
)
_INDEXES: Final = text(
    "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
    "WHERE relnamespace = current_schema()::regnamespace AND indisvalid "
    "AND EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck') ORDER BY 1"
)
_CHECK_INDEX: Final = text("SELECT bt_index_check(CAST(:name AS regclass))")
_DAMAGED: Final = frozenset({"XX000", "XX001", "XX002", "58030", "58P01"})
"""What PostgreSQL answers when it meets what it did not write; files that cannot be read are among it."""


def faults(connection: Connection, stop: Stop) -> list[str]:
    """Indexes that were not finished, constraints that were never checked, and tables that cannot be read.

    Every value of every row is read; the order of indexes is checked where the extension `amcheck` is there.

    Raises:
        CheckStopped: it was to stop before it had seen all.
    """
    found = list(connection.execute(_UNFINISHED).scalars())
    for name, look in _looks(connection):
        if stop():
            raise CheckStopped(found)
        found += _tried(connection, name, look)
    return found


def _looks(connection: Connection) -> Iterator[tuple[str, TextClause]]:
    for name in connection.execute(_TABLES).scalars().all():  # quoted by the server where it must be
        yield name, text(f"SELECT sum(length(CAST(one AS text))) FROM {name} AS one")  # noqa: S608
    for name in connection.execute(_INDEXES).scalars().all():
        yield name, _CHECK_INDEX.bindparams(name=name)


def _tried(connection: Connection, name: str, look: TextClause) -> list[str]:
    try:
        with connection.begin_nested():
            connection.execute(look)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in _DAMAGED:
            raise
        reason = str(error.orig).strip().partition("\n")[0]
        return [f"damaged: {name}: {reason}"]
    return []
