"""How many requests a domain has at once, so that a slow portal never takes every worker."""

from dataclasses import dataclass
from itertools import count
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Place:
    """One of a domain's places, held until it is left or its lease ends."""

    domain: str
    token: str


class Bulkhead(Protocol):
    """Leased places per domain. `now` is in seconds; a backend with a clock of its own ignores it."""

    async def enter(self, domain: str, limit: int, now: float) -> Place | None:
        """A place, or None while `limit` live ones are held; a place whose lease ended is free again."""

    async def leave(self, place: Place) -> None:
        """Give the place back. Once is enough; later calls, also after its lease ended, change nothing."""


class MemoryBulkhead:
    """The places of one process. Safe within one event loop: no method gives up control."""

    def __init__(self, lease_seconds: float) -> None:
        self._lease_seconds = lease_seconds
        self._held: dict[str, dict[str, float]] = {}
        self._numbers = count(1)

    async def enter(self, domain: str, limit: int, now: float) -> Place | None:
        """See `Bulkhead`."""
        held = {token: end for token, end in self._held.get(domain, {}).items() if end > now}
        self._held[domain] = held
        if len(held) >= limit:
            return None
        place = Place(domain, str(next(self._numbers)))
        held[place.token] = now + self._lease_seconds
        return place

    async def leave(self, place: Place) -> None:
        """See `Bulkhead`."""
        self._held.get(place.domain, {}).pop(place.token, None)
