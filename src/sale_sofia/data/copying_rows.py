"""Rows of any table as they go from one database into another: every value the same on both sides."""

import hashlib
import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import JSON, Column, Connection, MetaData, Table, insert, select

from sale_sofia.config.copying import COPY_ROWS_AT_ONCE
from sale_sofia.data.all_tables import metadata

Row = dict[str, Any]
_MODULUS: Final = 1 << 256
_canonical = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str).encode


class Content(NamedTuple):
    """How many rows a table has, and a digest of all of them, in whatever order they come."""

    rows: int
    digest: str


@cache
def all_tables() -> list[Table]:
    """Every table there is, each after those that its rows point to.

    In them `None` is no value at all, and JSON's own null is `JSON.NULL`: both are copied as they are.
    """
    twins = MetaData()
    for table in metadata.sorted_tables:
        for column in _json_columns(table.to_metadata(twins)):
            column.type = JSON(none_as_null=True)
    return twins.sorted_tables


def _json_columns(table: Table) -> list[Column[Any]]:
    return [column for column in table.columns if isinstance(column.type, JSON)]


def batches(connection: Connection, table: Table, skipped: int = 0) -> Generator[list[Row], None, None]:
    """All rows but the first `skipped`; their order is the same whenever the rows are the same."""
    nulls = [column.is_(None).label(_flag(column)) for column in _json_columns(table)]
    ordered = select(table, *nulls).order_by(*table.primary_key).offset(skipped)
    with connection.execute(ordered.execution_options(yield_per=COPY_ROWS_AT_ONCE)) as found:
        for batch in found.mappings().partitions():
            yield [_row(table, row) for row in batch]


def _flag(column: Column[Any]) -> str:
    return f"{column.name} is null"


def _row(table: Table, found: Mapping[Any, Any]) -> Row:
    row = {column.name: found[column.name] for column in table.columns}
    for column in _json_columns(table):
        if row[column.name] is None and not found[_flag(column)]:
            row[column.name] = JSON.NULL
    return row


def write(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Add rows as they are, with their ids."""
    connection.execute(insert(table), list(rows))


def content(read: Iterable[Sequence[Row]]) -> Content:
    """What batches of rows hold together."""
    count = total = 0
    for batch in read:
        count += len(batch)
        total = (total + sum(map(_number, batch))) % _MODULUS
    return Content(count, f"{total:064x}")


def _number(row: Row) -> int:
    # Added up, not chained: a server may sort texts in another way than a file does.
    return int.from_bytes(
        hashlib.sha256(_canonical([_plain(value) for value in row.values()]).encode()).digest()
    )


def _plain(value: object) -> object:
    """The value itself: a number 92.0 of JSON comes out of SQLite as 92, as its JSON columns are numeric."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return {"json": None} if value is JSON.NULL else value
