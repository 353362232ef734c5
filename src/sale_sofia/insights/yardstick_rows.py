"""Yardsticks as they are stored between two runs."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from sale_sofia.data.scores import read_yardsticks
from sale_sofia.insights.yardsticks import Cell, Prices, Rents, Yardstick


def kept_yardsticks(connection: Connection) -> dict[Cell, Yardstick]:
    """What every neighbourhood was measured by last."""
    return {(row["neighbourhood"], row["rooms"]): _yardstick(row) for row in read_yardsticks(connection)}


def yardstick_rows(made: Mapping[Cell, Yardstick]) -> list[dict[str, Any]]:
    """These yardsticks, to be stored."""
    return [_row(cell, made[cell]) for cell in sorted(made)]


def _yardstick(row: Mapping[Any, Any]) -> Yardstick:
    prices = Prices(tuple(row["marks"]), row["flats"], row["scope"]) if row["scope"] else None
    rents = None if row["rent_eur_sqm"] is None else Rents(row["rent_eur_sqm"], row["rents"])
    return Yardstick(prices, rents)


def _row(cell: Cell, made: Yardstick) -> dict[str, Any]:
    return {
        "neighbourhood": cell[0],
        "rooms": cell[1],
        "marks": list(made.prices.marks) if made.prices else [],
        "scope": made.prices.scope if made.prices else None,
        "flats": made.prices.flats if made.prices else 0,
        "rent_eur_sqm": made.rents.eur_sqm if made.rents else None,
        "rents": made.rents.flats if made.rents else 0,
    }
