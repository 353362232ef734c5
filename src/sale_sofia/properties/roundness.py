"""How round a number is. Round numbers lie: equal ones say less than equal odd ones."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.properties.records import Array

ROUND_AREAS: Final = ("ten", "five", "whole", "part")
ROUND_PRICES: Final = ("ten_thousand", "five_thousand", "thousand", "less")


def area_roundness(areas: Array) -> NDArray[np.int64]:
    """The place of each area in `ROUND_AREAS`."""
    return _coarsest(areas, (10, 5, 1))


def price_roundness(prices: Array) -> NDArray[np.int64]:
    """The place of each price in `ROUND_PRICES`."""
    return _coarsest(prices, (10_000, 5_000, 1_000))


def _coarsest(values: Array, steps: tuple[int, ...]) -> NDArray[np.int64]:
    """The first step of which the value is a multiple; after the last: none."""
    found = np.full(len(values), len(steps), np.int64)
    for number in range(len(steps) - 1, -1, -1):
        found[np.mod(values, steps[number]) == 0] = number
    return found
