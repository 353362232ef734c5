"""Which adverts are compared at all: those that share a key and print nearly the same area and price.

Whether two adverts are compared depends on the two alone, except under a key that very many share: there
only those that print the same numbers are compared, and of very many of these each with the first few. What
was cut is counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.matching import (
    AREA_TOLERANCE,
    CENTRES,
    HALF_AREA_SQM,
    LARGEST_AREA_SQM,
    NEAR_PRICE,
    PAIRS_AT_ONCE,
    PRICE_TOLERANCE,
    WINDOW_CAP,
)
from sale_sofia.properties.joins import Join, Keys, Rows, expanded, joins, mixed
from sale_sofia.properties.records import UNKNOWN_FLOOR, Adverts, Array

_APART: Final = 4 * LARGEST_AREA_SQM
"""Between the areas of two keys, so that no window reaches from one into the next."""


@dataclass(slots=True)
class Candidates:
    """The pairs to compare, each once and the lower row first, and what was cut."""

    one: Rows
    two: Rows
    crowded: Rows
    """Adverts that were compared only with those that print the same numbers, under some key."""
    cut: dict[str, int] = field(default_factory=dict)
    """How many comparisons were left out, by join."""


def find_candidates(adverts: Adverts, touched: Rows | None = None) -> Candidates:
    """All pairs, or all pairs of the touched adverts."""
    codes: list[Rows] = [np.zeros(0, np.int64)]
    crowded: list[Rows] = [np.zeros(0, np.int64)]
    cut: dict[str, int] = {}
    for join in joins(adverts):
        own = join if touched is None else join.limited(_keys_of(join, touched))
        for one, two in _plausible(adverts, own, touched, crowded, cut):
            codes.append(np.minimum(one, two) * len(adverts) + np.maximum(one, two))
    found = np.unique(np.concatenate(codes))
    return Candidates(*np.divmod(found, max(len(adverts), 1)), np.unique(np.concatenate(crowded)), cut)


def crowded_rows(adverts: Adverts, touched: Rows) -> Rows:
    """The adverts whose comparisons may change because of the touched ones, though their own keys did not."""
    crowded: list[Rows] = [np.zeros(0, np.int64)]
    for join in joins(adverts) if len(touched) else ():
        own = join.limited(_keys_of(join, touched))
        windows = _Windows(adverts, own)
        crowded.append(windows.asking[windows.over])
    return np.unique(np.concatenate(crowded))


def _keys_of(join: Join, rows: Rows) -> Keys:
    found, asked = is_among_rows(join.rows, rows), is_among_rows(join.asking, rows)
    return np.unique(np.concatenate((join.keys[found], join.asked[asked])))


def is_among_rows(rows: Rows, wanted: Rows) -> NDArray[np.bool_]:
    """For each row, whether it is one of the wanted."""
    marked = np.zeros(max(rows.max(initial=0), wanted.max(initial=0)) + 1, bool)
    marked[wanted] = True
    return marked[rows]


class _Windows:
    """For each asking advert, the run of those under its key with nearly its area."""

    def __init__(self, adverts: Adverts, join: Join) -> None:
        areas = adverts["area"] if join.by_area else np.zeros(len(adverts))
        known, numbers = np.unique(join.keys, return_inverse=True)
        places = numbers * _APART + areas[join.rows]
        order = np.argsort(places)
        self.rows = join.rows[order]
        asked = np.minimum(np.searchsorted(known, join.asked), max(len(known) - 1, 0))
        there = known[asked] == join.asked if len(known) else np.zeros(0, bool)
        at = asked[there] * _APART + areas[join.asking[there]]
        # In the order of what is sought: in any other, most of the time goes into waiting for memory.
        turn = np.argsort(at)
        self.asked, self.asking, at = join.asked[there][turn], join.asking[there][turn], at[turn]
        area = areas[self.asking]
        reach = HALF_AREA_SQM if join.same_numbers else area * AREA_TOLERANCE / (1 - AREA_TOLERANCE)
        self.first = np.searchsorted(places[order], at - reach, "left")
        self.counts = np.searchsorted(places[order], at + reach, "right") - self.first
        self.over = self.counts > WINDOW_CAP


def _plausible(
    adverts: Adverts, join: Join, touched: Rows | None, crowded: list[Rows], cut: dict[str, int]
) -> Iterator[tuple[Rows, Rows]]:
    windows = _Windows(adverts, join)
    crowded.append(windows.asking[windows.over])
    for pairs in _near_ones(windows):
        yield _filtered(adverts, join, touched, *pairs)
    if windows.over.any():
        same = _same_numbers(adverts, join, windows)
        cut[join.name] = int(windows.counts[windows.over].sum()) - len(same[0])
        yield _filtered(adverts, join, touched, *same)


def _near_ones(windows: _Windows) -> Iterator[tuple[Rows, Rows]]:
    """The pairs of all windows that are not too large, some at a time."""
    counts = np.where(windows.over, 0, windows.counts)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    borders = np.searchsorted(ends, np.arange(0, total + PAIRS_AT_ONCE, PAIRS_AT_ONCE))
    for begin, end in zip(borders, [*borders[1:], len(counts)], strict=True):
        owners, steps = expanded(counts[begin:end])
        yield windows.asking[begin:end][owners], windows.rows[windows.first[begin:end][owners] + steps]


def _same_numbers(adverts: Adverts, join: Join, windows: _Windows) -> tuple[Rows, Rows]:
    """Of the crowded: those that print exactly the same, and of these the first few."""
    over = windows.over
    asked, asking = _with_numbers(adverts, windows.asked[over], windows.asking[over])
    keys, rows = _with_numbers(adverts, join.keys, join.rows)
    order = np.lexsort((adverts["identity"][rows], keys))  # not by id, which says who was seen first
    keys, rows = keys[order], rows[order]
    first, last = (np.searchsorted(keys, asked, side) for side in ("left", "right"))
    owners, steps = expanded(np.minimum(last - first, CENTRES))
    return asking[owners], rows[first[owners] + steps]


def _with_numbers(adverts: Adverts, keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
    area = np.nan_to_num(adverts["area"][rows] * 10).round()
    price = np.nan_to_num(adverts["price"][rows]).round()
    return mixed(keys, area, price, adverts["floor"][rows] + 200), rows


def _filtered(adverts: Adverts, join: Join, touched: Rows | None, one: Rows, two: Rows) -> tuple[Rows, Rows]:
    keep = one != two
    if touched is not None:
        keep &= is_among_rows(one, touched) | is_among_rows(two, touched)
    one, two = one[keep], two[keep]
    if join.by_area:
        alike = _alike(adverts, one, two, NEAR_PRICE if join.same_numbers else PRICE_TOLERANCE)
        one, two = one[alike], two[alike]
    return one, two


def _alike(adverts: Adverts, one: Rows, two: Rows, price_tolerance: float) -> NDArray[np.bool_]:
    """No plain contradiction of the numbers; the cheapest of tests, as it is made most often."""
    price, area, floor = adverts["price"], adverts["area"], adverts["floor"]
    alike = _within(price[one], price[two], price_tolerance)
    alike &= _within(area[one], area[two], AREA_TOLERANCE)
    floors_one, floors_two = floor[one], floor[two]
    alike &= (floors_one == floors_two) | (floors_one == UNKNOWN_FLOOR) | (floors_two == UNKNOWN_FLOOR)
    return alike


def _within(one: Array, two: Array, share: float) -> NDArray[np.bool_]:
    return np.abs(one - two) <= share * np.maximum(one, two)
