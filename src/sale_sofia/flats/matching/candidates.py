"""Which adverts are compared: those that share a key and print nearly the same area and price.

Whether two adverts are compared depends only on the two, except under a key that very many share: there only
those that print the same numbers are compared, and if these are very many, each with the first few. Skipped
comparisons are counted.
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

# Which quarters are so near that agents post the same flat in either.


@cache
def near_quarters() -> NDArray[np.uint64]:
    """Every ordered pair of near quarters of Sofia, two columns of `quarter_hash`, sorted."""
    near = [
        (quarter_hash(SOFIA, quarter.name), quarter_hash(SOFIA, other.name))
        for quarter, other in combinations(neighbourhoods(), 2)
        if _are_neighbours(quarter, other)
    ]
    return np.array(sorted([*near, *((other, quarter) for quarter, other in near)]), np.uint64).reshape(-1, 2)


def are_near(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """For each pair of quarters, whether they are different and near."""
    with np.errstate(over="ignore"):
        near = np.unique(_mixed(*near_quarters().T))
        pairs = _mixed(left, right)
    if not len(near):
        return np.zeros(len(left), bool)
    place = np.minimum(np.searchsorted(near, pairs), len(near) - 1)
    return near[place] == pairs


def _mixed(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return left * np.uint64(0x9E3779B97F4A7C15) ^ right


def _are_neighbours(quarter: Neighbourhood, other: Neighbourhood) -> bool:
    """By their centres; if one is unknown, by their district."""
    if quarter.lat is None or other.lat is None or quarter.lon is None or other.lon is None:
        return quarter.district is not None and quarter.district == other.district
    return metres(Point(quarter.lat, quarter.lon), Point(other.lat, other.lon)) <= NEAR_KM * 1000


# The keys under which adverts are looked up: place, phone, words, door, photos, reference, family.

Rows = NDArray[np.int64]
Keys = NDArray[np.uint64]
_ANY_FLOOR = 127
_BUCKETS = np.uint64(1 << 20)


@dataclass(frozen=True, slots=True)
class Join:
    """Which rows are found under which keys, and which `seekers` look under which `sought` keys."""

    name: str
    keys: Keys
    rows: Rows
    sought: Keys
    seekers: Rows
    by_area: bool = True
    """Only rows with nearly the same area; exact evidence needs none."""
    same_numbers: bool = False
    """Only rows that print the same area and nearly the same price."""

    def limited(self, keys: Keys) -> "Join":
        """The part of the join under these keys, which are sorted."""
        in_keys, in_lookups = is_among(self.keys, keys), is_among(self.sought, keys)
        return replace(
            self,
            keys=self.keys[in_keys],
            rows=self.rows[in_keys],
            sought=self.sought[in_lookups],
            seekers=self.seekers[in_lookups],
        )


def joins(adverts: Adverts) -> Iterator[Join]:
    """All joins; each holds every advert that has its kind of key. Made one at a time, as they are large."""
    yield _own("family", *_several(adverts["family"][:, None]), by_area=False)
    yield _own("reference", *_several(adverts["references"]), by_area=False)
    yield _own("phone", *_comparable(adverts, *_several(adverts["phones"])))
    yield _own("door", *_comparable(adverts, *_several(_doors(adverts["addresses"]))))
    yield _own("photo", *_comparable(adverts, *_several(adverts["photos"])))
    yield _floored("words", adverts, *_several(adverts["text"][:, :TEXT_KEYS].astype(np.uint64)))
    yield _floored("place", adverts, *_several(adverts["quarter"][:, None]))
    yield _near_keys(adverts)


def is_among(keys: Keys, sorted_keys: Keys) -> NDArray[np.bool_]:
    """For each key, whether it is among `sorted_keys`."""
    if not len(sorted_keys):
        return np.zeros(len(keys), bool)
    # A table of some of their bits excludes nearly all; only the rest is looked up.
    buckets = np.zeros(int(_BUCKETS), bool)
    buckets[sorted_keys % _BUCKETS] = True
    perhaps = np.flatnonzero(buckets[keys % _BUCKETS])
    place = np.minimum(np.searchsorted(sorted_keys, keys[perhaps]), len(sorted_keys) - 1)
    found = np.zeros(len(keys), bool)
    found[perhaps] = sorted_keys[place] == keys[perhaps]
    return found


def mixed(keys: Keys, *others: Array) -> Keys:
    """Combine several parts into one key."""
    for other in others:
        keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + other.astype(np.uint64)
    return keys


def _own(name: str, keys: Keys, rows: Rows, *, by_area: bool = True) -> Join:
    return Join(name, keys, rows, keys, rows, by_area)


def _several(columns: Keys) -> tuple[Keys, Rows]:
    rows, places = np.nonzero(columns)
    return columns[rows, places], rows.astype(np.int64)


def _doors(addresses: Keys) -> Keys:
    """The addresses that name a house; a street alone is no key, as it has too many flats."""
    return np.where(addresses & np.uint64(DOOR_MASK), addresses, np.uint64(0))


def _comparable(adverts: Adverts, keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
    """Rows with a price and an area: without them the facts say too little."""
    has_numbers = ~np.isnan(adverts["area"] + adverts["price"])[rows]
    return keys[has_numbers], rows[has_numbers]


def _floored(name: str, adverts: Adverts, keys: Keys, rows: Rows) -> Join:
    """Rows under the key with their floor; those without one look under all floors and are found by all."""
    keys, rows = _comparable(adverts, keys, rows)
    floors = adverts["floor"][rows]
    has_floor = floors != UNKNOWN_FLOOR
    own, anywhere = mixed(keys, floors), mixed(keys, np.full(len(keys), _ANY_FLOOR))
    return Join(
        name,
        np.concatenate((own[has_floor], anywhere)),
        np.concatenate((rows[has_floor], rows)),
        np.concatenate((own[has_floor], anywhere[~has_floor])),
        np.concatenate((rows[has_floor], rows[~has_floor])),
    )


def _near_keys(adverts: Adverts) -> Join:
    """Rows of near quarters on the same floor."""
    keys, rows = _comparable(adverts, *_several(adverts["quarter"][:, None]))
    has_floor = adverts["floor"][rows] != UNKNOWN_FLOOR
    keys, rows = keys[has_floor], rows[has_floor]
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
"""The distance between the areas of two keys, so that no window reaches from one into the next."""


@dataclass(slots=True)
class Candidates:
    """The pairs to compare, each once and the lower row first, and what was cut."""

    left: Rows
    right: Rows
    crowded: Rows
    """Adverts that, under some key, were compared only with those that print the same numbers."""
    cut: dict[str, int] = field(default_factory=dict)
    """The number of skipped comparisons, by join."""


def find_candidates(adverts: Adverts, touched: Rows | None = None) -> Candidates:
    """All pairs, or all pairs of the touched adverts."""
    codes: list[Rows] = [np.zeros(0, np.int64)]
    crowded: list[Rows] = [np.zeros(0, np.int64)]
    cut: dict[str, int] = {}
    for join in joins(adverts):
        own = join if touched is None else join.limited(_keys_of(join, touched))
        for left, right in _plausible(adverts, own, touched, crowded, cut):
            codes.append(np.minimum(left, right) * len(adverts) + np.maximum(left, right))
    found = np.unique(np.concatenate(codes))
    return Candidates(*np.divmod(found, max(len(adverts), 1)), np.unique(np.concatenate(crowded)), cut)


def crowded_rows(adverts: Adverts, touched: Rows) -> Rows:
    """Adverts whose comparisons may change because of the touched ones, though their own keys did not."""
    crowded: list[Rows] = [np.zeros(0, np.int64)]
    for join in joins(adverts) if len(touched) else ():
        own = join.limited(_keys_of(join, touched))
        windows = _Windows(adverts, own)
        crowded.append(windows.seekers[windows.over])
    return np.unique(np.concatenate(crowded))


def _keys_of(join: Join, rows: Rows) -> Keys:
    in_keys, in_lookups = is_among_rows(join.rows, rows), is_among_rows(join.seekers, rows)
    return np.unique(np.concatenate((join.keys[in_keys], join.sought[in_lookups])))


def is_among_rows(rows: Rows, members: Rows) -> NDArray[np.bool_]:
    """For each row, whether it is among `members`."""
    marked = np.zeros(max(rows.max(initial=0), members.max(initial=0)) + 1, bool)
    marked[members] = True
    return marked[rows]


class _Windows:
    """For each seeker, the run of rows under its key with nearly its area."""

    def __init__(self, adverts: Adverts, join: Join) -> None:
        areas = adverts["area"] if join.by_area else np.zeros(len(adverts))
        keys, numbers = np.unique(join.keys, return_inverse=True)
        places = numbers * _APART + areas[join.rows]
        order = np.argsort(places)
        self.rows = join.rows[order]
        indexes = np.minimum(np.searchsorted(keys, join.sought), max(len(keys) - 1, 0))
        there = keys[indexes] == join.sought if len(keys) else np.zeros(0, bool)
        at = indexes[there] * _APART + areas[join.seekers[there]]
        # Sorted by what is sought: in any other order memory access takes most of the time.
        turn = np.argsort(at)
        self.sought, self.seekers, at = (
            join.sought[there][turn],
            join.seekers[there][turn],
            at[turn],
        )
        area = areas[self.seekers]
        reach = HALF_AREA_SQM if join.same_numbers else area * AREA_TOLERANCE / (1 - AREA_TOLERANCE)
        self.first = np.searchsorted(places[order], at - reach, "left")
        self.counts = np.searchsorted(places[order], at + reach, "right") - self.first
        self.over = self.counts > WINDOW_CAP


def _plausible(
    adverts: Adverts, join: Join, touched: Rows | None, crowded: list[Rows], cut: dict[str, int]
) -> Iterator[tuple[Rows, Rows]]:
    windows = _Windows(adverts, join)
    crowded.append(windows.seekers[windows.over])
    for pairs in _near_pairs(windows):
        yield _filtered(adverts, join, touched, *pairs)
    if windows.over.any():
        # Under crowded keys: the first few of those that print exactly the same
        over = windows.over
        sought, seekers = _with_numbers(adverts, windows.sought[over], windows.seekers[over])
        keys, rows = _with_numbers(adverts, join.keys, join.rows)
        order = np.lexsort(
            (adverts["identity"][rows], keys)
        )  # not by id, which depends on who was seen first
        keys, rows = keys[order], rows[order]
        first, last = (np.searchsorted(keys, sought, side) for side in ("left", "right"))
        owners, steps = expanded(np.minimum(last - first, CENTRES))
        same = (seekers[owners], rows[first[owners] + steps])
        cut[join.name] = int(windows.counts[windows.over].sum()) - len(same[0])
        yield _filtered(adverts, join, touched, *same)


def _near_pairs(windows: _Windows) -> Iterator[tuple[Rows, Rows]]:
    """The pairs of all windows that are not too large, in batches."""
    counts = np.where(windows.over, 0, windows.counts)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    borders = np.searchsorted(ends, np.arange(0, total + PAIRS_AT_ONCE, PAIRS_AT_ONCE))
    for begin, end in zip(borders, [*borders[1:], len(counts)], strict=True):
        owners, steps = expanded(counts[begin:end])
        yield windows.seekers[begin:end][owners], windows.rows[windows.first[begin:end][owners] + steps]


def _with_numbers(adverts: Adverts, keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
    area = np.nan_to_num(adverts["area"][rows] * 10).round()
    price = np.nan_to_num(adverts["price"][rows]).round()
    return mixed(keys, area, price, adverts["floor"][rows] + 200), rows


def _filtered(
    adverts: Adverts, join: Join, touched: Rows | None, left: Rows, right: Rows
) -> tuple[Rows, Rows]:
    keep = left != right
    if touched is not None:
        keep &= is_among_rows(left, touched) | is_among_rows(right, touched)
    left, right = left[keep], right[keep]
    if join.by_area:
        # No clear contradiction of the numbers; the cheapest test, as it runs most often
        price, area, floor = adverts["price"], adverts["area"], adverts["floor"]
        alike = _within(price[left], price[right], (NEAR_PRICE if join.same_numbers else PRICE_TOLERANCE))
        alike &= _within(area[left], area[right], AREA_TOLERANCE)
        left_floors, right_floors = floor[left], floor[right]
        alike &= (
            (left_floors == right_floors) | (left_floors == UNKNOWN_FLOOR) | (right_floors == UNKNOWN_FLOOR)
        )
        left, right = left[alike], right[alike]
    return left, right


def _within(left: Array, right: Array, share: float) -> NDArray[np.bool_]:
    return np.abs(left - right) <= share * np.maximum(left, right)
