"""The figures of one outage: what the portal was asked, and when the breaker was itself again."""

from dataclasses import dataclass
from typing import Any

from breaker_portal import Arrival
from breaker_systems import RESET_SECONDS
from limiter_times import most_in_any

ROUND_SECONDS = RESET_SECONDS / 2
"""Longer than a round of probes, shorter than the time between two."""


@dataclass(frozen=True, slots=True)
class Outage:
    """What the portal saw of one system, and when the system was itself again."""

    system: str
    down: float
    up: float
    arrivals: list[Arrival]
    closed: list[float | None]
    """When each process saw its circuit closed again."""

    @property
    def while_down(self) -> list[float]:
        """Requests while the portal was down."""
        return [one.at for one in self.arrivals if not one.ok]

    @property
    def probes(self) -> list[float]:
        """Those of them that came after the shortest time a circuit is open."""
        return [at for at in self.while_down if at >= self.down + RESET_SECONDS]

    @property
    def most_probes(self) -> int:
        """Most probes in one round."""
        return most_in_any(self.probes, ROUND_SECONDS)

    @property
    def first_success(self) -> float | None:
        """Seconds from the recovery to the first request that was answered well."""
        return min((one.at - self.up for one in self.arrivals if one.at >= self.up), default=None)

    @property
    def closed_after(self) -> tuple[float | None, float | None]:
        """Seconds from the recovery until the first and the last process saw its circuit closed."""
        seen = [at - self.up for at in self.closed if at is not None]
        return min(seen, default=None), max(seen) if len(seen) == len(self.closed) else None

    def row(self) -> str:
        """A row of the table."""
        first, last = map(shown, self.closed_after)
        asked, probes = len(self.while_down), len(self.probes)
        return (
            f"{self.system:28}{self.up - self.down:8.2f}{asked:7}{asked - probes:9}"
            f"{self.most_probes:10}{shown(self.first_success):>15}{first:>14}{last:>13}"
        )

    def figures(self) -> dict[str, Any]:
        """What goes into the last line."""
        first, last = self.closed_after
        return {
            "down_seconds": round(self.up - self.down, 3),
            "while_down": len(self.while_down),
            "to_open": len(self.while_down) - len(self.probes),
            "most_probes_in_a_round": self.most_probes,
            "first_success_seconds": _rounded(self.first_success),
            "first_closed_seconds": _rounded(first),
            "all_closed_seconds": _rounded(last),
        }


HEAD = (
    f"{'breaker':28}{'down s':>8}{'asked':>7}{'to open':>9}{'in round':>10}"
    f"{'first success':>15}{'first closed':>14}{'all closed':>13}"
)


def shown(seconds: float | None) -> str:
    """Seconds for people."""
    return "-" if seconds is None else f"{seconds:.2f}"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
