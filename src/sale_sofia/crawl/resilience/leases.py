"""Renews leases for as long as their holder lives."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from sale_sofia.crawl.resilience.errors import redis_errors


class Renewal:
    """In an `async with` block, calls `renew` every `every` seconds until it returns False.

    The first call comes after `every` seconds: a shorter block costs nothing.
    """

    def __init__(self, every: float, renew: Callable[[], Awaitable[bool]]) -> None:
        self._every = every
        self._renew = renew
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._every, self._begin)

    async def __aexit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        living = True
        while living:
            # A failed renewal is tried again: the lease is long enough for several.
            with suppress(*redis_errors(), OSError):
                living = await self._renew()
            if living:
                await asyncio.sleep(self._every)
