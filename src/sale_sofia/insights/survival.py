"""How long flats stay, those that are still there counted for as long as they have been (Kaplan–Meier)."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from sale_sofia.config.market import ROUNDING


class Stay(NamedTuple):
    """How long one flat was seen, and whether it is gone; if not, it stays on for nobody knows how long."""

    days: float
    gone: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """The share of flats that is still there after so many days; it falls on the days at which flats went."""

    days: tuple[float, ...]
    shares: tuple[float, ...]
    flats: int
    gone: int
    watched: float
    """The longest stay, in days; of later days nothing is known."""

    def after(self, days: float) -> float | None:
        """The share that stays longer than this; None for longer than anybody has watched."""
        if days > self.watched:
            return None
        place = bisect_right(self.days, days)
        return self.shares[place - 1] if place else 1.0

    def median(self) -> float | None:
        """The first day on which no more than half are there; None while more are."""
        half = 0.5 + ROUNDING
        return next((day for day, share in zip(self.days, self.shares, strict=True) if share <= half), None)


def kaplan_meier(stays: Iterable[Stay]) -> Curve:
    """The curve of these stays. Who was last seen on a day on which others went was still there with them."""
    given = list(stays)
    went = Counter(stay.days for stay in given if stay.gone)
    ends = Counter(stay.days for stay in given)
    there, share = len(given), 1.0
    steps: list[tuple[float, float]] = []
    for day in sorted(ends):
        if went[day]:
            share *= 1 - went[day] / there
            steps.append((day, share))
        there -= ends[day]
    days, shares = tuple(day for day, _ in steps), tuple(left for _, left in steps)
    return Curve(days, shares, len(given), went.total(), max(ends, default=0.0))
