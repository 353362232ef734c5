"""The program's own parts where they meet what is simulated: real work that takes virtual time.

Real are the gate (breaker, bulkhead, limiter), the claims and ends of rows in a real SQLite, the visitor
with its retries and budgets. How long Redis, the database and a worker's CPU take is measured elsewhere and
told here. No advert is stored: `scale_store.py` measures what that costs.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection

from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience.gate import Admission, Refusal
from sale_sofia.crawl.resilience.gate import Outcome as DomainOutcome
from sale_sofia.crawl.resilience.memory import ComposedGate
from sale_sofia.crawl.resilience.retry import RetryBudget
from sale_sofia.crawl.visit.outcomes import Gone, Later, Outcome
from sale_sofia.crawl.visit.writer import Ledger
from sale_sofia.history.jobs import add_job_counts
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.error_log import ErrorLog
from scale_clock import Station, now

T = TypeVar("T")
PAGE_BYTES = 10_000_000
NO_ERRORS = ErrorLog(Path("/dev/null"))


class Costs(NamedTuple):
    """Seconds that each step takes; 0 where it is no matter."""

    redis: Mapping[str, float] = dict.fromkeys(("admit", "still", "report"), 0.0)
    database: Mapping[str, float] = dict.fromkeys(("claim", "commit", "read"), 0.0)
    database_places: int = 1
    """Transactions that the database works on at once: its cores; 1 for SQLite."""
    page_cpu: float = 0.0
    """Of a worker, for one page."""
    round_trip: float = 0.0
    """Between machines, on top of what Redis and the database take."""


class FarGate(ComposedGate):
    """The gate that all workers share; each of its steps is one round trip to one Redis."""

    station: Station
    round_trip: float = 0.0
    instants: list[tuple[str, float]]
    """Given out by the limiter, in the order of asking."""

    async def _admit(self, domain: str, max_wait: float, token: str) -> Admission | Refusal:
        await self._go("admit")
        entry = await super()._admit(domain, max_wait, token)
        if isinstance(entry, Admission):
            self.instants.append((domain, now() + entry.wait_seconds))
        return entry

    async def _still(self, admission: Admission) -> Admission | Refusal:
        await self._go("still")
        return await super()._still(admission)

    async def _report(self, admission: Admission, outcome: DomainOutcome) -> None:
        await self._go("report")
        await super()._report(admission, outcome)

    async def _go(self, step: str) -> None:
        await self.station.serve(step)
        if self.round_trip:
            await asyncio.sleep(self.round_trip)


class FarDatabase(Database):
    """The real store; what is asked of it takes the measured time."""

    station: Station
    round_trip: float = 0.0
    ended: list[float]
    """When each row came to its end, or was put off."""

    async def run_write_async(self, work: Callable[[Connection], T]) -> T:
        """See `Database`. But for the ends of rows, all that a lane writes are claims."""
        return await self.commit(work, "claim")

    async def run_read_async(self, work: Callable[[Connection], T]) -> T:
        """See `Database`."""
        await self._go("read")
        return self.run_read(work)

    async def commit(self, work: Callable[[Connection], T], what: str = "commit") -> T:
        """`work` in one transaction."""
        await self._go(what)
        return self.run_write(work)

    async def _go(self, what: str) -> None:
        await self.station.serve(what)
        if self.round_trip:
            await asyncio.sleep(self.round_trip)


@dataclass
class RowEnds:
    """Stands where the group writer stands: only rows come to their end, guarded by their fence."""

    database: FarDatabase
    ledger: Ledger
    has_open_chunk: bool = False

    async def write(self, outcome: Outcome) -> None:
        """Have the row's end committed."""
        await self.database.commit(partial(self._end, outcome=outcome))
        self.database.ended.append(now())

    def _end(self, connection: Connection, outcome: Outcome) -> None:
        if outcome.claim.id not in frontier.still_ours(connection, [outcome.claim]):
            raise AssertionError(f"row {outcome.claim.id} was lost, and no worker died")
        if isinstance(outcome, Later):
            late = frontier.PutOff(
                outcome.claim,
                outcome.seconds_later,
                outcome.code,
                refund=outcome.refund,
                in_its_place=outcome.in_its_place,
            )
            frontier.postpone(connection, [late], now=now())
            if outcome.all_pages:
                frontier.shut(connection, self.ledger.job_id, seconds=outcome.seconds_later, now=now())
        else:
            state = "done" if isinstance(outcome, Gone) else "failed"
            frontier.finish(connection, [(outcome.claim, state, None, None)])
        add_job_counts(connection, self.ledger.job_id, requests=outcome.requests)


class _Name(NamedTuple):
    name: str


class NoReading:
    """Stands where the judge stands: every answer is good, and nothing is read."""

    def __init__(self, domain: str) -> None:
        self.site = _Name(domain)

    async def outcome(self, claim: Claim, _response: Response, _at: datetime) -> Gone:
        """See `JudgeApart`."""
        return Gone(claim, "nothing is stored here")


class VirtualBudget(RetryBudget):
    """The real budget; its time is the virtual one, whatever the caller's clock says."""

    async def first_try(self, domain: str, _now: float) -> None:
        """See `RetryBudget`."""
        await super().first_try(domain, now())

    async def spend(self, domain: str, _now: float) -> bool:
        """See `RetryBudget`."""
        return await super().spend(domain, now())

    async def give_back(self, domain: str, _now: float) -> None:
        """See `RetryBudget`."""
        await super().give_back(domain, now())


def request_for(url: str, *, seconds: float) -> Request:
    """The request for one page."""
    return Request(url, frozenset(), seconds, seconds, PAGE_BYTES)
