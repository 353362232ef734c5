"""Shares counted on few pages: what they may truly be, and what is usual of them."""

import math
from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from sale_sofia.config.monitoring import DRIFT_CERTAINTY


class Share(NamedTuple):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share itself; none of nothing."""
        return self.part / self.whole if self.whole else 0.0

    @property
    def most(self) -> float:
        """What it may be at most, given on how few it was counted (Wilson's bound)."""
        return _wilson(self, 1.0)

    @property
    def least(self) -> float:
        """What it is at least."""
        return _wilson(self, -1.0)


def _wilson(share: Share, side: float) -> float:
    if not share.whole:
        return 1.0 if side > 0 else 0.0
    spread = DRIFT_CERTAINTY**2 / share.whole
    middle = share.value + spread / 2
    wide = DRIFT_CERTAINTY * math.sqrt(
        share.value * (1 - share.value) / share.whole + spread / (4 * share.whole)
    )
    return (middle + side * wide) / (1 + spread)


def usual_share(runs: Iterable[Share], *, least_pages: int, least_runs: int) -> float | None:
    """The median of the runs' shares; small runs count together. None where there are too few to say."""
    shares, part, whole = [], 0, 0
    for run in runs:
        part, whole = part + run.part, whole + run.whole
        if whole >= least_pages:
            shares.append(part / whole)
            part = whole = 0
    return median(shares) if len(shares) >= least_runs else None
