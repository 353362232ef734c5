"""Everything in this process's memory: for one process, and for when the shared backend is gone."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable

from sale_sofia.resilience.bulkhead import MemoryBulkhead
from sale_sofia.resilience.circuit_breaker import MemoryCircuitBreaker
from sale_sofia.resilience.composed_gate import ComposedGate
from sale_sofia.resilience.policy import ResilienceConfig
from sale_sofia.resilience.rate_limiter import MemoryRateLimiter, RateLimiter


def memory_gate(
    config: ResilienceConfig,
    rate_of: Callable[[str], float],
    limit_of: Callable[[str], int],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ComposedGate:
    """A gate for one process: `rate_of` in requests per minute, `limit_of` in requests at once."""
    limiter = MemoryRateLimiter(config.limiter, rate_of)
    return memory_gate_around(limiter, config, limit_of, clock, sleep)


def memory_gate_around(
    limiter: RateLimiter,
    config: ResilienceConfig,
    limit_of: Callable[[str], int],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ComposedGate:
    """The same with a limiter that somebody else holds on to."""
    return ComposedGate(
        limiter=limiter,
        breaker=MemoryCircuitBreaker(config.breaker, random.random),
        bulkhead=MemoryBulkhead(config.bulkhead.lease_seconds),
        limit_of=limit_of,
        busy_seconds=config.bulkhead.busy_seconds,
        clock=clock,
        sleep=sleep,
    )
