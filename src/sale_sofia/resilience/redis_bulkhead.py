"""The places that all workers share: leased at the server, so that those of the dead come back."""

from uuid import uuid4

from redis.asyncio import Redis

from sale_sofia.resilience.bulkhead import Place
from sale_sofia.resilience.policy import BulkheadRules
from sale_sofia.resilience.scripts import ScriptRunner, ToldTime, shared_rules


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
