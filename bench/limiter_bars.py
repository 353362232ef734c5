"""The bars that our limiter must not miss."""

from collections.abc import Iterator

from limiter_lane import Lane
from limiter_order import OURS

LEAST_SHARE = 0.98
MOST_EXTRA_LATE = 0.020
LEAST_FAIRNESS = 0.8
MOST_TRIPS, MOST_TRIPS_AFTER_WAIT = 1.05, 2.1


def missed(lane: Lane) -> Iterator[str]:
    """Each bar that is missed, in a sentence; the peers promised nothing."""
    if lane.order.system == OURS:
        yield from _windows(lane)
        yield from _shares(lane)
        yield from _costs(lane)


def _windows(lane: Lane) -> Iterator[str]:
    for window, most in lane.windows.items():
        if most > lane.allowed(window):
            yield _sentence(lane, f"{most} in {window:g} s", f"{lane.allowed(window):g}")


def _shares(lane: Lane) -> Iterator[str]:
    # A lane with pauses shows the cost of one turn, not the rate.
    if not lane.order.pause_seconds and lane.share < LEAST_SHARE:
        yield _sentence(lane, f"{lane.share:.1%} of the rate", f"{LEAST_SHARE:.0%}")
    if lane.fairness is not None and lane.fairness < LEAST_FAIRNESS:
        yield _sentence(lane, f"fairness {lane.fairness:.2f}", f"{LEAST_FAIRNESS}")


def _costs(lane: Lane) -> Iterator[str]:
    most = MOST_TRIPS if lane.order.pause_seconds else MOST_TRIPS_AFTER_WAIT
    if lane.trips_per_turn > most:
        yield _sentence(lane, f"{lane.trips_per_turn:.2f} round trips per turn", f"{most}")
    extra = (lane.late or 0.0) - (lane.control_late or 0.0)
    if extra > MOST_EXTRA_LATE:
        yield _sentence(lane, f"{extra * 1000:.1f} ms later than a sleep", f"{MOST_EXTRA_LATE * 1000:g} ms")


def _sentence(lane: Lane, found: str, bar: str) -> str:
    return f"{len(lane.works)} processes at {lane.order.per_minute} per minute: {found} (bar: {bar})"
