"""Leases that are renewed as long as their holder lives and no longer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from redis.exceptions import RedisError


class Renewal:
    """Renews again and again, beginning after the first `every` seconds: who is done before costs nothing."""

    def __init__(self, every: float, renew: Callable[[], Awaitable[bool]]) -> None:
        self._every = every
        self._renew = renew
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(every, self._begin)

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        while await self._renewed():  # noqa: ASYNC110 - there is no event to wait for, only time
            await asyncio.sleep(self._every)

    async def _renewed(self) -> bool:
        # A renewal that did not get through is tried again: the lease allows for it.
        with suppress(RedisError, OSError):
            return await self._renew()
        return True

    async def stop(self) -> None:
        """Renew no more; what is under way is cancelled."""
        self._timer.cancel()
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])


@asynccontextmanager
async def renewing(every: float, renew: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
    """Inside, `renew` is called every so many seconds until it says that there is nothing to renew."""
    renewal = Renewal(every, renew)
    try:
        yield
    finally:
        await renewal.stop()
