"""The keys under which adverts are looked up: place, phone, words, photos, reference, family."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.matching import TEXT_KEYS
from sale_sofia.properties.places_near import near_quarters
from sale_sofia.properties.records import UNKNOWN_FLOOR, Adverts, Array

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
        return Join(
            self.name,
            self.keys[found],
            self.rows[found],
            self.asked[asked],
            self.asking[asked],
            self.by_area,
            self.same_numbers,
        )


def joins(adverts: Adverts) -> list[Join]:
    """All of them; a join holds every advert that has such a key."""
    return [
        _one_key("family", adverts["family"], by_area=False),
        _own("reference", *_several(adverts["references"]), by_area=False),
        _own("phone", *_comparable(adverts, *_several(adverts["phones"]))),
        _own("photo", *_comparable(adverts, *_several(adverts["photos"]))),
        _floored("words", adverts, *_several(adverts["text"][:, :TEXT_KEYS].astype(np.uint64))),
        _floored("place", adverts, *_several(adverts["quarter"][:, None])),
        _near("near", adverts),
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


def _one_key(name: str, column: Keys, *, by_area: bool) -> Join:
    return _own(name, *_several(column[:, None]), by_area=by_area)


def _several(columns: Keys) -> tuple[Keys, Rows]:
    rows, places = np.nonzero(columns)
    return columns[rows, places], rows.astype(np.int64)


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


def _near(name: str, adverts: Adverts) -> Join:
    """The near quarters of a flat's own, on the same floor."""
    keys, rows = _comparable(adverts, *_several(adverts["quarter"][:, None]))
    known = adverts["floor"][rows] != UNKNOWN_FLOOR
    keys, rows = keys[known], rows[known]
    floors = adverts["floor"][rows]
    pairs = near_quarters()
    first, last = (np.searchsorted(pairs[:, 0], keys, side) for side in ("left", "right"))
    place, step = expanded(last - first)
    others = pairs[:, 1][first[place] + step]
    return Join(name, mixed(keys, floors), rows, mixed(others, floors[place]), rows[place], same_numbers=True)


def expanded(counts: NDArray[np.int64]) -> tuple[Rows, Rows]:
    """For counts (2, 0, 3): the owners (0, 0, 2, 2, 2) and their steps (0, 1, 0, 1, 2)."""
    owners = np.repeat(np.arange(len(counts)), counts)
    starts = np.cumsum(counts) - counts
    return owners, np.arange(len(owners)) - starts[owners]
