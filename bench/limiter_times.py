"""Counting times: the fullest window, percentiles, and how late callers went."""

import itertools
import math
from collections.abc import Iterator, Sequence

from limiter_order import Grant, Work


def most_in_any(times: Sequence[float], window: float) -> int:
    """The most of the (sorted) times that any window of this length holds, both of its ends included."""
    first = most = 0
    for last, time in enumerate(times):
        while time - times[first] > window:
            first += 1
        most = max(most, last - first + 1)
    return most


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value that this share of all does not exceed; None of nothing."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else None


def latenesses(grants: Sequence[Grant], works: Sequence[Work]) -> Iterator[float]:
    """Seconds from the instant of each turn that was waited for until its caller went.

    A turn is found among the server's grants by its wait, which both know to the last digit; where two
    waits are the same, it is the one that was asked for at that time.
    """
    by_wait: dict[float, list[Grant]] = {}
    for grant in grants:
        by_wait.setdefault(grant.instant - grant.asked, []).append(grant)
    for turn in itertools.chain.from_iterable(work.turns for work in works):
        alike = by_wait[turn.wait]
        yield turn.went - min(alike, key=lambda grant: abs(grant.asked - turn.asked)).instant
