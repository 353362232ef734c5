"""How scraping tells what happens, without knowing who listens."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from sqlalchemy import Connection, select, update

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.upserts import insert_into
from sale_sofia.telemetry.metrics import DomainMetrics, MetricsCollector, RequestVerdict, verdict_of
from sale_sofia.telemetry.settings import METRICS_FLUSH_SECONDS, METRICS_WRITERS_MAX
from sale_sofia.telemetry.tables import run_metrics


class Meter(Protocol):
    """Hears of everything countable. No call waits, fails, or keeps anything of a page."""

    def answered(self, domain: str, verdict: RequestVerdict, size: int, seconds: float) -> None:
        """A request got a whole answer, of `size` bytes after `seconds`."""

    def unanswered(self, domain: str, verdict: RequestVerdict = "no_answer") -> None:
        """A request got no whole answer."""

    def stored(
        self, domain: str, *, new: int = 0, changed: int = 0, unchanged: int = 0, failed: int = 0
    ) -> None:
        """Adverts were committed, or given up."""

    def retried(self, domain: str) -> None:
        """A page was asked for again."""

    def waited(self, domain: str, seconds: float) -> None:
        """A request may go, after it waited for its turn; to be told of every one, also of no wait."""

    def circuit_open(self, domain: str, seconds: float) -> None:
        """A request was refused: the domain's circuit is open, and will be for `seconds`."""


class _NoMeter:
    """Hears of everything and counts nothing."""

    def answered(self, domain: str, verdict: RequestVerdict, size: int, seconds: float) -> None:
        pass

    def unanswered(self, domain: str, verdict: RequestVerdict = "no_answer") -> None:
        pass

    def stored(
        self, domain: str, *, new: int = 0, changed: int = 0, unchanged: int = 0, failed: int = 0
    ) -> None:
        pass

    def retried(self, domain: str) -> None:
        pass

    def waited(self, domain: str, seconds: float) -> None:
        pass

    def circuit_open(self, domain: str, seconds: float) -> None:
        pass


NO_METER: Final[Meter] = _NoMeter()
"""For whoever does not count."""


@dataclass(slots=True)
class Asked:
    """One request under way."""

    verdict: RequestVerdict = "ok"
    """What it is when nothing goes wrong; a removed advert is to be told here."""
    response: Response | None = None
    """To be set as soon as there is one."""


@contextmanager
def measured(meter: Meter, domain: str) -> Iterator[Asked]:
    """Fetch and judge inside: the request is counted once, by its verdict, whatever becomes of it."""
    asked = Asked()
    try:
        yield asked
    except CrawlError as error:
        _count(meter, domain, asked, verdict_of(error))
        raise
    _count(meter, domain, asked, asked.verdict)


def _count(meter: Meter, domain: str, asked: Asked, verdict: RequestVerdict) -> None:
    if asked.response is None:
        meter.unanswered(domain, verdict)
    else:
        meter.answered(domain, verdict, len(asked.response.body), asked.response.seconds)


# The counters of each run and domain, merged from many processes into one row.

Counters = dict[str, Any]
Combine = Callable[[Counters, Counters], Counters]


@dataclass(frozen=True, slots=True)
class MetricsDelta:
    """What one writer counted for a domain since its last delta; its numbers grow by one."""

    job_id: str
    writer: str
    sequence: int
    domain: str
    counters: Counters


def add_deltas(
    connection: Connection, deltas: Sequence[MetricsDelta], combine: Combine, *, now: float
) -> None:
    """Add deltas to their rows in the caller's write transaction; one that is there already adds nothing."""
    for delta in deltas:
        _make_row(connection, delta, now)
        _add(connection, delta, combine, now)


def read_run_metrics(connection: Connection, job_id: str) -> dict[str, Counters]:
    """The run's counters by domain; a domain of which nothing was counted is not there."""
    rows = select(run_metrics.c.domain, run_metrics.c.counters).where(run_metrics.c.job_id == job_id)
    found = connection.execute(rows.order_by(run_metrics.c.domain))
    return {row.domain: row.counters for row in found if row.counters}


def _make_row(connection: Connection, delta: MetricsDelta, now: float) -> None:
    """An empty row first: where rows are locked one by one, only a row that is there can be."""
    row = {"job_id": delta.job_id, "domain": delta.domain, "counters": {}, "writers": {}, "updated_at": now}
    connection.execute(insert_into(connection, run_metrics).values(row).on_conflict_do_nothing())


def _add(connection: Connection, delta: MetricsDelta, combine: Combine, now: float) -> None:
    chosen = (run_metrics.c.job_id == delta.job_id, run_metrics.c.domain == delta.domain)
    row = connection.execute(
        select(run_metrics.c.counters, run_metrics.c.writers).where(*chosen).with_for_update()
    ).one()
    if row.writers.get(delta.writer, 0) >= delta.sequence:
        return  # the answer to its first try was lost
    connection.execute(
        update(run_metrics)
        .where(*chosen)
        .values(
            counters=combine(row.counters, delta.counters) if row.counters else delta.counters,
            writers=_with_newest(row.writers, delta),
            updated_at=now,
        )
    )


def _with_newest(writers: Mapping[str, int], delta: MetricsDelta) -> dict[str, int]:
    """The writers by their last flush, the newest last; the oldest are forgotten."""
    others = [(writer, last) for writer, last in writers.items() if writer != delta.writer]
    return dict([*others, (delta.writer, delta.sequence)][-METRICS_WRITERS_MAX:])


# One process's counters on their way into the database, where those of all processes become one.

_TURNS = 2
"""What failed before, and what was counted since; while a circuit is open there is always something left."""


def merged(known: Counters, more: Counters) -> Counters:
    """Both counters as one."""
    both = DomainMetrics.from_dict(known)
    both.merge(DomainMetrics.from_dict(more))
    return both.to_dict()


def read_metrics(connection: Connection, run_id: str) -> dict[str, DomainMetrics]:
    """All that was flushed for a run, per domain."""
    known = read_run_metrics(connection, run_id)
    return {domain: DomainMetrics.from_dict(counters) for domain, counters in known.items()}


@dataclass(slots=True)
class MetricsFlusher:
    """Flushes a collector. A flush that failed, or whose answer was lost, is repeated and counts once.

    It belongs to one process. Killed, it loses what was counted since the last flush, a few seconds' worth.
    """

    database: Database
    collector: MetricsCollector
    clock: Callable[[], float] = time.time
    writer: str = field(default_factory=lambda: secrets.token_hex(8))
    _sequence: int = 0
    _sealed: list[MetricsDelta] = field(default_factory=list)
    """Not known to be stored; it keeps its number, what is counted meanwhile waits for the next."""
    _flushed_at: float = 0.0

    def flush(self) -> None:
        """Bring everything counted so far into the database.

        Raises:
            DatabaseError: it could not; nothing is lost, the next flush brings it.
        """
        for _ in range(_TURNS):
            if self._seal():
                self.database.run_write(self._add)
                self._stored()

    async def flush_async(self) -> None:
        """As `flush`, in the database's own thread."""
        for _ in range(_TURNS):
            if self._seal():
                await self.database.run_write_async(self._add)
                self._stored()

    async def tick(self) -> None:
        """Flush when it is time to. A database that cannot take it stops no crawl: it is tried again."""
        if self.clock() - self._flushed_at >= METRICS_FLUSH_SECONDS:
            self._flushed_at = self.clock()
            with suppress(DatabaseError):
                await self.flush_async()

    def close(self) -> None:
        """The last flush. That the counters could not be stored does not make the crawl a failure."""
        with suppress(DatabaseError):
            self.flush()

    def _seal(self) -> list[MetricsDelta]:
        if not self._sealed and (taken := self.collector.take()):
            self._sequence += 1
            delta = partial(MetricsDelta, self.collector.run_id, self.writer, self._sequence)
            self._sealed = [delta(domain, counted.to_dict()) for domain, counted in sorted(taken.items())]
        return self._sealed

    def _add(self, connection: Connection) -> None:
        add_deltas(connection, self._sealed, merged, now=self.clock())

    def _stored(self) -> None:
        self._flushed_at, self._sealed = self.clock(), []
