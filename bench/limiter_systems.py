"""The limiters under test, each behind one function that returns when the caller may go."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from functools import cache

from limits import RateLimitItemPerSecond
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from pyrate_limiter import GCRA, Limiter, Rate, RedisStateStore, StateBucket

from limiter_order import OURS, WARM_UP, Order
from sale_sofia.crawl.resilience.limiter import Reservation
from sale_sofia.crawl.resilience.policy import LimiterRules
from sale_sofia.crawl.resilience.redis_parts import RedisRateLimiter
from sale_sofia.crawl.resilience.scripts import connect

TakeTurn = Callable[[str], Awaitable[object]]
"""Returns when the caller may go to the domain."""
SHORTEST_POLL_SECONDS = 0.001

answer: ContextVar[tuple[float, float] | None] = ContextVar("answer", default=None)
"""When this task asked for its turn, and how long it had to wait; None where that is not known."""


class NotedLimiter(RedisRateLimiter):
    """Ours, noting what it was told."""

    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """See `RateLimiter`."""
        asked = time.time()
        slot = await super().reserve(domain, max_wait, now)
        answer.set((asked, slot.wait_seconds))
        return slot


@asynccontextmanager
async def ours(order: Order) -> AsyncIterator[TakeTurn]:
    """Our limiter as shipped."""
    async with connect(order.url) as redis:
        limiter = NotedLimiter(redis, LimiterRules(), order.rate_of)
        yield limiter.acquire_async


@asynccontextmanager
async def limits(order: Order) -> AsyncIterator[TakeTurn]:
    """`limits`, moving window of a second, its shortest; one of a minute lets a minute's turns go at once.

    It cannot wait. On a refusal it can say when its window has room again, so that is when to ask again.
    """
    storage = RedisStorage(f"async+{order.url}", implementation="redispy")
    limiter = MovingWindowRateLimiter(storage)

    async def turn(domain: str) -> None:
        item = RateLimitItemPerSecond(order.rate_of(domain) // 60)
        while not await limiter.hit(item, domain):
            window = await limiter.get_window_stats(item, domain)
            await asyncio.sleep(max(SHORTEST_POLL_SECONDS, window.reset_time - time.time()))

    yield turn
    await storage.bridge.get_connection().aclose()


@asynccontextmanager
async def pyrate(order: Order) -> AsyncIterator[TakeTurn]:
    """`pyrate-limiter`, its smoothest: GCRA with a burst of one. It waits by itself.

    To every wait it adds 50 ms unless told otherwise, which costs it most of a high rate; so it is told.
    """
    async with connect(order.url) as redis:

        @cache
        def limiter(domain: str) -> Limiter:
            rate = Rate(order.rate_of(domain), 60_000, burst=1)
            bucket = StateBucket([rate], algorithm=GCRA(), store=RedisStateStore(redis, domain))
            return Limiter(bucket, buffer_ms=0)

        yield lambda domain: limiter(domain).try_acquire_async(domain)
        for domain in (WARM_UP, order.domain):
            limiter(domain).close()


SYSTEMS: dict[str, Callable[[Order], AbstractAsyncContextManager[TakeTurn]]] = {
    OURS: ours,
    "limits": limits,
    "pyrate-limiter": pyrate,
}
