"""The one way to a domain: may it be asked, is there a place, and when; afterwards, how it went."""

import math
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sale_sofia.resilience.bulkhead import Place
from sale_sofia.resilience.circuit import Permission
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.resilience.turn import Hold

Why = Literal["circuit_open", "busy", "rate_limit", "penalty", "shared_gone"]


@dataclass(frozen=True, slots=True)
class Admission:
    """A request that may go after `wait_seconds`; it holds a place until it is reported."""

    domain: str
    wait_seconds: float
    epoch: int
    permission: Permission
    place: Place
    due: float = field(default=math.inf, compare=False)
    """The instant it is for, at the latest, by this process's monotonic clock."""
    hold: Hold = field(default_factory=Hold, compare=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Not now: nothing is held, the request goes back with the time to ask again."""

    retry_after_seconds: float
    why: Why


class Gate(Protocol):
    """Breaker, bulkhead and limiter in their order. Whatever ends a request, its place comes back."""

    async def admit(self, domain: str, max_wait: float) -> Admission | Refusal:
        """Leave to go within `max_wait` seconds, or a refusal that holds and reserves nothing."""

    async def wait(self, admission: Admission) -> Admission | Refusal:
        """Sleep until the request's instant, then make sure that it may still go.

        Refused, cancelled or failed, it holds nothing any more. Report the admission returned here.
        """

    async def further(self, admission: Admission, max_wait: float) -> Admission | Refusal:
        """Wait for another instant for a request that asks again, in the place it has.

        Report the admission returned here. Refused for another reason than its rate, it holds nothing more.
        """

    async def report(self, admission: Admission, outcome: Outcome) -> None:
        """Give the place back and tell breaker and limiter. Only the first report of an admission counts."""

    def request(self, domain: str, max_wait: float) -> AbstractAsyncContextManager[Admission | Refusal]:
        """Admit and wait; inside, fetch and report. What was not reported by the end says nothing."""

    async def close(self) -> None:
        """Let go of connections, if there are any."""


def asks_for_pause(outcome: Outcome) -> bool:
    """Whether the portal wants to be left alone for a while."""
    return outcome.kind == "rate_limited" or outcome.retry_after_seconds is not None
