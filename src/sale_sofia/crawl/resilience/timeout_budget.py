"""Nested time limits: an inner one never ends later than the one around it."""

import math
from collections.abc import Callable
from typing import Self


class TimeoutBudget:
    """`seconds` from now on, and never past the instant `no_later_than` of the same monotonic clock."""

    def __init__(
        self, seconds: float, clock: Callable[[], float], *, no_later_than: float = math.inf
    ) -> None:
        self._clock = clock
        self._deadline = min(clock() + seconds, no_later_than)

    def child(self, seconds: float) -> Self:
        """A budget of at most `seconds` that ends no later than this one."""
        return type(self)(seconds, self._clock, no_later_than=self._deadline)

    def remaining(self) -> float:
        """Seconds left; 0 when there are none, never less."""
        return max(0.0, self._deadline - self._clock())

    @property
    def expired(self) -> bool:
        """Whether no time is left."""
        return self.remaining() <= 0
