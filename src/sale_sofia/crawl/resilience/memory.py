"""A gate composed of a breaker, a bulkhead and a limiter, each in memory or in Redis."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from sale_sofia.crawl.resilience.breaker import MemoryCircuitBreaker
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace, MemoryBulkhead
from sale_sofia.crawl.resilience.gate import Admission, GateSteps, Outcome, Refusal, asks_for_pause
from sale_sofia.crawl.resilience.limiter import SECONDS_PER_MINUTE, MemoryRateLimiter
from sale_sofia.crawl.resilience.policy import RateShare, ResilienceConfig


@dataclass(slots=True, kw_only=True, eq=False)
class ComposedGate(GateSteps):
    """Calls its parts one after the other, and undoes the earlier ones when a later one refuses."""

    limit_of: Callable[[str], int]
    """Requests that a domain may have at once, waiting ones included."""
    busy_seconds: float
    """When to try again while all of them are taken."""
    closing: Callable[[], Awaitable[None]] | None = None
    """Closes what the parts use."""

    async def close(self) -> None:
        """See `Gate`."""
        if self.closing:
            await self.closing()

    async def keep(self, place: BulkheadPlace) -> bool:
        """See `Gate`."""
        held = await self.bulkhead.renew(place, self.clock())
        if held:
            await self.breaker.renew(place.domain, place.token, self.clock())
        return held

    async def _admit(self, domain: str, max_wait: float, token: str) -> Admission | Refusal:
        now = self.clock()
        permission = await self.breaker.allow(domain, now, token)
        if not permission.allowed:
            return Refusal(permission.retry_after_seconds, "circuit_open")
        entry: Admission | Refusal = Refusal(self.busy_seconds, "busy")
        place = None
        try:
            place = await self.bulkhead.enter(domain, self.limit_of(domain), now, token)
            if place is not None:
                slot = await self.limiter.reserve(domain, max_wait, now)
                entry = Refusal(slot.wait_seconds, "rate_limit")
                if slot.granted:
                    entry = Admission(domain, slot.wait_seconds, slot.epoch, permission, place)
            return entry
        finally:
            if isinstance(entry, Refusal):
                try:
                    if place is not None:
                        await self.bulkhead.leave(place)
                finally:
                    await self.breaker.cancel(domain, permission)

    async def _still(self, admission: Admission) -> Admission | Refusal:
        entry = await self._checked(admission)
        if isinstance(entry, Refusal):
            await self._report(admission, Outcome.neutral())
        return entry

    async def _checked(self, admission: Admission) -> Admission | Refusal:
        domain, now = admission.domain, self.clock()
        if not await self.bulkhead.renew(admission.place, now):
            return Refusal(self.busy_seconds, "busy")
        if await self.limiter.epoch(domain) != admission.epoch:
            return Refusal(await self.limiter.peek(domain, now), "penalty")
        permission = await self.breaker.confirm(
            domain, admission.permission, self.clock(), admission.place.token
        )
        if not permission.allowed:
            return Refusal(permission.retry_after_seconds, "circuit_open")
        return replace(admission, permission=permission)

    async def _report(self, admission: Admission, outcome: Outcome) -> None:
        domain, permission = admission.domain, admission.permission
        # A report counts only while its place is held, so a repeated one counts once.
        held = await self.bulkhead.leave(admission.place)
        ok, now = outcome.kind == "ok", self.clock()
        if held and outcome.kind != "neutral":
            await self.breaker.record(domain, permission, ok=ok, now=now, block_kind=outcome.block_kind)
        else:
            await self.breaker.cancel(domain, permission)
        if ok:
            if held:
                await self.limiter.succeeded(domain, self.clock())
        elif asks_for_pause(outcome) and (held or await self.limiter.epoch(domain) <= admission.epoch):
            # A pause is obeyed even when the place is lost, unless the domain was paused since.
            retry_after = outcome.retry_after_seconds
            await self.limiter.penalise(domain, retry_after, self.clock(), seen_epoch=admission.epoch)


def memory_gate(
    config: ResilienceConfig,
    limiter: MemoryRateLimiter,
    limit_of: Callable[[str], int],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ComposedGate:
    """A gate in this process's memory: for a single process, and for outages of the shared gate.

    `limit_of` is in concurrent requests.
    """
    return ComposedGate(
        limiter=limiter,
        breaker=MemoryCircuitBreaker(config.breaker, random.random),
        bulkhead=MemoryBulkhead(config.bulkhead.lease_seconds),
        limit_of=limit_of,
        busy_seconds=config.bulkhead.busy_seconds,
        clock=clock,
        sleep=sleep,
    )


@dataclass(slots=True, kw_only=True, eq=False)
class LocalShare:
    """The gate of this process during an outage of the shared one: never more than its share of each rate.

    It follows the shared gate while that works, so that its pauses hold here too.
    """

    gate: ComposedGate
    limiter: MemoryRateLimiter
    """The gate's limiter."""
    share_of: Callable[[str], RateShare]
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    _begun: dict[str, RateShare] = field(default_factory=dict, init=False)
    """Domains requested since the shared gate was lost, with the share used."""

    def begin(self) -> None:
        """Start an outage: the shared gate was lost just now."""
        self._begun.clear()

    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """As `Gate`, at this process's share of the rate."""
        share = self.share_of(domain)
        if domain not in self._begun:
            # All processes lose the shared gate at the same moment; a random delay keeps them apart.
            self._hold(domain, self.random() * (SECONDS_PER_MINUTE / share.own_per_minute))
        if self._begun.get(domain) != share:
            self._begun[domain] = share
            await self.limiter.set_rate(domain, share.own_per_minute)
        return await self.gate.admit(domain, max_wait)

    async def wait_seconds(self, domain: str) -> float:
        """Seconds until this process's share allows its next request; nothing is reserved."""
        await self.limiter.set_rate(domain, self.share_of(domain).own_per_minute)
        return await self.limiter.peek(domain, self.clock())

    async def learn(self, domain: str, outcome: Outcome) -> None:
        """Count the outcome of a request of this process that the shared gate had admitted."""
        if asks_for_pause(outcome):
            await self.limiter.penalise(domain, outcome.retry_after_seconds, self.clock())
        if outcome.kind == "neutral":
            return
        permission = await self.gate.breaker.allow(domain, self.clock())
        ok, block = outcome.kind == "ok", outcome.block_kind
        await self.gate.breaker.record(domain, permission, ok=ok, now=self.clock(), block_kind=block)

    def heard(self, domain: str, entry: Admission | Refusal) -> None:
        """Note an answer of the shared gate: no local request goes sooner than it would allow."""
        if isinstance(entry, Admission):
            interval = SECONDS_PER_MINUTE / self.share_of(domain).own_per_minute
            self._hold(domain, entry.wait_seconds + interval)
        elif entry.why != "busy":
            self._hold(domain, entry.retry_after_seconds)

    def _hold(self, domain: str, seconds: float) -> None:
        self.limiter.hold(domain, seconds, self.clock())
