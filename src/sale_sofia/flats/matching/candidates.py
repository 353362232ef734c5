"""Which adverts are compared at all: those that share a key and print nearly the same area and price.

Whether two adverts are compared depends on the two alone, except under a key that very many share: there
only those that print the same numbers are compared, and of very many of these each with the first few. What
was cut is counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats.matching.fingerprint import DOOR_MASK, UNKNOWN_FLOOR, Adverts, Array, quarter_hash
from sale_sofia.flats.settings import (
    AREA_TOLERANCE,
    CENTRES,
    HALF_AREA_SQM,
    LARGEST_AREA_SQM,
    NEAR_KM,
    NEAR_PRICE,
    PAIRS_AT_ONCE,
    PRICE_TOLERANCE,
    TEXT_KEYS,
    WINDOW_CAP,
)
from sale_sofia.geography.shapes import Point, metres
from sale_sofia.listings.places import SOFIA, Neighbourhood, neighbourhoods

# Which quarters are so near that agents post one flat in either.


@cache
def near_quarters() -> NDArray[np.uint64]:
    """Every ordered pair of near quarters of Sofia, two columns of `quarter_hash`, sorted."""
    near = [
        (quarter_hash(SOFIA, one.name), quarter_hash(SOFIA, two.name))
        for one, two in combinations(neighbourhoods(), 2)
        if _are_neighbours(one, two)
    ]
    return np.array(sorted([*near, *((two, one) for one, two in near)]), np.uint64).reshape(-1, 2)


def are_near(one: NDArray[np.uint64], two: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """For each pair of quarters, whether they are different and near."""
    with np.errstate(over="ignore"):
        known = np.unique(_mixed(*near_quarters().T))
        wanted = _mixed(one, two)
    if not len(known):
        return np.zeros(len(one), bool)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return known[place] == wanted


def _mixed(one: NDArray[np.uint64], two: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return one * np.uint64(0x9E3779B97F4A7C15) ^ two


def _are_neighbours(one: Neighbourhood, two: Neighbourhood) -> bool:
    """By their centres; where one is not known, by their district."""
    if one.lat is None or two.lat is None or one.lon is None or two.lon is None:
        return one.district is not None and one.district == two.district
    return metres(Point(one.lat, one.lon), Point(two.lat, two.lon)) <= NEAR_KM * 1000


# The keys under which adverts are looked up: place, phone, words, door, photos, reference, family.

Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]
_ANY_FLOOR = 127
_BUCKETS = np.uint64(1 << 20)


@dataclass(frozen=True, slots=True)
class Join:
    """Who is found under which key, and who looks under which."""

    name: str
    keys: Keys
    rows: Rows
    asked: Keys
    asking: Rows
    by_area: bool = True
    """Only those with nearly the same area; exact evidence asks for no area."""
    same_numbers: bool = False
    """Only those that print the same area and nearly the same price."""

    def limited(self, keys: Keys) -> "Join":
        """The part of it that has to do with these keys, which are sorted."""
        found, asked = is_among(self.keys, keys), is_among(self.asked, keys)
        return replace(
            self,
            keys=self.keys[found],
            rows=self.rows[found],
            asked=self.asked[asked],
            asking=self.asking[asked],
        )


def joins(adverts: Adverts) -> list[Join]:
    """All of them; a join holds every advert that has such a key."""
    return [
        _own("family", *_several(adverts["family"][:, None]), by_area=False),
        _own("reference", *_several(adverts["references"]), by_area=False),
        _own("phone", *_comparable(adverts, *_several(adverts["phones"]))),
        _own("door", *_comparable(adverts, *_several(_doors(adverts["addresses"])))),
        _own("photo", *_comparable(adverts, *_several(adverts["photos"]))),
        _floored("words", adverts, *_several(adverts["text"][:, :TEXT_KEYS].astype(np.uint64))),
        _floored("place", adverts, *_several(adverts["quarter"][:, None])),
        _near_keys(adverts),
    ]


def is_among(keys: Keys, wanted: Keys) -> NDArray[np.bool_]:
    """For each key, whether it is one of the wanted, which are sorted."""
    if not len(wanted):
        return np.zeros(len(keys), bool)
    # Nearly all are told apart by some of their bits, and only the rest is looked up.
    buckets = np.zeros(int(_BUCKETS), bool)
    buckets[wanted % _BUCKETS] = True
    perhaps = np.flatnonzero(buckets[keys % _BUCKETS])
    place = np.minimum(np.searchsorted(wanted, keys[perhaps]), len(wanted) - 1)
    found = np.zeros(len(keys), bool)
    found[perhaps] = wanted[place] == keys[perhaps]
    return found


def mixed(keys: Keys, *others: Array) -> Keys:
    """One key of several parts."""
    for other in others:
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + other.astype(np.uint64)
    return keys


def _own(name: str, keys: Keys, rows: Rows, *, by_area: bool = True) -> Join:
    return Join(name, keys, rows, keys, rows, by_area)


def _several(columns: Keys) -> tuple[Keys, Rows]:
    rows, places = np.nonzero(columns)
    return columns[rows, places], rows.astype(np.int64)


def _doors(addresses: Keys) -> Keys:
    """The addresses that name a house; a street is no key, as very many stand in one."""
    return np.where(addresses & np.uint64(DOOR_MASK), addresses, np.uint64(0))


def _comparable(adverts: Adverts, keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
    """Those with a price and an area: without them facts say too little."""
    known = ~np.isnan(adverts["area"] + adverts["price"])[rows]
    return keys[known], rows[known]


def _floored(name: str, adverts: Adverts, keys: Keys, rows: Rows) -> Join:
    """Under the key with its floor; who does not know his floor asks all floors and is found by all."""
    keys, rows = _comparable(adverts, keys, rows)
    floors = adverts["floor"][rows]
    known = floors != UNKNOWN_FLOOR
    own, anywhere = mixed(keys, floors), mixed(keys, np.full(len(keys), _ANY_FLOOR))
    return Join(
        name,
        np.concatenate((own[known], anywhere)),
        np.concatenate((rows[known], rows)),
        np.concatenate((own[known], anywhere[~known])),
        np.concatenate((rows[known], rows[~known])),
    )


def _near_keys(adverts: Adverts) -> Join:
    """The near quarters of a flat's own, on the same floor."""
    keys, rows = _comparable(adverts, *_several(adverts["quarter"][:, None]))
    known = adverts["floor"][rows] != UNKNOWN_FLOOR
    keys, rows = keys[known], rows[known]
    floors = adverts["floor"][rows]
    pairs = near_quarters()
    first, last = (np.searchsorted(pairs[:, 0], keys, side) for side in ("left", "right"))
    place, step = expanded(last - first)
    others = pairs[:, 1][first[place] + step]
    return Join(
        "near", mixed(keys, floors), rows, mixed(others, floors[place]), rows[place], same_numbers=True
    )


def expanded(counts: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """For counts (2, 0, 3): the owners (0, 0, 2, 2, 2) and their steps (0, 1, 0, 1, 2)."""
    owners = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return owners, np.arange(len(owners)) - starts[owners]


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
        # Of the crowded: those that print exactly the same, and of these the first few
        over = windows.over
        asked, asking = _with_numbers(adverts, windows.asked[over], windows.asking[over])
        keys, rows = _with_numbers(adverts, join.keys, join.rows)
        order = np.lexsort((adverts["identity"][rows], keys))  # not by id, which says who was seen first
        keys, rows = keys[order], rows[order]
        first, last = (np.searchsorted(keys, asked, side) for side in ("left", "right"))
        owners, steps = expanded(np.minimum(last - first, CENTRES))
        same = (asking[owners], rows[first[owners] + steps])
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
        # No plain contradiction of the numbers; the cheapest of tests, as it is made most often
        price, area, floor = adverts["price"], adverts["area"], adverts["floor"]
        alike = _within(price[one], price[two], (NEAR_PRICE if join.same_numbers else PRICE_TOLERANCE))
        alike &= _within(area[one], area[two], AREA_TOLERANCE)
        floors_one, floors_two = floor[one], floor[two]
        alike &= (floors_one == floors_two) | (floors_one == UNKNOWN_FLOOR) | (floors_two == UNKNOWN_FLOOR)
        one, two = one[alike], two[alike]
    return one, two


def _within(one: Array, two: Array, share: float) -> NDArray[np.bool_]:
    return np.abs(one - two) <= share * np.maximum(one, two)
