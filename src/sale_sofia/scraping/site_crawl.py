"""One job of one portal: a few visitors drain its frontier until every row has come to an end."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sqlalchemy import Connection

from sale_sofia.data.database import Database
from sale_sofia.data.jobs import JobState, set_job_state
from sale_sofia.scraping import frontier
from sale_sofia.scraping.frontier import Claim, Counts
from sale_sofia.scraping.visit import Visitor
from sale_sofia.scraping.writer import GroupWriter

_T = TypeVar("_T")


@dataclass(slots=True)
class SiteCrawl:
    """Drains one job. After a crash at any moment each row is in one state, and every `done` has its data."""

    job_id: str
    owner: str
    database: Database
    visitor: Visitor
    writer: GroupWriter
    concurrency: int
    lease_seconds: float
    clock: Callable[[], float]
    stop: asyncio.Event
    progress: Callable[[Claim], None]
    _claims: deque[Claim] = field(default_factory=deque)
    _claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _processing: bool = False

    async def run(self) -> bool:
        """Work until all rows are at their end (True) or until told to stop (False)."""
        working = asyncio.create_task(self._work_together())
        stopping = asyncio.create_task(self._stopped())
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            working.result()  # what a visitor could not bear is the crawl's failure
            return True
        working.cancel()
        await asyncio.wait({working})
        await self._write(lambda connection: frontier.release_all(connection, self.job_id))
        return False

    async def _work_together(self) -> None:
        await asyncio.gather(*(self._work() for _ in range(self.concurrency)))

    async def _stopped(self) -> None:
        await self.stop.wait()

    async def _work(self) -> None:
        while (claim := await self._next()) is not None:
            outcome = await self.visitor.visit(claim)
            await self.writer.write(outcome)
            self.progress(claim)
            self._moved.set()

    async def _next(self) -> Claim | None:
        """A row that may start now; waits for one while there is hope, None when all are at their end."""
        while True:
            self._moved.clear()  # before looking: what moves from now on wakes us
            async with self._claiming:
                if not self._claims:
                    await self._claim()
                if self._claims:
                    return self._claims.popleft()
            counts = await asyncio.to_thread(self.database.run_read, self._count)
            if not counts.open:
                self._moved.set()
                return None
            await self._wait(counts)

    async def _claim(self) -> None:
        self._claims.extend(await self._write(self._lease))
        if not self._processing and any(claim.kind == "listing" for claim in self._claims):
            self._processing = True
            await self._write(self._begin_processing)

    def _begin_processing(self, connection: Connection) -> None:
        set_job_state(connection, self.job_id, JobState.PROCESSING, now=self.clock())

    def _lease(self, connection: Connection) -> list[Claim]:
        now = self.clock()
        claims = frontier.claim(
            connection,
            self.job_id,
            owner=self.owner,
            count=self.concurrency,
            now=now,
            lease_seconds=self.lease_seconds,
        )
        if not claims:
            frontier.reclaim_expired(connection, self.job_id, now=now)
        return claims

    def _count(self, connection: Connection) -> Counts:
        return frontier.count_rows(connection, self.job_id)

    async def _wait(self, counts: Counts) -> None:
        """Until another visitor brought something, a row is due, or a lease may have run out."""
        due = self.lease_seconds if counts.next_due is None else counts.next_due - self.clock()
        try:
            async with asyncio.timeout(min(max(0.0, due), self.lease_seconds)):
                await self._moved.wait()
        except TimeoutError:
            return

    async def _write(self, work: Callable[[Connection], _T]) -> _T:
        return await asyncio.to_thread(self.database.run_write, work)
