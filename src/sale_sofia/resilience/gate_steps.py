"""What all gates do alike: a request from its beginning to its end."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_hex

from sale_sofia.config.resilience import RENEWALS_PER_LEASE
from sale_sofia.resilience.acquire import Reservation
from sale_sofia.resilience.bulkhead import Place
from sale_sofia.resilience.gate import Admission, Refusal
from sale_sofia.resilience.leases import Renewal
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.resilience.turn import Hold

_TOKEN_BYTES = 16


class Requests(ABC):
    """A request from its beginning to its end, over the steps of a gate."""

    @property
    @abstractmethod
    def lease_seconds(self) -> float:
        """How long a request that is not heard of keeps its place."""

    @abstractmethod
    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """See `Gate`."""

    @abstractmethod
    async def wait(self, admission: Admission) -> Admission | Refusal:
        """See `Gate`."""

    @abstractmethod
    async def report(self, admission: Admission, outcome: Outcome) -> None:
        """See `Gate`."""

    @abstractmethod
    async def keep(self, place: Place) -> bool:
        """Lease the place, and the probe that goes with it, anew; False when it is lost."""

    @asynccontextmanager
    async def request(self, domain: str, max_wait: float) -> AsyncIterator[Admission | Refusal]:
        """See `Gate`. However long it takes, its place is kept."""
        asked_at = time.monotonic()  # before asking: an answer may lie here unread while we are stopped
        entry = await self.admit(domain, max_wait)
        if isinstance(entry, Refusal):
            yield entry
            return
        hold = Hold(asked_at + self.lease_seconds)
        entry = replace(entry, due=asked_at + entry.wait_seconds, hold=hold)
        renewal = Renewal(self.lease_seconds / RENEWALS_PER_LEASE, partial(self._keep, entry.place, hold))
        try:
            entry = await self.wait(entry)
            yield entry
        finally:
            try:
                if isinstance(entry, Admission):
                    await self.report(entry, Outcome.neutral())
            finally:
                await renewal.stop()

    async def _keep(self, place: Place, hold: Hold) -> bool:
        asked_at = time.monotonic()
        kept = await self.keep(place)
        if kept:
            hold.until = asked_at + self.lease_seconds
        return kept


def new_token() -> str:
    """A name for one request, never given twice."""
    return token_hex(_TOKEN_BYTES)


@dataclass(slots=True, kw_only=True, eq=False)
class GateSteps(Requests):
    """What all gates do alike: each request has a name, waits once, and is reported once."""

    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    token: Callable[[], str] = new_token
    _open: set[Place] = field(default_factory=set, init=False)

    @abstractmethod
    async def _admit(self, domain: str, max_wait: float, token: str) -> Admission | Refusal: ...

    @abstractmethod
    async def _still(self, admission: Admission) -> Admission | Refusal:
        """The admission as it is after its wait; refused, it holds nothing any more."""

    @abstractmethod
    async def _reserve(self, domain: str, max_wait: float) -> Reservation:
        """An instant for one more request."""

    @abstractmethod
    async def _report(self, admission: Admission, outcome: Outcome) -> None: ...

    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """See `Gate`."""
        entry = await self._admit(domain, max_wait, self.token())
        if isinstance(entry, Admission):
            self._open.add(entry.place)
        return entry

    async def wait(self, admission: Admission) -> Admission | Refusal:
        """See `Gate`. Who need not wait need not ask again."""
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
        """See `Gate`. Who is stopped while it waits finds its place given away."""
        asked_at = time.monotonic()
        slot = await self._reserve(admission.domain, max_wait)
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
