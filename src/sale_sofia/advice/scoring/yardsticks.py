"""What a price and a rent are measured by: the asking prices of the neighbourhood, each flat once."""

import statistics
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row

from sale_sofia.advice.scoring.settings import COMPARED_TYPES, PRICE_MARKS, ROOM_GROUPS, YARDSTICK_TOLERANCE
from sale_sofia.advice.settings import DISTORTED
from sale_sofia.listings.places import SOFIA
from sale_sofia.settings.model import Settings

Cell = tuple[str, int]
"""A neighbourhood and a number of rooms (0: it is not known)."""


class Comparable(NamedTuple):
    """One flat among those that others are compared with."""

    deal: str
    neighbourhood: str
    rooms: int
    eur_sqm: float


@dataclass(frozen=True, slots=True)
class Prices:
    """How EUR per m² are spread: as many flats between each two marks."""

    marks: tuple[float, ...]
    flats: int
    scope: Literal["rooms", "neighbourhood"]
    """Flats with the same number of rooms, or, where they are too few, all of the neighbourhood."""

    def place(self, eur_sqm: float) -> float:
        """The share of flats that are cheaper, from 0 to 1."""
        below, upto = bisect_left(self.marks, eur_sqm), bisect_right(self.marks, eur_sqm)
        last = len(self.marks) - 1
        if below != upto:  # on a mark, or on several that are one sum
            return (below + upto - 1) / 2 / last
        if below in {0, len(self.marks)}:
            return 1.0 if below else 0.0
        low, high = self.marks[below - 1], self.marks[below]
        return (below - 1 + (eur_sqm - low) / (high - low)) / last


@dataclass(frozen=True, slots=True)
class Rents:
    """The median of what flats with the same number of rooms are let for."""

    eur_sqm: float
    flats: int


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What flats of a cell are measured by; None where too few flats are offered, or let."""

    prices: Prices | None = None
    rents: Rents | None = None

    def digest(self) -> str:
        """Changes whenever a score may change; the number of flats alone changes nothing."""
        prices, rents = self.prices, self.rents
        measures = (prices and (prices.marks, prices.scope), rents and rents.eur_sqm)
        return blake2b(repr(measures).encode(), digest_size=8).hexdigest()


class Yardsticks:
    """The yardsticks of all cells, made on first use.

    A stored one stays as long as no mark of the new one is far from it, so that a neighbourhood's flats are
    scored again when its prices have really moved, and not with each new advert.
    """

    def __init__(
        self, comparables: Iterable[Comparable], settings: Settings, stored: Mapping[Cell, Yardstick]
    ) -> None:
        self._settings = settings
        self._stored = stored
        self._sales, self._rents = defaultdict[Cell, list[float]](list), defaultdict[Cell, list[float]](list)
        for flat in comparables:
            by_cell = self._sales if flat.deal == "sale" else self._rents
            by_cell[flat.neighbourhood, flat.rooms].append(flat.eur_sqm)
        self.made: dict[Cell, Yardstick] = {}
        self._digests: dict[Cell, str] = {}

    def of(self, cell: Cell) -> Yardstick:
        """What flats of this cell are measured by."""
        if cell not in self.made:
            stored = self._stored.get(cell, Yardstick())
            prices, rents = self._find_prices(cell), self._find_rents(cell)
            old = stored.prices
            if prices and old and prices.scope == old.scope and _are_near(prices.marks, old.marks):
                prices = replace(prices, marks=old.marks)
            if rents and stored.rents and _are_near((rents.eur_sqm,), (stored.rents.eur_sqm,)):
                rents = replace(rents, eur_sqm=stored.rents.eur_sqm)
            self.made[cell] = Yardstick(prices, rents)
        return self.made[cell]

    def digest(self, cell: Cell) -> str:
        """The digest of the yardstick of this cell."""
        if cell not in self._digests:
            self._digests[cell] = self.of(cell).digest()
        return self._digests[cell]

    def _find_prices(self, cell: Cell) -> Prices | None:
        """Of flats with as many rooms; where these are too few, of all in the neighbourhood."""
        least = self._settings.score_least_prices
        scope: Literal["rooms", "neighbourhood"] = "rooms"
        found = self._sales.get(cell, []) if cell[1] else []
        if len(found) < least:
            scope = "neighbourhood"
            groups = range(ROOM_GROUPS + 1)
            found = [price for rooms in groups for price in self._sales.get((cell[0], rooms), ())]
        if len(found) < least:
            return None
        marks = statistics.quantiles(found, n=PRICE_MARKS, method="inclusive")  # none beyond what is asked
        return Prices(tuple(marks), len(found), scope)

    def _find_rents(self, cell: Cell) -> Rents | None:
        found = self._rents.get(cell, ()) if cell[1] else ()
        if len(found) < self._settings.score_least_rents:
            return None
        return Rents(statistics.median(found), len(found))


def _are_near(new: Sequence[float], old: Sequence[float]) -> bool:
    return len(new) == len(old) and all(
        abs(mark - before) <= before * YARDSTICK_TOLERANCE for mark, before in zip(new, old, strict=True)
    )


def cell_of(neighbourhood: str | None, rooms: int | None) -> Cell | None:
    """The cell of the flats that such a flat is compared with; None without a neighbourhood."""
    if neighbourhood is None:
        return None
    return neighbourhood, 0 if rooms is None else min(rooms, ROOM_GROUPS)


def market_eur_sqm(flat: Row[Any]) -> float | None:
    """The price per m² that others are compared with, of a row of `flats`; None where it says nothing."""
    ordinary = (
        flat.offered
        and flat.deal is not None
        and flat.city == SOFIA
        and "|place_conflict|" not in flat.flags
        and flat.property_type in COMPARED_TYPES
        and not (flat.traps and any(f"|{trap}|" in flat.traps for trap in DISTORTED))
    )
    return flat.eur_sqm if ordinary else None
