"""Rows for every table there is, with all that a value can be; the rows point to rows that are there."""

import random
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Connection, Float, Integer, LargeBinary, Table, insert

from sale_sofia.operations.copying import all_tables
from sale_sofia.storage.tables import Digest

TEXTS = ("", "вила", "a'b\"c\\", "две\nреда", "🏠", "null", "1.0", " ")
NUMBERS = (0.0, 0.1, -1.5, 1e308, 5e-324, 1 / 3, 1731672000.123456, 2.0**53 + 2)
DOCUMENTS: tuple[Any, ...] = (
    JSON.NULL, [], {}, "", 0, 0.1, 1.0, True, False, ["б", None, {"a": [1, 2.5]}], {"z": 1, "a": None},
)  # fmt: skip
ROWS = 30
FIXED = {("jobs", "state"): "COMPLETE"}
"""What the program reads back as more than a text."""


def fill(connection: Connection, rng: random.Random, rows: int = ROWS) -> None:
    """`rows` rows in every table."""
    keys: dict[str, list[dict[str, Any]]] = {}
    for table in all_tables():
        keys[table.name] = [_row(table, number, rng, keys) for number in range(1, rows + 1)]
        connection.execute(insert(table), keys[table.name])


def _row(
    table: Table, number: int, rng: random.Random, keys: dict[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    row = {
        column.name: FIXED.get((table.name, column.name)) or _value(column, number, rng)
        for column in table.columns
    }
    for constraint in table.foreign_key_constraints:
        parents = keys.get(constraint.referred_table.name)
        for element in constraint.elements:
            # Counted, not drawn: a key made of others must not come twice.
            row[element.parent.name] = (
                parents[(number - 1) % len(parents)][element.column.name] if parents else None
            )
    return row


def _value(column: Column[Any], number: int, rng: random.Random) -> Any:  # noqa: ANN401, PLR0911 - any column
    if column.nullable and rng.random() < 0.3:
        return None
    match column.type:
        case JSON():
            return rng.choice(DOCUMENTS)
        case Boolean():
            return rng.random() < 0.5
        case Integer():
            return number * 3 if column.primary_key else rng.randrange(-(2**31), 2**31)
        case Float():
            return rng.choice(NUMBERS)
        case LargeBinary():
            return rng.randbytes(8)
        case Digest():
            return rng.randbytes(8).hex()  # too short for the name of an archived page
        case _:
            return _text(column, number, rng)


def _text(column: Column[Any], number: int, rng: random.Random) -> str:
    """Different in every row, and short enough for its column."""
    length = getattr(column.type, "length", None) or 1000
    return f"{number:06d}{rng.choice(TEXTS)}"[:length]
