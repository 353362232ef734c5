"""Which quarters are so near that agents post one flat in either."""

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.matching import NEAR_KM
from sale_sofia.listings.places import SOFIA, Neighbourhood, neighbourhoods
from sale_sofia.properties.fingerprint import quarter_hash

_KM_PER_DEGREE = 111.2


@cache
def near_quarters() -> NDArray[np.uint64]:
    """Every ordered pair of near quarters of Sofia, two columns of `quarter_hash`, sorted."""
    pairs = [pair for one, two in _near() for pair in ((one, two), (two, one))]
    return np.array(sorted(pairs), np.uint64).reshape(-1, 2)


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


def _near() -> Iterator[tuple[int, int]]:
    for one, two in combinations(neighbourhoods(), 2):
        if _are_neighbours(one, two):
            yield quarter_hash(SOFIA, one.name), quarter_hash(SOFIA, two.name)


def _are_neighbours(one: Neighbourhood, two: Neighbourhood) -> bool:
    """By their centres; where one is not known, by their district."""
    if one.lat is None or two.lat is None or one.lon is None or two.lon is None:
        return one.district is not None and one.district == two.district
    north = (one.lat - two.lat) * _KM_PER_DEGREE
    east = (one.lon - two.lon) * _KM_PER_DEGREE * math.cos(math.radians(one.lat))
    return math.hypot(north, east) <= NEAR_KM
