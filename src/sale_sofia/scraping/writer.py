"""The one writer of a crawl: data and the rows' new states go into one transaction, or none of it does."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection

from sale_sofia.data.database import Database
from sale_sofia.data.jobs import add_job_counts
from sale_sofia.data.listings import Sighting, save_listings
from sale_sofia.data.pages import PageKind, PageRecord, record_pages
from sale_sofia.monitoring.meter import NO_METER, Meter
from sale_sofia.scraping import frontier
from sale_sofia.scraping.outcomes import Failed, Found, Gone, Later, Outcome, Read


@dataclass(frozen=True, slots=True)
class Written:
    """What a batch changed."""

    new: int = 0
    changed: int = 0
    found: int = 0
    lost: int = 0
    """Outcomes that came too late: somebody else has the row now, so nothing of them was written."""
    unchanged: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where a crawl writes: its job, its portal, and how many adverts it may have."""

    job_id: str
    site: str
    limit: int | None = None


def write_batch(
    connection: Connection, ledger: Ledger, outcomes: Sequence[Outcome], *, now: float
) -> Written:
    """Write a batch in the caller's transaction: each row's end is committed with its data, never without."""
    job_id = ledger.job_id
    ours = frontier.still_ours(connection, [one.claim for one in outcomes])
    kept = [one for one in outcomes if one.claim.id in ours]
    read = [one for one in kept if isinstance(one, Read)]
    saved = save_listings(connection, [_sighting(one, job_id, now) for one in read])
    found = _add_found(connection, ledger, [one for one in kept if isinstance(one, Found)])
    record_pages(connection, _page_records(kept, ledger.site, now))
    _end_rows(connection, kept)
    new, changed = saved.count("new"), saved.count("changed")
    requests = sum(one.requests for one in outcomes)
    add_job_counts(connection, job_id, requests=requests, new=new, changed=changed)
    lost = len(outcomes) - len(kept)
    failed = sum(isinstance(one, Failed) and one.claim.kind == "listing" for one in kept)
    return Written(new, changed, found, lost, saved.count("unchanged"), failed)


def _sighting(one: Read, job_id: str, now: float) -> Sighting:
    return Sighting(
        one.listing, seen_at=now, job_id=job_id, page_digest=one.kept.digest if one.kept else None
    )


def _add_found(connection: Connection, ledger: Ledger, pages: Sequence[Found]) -> int:
    targets = [target for page in pages for target in page.targets]
    if ledger.limit is not None:
        room = ledger.limit - frontier.count_rows(connection, ledger.job_id, "listing").total
        adverts = [target for target in targets if target.kind == "listing"]
        searches = [target for target in targets if target.kind != "listing"] if len(adverts) < room else []
        targets = adverts[: max(0, room)] + searches
    return frontier.add_targets(connection, ledger.job_id, targets)


def _page_records(outcomes: Sequence[Outcome], site: str, now: float) -> list[PageRecord]:
    return [
        PageRecord(site, one.claim.url, _kind(one), one.kept.digest, one.kept.content_type, now)
        for one in outcomes
        if one.kept
    ]


def _kind(one: Outcome) -> PageKind:
    return "search" if one.claim.kind == "search" else "listing"


def _end_rows(connection: Connection, outcomes: Sequence[Outcome]) -> None:
    later = [(one.claim, one.due, one.reason, one.refund) for one in outcomes if isinstance(one, Later)]
    frontier.postpone(connection, later)
    ends = [(one.claim, *_end(one)) for one in outcomes if not isinstance(one, Later)]
    frontier.finish(connection, ends)


def _end(one: Outcome) -> tuple[str, str | None]:
    if isinstance(one, Failed):
        return "failed", one.reason
    return "done", one.reason if isinstance(one, Gone) else None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a commit waits for company: for so many outcomes, or for so many seconds."""

    outcomes: int
    seconds: float


class GroupWriter:
    """Commits what has come in since the last commit, together. `write` returns when its outcome is safe.

    A visitor takes no further page before its last one is committed, so after a crash at most as many pages
    are fetched again as there are visitors.
    """

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        patience: Patience,
        clock: Callable[[], float],
        meter: Meter = NO_METER,
    ) -> None:
        self._database = database
        self._meter = meter
        self._ledger = ledger
        self._patience = patience
        self._clock = clock
        self._waiting: list[tuple[Outcome, asyncio.Future[None]]] = []
        self._enough = asyncio.Event()
        self._busy = asyncio.Lock()
        self.written = Written()

    async def write(self, outcome: Outcome) -> None:
        """Have the outcome committed; raises what the database raises, for everyone in the batch."""
        safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((outcome, safe))
        if len(self._waiting) >= self._patience.outcomes:
            self._enough.set()
        async with self._busy:
            if not safe.done():
                await self._linger()
                await self._commit()
        await safe

    async def _linger(self) -> None:
        """A transaction costs as much as several adverts, so it waits a moment for more of them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience.seconds):
                await self._enough.wait()

    async def _commit(self) -> None:
        batch, self._waiting = self._waiting, []
        self._enough.clear()
        try:
            written = await self._database.run_write_async(lambda c: self._write(c, batch))
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            for _, safe in batch:
                safe.set_exception(error)
            return
        self._add(written)
        for _, safe in batch:
            safe.set_result(None)

    def _write(self, connection: Connection, batch: list[tuple[Outcome, asyncio.Future[None]]]) -> Written:
        outcomes = [outcome for outcome, _ in batch]
        return write_batch(connection, self._ledger, outcomes, now=self._clock())

    def _add(self, more: Written) -> None:
        self._meter.stored(
            self._ledger.site,
            new=more.new,
            changed=more.changed,
            unchanged=more.unchanged,
            failed=more.failed,
        )
        old = self.written
        self.written = Written(
            old.new + more.new, old.changed + more.changed, old.found + more.found, old.lost + more.lost
        )
