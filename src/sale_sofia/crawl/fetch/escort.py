"""Gives every request to a portal a turn of its own: each redirect, and each request of a browser."""

import time
from dataclasses import dataclass, field

from sale_sofia.crawl.fetch.robots import RobotsGate
from sale_sofia.crawl.resilience.errors import LeftAlone
from sale_sofia.crawl.resilience.gate import Admission, Gate, Refusal, Turn
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget


@dataclass(slots=True, eq=False)
class GateEscort:
    """The `Escort` of one admitted request. It reuses the request's place, so it never waits for another."""

    gate: Gate
    admission: Admission
    """The admission of the last turn; to be reported at the end."""
    budget: TimeoutBudget
    """Of the page as a whole."""
    request_seconds: float
    """The most one request may take: a turn that would leave less time than this is refused."""
    robots: RobotsGate | None = None
    waited: float = 0.0
    refusal: Refusal | None = None
    """Why there was no further turn."""
    _turns: list[Turn] = field(init=False)

    def __post_init__(self) -> None:
        self._turns = [Turn(self.admission.hold, self.admission.due)]

    @property
    def sent(self) -> int:
        """Requests that were sent."""
        return sum(turn.used for turn in self._turns)

    @property
    def fresh(self) -> Turn | None:
        """See `Escort`."""
        return self._turns[-1] if self._turns[-1].is_fresh else None

    async def turn(self) -> Turn:
        """See `Escort`."""
        return self.fresh or await self._further()

    async def allows(self, url: str) -> bool:
        """See `Escort`."""
        return self.robots is None or await self.robots.allowed(url, self)

    async def may_ask(self, url: str) -> bool:
        """See `Escort`."""
        try:
            if not await self.allows(url):
                return False
            return (await self.turn()).use()
        except LeftAlone:
            return False

    def holds(self) -> bool:
        """See `Escort`."""
        return self.admission.hold.lasts

    def seconds_left(self) -> float:
        """See `Escort`."""
        return self.budget.remaining()

    async def _further(self) -> Turn:
        began, room = time.monotonic(), max(0.0, self.budget.remaining() - self.request_seconds)
        try:
            entry = await self.gate.further(self.admission, room)
        finally:
            self.waited += time.monotonic() - began
        if isinstance(entry, Refusal):
            self.refusal = entry
            raise left_alone(entry)
        self.admission = entry
        self._turns.append(Turn(entry.hold, entry.due))
        return self._turns[-1]


def left_alone(refusal: Refusal) -> LeftAlone:
    """The error for a request that was not sent."""
    error = LeftAlone(f"not asked, the portal is to be left alone ({refusal.why})")
    error.retry_after_seconds, error.why = refusal.retry_after_seconds, refusal.why
    return error
