"""How fast a domain is asked, by all who ask it together."""

from collections.abc import Callable
from typing import Protocol

from sale_sofia.resilience.acquire import Acquiring, Reservation
from sale_sofia.resilience.pace import Pace
from sale_sofia.resilience.policy import LimiterRules
from sale_sofia.resilience.rates import checked_rate

__all__ = ["MemoryRateLimiter", "RateLimiter", "Reservation"]


class RateLimiter(Protocol):
    """Gives out instants to go at. `now` is in seconds; a backend with a clock of its own ignores it."""

    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """The next free instant, if it is at most `max_wait` seconds away; otherwise nothing is reserved."""

    async def peek(self, domain: str, now: float) -> float:
        """Seconds until the next free instant; nothing is reserved."""

    async def penalise(
        self, domain: str, retry_after: float | None, now: float, *, seen_epoch: int | None = None
    ) -> None:
        """Stop the domain for everybody, slow it down, void what was reserved for later and move the epoch.

        `seen_epoch` is the epoch the refused request went out under: one that is over slows no further.
        """

    async def epoch(self, domain: str) -> int:
        """Changes whenever instants reserved before must not be used any more."""

    async def succeeded(self, domain: str, now: float) -> None:
        """A good answer: a slowed domain recovers step by step, never above its configured rate."""

    async def set_rate(self, domain: str, per_minute: float | None) -> None:
        """Another rate for everybody from now on; None is the configured one again.

        Raises:
            ValueError: no rate that makes sense.
        """

    async def acquire_async(
        self, domain: str, *, blocking: bool = True, max_wait: float | None = None
    ) -> bool:
        """Wait for a turn, at most `max_wait` seconds, and say whether it came; not blocking: now or not."""


class MemoryRateLimiter(Acquiring):
    """The rate limiter of one process. Safe within one event loop: no method gives up control."""

    def __init__(self, rules: LimiterRules, rate_of: Callable[[str], float]) -> None:
        self._rules = rules
        self._rate_of = rate_of
        self._paces: dict[str, Pace] = {}
        self._set: dict[str, float] = {}

    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """See `RateLimiter`."""
        pace = self._pace(domain)
        instant = pace.next_at(now)
        granted = instant - now <= max_wait
        if granted:
            pace.take(instant)
        return Reservation(granted, instant - now, pace.epoch)

    async def peek(self, domain: str, now: float) -> float:
        """See `RateLimiter`."""
        return self._pace(domain).next_at(now) - now

    async def penalise(
        self, domain: str, retry_after: float | None, now: float, *, seen_epoch: int | None = None
    ) -> None:
        """See `RateLimiter`."""
        self._pace(domain).penalise(retry_after, now, seen_epoch)

    async def epoch(self, domain: str) -> int:
        """See `RateLimiter`."""
        return self._pace(domain).epoch

    async def succeeded(self, domain: str, now: float) -> None:
        """See `RateLimiter`."""
        self._pace(domain).succeeded(now)

    async def set_rate(self, domain: str, per_minute: float | None) -> None:
        """See `RateLimiter`."""
        if per_minute is None:
            self._set.pop(domain, None)
        else:
            self._set[domain] = checked_rate(domain, per_minute)
        self._pace(domain)

    def hold(self, domain: str, seconds: float, now: float) -> None:
        """Nobody goes sooner than this; nothing else changes."""
        self._pace(domain).hold(seconds, now)

    def _pace(self, domain: str) -> Pace:
        """At the rate of now: a portal's Crawl-delay is known only after the first request."""
        rate = self._set.get(domain) or checked_rate(domain, self._rate_of(domain))
        pace = self._paces.setdefault(domain, Pace(self._rules, rate))
        if pace.rate != rate:
            pace.change_rate(rate)
        return pace
