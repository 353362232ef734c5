"""Stretches of time as a set: however many saw the same stretch, it counts once."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

from sale_sofia.config.monitoring import OPEN_SPANS_MAX

_MILLISECONDS: Final = 1000
Span = tuple[int, int]


@dataclass(slots=True)
class TimeSpans:
    """Moments covered, as disjoint spans of milliseconds since 1970. Merging is the union of both.

    Beyond `OPEN_SPANS_MAX` spans the smallest gaps are filled, so that there is an end to their number.
    """

    spans: tuple[Span, ...] = ()

    def add(self, start: float, seconds: float) -> None:
        """Cover the `seconds` that begin at `start` (seconds since 1970)."""
        end = start + seconds
        if seconds > 0:
            self.spans = _united([*self.spans, (round(start * _MILLISECONDS), round(end * _MILLISECONDS))])

    def merge(self, other: Self) -> None:
        """Cover what the other one covers, too."""
        self.spans = _united([*self.spans, *other.spans])

    def seconds_within(self, start: float, end: float) -> float:
        """Seconds covered between two moments."""
        low, high = start * _MILLISECONDS, end * _MILLISECONDS
        return (
            sum(max(0.0, min(high, until) - max(low, since)) for since, until in self.spans) / _MILLISECONDS
        )

    def to_list(self) -> list[list[int]]:
        """The spans as JSON."""
        return [list(span) for span in self.spans]

    @classmethod
    def from_list(cls, known: Iterable[list[int]]) -> Self:
        """What `to_list` gave."""
        return cls(tuple((since, until) for since, until in known))


def _united(spans: Iterable[Span]) -> tuple[Span, ...]:
    united: list[Span] = []
    for since, until in sorted(spans):
        if united and since <= united[-1][1]:
            united[-1] = (united[-1][0], max(until, united[-1][1]))
        else:
            united.append((since, until))
    while len(united) > OPEN_SPANS_MAX:
        _fill_smallest_gap(united)
    return tuple(united)


def _fill_smallest_gap(spans: list[Span]) -> None:
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(spans)]
    at = gaps.index(min(gaps))
    spans[at : at + 2] = [(spans[at][0], spans[at + 1][1])]
