"""What all runs counted together: sums that only grow, and cost what is new to read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from sqlalchemy import Connection, Row, select

from sale_sofia.config.metrics import SETTLED_SECONDS
from sale_sofia.config.monitoring import STREAMED_ROWS
from sale_sofia.data.crawl_schema import jobs
from sale_sofia.data.telemetry_schema import run_metrics
from sale_sofia.monitoring.metrics import DomainMetrics


@dataclass(slots=True)
class DomainTotals:
    """One domain's counters over many runs."""

    counted: DomainMetrics = field(default_factory=DomainMetrics)
    """All but the open circuits: what was open in two runs at once counts for each."""
    open_seconds: float = 0.0

    def add(self, run: DomainMetrics) -> None:
        """Take in one run."""
        spans, run.circuit_open.spans = run.circuit_open.spans, ()
        self.counted.merge(run)
        self.open_seconds += sum(until - since for since, until in spans) / 1000

    def joined(self, more: Self) -> None:
        """Take in other runs."""
        self.counted.merge(more.counted)
        self.open_seconds += more.open_seconds


Totals = dict[str, DomainTotals]


@dataclass(slots=True)
class RunTotals:
    """Sums over all runs, by domain. Runs that ended long ago are read once and remembered."""

    _settled: Totals = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    """The runs in `_settled`."""

    def read(self, connection: Connection, *, now: float) -> Totals:
        """The sums as the database has them now; changes nothing there."""
        found = connection.execute(select(jobs.c.id, jobs.c.finished_at)).all()
        self._settle(connection, [job for job in found if _has_settled(job, now)])
        totals: Totals = {}
        _join(totals, self._settled)
        _join(totals, _sums(connection, [job.id for job in found if not _has_settled(job, now)]))
        return totals

    def _settle(self, connection: Connection, ended: Iterable[Row[Any, Any]]) -> None:
        new = [job.id for job in ended if job.id not in self._known]
        _join(self._settled, _sums(connection, new))
        self._known.update(new)


def _has_settled(job: Row[Any, Any], now: float) -> bool:
    return job.finished_at is not None and job.finished_at <= now - SETTLED_SECONDS


def _sums(connection: Connection, job_ids: Sequence[str]) -> Totals:
    totals: Totals = {}
    for start in range(0, len(job_ids), STREAMED_ROWS):
        some = job_ids[start : start + STREAMED_ROWS]
        rows = select(run_metrics.c.domain, run_metrics.c.counters).where(run_metrics.c.job_id.in_(some))
        for row in connection.execute(rows):
            if row.counters:
                totals.setdefault(row.domain, DomainTotals()).add(DomainMetrics.from_dict(row.counters))
    return totals


def _join(totals: Totals, more: Totals) -> None:
    for domain, sums in more.items():
        totals.setdefault(domain, DomainTotals()).joined(sums)
