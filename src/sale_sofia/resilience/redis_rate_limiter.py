"""The rate limiter that all workers share: an instant is reserved at the server, and only there."""

from collections.abc import Callable
from typing import Any, Final

from redis.asyncio import Redis

from sale_sofia.resilience.acquire import Acquiring, Reservation
from sale_sofia.resilience.policy import LimiterRules
from sale_sofia.resilience.rates import checked_rate
from sale_sofia.resilience.scripts import ScriptRunner, ToldTime, shared_rules

_FOR_EVER: Final = 1e300
"""Seconds; JSON has no infinity."""


def pace_key(domain: str) -> str:
    """The hash of a domain's pace."""
    return f"ratelimit:{{{domain}}}"


def finite(seconds: float) -> float:
    """Seconds as JSON can say them; what is no number is no time at all."""
    return min(max(seconds, -_FOR_EVER), _FOR_EVER) if seconds == seconds else -1.0  # noqa: PLR0124


class RedisRateLimiter(Acquiring):
    """The limiter of all processes. A lost reply or a dead waiter wastes one instant and no more."""

    def __init__(
        self,
        redis: Redis,
        rules: LimiterRules,
        rate_of: Callable[[str], float],
        *,
        told_time: ToldTime | None = None,
    ) -> None:
        self._scripts = ScriptRunner(redis, shared_rules(limiter=rules), told_time=told_time)
        self._rate_of = rate_of

    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """See `RateLimiter`."""
        granted, wait, epoch = await self._run("reserve", domain, now, max_wait=finite(max_wait))
        return Reservation(bool(granted), float(wait), epoch)

    async def peek(self, domain: str, now: float) -> float:
        """See `RateLimiter`."""
        return float(await self._run("peek", domain, now))

    async def penalise(
        self, domain: str, retry_after: float | None, now: float, *, seen_epoch: int | None = None
    ) -> None:
        """See `RateLimiter`."""
        asked = None if retry_after is None else finite(retry_after)
        await self._run("penalise", domain, now, retry_after=asked, seen_epoch=seen_epoch)

    async def epoch(self, domain: str) -> int:
        """See `RateLimiter`."""
        return int(await self._run("epoch", domain, None))

    async def succeeded(self, domain: str, now: float) -> None:
        """See `RateLimiter`."""
        await self._run("succeeded", domain, now)

    async def set_rate(self, domain: str, per_minute: float | None) -> None:
        """See `RateLimiter`."""
        rate = None if per_minute is None else checked_rate(domain, per_minute)
        await self._run("set_rate", domain, None, per_minute=rate)

    async def _run(self, name: str, domain: str, now: float | None, **ask: object) -> Any:  # noqa: ANN401
        rate = checked_rate(domain, self._rate_of(domain))
        return await self._scripts.run(name, [pace_key(domain)], now, rate=rate, **ask)
