"""The only way to a domain: breaker, bulkhead and limiter admit each request, and learn its outcome."""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from sale_sofia.crawl.resilience.breaker import Permission
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace, Renewal
from sale_sofia.crawl.resilience.errors import CrawlError, HttpBlocked, HttpClient, HttpRateLimit, ParseError
from sale_sofia.crawl.resilience.owners import new_token
from sale_sofia.crawl.resilience.settings import FRESH_TURN_SECONDS, RENEWALS_PER_LEASE

if TYPE_CHECKING:
    from sale_sofia.crawl.resilience.redis_parts import Bulkhead, CircuitBreaker, RateLimiter


OutcomeKind = Literal["ok", "failure", "rate_limited", "blocked", "neutral"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a request, for breaker and limiter. `neutral` says nothing about the domain."""

    kind: OutcomeKind
    retry_after_seconds: float | None = None
    block_kind: str | None = None

    @classmethod
    def ok(cls) -> Self:
        """The portal answered as it should; a removed advert is an answer too."""
        return cls("ok")

    @classmethod
    def failure(cls, retry_after: float | None = None) -> Self:
        """No answer, or an error of the portal's, perhaps with a Retry-After."""
        return cls("failure", retry_after)

    @classmethod
    def rate_limited(cls, retry_after: float | None = None) -> Self:
        """Too many requests."""
        return cls("rate_limited", retry_after, "rate_limit")

    @classmethod
    def blocked(cls, kind: str | None, retry_after: float | None = None) -> Self:
        """A page that keeps us out."""
        return cls("blocked", retry_after, kind)

    @classmethod
    def neutral(cls) -> Self:
        """Nothing was learned about the domain: cancelled, a proxy's fault, a request never sent."""
        return cls("neutral")

    @classmethod
    def of(cls, error: CrawlError) -> Self:
        """What an error says about the domain. An answer we cannot parse is not the portal's fault."""
        match error:
            case HttpRateLimit():
                return cls.rate_limited(error.retry_after_seconds)
            case HttpBlocked():
                return cls.blocked(error.block_kind, error.retry_after_seconds)
            case HttpClient() | ParseError():
                return cls.ok()
        return cls.failure(error.retry_after_seconds) if error.counts_against_domain else cls.neutral()


@dataclass(slots=True, eq=False)
class Hold:
    """Until when a request's place is leased, by the monotonic clock, which runs on while we sleep."""

    until: float = math.inf

    @property
    def lasts(self) -> bool:
        """Whether the lease has not ended, so nobody else can have the place."""
        return time.monotonic() < self.until


@dataclass(slots=True, eq=False)
class Turn:
    """Leave to send one request: once, soon, and while its place is leased. Without a gate it stays fresh."""

    hold: Hold = field(default_factory=Hold)
    due: float = math.inf
    """The instant it is for, by the monotonic clock."""
    used: bool = False
    missed: bool = False
    """Whether it came to use after the lease of the place had ended; nothing was sent."""

    @property
    def is_fresh(self) -> bool:
        """Whether a request may still start: a late one would take another request's time."""
        return not (self.used or self.missed) and time.monotonic() - self.due < FRESH_TURN_SECONDS

    def use(self) -> bool:
        """Whether the request may be sent, checked right before the first byte. True at most once."""
        if self.used:
            return False
        self.missed = not self.hold.lasts
        self.used = not self.missed
        return self.used


Why = Literal["circuit_open", "busy", "rate_limit", "penalty", "shared_gone"]


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may be sent after `wait_seconds`; it holds a place until it is reported."""

    domain: str
    wait_seconds: float
    epoch: int
    permission: Permission
    place: BulkheadPlace
    due: float = field(default=math.inf, compare=False)
    """The instant it is for, at the latest, by this process's monotonic clock."""
    hold: Hold = field(default_factory=Hold, compare=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not now: nothing is held; says when to try again."""

    retry_after_seconds: float
    why: Why


def asks_for_pause(outcome: Outcome) -> bool:
    """Whether the portal wants to be left alone for a while."""
    return outcome.kind == "rate_limited" or outcome.retry_after_seconds is not None


class Gate(ABC):
    """Breaker, bulkhead and limiter, in this order. However a request ends, its place is given back."""

    @property
    @abstractmethod
    def lease_seconds(self) -> float:
        """How long a request holds its place without a renewal."""

    @abstractmethod
    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """Admission within `max_wait` seconds, or a refusal that holds and reserves nothing."""

    @abstractmethod
    async def wait(self, admission: Admission) -> Admission | Refusal:
        """Sleep until the request's instant, then check that it may still be sent.

        Refused, cancelled or failed, it holds nothing any more. Report the admission returned here.
        """

    @abstractmethod
    async def further(self, admission: Admission, max_wait: float) -> Admission | Refusal:
        """Wait for another instant for a request that is already admitted, in the same place.

        Report the admission returned here. Refused for another reason than its rate, it holds nothing more.
        """

    @abstractmethod
    async def report(self, admission: Admission, outcome: Outcome) -> None:
        """Give the place back and tell breaker and limiter. Only the first report of an admission counts."""

    @abstractmethod
    async def keep(self, place: BulkheadPlace) -> bool:
        """Renew the lease of the place and of its probe; False when it is lost."""

    @abstractmethod
    async def close(self) -> None:
        """Close connections, if there are any."""

    @asynccontextmanager
    async def request(self, domain: str, max_wait: float) -> AsyncIterator[Admission | Refusal]:
        """Admit and wait; inside, fetch and report. Without a report the outcome is neutral.

        The lease of its place is renewed for as long as it takes.
        """
        asked_at = time.monotonic()  # before the call: its answer may wait unread while we are suspended
        entry = await self.admit(domain, max_wait)
        if isinstance(entry, Refusal):
            yield entry
            return
        hold = Hold(asked_at + self.lease_seconds)
        due = asked_at + entry.wait_seconds
        entry = Admission(  # in place of `replace`, which takes three times as long, with every page
            entry.domain, entry.wait_seconds, entry.epoch, entry.permission, entry.place, due, hold
        )
        async with Renewal(self.lease_seconds / RENEWALS_PER_LEASE, partial(self._keep, entry.place, hold)):
            try:
                entry = await self.wait(entry)
                yield entry
            finally:
                if isinstance(entry, Admission):
                    await self.report(entry, Outcome.neutral())

    async def _keep(self, place: BulkheadPlace, hold: Hold) -> bool:
        asked_at = time.monotonic()
        renewed = await self.keep(place)
        if renewed:
            hold.until = asked_at + self.lease_seconds
        return renewed


@dataclass(slots=True, kw_only=True, eq=False)
class GateSteps(Gate):
    """What all gates share: each request has a token, waits once, and is reported once."""

    limiter: "RateLimiter"
    breaker: "CircuitBreaker"
    bulkhead: "Bulkhead"
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    token: Callable[[], str] = new_token
    _open: set[BulkheadPlace] = field(default_factory=set, init=False)

    @abstractmethod
    async def _admit(self, domain: str, max_wait: float, token: str) -> Admission | Refusal: ...

    @abstractmethod
    async def _still(self, admission: Admission) -> Admission | Refusal:
        """The admission as it is after its wait; refused, it holds nothing any more."""

    @abstractmethod
    async def _report(self, admission: Admission, outcome: Outcome) -> None: ...

    @property
    def lease_seconds(self) -> float:
        """See `Gate`."""
        return self.bulkhead.lease_seconds

    async def penalise(self, domain: str, retry_after: float, seen_epoch: int | None = None) -> None:
        """Pause the domain for everybody; see `MemoryRateLimiter`."""
        await self.limiter.penalise(domain, retry_after, self.clock(), seen_epoch=seen_epoch)

    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """See `Gate`."""
        entry = await self._admit(domain, max_wait, self.token())
        if isinstance(entry, Admission):
            self._open.add(entry.place)
        return entry

    async def wait(self, admission: Admission) -> Admission | Refusal:
        """See `Gate`. Without a wait there is no second check."""
        if admission.wait_seconds <= 0:
            return admission
        try:
            await self.sleep(admission.wait_seconds)
            entry = await self._still(admission)
        except BaseException:
            await self.report(admission, Outcome.neutral())
            raise
        if isinstance(entry, Refusal):
            self._open.discard(admission.place)
        return entry

    async def further(self, admission: Admission, max_wait: float) -> Admission | Refusal:
        """See `Gate`. A process suspended during the wait may find its place lost."""
        asked_at = time.monotonic()
        slot = await self.limiter.reserve(admission.domain, max_wait, self.clock())
        if not slot.granted:
            return Refusal(slot.wait_seconds, "rate_limit")
        await self.sleep(slot.wait_seconds)
        due = asked_at + slot.wait_seconds
        entry = await self._still(replace(admission, wait_seconds=0.0, epoch=slot.epoch, due=due))
        if isinstance(entry, Refusal):
            self._open.discard(admission.place)
        return entry

    def abandon(self, admission: Admission) -> None:
        """Forget a request that cannot be reported now."""
        self._open.discard(admission.place)

    async def report(self, admission: Admission, outcome: Outcome) -> None:
        """See `Gate`."""
        if admission.place in self._open:
            self._open.remove(admission.place)
            await self._report(admission, outcome)
