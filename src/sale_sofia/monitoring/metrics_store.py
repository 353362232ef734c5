"""One process's counters on their way into the database, where those of all processes become one."""

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection

from sale_sofia.config.monitoring import METRICS_FLUSH_SECONDS
from sale_sofia.data.database import Database
from sale_sofia.data.errors import DatabaseError
from sale_sofia.data.run_metrics import Counters, MetricsDelta, add_deltas, read_run_metrics
from sale_sofia.monitoring.metrics import DomainMetrics, MetricsCollector

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
