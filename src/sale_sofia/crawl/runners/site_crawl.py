"""Crawls one job of one portal: a few visitors drain its frontier, to the end or for one shift."""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.clock import bring_back
from sale_sofia.crawl.frontier.frontier import Claim, Counts
from sale_sofia.crawl.frontier.linking import is_copying, link_waiting
from sale_sofia.crawl.frontier.ranking import keep_ranked
from sale_sofia.crawl.settings import CLAIM_AGAIN_SECONDS, FAIR_TURN, MOST_DEATHS
from sale_sofia.crawl.visit.outcomes import Later, Outcome
from sale_sofia.crawl.visit.visit import Visitor, conditions_for
from sale_sofia.crawl.visit.writer import GroupWriter
from sale_sofia.history.jobs import Job, JobState, add_job_counts, get_job, set_job_state
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseBusy, DatabaseUnreachable
from sale_sofia.telemetry.logs import bound
from sale_sofia.telemetry.metrics import MetricsFlusher

_RENEWALS_PER_LEASE = 3


@dataclass(frozen=True, slots=True)
class Shift:
    """How long a crawl works: without end, or as a lane that makes room for others."""

    seconds: float = math.inf
    """After this no further page is begun."""
    idle_seconds: float = math.inf
    """It ends when nothing becomes due for this long."""
    look_seconds: float = math.inf
    """How often it looks meanwhile for rows that others add."""


@dataclass(slots=True, kw_only=True)
class SiteCrawl:
    """Crawls one job. After a crash at any moment each row has one state, and every `done` has its data."""

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
    metrics: MetricsFlusher | None = None
    shift: Shift = field(default_factory=Shift)
    _claims: deque[Claim] = field(default_factory=deque)
    _held: dict[int, Claim] = field(default_factory=dict)
    """All rows leased to us: those waiting in `_claims`, and those being visited or written."""
    _claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _over: bool = False
    """The job was ended: none of its rows is claimed any more."""
    _until: float = math.inf
    _had_work: float = 0.0
    """When we last got a row, or began."""
    _turns: int = 0
    """How often we got rows."""
    _empty_looks: int = 0
    """How often we looked for rows and there were none."""

    async def run(self) -> bool:
        """Work until no row is left or the shift ends (True), or until `stop` is set (False)."""
        self._had_work = self.clock()
        self._until = self._had_work + self.shift.seconds
        self.writer.alongside = self.lease_alongside
        renewing = asyncio.create_task(self._renew())
        stopped: asyncio.Future[Any] = asyncio.create_task(self.stop.wait())
        visitors = [asyncio.create_task(self._work()) for _ in range(self.concurrency)]
        working: asyncio.Future[Any] = asyncio.gather(*visitors)
        try:
            await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()  # raises what a visitor raised
                return True
            self.database.give_up_waiting()
            return False
        finally:
            self.end_shift()  # a visitor that misses its cancellation claims nothing more
            tasks = (*visitors, renewing, stopped)
            for task in tasks:
                task.cancel()
            # Wait for all of them: a row claimed after the release would belong to nobody.
            await asyncio.gather(working, *tasks, return_exceptions=True)
            self._claims.clear()
            self._held.clear()
            await self.database.run_write_async(self._hand_back)

    def _hand_back(self, connection: Connection) -> None:
        """Release all our rows, and count the open batch as ended."""
        frontier.release(connection, self.job_id, self.owner)
        if self.writer.has_open_chunk:
            add_job_counts(connection, self.job_id, chunks=1)

    def end_shift(self) -> None:
        """Begin no further page; those under way are finished."""
        self._until = self.clock()
        self._moved.set()

    async def _work(self) -> None:
        while (claim := await self._next()) is not None:
            with bound(url=claim.url):
                outcome = await self._visit(claim)
                self.visitor.conditions.pop(claim.url, None)
                await self.writer.write(outcome)
            # Once it is written, another visitor may have claimed the row again.
            if self._held.get(claim.id) is claim:
                del self._held[claim.id]
            if self.metrics is not None:
                await self.metrics.tick()
            self.progress(claim)
            self._moved.set()

    async def _visit(self, claim: Claim) -> Outcome:
        """Visit; while the portal has no free place, keep the page and retry instead of claiming others."""
        outcome = await self.visitor.visit(claim)
        while isinstance(outcome, Later) and outcome.rests and (left := self._until - self.clock()) > 0:
            await asyncio.sleep(min(outcome.seconds_later, left))
            outcome = await self.visitor.visit(claim)
        return outcome

    async def _next(self) -> Claim | None:
        """The next row to visit; waits for one while this shift may get it, else None."""
        while self.clock() < self._until:
            self._moved.clear()  # before looking: later changes wake us
            looks_before = self._empty_looks
            async with self._claiming:
                # If another visitor has just looked and found nothing, do not look again.
                if not self._claims and not self._over and self._empty_looks == looks_before:
                    await self._claim()
                if self._claims:
                    return self._claims.popleft()
            counts = await self.database.run_read_async(partial(frontier.count_rows, job_id=self.job_id))
            if self._over or not counts.open or not await self._wait(counts):
                break
        self._moved.set()
        return None

    async def _claim(self) -> None:
        self._take(await self.database.run_write_async(self.lease))
        self._empty_looks += not self._claims

    def lease_alongside(self, connection: Connection, pages: int) -> Callable[[], None]:
        """Lease the next rows in the transaction of a batch: one commit less for each batch.

        On SQLite only: with row locks, the batch could hold rows that the lease waits for.
        """
        ended = self._over or self.stop.is_set() or self.clock() >= self._until
        if ended or len(self._claims) >= min(pages, self.concurrency) or connection.dialect.name != "sqlite":
            return partial(self._take, [])
        return partial(self._take, self.lease(connection))

    def _take(self, claims: Sequence[Claim]) -> None:
        self._claims.extend(claims)
        self._held.update((claim.id, claim) for claim in claims)
        if claims:
            self._had_work = self.clock()
            self._moved.set()

    def lease(self, connection: Connection) -> list[Claim]:
        """Claim rows for this process: by rank, and every FAIR_TURN-th time by age."""
        now = self.clock()
        job = get_job(connection, self.job_id)
        if job is None or job.state.finished:
            self._over = True
            return []
        by_age = self._turns % FAIR_TURN == 0
        if by_age:
            keep_ranked(connection, self.job_id, job.site, now=now)
        claims = self._claimed(connection, job, now, by_age=by_age)
        self._turns += bool(claims)
        if not claims:
            bring_back(connection, self.job_id, now=now)
            frontier.reclaim_expired(connection, self.job_id, now=now, most_deaths=MOST_DEATHS)
        elif self.writer.ledger.conditional:
            self.visitor.conditions.update(conditions_for(connection, job.site, claims))
        if job.state is not JobState.PROCESSING and any(claim.kind == "listing" for claim in claims):
            set_job_state(connection, self.job_id, JobState.PROCESSING, now=now)
        return claims

    def _claimed(self, connection: Connection, job: Job, now: float, *, by_age: bool) -> list[Claim]:
        """Claim rows to visit; copies of adverts opened meanwhile are linked, and others claimed instead."""
        claim_rows = partial(
            frontier.claim,
            connection,
            self.job_id,
            owner=self.owner,
            count=self.concurrency - len(self._claims),
            now=now,
            lease_seconds=self.lease_seconds,
        )
        if not is_copying(job.site):
            return claim_rows(by_age=by_age)
        frontier.lock_job(connection, self.job_id)
        claims = claim_rows(by_age=by_age)
        while linked := link_waiting(connection, job, claims, now=now):
            claims = [claim for claim in claims if claim.id not in linked] or claim_rows()
        return claims

    async def _wait(self, counts: Counts) -> bool:
        """Wait until another visitor adds rows, a row is due, or a lease may have expired.

        False, at once, when that is further away than this shift waits for work.
        """
        # Waiting rows have a due time; leased ones may bring new rows, or return when their lease expires.
        due = self.shift.look_seconds
        if counts.next_due is not None:
            due = counts.next_due - self.clock()
        elif self._held or self.clock() > self._had_work + self.shift.idle_seconds:
            due = self.lease_seconds
        if due > self.shift.idle_seconds and not self._held:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout(min(due if due > 0 else CLAIM_AGAIN_SECONDS, self.lease_seconds)):
                await self._moved.wait()
        return True

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self.lease_seconds / _RENEWALS_PER_LEASE)
            claims, until = list(self._held.values()), self.clock() + self.lease_seconds
            # At worst the lease is lost; the fence prevents a second write.
            with suppress(DatabaseBusy, DatabaseUnreachable):
                await self.database.run_write_async(partial(frontier.renew, claims=claims, until=until))
