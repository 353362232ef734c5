"""The bulkhead: limits a domain's concurrent requests, so that a slow portal never takes every worker.

Its places are leased; `Renewal` renews leases, also others', for as long as their holder lives.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

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


@dataclass(frozen=True, slots=True)
class BulkheadPlace:
    """One of a domain's places, held until it is given back or its lease ends."""

    domain: str
    token: str


class MemoryBulkhead:
    """Leased places per domain, in one process. Safe within one event loop: no method yields control.

    `now` is in seconds; the bulkhead in Redis uses the server's clock and ignores it.
    """

    def __init__(self, lease_seconds: float) -> None:
        self.lease_seconds = lease_seconds
        """How long a place is held without a renewal."""
        self._held: dict[str, dict[str, float]] = {}

    async def enter(
        self, domain: str, limit: int, now: float, token: str | None = None
    ) -> BulkheadPlace | None:
        """A place, or None while `limit` live ones are held; a place whose lease ended is free again.

        Idempotent by `token`: two calls with the same one hold one place.
        """
        held = {token: end for token, end in self._held.get(domain, {}).items() if end > now}
        self._held[domain] = held
        if token not in held and len(held) >= limit:
            return None
        place = BulkheadPlace(domain, token or uuid4().hex)
        held[place.token] = now + self.lease_seconds
        return place

    async def renew(self, place: BulkheadPlace, now: float) -> bool:
        """Renew the lease; False when it has ended and the place may be another's."""
        held = self._held.get(place.domain, {})
        living = held.get(place.token, now) > now
        if living:
            held[place.token] = now + self.lease_seconds
        return living

    async def leave(self, place: BulkheadPlace) -> bool:
        """Give the place back; returns whether it was still held. Later calls change nothing."""
        return self._held.get(place.domain, {}).pop(place.token, None) is not None
