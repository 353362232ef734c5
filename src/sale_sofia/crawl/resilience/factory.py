"""Creates the backends: in Redis where the settings say so, in this process's memory elsewhere.

The client of Redis takes a fifth of a crawl's memory, so it is imported only where it is needed.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from sale_sofia.crawl.resilience.breaker import MemoryCircuitBreaker
from sale_sofia.crawl.resilience.bulkhead import MemoryBulkhead
from sale_sofia.crawl.resilience.gate import Gate
from sale_sofia.crawl.resilience.limiter import DelayOf, MemoryRateLimiter, no_delay, slowed
from sale_sofia.crawl.resilience.memory import ComposedGate, LocalShare, memory_gate
from sale_sofia.crawl.resilience.policy import RateShare, ResilienceConfig
from sale_sofia.crawl.resilience.settings import FALLBACK_WORKERS
from sale_sofia.settings.model import Settings, load_settings

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from sale_sofia.crawl.resilience.redis_parts import Bulkhead, CircuitBreaker, RateLimiter

RateOf = Callable[[str], float]
LimitOf = Callable[[str], int]
Required = TypeVar("Required")


def needs_redis(settings: Settings) -> bool:
    """Whether anything is shared through Redis."""
    return settings.circuit_breaker_in_redis or settings.rate_limiter_in_redis


def get_circuit_breaker(settings: Settings | None = None, redis: "Redis | None" = None) -> "CircuitBreaker":
    """The breaker that REDIS_CIRCUIT_BREAKER_ENABLED selects; the caller closes the client."""
    settings = settings or load_settings()
    rules = ResilienceConfig.from_settings(settings).breaker
    if not settings.circuit_breaker_in_redis:
        return MemoryCircuitBreaker(rules, random.random)
    from sale_sofia.crawl.resilience.redis_parts import RedisCircuitBreaker  # noqa: PLC0415 - see above

    return RedisCircuitBreaker(_require(redis), rules, random.random)


def get_rate_limiter(
    settings: Settings | None = None,
    rate_of: RateOf | None = None,
    redis: "Redis | None" = None,
    delay_of: DelayOf = no_delay,
) -> "RateLimiter":
    """The limiter that REDIS_RATE_LIMITER_ENABLED selects; `rate_of` in requests per minute."""
    settings = settings or load_settings()
    rate_of = rate_of or settings.rate_limit
    rules = ResilienceConfig.from_settings(settings).limiter
    if not settings.rate_limiter_in_redis:
        return MemoryRateLimiter(rules, rate_of)
    from sale_sofia.crawl.resilience.redis_parts import RedisRateLimiter  # noqa: PLC0415 - see above

    return RedisRateLimiter(_require(redis), rules, rate_of, delay_of=delay_of)


def get_bulkhead(settings: Settings, redis: "Redis | None" = None) -> "Bulkhead":
    """The bulkhead, in the same backend as the limiter: concurrency is a matter of politeness too."""
    lease_seconds = ResilienceConfig.from_settings(settings).bulkhead.lease_seconds
    if not settings.rate_limiter_in_redis:
        return MemoryBulkhead(lease_seconds)
    from sale_sofia.crawl.resilience.redis_parts import RedisBulkhead  # noqa: PLC0415 - see above

    return RedisBulkhead(_require(redis), lease_seconds)


def get_gate(
    settings: Settings,
    rate_of: RateOf,
    limit_of: LimitOf,
    redis_url: str | None,
    delay_of: DelayOf = no_delay,
) -> Gate:
    """The gate that the two settings select. Close it at the end; shared state outlives it.

    A rate that is set for all workers is no faster than `delay_of` allows; `rate_of` has heeded it.
    """
    config = ResilienceConfig.from_settings(settings)
    if not needs_redis(settings):
        return memory_gate(config, MemoryRateLimiter(config.limiter, rate_of), limit_of)
    from sale_sofia.crawl.resilience.fallback import FallbackGate  # noqa: PLC0415 - see above
    from sale_sofia.crawl.resilience.redis_gate import RedisGate  # noqa: PLC0415
    from sale_sofia.crawl.resilience.scripts import connect  # noqa: PLC0415

    redis, shared_by_all = connect(_require(redis_url)), None
    if settings.circuit_breaker_in_redis and settings.rate_limiter_in_redis:
        shared_by_all = RedisGate(
            redis=redis, config=config, rate_of=rate_of, limit_of=limit_of, delay_of=delay_of
        )
    shared = shared_by_all or ComposedGate(
        limiter=get_rate_limiter(settings, rate_of, redis, delay_of),
        breaker=get_circuit_breaker(settings, redis),
        bulkhead=get_bulkhead(settings, redis),
        limit_of=limit_of,
        busy_seconds=config.bulkhead.busy_seconds,
        closing=redis.aclose,
    )
    # A limiter in memory gives each process the whole rate, with Redis or without.
    workers = FALLBACK_WORKERS if settings.rate_limiter_in_redis else 1

    def share_of(domain: str) -> RateShare:
        share = shared_by_all.shares.get(domain) if shared_by_all else None
        share = share or RateShare(rate_of(domain), workers)
        return replace(share, per_minute=slowed(share.per_minute, delay_of(domain)))

    limiter = MemoryRateLimiter(config.limiter, lambda domain: share_of(domain).own_per_minute)
    gate = memory_gate(config, limiter, lambda domain: max(1, limit_of(domain) // share_of(domain).workers))
    local = LocalShare(gate=gate, limiter=limiter, share_of=share_of)
    return FallbackGate(shared=shared, local=local, rules=config.limiter)


def _require(thing: Required | None) -> Required:
    if thing is None:
        raise ValueError("Shared state was asked for (REDIS_…_ENABLED), but no Redis was given.")
    return thing
