"""Limiter, breaker and bulkhead shared by all workers: one script and one round trip per operation."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from redis.asyncio import Redis

from sale_sofia.crawl.resilience.breaker import CircuitState, CircuitStatus, MemoryCircuitBreaker, Permission
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace, MemoryBulkhead, Renewal
from sale_sofia.crawl.resilience.limiter import (
    Acquiring,
    DelayOf,
    MemoryRateLimiter,
    Reservation,
    no_delay,
)
from sale_sofia.crawl.resilience.owners import new_token, tokens_of_dead
from sale_sofia.crawl.resilience.policy import BreakerRules, BulkheadRules, LimiterRules, checked_rate
from sale_sofia.crawl.resilience.scripts import CallerTime, ScriptRunner, in_time, naming, shared_rules
from sale_sofia.crawl.resilience.settings import INDEX_RENEW_SECONDS, RENEWALS_PER_LEASE, STATE_TTL_SECONDS

_FOR_EVER: Final = 1e300
"""Seconds; JSON has no infinity."""
INDEX: Final = "circuit:index"
"""The domains that have a circuit. Written outside the scripts, which cannot reach it on a cluster."""


def pace_key(domain: str) -> str:
    """The hash of a domain's pace."""
    return f"ratelimit:{{{domain}}}"


def circuit_key(domain: str) -> str:
    """The hash of a domain's circuit."""
    return f"circuit:{{{domain}}}"


def places_key(domain: str) -> str:
    """The sorted set of a domain's places."""
    return f"bulkhead:{{{domain}}}"


def finite(seconds: float) -> float:
    """Seconds within what JSON can express; NaN becomes -1."""
    return min(max(seconds, -_FOR_EVER), _FOR_EVER) if seconds == seconds else -1.0  # noqa: PLR0124


class RedisRateLimiter(Acquiring):
    """As `MemoryRateLimiter`, for all processes. A lost reply or a dead waiter wastes one instant."""

    def __init__(
        self,
        redis: Redis,
        rules: LimiterRules,
        rate_of: Callable[[str], float],
        *,
        delay_of: DelayOf = no_delay,
        caller_time: CallerTime | None = None,
    ) -> None:
        self._scripts = ScriptRunner(redis, shared_rules(limiter=rules), caller_time=caller_time)
        self._rate_of = rate_of
        self._delay_of = delay_of

    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """See `Acquiring`."""
        granted, wait, epoch = await self._run("reserve", domain, now, max_wait=finite(max_wait))
        return Reservation(bool(granted), float(wait), epoch)

    async def epoch(self, domain: str) -> int:
        """See `Acquiring`."""
        return int(await self._run("epoch", domain, None))

    async def peek(self, domain: str, now: float) -> float:
        """See `MemoryRateLimiter`."""
        return float(await self._run("peek", domain, now))

    async def penalise(
        self, domain: str, retry_after: float | None, now: float, *, seen_epoch: int | None = None
    ) -> None:
        """See `MemoryRateLimiter`."""
        seconds = None if retry_after is None else finite(retry_after)
        await self._run("penalise", domain, now, retry_after=seconds, seen_epoch=seen_epoch)

    async def succeeded(self, domain: str, now: float) -> None:
        """See `MemoryRateLimiter`."""
        await self._run("succeeded", domain, now)

    async def set_rate(self, domain: str, per_minute: float | None) -> None:
        """See `MemoryRateLimiter`."""
        rate = None if per_minute is None else checked_rate(domain, per_minute)
        await self._run("set_rate", domain, None, per_minute=rate)

    async def _run(self, name: str, domain: str, now: float | None, **arguments: object) -> Any:  # noqa: ANN401
        rate = checked_rate(domain, self._rate_of(domain))
        delay = self._delay_of(domain)
        return await self._scripts.run(name, [pace_key(domain)], now, rate=rate, delay=delay, **arguments)


class RedisCircuitBreaker:
    """As `MemoryCircuitBreaker`, for all processes, on the server's clock."""

    def __init__(
        self,
        redis: Redis,
        rules: BreakerRules,
        random: Callable[[], float],
        *,
        caller_time: CallerTime | None = None,
    ) -> None:
        self._scripts = ScriptRunner(redis, shared_rules(rules), caller_time=caller_time)
        self._redis = redis
        self._random = random
        self._noted: dict[str, float] = {}

    async def allow(self, domain: str, now: float, token: str | None = None) -> Permission:
        """See `MemoryCircuitBreaker`."""
        return self._permission(await self._run("allow", domain, now, token=token))

    async def confirm(
        self, domain: str, permission: Permission, now: float, token: str | None = None
    ) -> Permission:
        """See `MemoryCircuitBreaker`."""
        confirmed = self._permission(
            await self._run("confirm", domain, now, given=asdict(permission), token=token)
        )
        return permission if confirmed == permission else confirmed

    async def renew(self, domain: str, token: str, now: float) -> bool:
        """See `MemoryCircuitBreaker`."""
        (living,) = await self._run("renew_probe", domain, now, token=token)
        return bool(living)

    async def record(
        self, domain: str, permission: Permission, *, ok: bool, now: float, block_kind: str | None = None
    ) -> None:
        """See `MemoryCircuitBreaker`."""
        arguments = {"given": asdict(permission), "ok": ok, "block": block_kind, "chance": self._random()}
        await self._run("record", domain, now, **arguments)

    async def cancel(self, domain: str, permission: Permission) -> None:
        """See `MemoryCircuitBreaker`."""
        await self._run("cancel", domain, None, given=asdict(permission))

    async def get_state(self, domain: str) -> CircuitStatus:
        """See `MemoryCircuitBreaker`."""
        with naming(circuit_key(domain)):
            return _status(await self._redis.hgetall(circuit_key(domain)))

    async def get_all_states(self) -> Mapping[str, CircuitStatus]:
        """See `MemoryCircuitBreaker`."""
        with naming(INDEX):
            domains = sorted(map(str, await self._redis.smembers(INDEX)))
        async with self._redis.pipeline(transaction=False) as all_at_once:
            for domain in domains:
                all_at_once.hgetall(circuit_key(domain))
            async with in_time():
                hashes = await all_at_once.execute()
        return {domain: _status(fields) for domain, fields in zip(domains, hashes, strict=True) if fields}

    async def note(self, domain: str, *, fresh: bool) -> None:
        """Add the domain to the index: at first, daily, and when its circuit is created again."""
        now = time.monotonic()
        if not fresh and now - self._noted.get(domain, -INDEX_RENEW_SECONDS) < INDEX_RENEW_SECONDS:
            return
        async with self._redis.pipeline(transaction=True) as both:
            both.sadd(INDEX, domain)
            both.expire(INDEX, 2 * STATE_TTL_SECONDS)
            with naming(INDEX):
                async with in_time():
                    await both.execute()
        self._noted[domain] = now

    async def _run(self, name: str, domain: str, now: float | None, **arguments: object) -> list[Any]:
        """The script's reply without its last value, which says whether it has just created the circuit."""
        reply = await self._scripts.run(name, [circuit_key(domain)], now, **arguments)
        *values, fresh = reply if isinstance(reply, list) else [reply]
        await self.note(domain, fresh=bool(fresh))
        return values

    @staticmethod
    def _permission(values: list[Any]) -> Permission:
        allowed, wait, generation, probe, token = values
        return Permission(bool(allowed), float(wait), generation, bool(probe), token)


def _status(fields: Mapping[Any, Any]) -> CircuitStatus:
    if not fields:
        return CircuitStatus()
    opened_at = float(fields["opened_at"]) if "opened_at" in fields else None
    return CircuitStatus(
        state=CircuitState(fields["state"]),
        generation=int(fields["generation"]),
        failures=int(fields["failures"]),
        opened_at=opened_at,
        retry_at=None if opened_at is None else opened_at + float(fields["open_seconds"]),
        last_block=fields.get("last_block"),
        allowed=int(fields["allowed"]),
        refused=int(fields["refused"]),
    )


class RedisBulkhead:
    """As `MemoryBulkhead`, for all processes.

    Places of a dead process are freed as soon as another on its machine finds none free, see `owners`;
    otherwise at the end of their leases.
    """

    def __init__(self, redis: Redis, lease_seconds: float, *, caller_time: CallerTime | None = None) -> None:
        rules = shared_rules(bulkhead=BulkheadRules(lease_seconds=lease_seconds))
        self._redis = redis
        self._scripts = ScriptRunner(redis, rules, caller_time=caller_time)
        self.lease_seconds = lease_seconds

    async def enter(
        self, domain: str, limit: int, now: float, token: str | None = None
    ) -> BulkheadPlace | None:
        """See `MemoryBulkhead`."""
        place = BulkheadPlace(domain, token or new_token())
        entered = await self._run("enter", place, now, limit=limit)
        if not entered and (dead := await self.tokens_of_dead(domain)):
            for dead_token in dead:
                await self.leave(BulkheadPlace(domain, dead_token))
            entered = await self._run("enter", place, now, limit=limit)
        return place if entered else None

    async def tokens_of_dead(self, domain: str) -> list[str]:
        """Tokens of the domain's places that are held by a process known to be dead."""
        key = places_key(domain)
        with naming(key):
            held = await self._redis.zrange(key, 0, -1)
        return tokens_of_dead(map(str, held))

    async def renew(self, place: BulkheadPlace, now: float) -> bool:
        """See `MemoryBulkhead`."""
        return await self._run("renew", place, now)

    async def leave(self, place: BulkheadPlace) -> bool:
        """See `MemoryBulkhead`."""
        return await self._run("leave", place, None)

    async def _run(self, name: str, place: BulkheadPlace, now: float | None, **arguments: object) -> bool:
        key = places_key(place.domain)
        return bool(await self._scripts.run(name, [key], now, token=place.token, **arguments))


RateLimiter: TypeAlias = MemoryRateLimiter | RedisRateLimiter
CircuitBreaker: TypeAlias = MemoryCircuitBreaker | RedisCircuitBreaker
Bulkhead: TypeAlias = MemoryBulkhead | RedisBulkhead


@asynccontextmanager
async def holding(
    bulkhead: Bulkhead, domain: str, limit: int, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[BulkheadPlace | None]:
    """Holds a place during the block and renews its lease; None when all are taken."""
    place = await bulkhead.enter(domain, limit, clock())
    if place is None:
        yield None
        return
    try:
        async with Renewal(
            bulkhead.lease_seconds / RENEWALS_PER_LEASE, lambda: bulkhead.renew(place, clock())
        ):
            yield place
    finally:
        await bulkhead.leave(place)
