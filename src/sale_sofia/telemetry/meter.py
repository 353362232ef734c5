"""One process's counters on their way into the database, where those of all processes become one row."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from sqlalchemy import Connection, select, update

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.upserts import insert_into
from sale_sofia.telemetry.metrics import DomainMetrics, Meter, MetricsCollector, RequestVerdict, verdict_of
from sale_sofia.telemetry.settings import METRICS_FLUSH_SECONDS, METRICS_WRITERS_MAX
from sale_sofia.telemetry.tables import run_metrics


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

    def count(verdict: RequestVerdict) -> None:
        if asked.response is None:
            meter.unanswered(domain, verdict)
        else:
            meter.answered(domain, verdict, len(asked.response.body), asked.response.seconds)

    try:
        yield asked
    except CrawlError as error:
        count(verdict_of(error))
        raise
    count(asked.verdict)


def add_counters(
    connection: Connection,
    run_id: str,
    writer: str,
    sequence: int,
    counted: Mapping[str, DomainMetrics],
    *,
    now: float,
) -> None:
    """Add what a writer counted since its last call to the run's rows, in the caller's write transaction.

    Its numbers grow by one: what is there already adds nothing.
    """
    for domain, counters in sorted(counted.items()):
        # An empty row first: where rows are locked one by one, only a row that is there can be.
        row = {"job_id": run_id, "domain": domain, "counters": {}, "writers": {}, "updated_at": now}
        connection.execute(insert_into(connection, run_metrics).values(row).on_conflict_do_nothing())
        chosen = (run_metrics.c.job_id == run_id, run_metrics.c.domain == domain)
        known = connection.execute(
            select(run_metrics.c.counters, run_metrics.c.writers).where(*chosen).with_for_update()
        ).one()
        if known.writers.get(writer, 0) >= sequence:
            continue  # the answer to its first try was lost
        both = DomainMetrics.from_dict(known.counters) if known.counters else DomainMetrics()
        both.merge(counters)
        # By their last flush, the newest last; the oldest are forgotten.
        others = [(name, last) for name, last in known.writers.items() if name != writer]
        writers = dict([*others, (writer, sequence)][-METRICS_WRITERS_MAX:])
        values = {"counters": both.to_dict(), "writers": writers, "updated_at": now}
        connection.execute(update(run_metrics).where(*chosen).values(values))


def read_metrics(connection: Connection, run_id: str) -> dict[str, DomainMetrics]:
    """All that was flushed for a run, per domain; one of which nothing was counted is not there."""
    rows = select(run_metrics.c.domain, run_metrics.c.counters).where(run_metrics.c.job_id == run_id)
    found = connection.execute(rows.order_by(run_metrics.c.domain))
    return {row.domain: DomainMetrics.from_dict(row.counters) for row in found if row.counters}


_TURNS = 2
"""What failed before, and what was counted since; while a circuit is open there is always something left."""


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
    _sealed: dict[str, DomainMetrics] = field(default_factory=dict)
    """Not known to be stored; it keeps its number, what is counted meanwhile waits for the next."""
    _flushed_at: float = 0.0

    def flush(self) -> None:
        """Bring everything counted so far into the database.

        Raises `DatabaseError`: it could not; nothing is lost, the next flush brings it.
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

    def _seal(self) -> bool:
        """Whether there is anything to store."""
        if not self._sealed and (taken := self.collector.take()):
            self._sequence += 1
            self._sealed = taken
        return bool(self._sealed)

    def _add(self, connection: Connection) -> None:
        run_id, now = self.collector.run_id, self.clock()
        add_counters(connection, run_id, self.writer, self._sequence, self._sealed, now=now)

    def _stored(self) -> None:
        self._flushed_at, self._sealed = self.clock(), {}
