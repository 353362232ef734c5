"""How many requests a domain has at once, so that a slow portal never takes every worker."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from sale_sofia.crawl.resilience.leases import renewing
from sale_sofia.crawl.resilience.settings import RENEWALS_PER_LEASE


@dataclass(frozen=True, slots=True)
class Place:
    """One of a domain's places, held until it is left or its lease ends."""

    domain: str
    token: str


class Bulkhead(Protocol):
    """Leased places per domain. `now` is in seconds; a backend with a clock of its own ignores it."""

    @property
    def lease_seconds(self) -> float:
        """How long a place is held by somebody who is not heard of."""

    async def enter(self, domain: str, limit: int, now: float, token: str | None = None) -> Place | None:
        """A place, or None while `limit` live ones are held; a place whose lease ended is free again.

        A `token` names the place: whoever asks twice with one token holds one place.
        """

    async def renew(self, place: Place, now: float) -> bool:
        """Begin the lease anew; False when it ended before, and the place may be another's."""

    async def leave(self, place: Place) -> bool:
        """Give the place back; whether it was still held. Later calls change nothing."""


class MemoryBulkhead:
    """The places of one process. Safe within one event loop: no method gives up control."""

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._held: dict[str, dict[str, float]] = {}

    @property
    def lease_seconds(self) -> float:
        """See `Bulkhead`."""
        return self._lease_seconds

    async def enter(self, domain: str, limit: int, now: float, token: str | None = None) -> Place | None:
        """See `Bulkhead`."""
        held = {token: end for token, end in self._held.get(domain, {}).items() if end > now}
        self._held[domain] = held
        if token not in held and len(held) >= limit:
            return None
        place = Place(domain, token or uuid4().hex)
        held[place.token] = now + self._lease_seconds
        return place

    async def renew(self, place: Place, now: float) -> bool:
        """See `Bulkhead`."""
        held = self._held.get(place.domain, {})
        living = held.get(place.token, now) > now
        if living:
            held[place.token] = now + self._lease_seconds
        return living

    async def leave(self, place: Place) -> bool:
        """See `Bulkhead`."""
        return self._held.get(place.domain, {}).pop(place.token, None) is not None


@asynccontextmanager
async def holding(
    bulkhead: Bulkhead, domain: str, limit: int, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[Place | None]:
    """A place for as long as the block takes, renewed all the while; None when all are taken."""
    place = await bulkhead.enter(domain, limit, clock())
    if place is None:
        yield None
        return
    every = bulkhead.lease_seconds / RENEWALS_PER_LEASE
    try:
        async with renewing(every, lambda: bulkhead.renew(place, clock())):
            yield place
    finally:
        await bulkhead.leave(place)
