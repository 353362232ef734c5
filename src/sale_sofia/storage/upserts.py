"""Inserts that say what to do when the row is there already; each kind of database has its own."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlalchemy import Connection, Table, func, insert, select
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert
from sqlalchemy.sql.dml import ReturningInsert

from sale_sofia.storage.quick import Quick

if TYPE_CHECKING:
    from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert

Insert: TypeAlias = "SqliteInsert | PostgresqlInsert"
_LAST_NUMBER: Final = Quick(select(func.last_insert_rowid()))


def insert_into(connection: Connection, table: Table) -> Insert:
    """An insert that can be told what to do on a conflict."""
    return insert_for(connection.dialect.name, table)


def insert_for(dialect: str, table: Table) -> Insert:
    """The same by the name of the kind of database, for statements that are put together once."""
    if dialect == "sqlite":
        return SqliteInsert(table)
    from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert  # noqa: PLC0415 - not with a file

    return PostgresqlInsert(table)


def insert_numbered(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert rows into a table that numbers them; their numbers, in the order of the rows.

    SQLite numbers the rows of one writer one after the other: it is asked for the last number alone, where
    asking for each would make a statement of every row. The table has no trigger and refuses no row silently.
    """
    if not rows:
        return []
    if connection.dialect.name == "sqlite":
        _inserting(table).run(connection, rows)
        [(last,)] = _LAST_NUMBER.rows(connection)
        return list(range(last - len(rows) + 1, last + 1))
    return list(connection.execute(_inserting_told(table), rows).scalars())


@cache
def _inserting(table: Table) -> Quick:
    return Quick(insert(table))


@cache
def _inserting_told(table: Table) -> ReturningInsert[int]:
    return insert(table).returning(table.c.id, sort_by_parameter_order=True)


def replace_in(connection: Connection, table: Table) -> Insert:
    """An insert that takes the place of the row with the same primary key."""
    return replacing(connection.dialect.name, table)


@cache
def replacing(dialect: str, table: Table) -> Insert:
    """Put together once: that took longer than the database does to run it."""
    new = insert_for(dialect, table)
    keys = [column.name for column in table.primary_key]
    others = {column.name: new.excluded[column.name] for column in table.c if column.name not in keys}
    return new.on_conflict_do_update(index_elements=keys, set_=others)


def replace_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Store rows of all columns in their order, in place of those with the same primary key.

    Past everything that looks at each value: it is for very many, which are what the database needs.
    """
    if not rows:
        return
    made = replace_in(connection, table).compile(dialect=connection.dialect)
    if made.positional:
        connection.exec_driver_sql(str(made), list(rows))
    else:
        names = table.c.keys()
        connection.exec_driver_sql(str(made), [dict(zip(names, row, strict=True)) for row in rows])
