"""Flats week by week: the weeks of Sofia's clock, and what became of each flat in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from sale_sofia.insights.market_flats import MarketFlat, Snapshot
from sale_sofia.insights.survival import Stay
from sale_sofia.listings.dates import SOFIA


class Span(NamedTuple):
    """A week from Monday to Monday on Sofia's clock; the running one ends now."""

    start: float
    end: float
    complete: bool

    def holds(self, moment: float | None) -> bool:
        """Whether it happened in this week; now is the end of the running one, and in it."""
        return moment is not None and self.start <= moment and (moment < self.end or not self.complete)


@dataclass(frozen=True, slots=True)
class Track:
    """One flat through the weeks, worked out once for all parts of the market it belongs to."""

    flat: MarketFlat
    spans: Sequence[Span]
    first_seen_at: float
    new_in: int | None
    """The number of the week in which it came; None: before the first."""
    gone_in: int | None
    """The number of the week in which it went; None: before the first, or it is still there."""
    snapshots: tuple[Snapshot, ...]
    """At the end of each week; the last is now."""
    cuts: tuple[float, ...]
    stay: Stay

    @property
    def now(self) -> Snapshot:
        """The flat as it is."""
        return self.snapshots[-1]


def track(flat: MarketFlat, spans: Sequence[Span]) -> Track:
    """What became of a flat in these weeks."""
    return Track(
        flat,
        spans,
        flat.first_seen_at,
        _week_of(flat.first_seen_at, spans),
        _week_of(flat.gone_at, spans),
        tuple([flat.at(span.end) for span in spans]),
        tuple(flat.cuts()),
        flat.stay(spans[-1].end),
    )


def _week_of(moment: float | None, spans: Sequence[Span]) -> int | None:
    return next((number for number, span in enumerate(spans) if span.holds(moment)), None)


def spans_until(now: float, weeks: int) -> list[Span]:
    """So many whole weeks and the running one, the oldest first."""
    today = datetime.fromtimestamp(now, SOFIA).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    starts = [(monday - timedelta(weeks=back)).timestamp() for back in range(weeks, -1, -1)]
    whole = [Span(start, end, complete=True) for start, end in pairwise(starts)]
    return [*whole, Span(starts[-1], now, complete=False)]
