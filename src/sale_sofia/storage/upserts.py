"""Upserts, which differ between SQLite and PostgreSQL."""

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
    """An insert that supports ON CONFLICT."""
    return insert_for(connection.dialect.name, table)


def insert_for(dialect: str, table: Table) -> Insert:
    """The same by dialect name, for statements that are built once."""
    if dialect == "sqlite":
        return SqliteInsert(table)
    from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert  # noqa: PLC0415 - not with a file

    return PostgresqlInsert(table)


def insert_numbered(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Insert rows into a table that numbers them; returns their ids, in the order of the rows.

    SQLite numbers the rows of one writer consecutively, so only the last id is read; returning each would
    need one statement per row. The table must have no triggers and skip no row silently.
    """
    if not rows:
        return []
    if connection.dialect.name == "sqlite":
        _inserting(table).run(connection, rows)
        [(last,)] = _LAST_NUMBER.rows(connection)
        return list(range(last - len(rows) + 1, last + 1))
    return list(connection.execute(_inserting_returning(table), rows).scalars())


@cache
def _inserting(table: Table) -> Quick:
    return Quick(insert(table))


@cache
def _inserting_returning(table: Table) -> ReturningInsert[int]:
    return insert(table).returning(table.c.id, sort_by_parameter_order=True)


def replace_in(connection: Connection, table: Table) -> Insert:
    """An upsert that replaces the row with the same primary key."""
    return replacing(connection.dialect.name, table)


@cache
def replacing(dialect: str, table: Table) -> Insert:
    """As `replace_in`; cached, since building it takes longer than running it."""
    new = insert_for(dialect, table)
    keys = [column.name for column in table.primary_key]
    others = {column.name: new.excluded[column.name] for column in table.c if column.name not in keys}
    return new.on_conflict_do_update(index_elements=keys, set_=others)


def replace_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Upsert rows of all columns, in column order, by primary key.

    Bypasses SQLAlchemy's processing of values: for very many rows whose values the driver takes as they are.
    """
    if not rows:
        return
    statement = replace_in(connection, table).compile(dialect=connection.dialect)
    if statement.positional:
        connection.exec_driver_sql(str(statement), list(rows))
    else:
        names = table.c.keys()
        connection.exec_driver_sql(str(statement), [dict(zip(names, row, strict=True)) for row in rows])
