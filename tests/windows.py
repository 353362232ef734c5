"""How many requests fell into any window of time, whichever moment it begins at."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

WINDOWS = (0.1, 1.0, 10.0, 60.0)


def most_in(times: Sequence[float], seconds: float) -> int:
    """The most of `times`, which are sorted, in a window that is closed at its start and open at its end."""
    return max((bisect_left(times, start + seconds) - place for place, start in enumerate(times)), default=0)


def fullest(times: Sequence[float], seconds: float) -> float:
    """Where the window begins that holds the most of `times`, which are sorted."""
    return max(times, key=lambda start: bisect_left(times, start + seconds) - bisect_left(times, start))


def excess(times: Iterable[float], per_minute: float, burst: float) -> dict[float, float]:
    """By how much each window is over rate·w + burst; empty when all hold."""
    ordered = sorted(times)
    over = {w: most_in(ordered, w) - (per_minute / 60 * w + burst) for w in WINDOWS}
    return {w: round(more, 2) for w, more in over.items() if more > 0}
