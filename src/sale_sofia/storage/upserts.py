"""Inserts that say what to do when the row is there already; each kind of database has its own."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects.postgresql import Insert as PostgresqlInsert
from sqlalchemy.dialects.sqlite import Insert as SqliteInsert

Insert = SqliteInsert | PostgresqlInsert


def insert_into(connection: Connection, table: Table) -> Insert:
    """An insert that can be told what to do on a conflict."""
    return insert_for(connection.dialect.name, table)


def insert_for(dialect: str, table: Table) -> Insert:
    """The same by the name of the kind of database, for statements that are put together once."""
    return SqliteInsert(table) if dialect == "sqlite" else PostgresqlInsert(table)


def replace_in(connection: Connection, table: Table) -> Insert:
    """An insert that takes the place of the row with the same primary key."""
    new = insert_into(connection, table)
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
