"""The breakers under test: the one that all processes share, and one for each process."""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import pybreaker

from sale_sofia.crawl.resilience.breaker import CircuitState, MemoryCircuitBreaker
from sale_sofia.crawl.resilience.policy import BreakerRules
from sale_sofia.crawl.resilience.redis_parts import CircuitBreaker, RedisCircuitBreaker
from sale_sofia.crawl.resilience.scripts import connect

FAIL_MAX, QUOTA = 5, 2
"""As shipped: failures in a row that open a circuit, and probes at once while it is half open."""
RESET_SECONDS = 1.0
GROWING = BreakerRules(fail_max=FAIL_MAX, reset_timeout_seconds=RESET_SECONDS, half_open_calls=QUOTA)
"""Everything else as shipped: a probe that fails doubles the time until the next, with jitter."""
STEADY = BreakerRules(
    fail_max=FAIL_MAX,
    reset_timeout_seconds=RESET_SECONDS,
    half_open_calls=QUOTA,
    reset_step=1.0,
    reset_jitter=0.0,
)
"""Always the same time, as libraries have it."""

Fetch = Callable[[], bool]
"""Asks the portal, and says whether it answered well; it blocks, as there is nothing else to do."""


class Guarded(ABC):
    """A portal behind a breaker."""

    @abstractmethod
    async def ask(self, fetch: Fetch) -> bool | None:
        """Whether the portal answered well; None when it was not asked."""

    @abstractmethod
    async def closed(self) -> bool:
        """Whether the breaker lets everybody through."""


@dataclass(slots=True)
class OurGuard(Guarded):
    """One of our breakers, whatever holds its state."""

    breaker: CircuitBreaker
    domain: str

    async def ask(self, fetch: Fetch) -> bool | None:
        """See `Guarded`."""
        permission = await self.breaker.allow(self.domain, time.monotonic())
        if not permission.allowed:
            return None
        ok = fetch()
        await self.breaker.record(self.domain, permission, ok=ok, now=time.monotonic())
        return ok

    async def closed(self) -> bool:
        """See `Guarded`."""
        return (await self.breaker.get_state(self.domain)).state is CircuitState.CLOSED


class _Failed(Exception):
    """The portal's answer was an error; pybreaker knows failures only as exceptions."""


class PyBreakerGuard(Guarded):
    """`pybreaker` with its storage in memory, as it is by default."""

    def __init__(self) -> None:
        self._breaker = pybreaker.CircuitBreaker(fail_max=FAIL_MAX, reset_timeout=RESET_SECONDS)

    async def ask(self, fetch: Fetch) -> bool | None:
        """See `Guarded`."""
        asked = False

        def attempt() -> bool:
            nonlocal asked
            asked = True
            if not fetch():
                raise _Failed
            return True

        try:
            return bool(self._breaker.call(attempt))
        except (_Failed, pybreaker.CircuitBreakerError):
            return False if asked else None

    async def closed(self) -> bool:
        """See `Guarded`."""
        return bool(self._breaker.current_state == pybreaker.STATE_CLOSED)


Opened = AbstractAsyncContextManager[Guarded]


def shared(rules: BreakerRules) -> Callable[[str, str], Opened]:
    """One breaker for all processes, in Redis."""

    @asynccontextmanager
    async def opened(url: str, domain: str) -> AsyncIterator[Guarded]:
        async with connect(url) as redis:
            yield OurGuard(RedisCircuitBreaker(redis, rules, random.random), domain)

    return opened


def own(rules: BreakerRules) -> Callable[[str, str], Opened]:
    """Our breaker in memory, one for each process."""

    @asynccontextmanager
    async def opened(_: str, domain: str) -> AsyncIterator[Guarded]:
        yield OurGuard(MemoryCircuitBreaker(rules, random.random), domain)

    return opened


@asynccontextmanager
async def own_pybreaker(_url: str, _domain: str) -> AsyncIterator[Guarded]:
    """`pybreaker`, one for each process."""
    yield PyBreakerGuard()


SHARED, OWN, PYBREAKER = "shared, steady", "one per process, steady", "pybreaker per process"
SHARED_GROWING, OWN_GROWING = "shared, as shipped", "one per process, as shipped"
SYSTEMS: dict[str, Callable[[str, str], Opened]] = {
    SHARED: shared(STEADY),
    OWN: own(STEADY),
    PYBREAKER: own_pybreaker,
    SHARED_GROWING: shared(GROWING),
    OWN_GROWING: own(GROWING),
}
