"""One domain's pace: the generic cell rate algorithm with penalties. Pure: the clock is an argument."""

import math
from dataclasses import dataclass
from typing import Final

from sale_sofia.resilience.policy import LimiterRules

_SECONDS_PER_MINUTE: Final = 60.0


def pause_seconds(rules: LimiterRules, retry_after: float | None) -> float:
    """How long a penalty lasts: as asked, within reason."""
    asked = rules.penalty_seconds if retry_after is None else retry_after
    return min(asked, rules.retry_after_max_seconds) if asked > 0 else 0.0


@dataclass(slots=True)
class Pace:
    """When the next request may go.

    Guarantee: the instants it gives out under one epoch keep, in any window of w seconds, to at most
    burst + w·rate/60 requests; after a penalty no instant before `not_before` is given, and no burst.
    """

    rules: LimiterRules
    rate: float
    """Requests per minute."""
    full_at: float = -math.inf
    """When the allowance is whole again (the algorithm's "theoretical arrival time")."""
    last: float = -math.inf
    """The latest instant given out."""
    not_before: float = -math.inf
    slow: float = 1.0
    """The time between two requests is this many times the configured one; never below 1."""
    successes: int = 0
    epoch: int = 0
    """Moves with every penalty; instants of an earlier epoch are void."""

    @property
    def interval(self) -> float:
        """Seconds between two requests now."""
        return _SECONDS_PER_MINUTE / self.rate * self.slow

    @property
    def _tolerance(self) -> float:
        return (self.rules.burst - 1) * self.interval

    def next_at(self, now: float) -> float:
        """The earliest instant for one more request; changes nothing."""
        return max(now, self.full_at - self._tolerance, self.not_before)

    def take(self, instant: float) -> None:
        """Give this instant, as `next_at` named it, to somebody."""
        self.full_at = max(self.full_at, instant) + self.interval
        self.last = instant

    def penalise(self, retry_after: float | None, now: float, seen_epoch: int | None) -> None:
        """Nobody goes before the pause is over; all instants given for later than now are void.

        The pace is slowed once for each epoch: several refusals of requests that went out together
        are one sign, not many.
        """
        if seen_epoch in {None, self.epoch}:
            self.slow = min(self.rules.slow_max, self.slow * self.rules.slow_step)
        self.epoch += 1
        self.successes = 0
        pause = max(pause_seconds(self.rules, retry_after), self.interval)
        self.not_before = max(self.not_before, now + pause)
        self.full_at = self.not_before + self._tolerance
        self.last = min(self.last, now)

    def hold(self, seconds: float, now: float) -> None:
        """Nobody goes sooner than this, and then without a burst; nothing else changes."""
        self.not_before = max(self.not_before, now + seconds)
        self.full_at = max(self.full_at, self.not_before + self._tolerance)

    def change_rate(self, rate: float) -> None:
        """Go on at another rate: the next request keeps the new distance from the last one."""
        before, self.rate = self.interval, rate
        if self.last > -math.inf:
            self.full_at = self.last + (self.full_at - self.last) / before * self.interval
        self.full_at = max(self.full_at, self.not_before + self._tolerance)

    def succeeded(self, now: float) -> None:
        """Count a good answer; late ones from before a penalty's pause are no sign of recovery."""
        if now < self.not_before or self.slow <= 1:
            return
        self.successes += 1
        if self.successes >= self.rules.recovery_successes:
            self.successes = 0
            self.slow = max(1.0, self.slow * self.rules.recovery_factor)
