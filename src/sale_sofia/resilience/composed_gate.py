"""A gate put together from a breaker, a bulkhead and a limiter, wherever each of them lives."""

import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from sale_sofia.resilience.acquire import Reservation
from sale_sofia.resilience.bulkhead import Bulkhead, Place
from sale_sofia.resilience.circuit_breaker import CircuitBreaker
from sale_sofia.resilience.gate import Admission, Refusal, asks_for_pause
from sale_sofia.resilience.gate_steps import GateSteps
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.resilience.rate_limiter import RateLimiter


@dataclass(slots=True, kw_only=True, eq=False)
class ComposedGate(GateSteps):
    """Asks its parts one after the other, and takes back what it was given when a later one refuses."""

    limiter: RateLimiter
    breaker: CircuitBreaker
    bulkhead: Bulkhead
    limit_of: Callable[[str], int]
    """Requests that a domain may have at once, waiting ones included."""
    busy_seconds: float
    """When to ask again while a domain has them all."""
    clock: Callable[[], float] = time.monotonic
    closing: Callable[[], Awaitable[None]] | None = None
    """Lets go of what the parts lean on."""

    @property
    def lease_seconds(self) -> float:
        """See `Requests`."""
        return self.bulkhead.lease_seconds

    async def close(self) -> None:
        """See `Gate`."""
        if self.closing:
            await self.closing()

    async def penalise(self, domain: str, retry_after: float, seen_epoch: int | None = None) -> None:
        """Pause the domain for everybody; see `RateLimiter`."""
        await self.limiter.penalise(domain, retry_after, self.clock(), seen_epoch=seen_epoch)

    async def keep(self, place: Place) -> bool:
        """See `Requests`."""
        held = await self.bulkhead.renew(place, self.clock())
        if held:
            await self.breaker.renew(place.domain, place.token, self.clock())
        return held

    async def _admit(self, domain: str, max_wait: float, token: str) -> Admission | Refusal:
        now = self.clock()
        async with AsyncExitStack() as undo:
            permission = await self.breaker.allow(domain, now, token)
            if not permission.allowed:
                return Refusal(permission.retry_after_seconds, "circuit_open")
            undo.push_async_callback(self.breaker.cancel, domain, permission)
            place = await self.bulkhead.enter(domain, self.limit_of(domain), now, token)
            if place is None:
                return Refusal(self.busy_seconds, "busy")
            undo.push_async_callback(self.bulkhead.leave, place)
            slot = await self.limiter.reserve(domain, max_wait, now)
            if not slot.granted:
                return Refusal(slot.wait_seconds, "rate_limit")
            undo.pop_all()
        return Admission(domain, slot.wait_seconds, slot.epoch, permission, place)

    async def _reserve(self, domain: str, max_wait: float) -> Reservation:
        return await self.limiter.reserve(domain, max_wait, self.clock())

    async def _still(self, admission: Admission) -> Admission | Refusal:
        refusal = await self._objection(admission)
        if refusal:
            return await self._refused(admission, refusal)
        domain, given = admission.domain, admission.permission
        permission = await self.breaker.confirm(domain, given, self.clock(), admission.place.token)
        if not permission.allowed:
            refusal = Refusal(permission.retry_after_seconds, "circuit_open")
            return await self._refused(admission, refusal)
        return replace(admission, permission=permission)

    async def _objection(self, admission: Admission) -> Refusal | None:
        now = self.clock()
        if not await self.bulkhead.renew(admission.place, now):
            return Refusal(self.busy_seconds, "busy")
        if await self.limiter.epoch(admission.domain) != admission.epoch:
            return Refusal(await self.limiter.peek(admission.domain, now), "penalty")
        return None

    async def _refused(self, admission: Admission, refusal: Refusal) -> Refusal:
        await self._report(admission, Outcome.neutral())
        return refusal

    async def _report(self, admission: Admission, outcome: Outcome) -> None:
        # It counts while its place is held, so that a report told twice counts once.
        held = await self.bulkhead.leave(admission.place)
        await self._tell_breaker(admission, outcome, held=held)
        await self._tell_limiter(admission, outcome, held=held)

    async def _tell_breaker(self, admission: Admission, outcome: Outcome, *, held: bool) -> None:
        domain, permission = admission.domain, admission.permission
        if outcome.kind == "neutral" or not held:
            await self.breaker.cancel(domain, permission)
            return
        ok, now = outcome.kind == "ok", self.clock()
        await self.breaker.record(domain, permission, ok=ok, now=now, block_kind=outcome.block_kind)

    async def _tell_limiter(self, admission: Admission, outcome: Outcome, *, held: bool) -> None:
        domain, asked, now = admission.domain, outcome.retry_after_seconds, self.clock()
        if outcome.kind == "ok":
            if held:
                await self.limiter.succeeded(domain, now)
        elif asks_for_pause(outcome) and (held or await self.limiter.epoch(domain) <= admission.epoch):
            # A wish for a pause is heard even when the place is lost, unless the domain was paused since.
            await self.limiter.penalise(domain, asked, now, seen_epoch=admission.epoch)
