"""The rate limiter: how fast a domain is asked, by all callers together."""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Self

from sale_sofia.crawl.resilience.policy import LimiterRules, checked_rate

SECONDS_PER_MINUTE: Final = 60.0


DelayOf = Callable[[str], float | None]
"""The seconds that a domain itself wants between two requests (its Crawl-delay), if known."""


def no_delay(_domain: str) -> float | None:
    """The `DelayOf` of domains that want none."""
    return None


def slowed(rate: float, crawl_delay: float | None) -> float:
    """Requests per minute under a Crawl-delay: it can only slow us down."""
    return min(rate, SECONDS_PER_MINUTE / crawl_delay) if crawl_delay else rate


def pause_seconds(rules: LimiterRules, retry_after: float | None) -> float:
    """How long a penalty lasts: the Retry-After or a default, at most `retry_after_max_seconds`."""
    seconds = rules.penalty_seconds if retry_after is None else retry_after
    return min(seconds, rules.retry_after_max_seconds) if seconds > 0 else 0.0


@dataclass(slots=True)
class Pace:
    """One domain's pace: the generic cell rate algorithm with penalties; the clock is an argument.

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
        return SECONDS_PER_MINUTE / self.rate * self.slow

    @property
    def _tolerance(self) -> float:
        return (self.rules.burst - 1) * self.interval

    def next_at(self, now: float) -> float:
        """The earliest instant for one more request; changes nothing."""
        return max(now, self.full_at - self._tolerance, self.not_before)

    def take(self, instant: float) -> None:
        """Reserve this instant, as returned by `next_at`."""
        self.full_at = max(self.full_at, instant) + self.interval
        self.last = instant

    def penalise(self, retry_after: float | None, now: float, seen_epoch: int | None) -> None:
        """Allow no request before the pause is over; all instants given for later than now are void.

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
        """Allow no request for `seconds`, and then no burst; nothing else changes."""
        self.not_before = max(self.not_before, now + seconds)
        self.full_at = max(self.full_at, self.not_before + self._tolerance)

    def change_rate(self, rate: float) -> None:
        """Go on at another rate: the next request keeps the new distance from the last one."""
        before, self.rate = self.interval, rate
        if self.last > -math.inf:
            # Requests use up no more than the burst: what lies beyond is a pause, which no rate stretches.
            used = min(self.rules.burst, (self.full_at - self.last) / before)
            self.full_at = self.last + used * self.interval
        self.full_at = max(self.full_at, self.not_before + self._tolerance)

    def succeeded(self, now: float) -> None:
        """Count a good answer; late ones from before a penalty's pause are no sign of recovery."""
        if now < self.not_before or self.slow <= 1:
            return
        self.successes += 1
        if self.successes >= self.rules.recovery_successes:
            self.successes = 0
            self.slow = max(1.0, self.slow * self.rules.recovery_factor)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Granted: send after `wait_seconds`, if the epoch is still this one. Else: nothing was reserved."""

    granted: bool
    wait_seconds: float
    """Granted: until the reserved instant. Not granted: how long it would have been."""
    epoch: int


class Acquiring(ABC):
    """Waits for a turn: one reservation, one sleep, one look at the epoch; no polling.

    A caller that gives up or dies while waiting wastes one instant.
    """

    clock: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], Awaitable[object]] = staticmethod(asyncio.sleep)

    @abstractmethod
    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """The next free instant, if it is at most `max_wait` seconds away; otherwise nothing is reserved."""

    @abstractmethod
    async def epoch(self, domain: str) -> int:
        """Changes whenever instants reserved before must not be used any more."""

    async def acquire_async(
        self, domain: str, *, blocking: bool = True, max_wait: float | None = None
    ) -> bool:
        """Wait for a turn, at most `max_wait` seconds, and return whether it came; not blocking: no wait.

        After a penalty during the wait it reserves again, within the time that is left.
        """
        patience = math.inf if max_wait is None else max_wait
        end = self.clock() + (patience if blocking else 0.0)
        while True:
            slot = await self.reserve(domain, max(0.0, end - self.clock()), self.clock())
            if not slot.granted or slot.wait_seconds <= 0:
                return slot.granted
            await self.sleep(slot.wait_seconds)
            if await self.epoch(domain) == slot.epoch:
                return True


class BlockingRateLimiter:
    """A limiter for code without an event loop: it runs its own, and enters `opened` inside it."""

    def __init__(self, opened: AbstractAsyncContextManager[Acquiring]) -> None:
        self._opened = opened
        self._runner = asyncio.Runner()

    def acquire(self, domain: str, *, blocking: bool = True, max_wait: float | None = None) -> bool:
        """As `acquire_async`."""
        return self._runner.run(self._limiter.acquire_async(domain, blocking=blocking, max_wait=max_wait))

    def __enter__(self) -> Self:
        self._limiter = self._runner.run(self._opened.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        with self._runner:
            self._runner.run(self._opened.__aexit__(None, None, None))


class MemoryRateLimiter(Acquiring):
    """The rate limiter of one process. Safe within one event loop: no method yields control.

    `now` is in seconds; the limiter in Redis uses the server's clock and ignores it.
    """

    def __init__(self, rules: LimiterRules, rate_of: Callable[[str], float]) -> None:
        self._rules = rules
        self._rate_of = rate_of
        self._paces: dict[str, Pace] = {}
        self._set: dict[str, float] = {}

    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """See `Acquiring`."""
        pace = self._pace(domain)
        instant = pace.next_at(now)
        granted = instant - now <= max_wait
        if granted:
            pace.take(instant)
        return Reservation(granted, instant - now, pace.epoch)

    async def epoch(self, domain: str) -> int:
        """See `Acquiring`."""
        return self._pace(domain).epoch

    async def peek(self, domain: str, now: float) -> float:
        """Seconds until the next free instant; nothing is reserved."""
        return self._pace(domain).next_at(now) - now

    async def penalise(
        self, domain: str, retry_after: float | None, now: float, *, seen_epoch: int | None = None
    ) -> None:
        """Pause the domain for everybody, slow it down, void later reservations and move the epoch.

        `seen_epoch` is the epoch of the refused request: a past one does not slow the domain further.
        """
        self._pace(domain).penalise(retry_after, now, seen_epoch)

    async def succeeded(self, domain: str, now: float) -> None:
        """A good answer: a slowed domain recovers step by step, never above its configured rate."""
        self._pace(domain).succeeded(now)

    async def set_rate(self, domain: str, per_minute: float | None) -> None:
        """Change the rate for everybody from now on; None restores the configured one.

        Raises `ValueError`: the rate is not above 0 or is too large.
        """
        if per_minute is None:
            self._set.pop(domain, None)
        else:
            self._set[domain] = checked_rate(domain, per_minute)
        self._pace(domain)

    def hold(self, domain: str, seconds: float, now: float) -> None:
        """Allow no request for `seconds`; nothing else changes."""
        self._pace(domain).hold(seconds, now)

    def _pace(self, domain: str) -> Pace:
        """The pace at the current rate: a portal's Crawl-delay is known only after the first request."""
        rate = self._set.get(domain) or checked_rate(domain, self._rate_of(domain))
        pace = self._paces.setdefault(domain, Pace(self._rules, rate))
        if pace.rate != rate:
            pace.change_rate(rate)
        return pace
