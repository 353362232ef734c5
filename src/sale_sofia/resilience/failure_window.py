"""The results of the last minutes, in buckets. Pure: the clock is an argument."""

import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class FailureWindow:
    """Counts results of the last `seconds`; older ones never count, the oldest bucket goes as a whole."""

    seconds: float
    buckets: int
    in_a_row: int = 0
    """Failures since the last success, unless the window passed between two of them."""
    _last_failure: float = -math.inf
    _good: dict[int, int] = field(default_factory=dict)
    _bad: dict[int, int] = field(default_factory=dict)

    def add(self, now: float, *, ok: bool) -> None:
        """Count one result."""
        self._forget(now)
        counts = self._good if ok else self._bad
        counts[self._bucket(now)] = counts.get(self._bucket(now), 0) + 1
        self._count_in_a_row(now, ok=ok)

    @property
    def volume(self) -> int:
        """All results in the window, as it was when the last one came."""
        return sum(self._good.values()) + sum(self._bad.values())

    @property
    def rate(self) -> float:
        """Share of failures among them; 0 where there is none."""
        return sum(self._bad.values()) / max(1, self.volume)

    def _count_in_a_row(self, now: float, *, ok: bool) -> None:
        goes_on = not ok and now - self._last_failure <= self.seconds
        self.in_a_row = self.in_a_row + 1 if goes_on else int(not ok)
        if not ok:
            self._last_failure = now

    def _bucket(self, now: float) -> int:
        return math.floor(now * self.buckets / self.seconds)

    def _forget(self, now: float) -> None:
        oldest = self._bucket(now) - self.buckets
        self._good = {bucket: count for bucket, count in self._good.items() if bucket > oldest}
        self._bad = {bucket: count for bucket, count in self._bad.items() if bucket > oldest}
