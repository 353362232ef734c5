"""The one way to a domain: may it be asked, is there a place, and when; afterwards, how it went."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from sale_sofia.resilience.bulkhead import Bulkhead, Place
from sale_sofia.resilience.circuit import Permission
from sale_sofia.resilience.circuit_breaker import CircuitBreaker
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.resilience.rate_limiter import RateLimiter

Why = Literal["circuit_open", "busy", "rate_limit", "penalty"]


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may go after `wait_seconds`; it holds a place until it is reported."""

    domain: str
    wait_seconds: float
    epoch: int
    permission: Permission
    place: Place


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not now: nothing is held, the request goes back with the time to ask again."""

    retry_after_seconds: float
    why: Why


@dataclass(slots=True, kw_only=True, eq=False)
class DomainGate:
    """Breaker, bulkhead and limiter in their order. Whatever ends a request, its place comes back."""

    limiter: RateLimiter
    breaker: CircuitBreaker
    bulkhead: Bulkhead
    limit_of: Callable[[str], int]
    """Requests that a domain may have at once, waiting ones included."""
    busy_seconds: float
    """When to ask again while a domain has them all."""
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    _open: set[Place] = field(default_factory=set, init=False)

    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """Leave to go within `max_wait` seconds, or a refusal that holds and reserves nothing."""
        now = self.clock()
        async with AsyncExitStack() as undo:
            permission = await self.breaker.allow(domain, now)
            if not permission.allowed:
                return Refusal(permission.retry_after_seconds, "circuit_open")
            undo.push_async_callback(self.breaker.cancel, domain, permission)
            place = await self.bulkhead.enter(domain, self.limit_of(domain), now)
            if place is None:
                return Refusal(self.busy_seconds, "busy")
            undo.push_async_callback(self.bulkhead.leave, place)
            slot = await self.limiter.reserve(domain, max_wait, now)
            if not slot.granted:
                return Refusal(slot.wait_seconds, "rate_limit")
            undo.pop_all()
        self._open.add(place)
        return Admission(domain, slot.wait_seconds, slot.epoch, permission, place)

    async def wait(self, admission: Admission) -> Admission | Refusal:
        """Sleep until the request's instant, then make sure that it may still go.

        Refused, cancelled or failed, it holds nothing any more. Report the admission returned here.
        """
        try:
            await self.sleep(admission.wait_seconds)
            return await self._still(admission)
        except BaseException:
            await self.report(admission, Outcome.neutral())
            raise

    async def report(self, admission: Admission, outcome: Outcome) -> None:
        """Give the place back and tell breaker and limiter. Only the first report of an admission counts."""
        if admission.place not in self._open:
            return
        self._open.remove(admission.place)
        try:
            await self._tell_breaker(admission, outcome)
            await self._tell_limiter(admission, outcome)
        finally:
            await self.bulkhead.leave(admission.place)

    @asynccontextmanager
    async def request(self, domain: str, max_wait: float) -> AsyncIterator[Admission | Refusal]:
        """Admit and wait; inside, fetch and report. What was not reported by the end says nothing."""
        entry = await self.admit(domain, max_wait)
        try:
            if isinstance(entry, Admission):
                entry = await self.wait(entry)
            yield entry
        finally:
            if isinstance(entry, Admission):
                await self.report(entry, Outcome.neutral())

    async def _still(self, admission: Admission) -> Admission | Refusal:
        now = self.clock()
        if await self.limiter.epoch(admission.domain) != admission.epoch:
            wait = await self.limiter.peek(admission.domain, now)
            return await self._refused(admission, Refusal(wait, "penalty"))
        permission = await self.breaker.confirm(admission.domain, admission.permission, now)
        if not permission.allowed:
            refusal = Refusal(permission.retry_after_seconds, "circuit_open")
            return await self._refused(admission, refusal)
        return replace(admission, permission=permission)

    async def _refused(self, admission: Admission, refusal: Refusal) -> Refusal:
        await self.report(admission, Outcome.neutral())
        return refusal

    async def _tell_breaker(self, admission: Admission, outcome: Outcome) -> None:
        domain, permission = admission.domain, admission.permission
        if outcome.kind == "neutral":
            await self.breaker.cancel(domain, permission)
            return
        ok, now = outcome.kind == "ok", self.clock()
        await self.breaker.record(domain, permission, ok=ok, now=now, block_kind=outcome.block_kind)

    async def _tell_limiter(self, admission: Admission, outcome: Outcome) -> None:
        domain, asked, now = admission.domain, outcome.retry_after_seconds, self.clock()
        if outcome.kind == "ok":
            await self.limiter.succeeded(domain, now)
        elif outcome.kind == "rate_limited" or asked is not None:
            await self.limiter.penalise(domain, asked, now, seen_epoch=admission.epoch)
