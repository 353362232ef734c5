"""The counters of each run and domain, merged from many processes into one row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, update

from sale_sofia.config.monitoring import METRICS_WRITERS_MAX
from sale_sofia.data.telemetry_schema import run_metrics
from sale_sofia.data.upserts import insert_into

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
