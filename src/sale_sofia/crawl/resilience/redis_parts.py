"""The rate limiter that all workers share: an instant is reserved at the server, and only there."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final
from uuid import uuid4

from redis.asyncio import Redis

from sale_sofia.crawl.resilience.breaker import CircuitState, CircuitStatus, Permission
from sale_sofia.crawl.resilience.bulkhead import Place
from sale_sofia.crawl.resilience.limiter import Acquiring, Reservation
from sale_sofia.crawl.resilience.policy import BreakerRules, BulkheadRules, LimiterRules, checked_rate
from sale_sofia.crawl.resilience.scripts import ScriptRunner, ToldTime, in_time, naming, shared_rules
from sale_sofia.crawl.resilience.settings import INDEX_RENEW_SECONDS, STATE_TTL_SECONDS

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


# The circuit breaker that all workers share: each operation one script, one round trip, one clock.

INDEX: Final = "circuit:index"
"""The domains that have a circuit. A key of its own, as on a cluster no script could reach it."""


def circuit_key(domain: str) -> str:
    """The hash of a domain's circuit."""
    return f"circuit:{{{domain}}}"


def given(permission: Permission) -> dict[str, object]:
    """A permission in the words of the scripts."""
    return asdict(permission)


class CircuitIndex:
    """Which domains have a circuit; told once per domain and process, and again where Redis forgot."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._told: dict[str, float] = {}

    async def tell(self, domain: str, *, fresh: bool) -> None:
        """Note the domain; `fresh` when its circuit has just been made."""
        now = time.monotonic()
        if not fresh and now - self._told.get(domain, -INDEX_RENEW_SECONDS) < INDEX_RENEW_SECONDS:
            return
        async with self._redis.pipeline(transaction=True) as both:
            both.sadd(INDEX, domain)
            both.expire(INDEX, 2 * STATE_TTL_SECONDS)
            with naming(INDEX):
                async with in_time():
                    await both.execute()
        self._told[domain] = now

    async def domains(self) -> list[str]:
        """All of them, in order."""
        with naming(INDEX):
            return sorted(map(str, await self._redis.smembers(INDEX)))


class RedisCircuitBreaker:
    """The breaker of all processes. Only what the server's clock and these scripts say counts."""

    def __init__(
        self,
        redis: Redis,
        rules: BreakerRules,
        random: Callable[[], float],
        *,
        told_time: ToldTime | None = None,
    ) -> None:
        self._scripts = ScriptRunner(redis, shared_rules(rules), told_time=told_time)
        self._redis = redis
        self._random = random
        self._index = CircuitIndex(redis)

    async def allow(self, domain: str, now: float, token: str | None = None) -> Permission:
        """See `CircuitBreaker`."""
        return await self._permission(domain, await self._run("allow", domain, now, token=token))

    async def confirm(
        self, domain: str, permission: Permission, now: float, token: str | None = None
    ) -> Permission:
        """See `CircuitBreaker`."""
        reply = await self._run("confirm", domain, now, given=given(permission), token=token)
        confirmed = await self._permission(domain, reply)
        return permission if confirmed == permission else confirmed

    async def renew(self, domain: str, token: str, now: float) -> bool:
        """See `CircuitBreaker`."""
        living, fresh = await self._run("renew_probe", domain, now, token=token)
        await self._index.tell(domain, fresh=bool(fresh))
        return bool(living)

    async def record(
        self, domain: str, permission: Permission, *, ok: bool, now: float, block_kind: str | None = None
    ) -> None:
        """See `CircuitBreaker`."""
        chance = self._random()
        ask = {"given": given(permission), "ok": ok, "block": block_kind, "chance": chance}
        await self._index.tell(domain, fresh=bool(await self._run("record", domain, now, **ask)))

    async def cancel(self, domain: str, permission: Permission) -> None:
        """See `CircuitBreaker`."""
        fresh = await self._run("cancel", domain, None, given=given(permission))
        await self._index.tell(domain, fresh=bool(fresh))

    async def get_state(self, domain: str) -> CircuitStatus:
        """See `CircuitBreaker`."""
        with naming(circuit_key(domain)):
            return _status(await self._redis.hgetall(circuit_key(domain)))

    async def get_all_states(self) -> Mapping[str, CircuitStatus]:
        """See `CircuitBreaker`."""
        domains = await self._index.domains()
        async with self._redis.pipeline(transaction=False) as all_at_once:
            for domain in domains:
                all_at_once.hgetall(circuit_key(domain))
            async with in_time():
                hashes = await all_at_once.execute()
        return {domain: _status(fields) for domain, fields in zip(domains, hashes, strict=True) if fields}

    async def _run(self, name: str, domain: str, now: float | None, **ask: object) -> Any:  # noqa: ANN401
        return await self._scripts.run(name, [circuit_key(domain)], now, **ask)

    async def _permission(self, domain: str, reply: list[Any]) -> Permission:
        allowed, wait, generation, probe, token, fresh = reply
        await self._index.tell(domain, fresh=bool(fresh))
        return Permission(bool(allowed), float(wait), generation, bool(probe), token)


def _status(fields: Mapping[Any, Any]) -> CircuitStatus:
    if not fields:
        return CircuitStatus()
    opened_at = fields.get("opened_at")
    return CircuitStatus(
        state=CircuitState(fields["state"]),
        generation=int(fields["generation"]),
        failures=int(fields["failures"]),
        opened_at=None if opened_at is None else float(opened_at),
        last_block=fields.get("last_block"),
        allowed=int(fields["allowed"]),
        refused=int(fields["refused"]),
    )


# The places that all workers share: leased at the server, so that those of the dead come back.


def places_key(domain: str) -> str:
    """The sorted set of a domain's places."""
    return f"bulkhead:{{{domain}}}"


class RedisBulkhead:
    """The places of all processes."""

    def __init__(self, redis: Redis, lease_seconds: float, *, told_time: ToldTime | None = None) -> None:
        rules = shared_rules(bulkhead=BulkheadRules(lease_seconds=lease_seconds))
        self._scripts = ScriptRunner(redis, rules, told_time=told_time)
        self._lease_seconds = lease_seconds

    @property
    def lease_seconds(self) -> float:
        """See `Bulkhead`."""
        return self._lease_seconds

    async def enter(self, domain: str, limit: int, now: float, token: str | None = None) -> Place | None:
        """See `Bulkhead`."""
        place = Place(domain, token or uuid4().hex)
        return place if await self._run("enter", place, now, limit=limit) else None

    async def renew(self, place: Place, now: float) -> bool:
        """See `Bulkhead`."""
        return await self._run("renew", place, now)

    async def leave(self, place: Place) -> bool:
        """See `Bulkhead`."""
        return await self._run("leave", place, None)

    async def _run(self, name: str, place: Place, now: float | None, **ask: object) -> bool:
        key = places_key(place.domain)
        return bool(await self._scripts.run(name, [key], now, token=place.token, **ask))
