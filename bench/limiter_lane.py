"""The figures of one lane: one limiter, one rate, so many processes."""

import itertools
from dataclasses import dataclass
from typing import Any

from limiter_order import OURS, Grant, Order, Work
from limiter_times import latenesses, most_in_any, percentile

WINDOWS = (0.1, 1.0, 10.0, 60.0)
BURST = 1
FAIR_FROM = 50
"""Turns of the least served process from which on fairness means something."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One limiter at one rate in so many processes."""

    order: Order
    works: list[Work]
    round_trips: int
    end: float
    grants: list[Grant]
    """What the server gave out; ours only."""

    @property
    def instants(self) -> list[float]:
        """The instants given out for the time of the run; those after it nobody used."""
        return sorted(grant.instant for grant in self.grants if grant.instant < self.end)

    @property
    def got(self) -> int:
        """Turns that came."""
        return sum(len(work.went) for work in self.works)

    @property
    def share(self) -> float:
        """Of what the rate allows over the run."""
        return self.got / (self.order.per_minute / 60 * self.order.seconds)

    @property
    def windows(self) -> dict[float, int]:
        """The most in any window of each length; ours by the server's clock, the peers' as they let go."""
        return _windows(self.instants) if self.instants else self.windows_of_callers

    @property
    def windows_of_callers(self) -> dict[float, int]:
        """The same by when the callers went, which for ours includes how late each of them was."""
        return _windows(sorted(itertools.chain.from_iterable(work.went for work in self.works)))

    def allowed(self, window: float) -> float:
        """The most that a window may hold."""
        return self.order.per_minute / 60 * window + BURST

    @property
    def overshoot(self) -> float:
        """The fullest window over what it may hold."""
        return max(most / self.allowed(window) for window, most in self.windows.items())

    @property
    def fairness(self) -> float | None:
        """Least over most turns of a process; None where somebody had too few to tell."""
        turns = [len(work.went) for work in self.works]
        return min(turns) / max(turns) if min(turns) >= FAIR_FROM else None

    @property
    def trips_per_turn(self) -> float:
        """Round trips of a turn. Who still waits at the end has made one, if it is one of ours."""
        waiting = sum(work.begun for work in self.works) - self.got if self.order.system == OURS else 0
        return (self.round_trips - waiting) / max(1, self.got)

    @property
    def late(self) -> float | None:
        """p95 of how late a turn that was waited for came, in seconds."""
        return percentile(list(latenesses(self.grants, self.works)), 0.95)

    @property
    def control_late(self) -> float | None:
        """p95 of how late a mere sleep ended in the same processes at the same time."""
        return percentile([late for work in self.works for late in work.control_late], 0.95)

    def row(self) -> str:
        """A row of the table."""
        windows = " ".join(f"{most}/{self.allowed(window):g}" for window, most in self.windows.items())
        return (
            f"{self.order.system:15}{len(self.works):3}{self.order.per_minute:7}{self.order.seconds:6g}"
            f"{self.got / self.order.seconds:9.2f}{self.share:8.1%}  {windows:38}{_shown(self.fairness):>7}"
            f"{self.trips_per_turn:8.2f}{_shown(self.late, 1000):>8}{_shown(self.control_late, 1000):>8}"
        )

    def figures(self) -> dict[str, Any]:
        """What goes into the last line."""
        return {
            "system": self.order.system,
            "processes": len(self.works),
            "per_minute": self.order.per_minute,
            "seconds": self.order.seconds,
            "got_per_second": round(self.got / self.order.seconds, 3),
            "share": round(self.share, 4),
            "most_in_window": {f"{window:g}": most for window, most in self.windows.items()},
            "most_in_window_of_callers": {f"{one:g}": most for one, most in self.windows_of_callers.items()},
            "overshoot": round(self.overshoot, 3),
            "fairness": self.fairness and round(self.fairness, 3),
            "round_trips_per_turn": round(self.trips_per_turn, 3),
            "late_p95_ms": self.late and round(self.late * 1000, 2),
            "control_late_p95_ms": self.control_late and round(self.control_late * 1000, 2),
        }


HEAD = (
    f"{'limiter':15}{'pr.':>3}{'/min':>7}{'s':>6}{'got/s':>9}{'share':>8}  "
    f"{'most/allowed in 0.1, 1, 10, 60 s':38}{'fair':>7}{'trips':>8}{'late ms':>8}{'control':>8}"
)


def _windows(times: list[float]) -> dict[float, int]:
    return {window: most_in_any(times, window) for window in WINDOWS}


def _shown(value: float | None, factor: float = 1.0) -> str:
    return "-" if value is None else f"{value * factor:.2f}"
