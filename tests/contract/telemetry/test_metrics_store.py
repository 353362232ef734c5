import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import select, text

from contract.storage.helpers import at_once, database
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseBusy
from sale_sofia.telemetry.metrics import DomainMetrics, MetricsCollector, MetricsFlusher, read_metrics
from sale_sofia.telemetry.settings import METRICS_FLUSH_SECONDS, METRICS_WRITERS_MAX
from sale_sofia.telemetry.tables import run_metrics
from unit.telemetry.monitoring_workers import PAGES, count_pages, flush_many, make_run


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    make_run(made, "job", state=None)
    yield made
    made.dispose()


def stored(db: Database) -> dict[str, DomainMetrics]:
    return db.run_read(lambda connection: read_metrics(connection, "job"))


def flusher(db: Database, writer: str = "w") -> MetricsFlusher:
    return MetricsFlusher(db, MetricsCollector("job", clock=lambda: 5000.0), writer=writer)


@contextmanager
def busy(db: Database) -> Iterator[None]:
    """Somebody else writes the counters."""
    with db.write() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("LOCK TABLE run_metrics"))
        yield


def test_flushes_add_up_by_domain(db: Database) -> None:
    first, second = flusher(db, "one"), flusher(db, "second")
    first.collector.answered("imot.bg", "ok", 10, 0.5)
    first.collector.retried("bazar.bg")
    first.flush()
    second.collector.answered("imot.bg", "blocked", 5, 1.5)
    second.flush()
    first.collector.answered("imot.bg", "ok", 1, 0.5)
    first.flush()
    found = stored(db)
    assert found["imot.bg"].verdicts == {"ok": 2, "blocked": 1}
    assert found["imot.bg"].bytes == 16
    assert found["bazar.bg"] == DomainMetrics(retries=1)


def test_nothing_counted_is_nothing_written(db: Database) -> None:
    flusher(db).flush()
    assert stored(db) == {}


def test_a_flush_ends_though_a_circuit_stays_open(db: Database) -> None:
    moments = itertools.count(100)
    writer = MetricsFlusher(db, MetricsCollector("job", clock=lambda: float(next(moments))), writer="w")
    writer.collector.circuit_open("imot.bg", 9e9)  # time passes with every look
    writer.flush()
    asyncio.run(writer.flush_async())
    assert next(moments) < 110
    (opened, _), *_ = stored(db)["imot.bg"].circuit_open.spans
    assert opened == 100_000


def test_a_flush_whose_answer_was_lost_counts_once(db: Database) -> None:
    writer = flusher(db)
    writer.collector.retried("imot.bg")
    assert writer._seal()  # noqa: SLF001 - the transaction is committed, its answer never comes
    db.run_write(writer._add)  # noqa: SLF001
    writer.collector.retried("imot.bg")
    writer.flush()
    writer.flush()
    assert stored(db)["imot.bg"].retries == 2


def test_a_flush_that_failed_is_brought_by_the_next(store_url: str, db: Database) -> None:
    impatient = flusher(database(store_url, timeout=0.01, retries=0))
    impatient.collector.retried("imot.bg")
    with busy(db):
        with pytest.raises(DatabaseBusy):
            impatient.flush()
        impatient.close()
    impatient.collector.retried("imot.bg")
    assert stored(db) == {}
    impatient.close()
    assert stored(db)["imot.bg"].retries == 2
    impatient.database.dispose()


def test_a_tick_flushes_when_it_is_time_and_forgives_the_database(store_url: str, db: Database) -> None:
    now = [100.0]
    writer = flusher(database(store_url, timeout=0.01, retries=0))
    writer.clock = lambda: now[0]

    async def ticks() -> list[int]:
        seen = []
        set_back = 50.0
        for moment, locked in (
            (100.0, False),
            (104.9, False),
            (105.0, True),
            (105.1, False),
            (110.0, False),
            (set_back, False),
        ):
            now[0] = moment
            writer.collector.retried("imot.bg")
            if locked:
                with busy(db):
                    await writer.tick()
            else:
                await writer.tick()
            seen.append(stored(db)["imot.bg"].retries)
        return seen

    assert METRICS_FLUSH_SECONDS == 5
    assert asyncio.run(ticks()) == [1, 1, 1, 1, 5, 6]
    writer.database.dispose()


@pytest.mark.slow
def test_eight_processes_at_once_lose_nothing_and_count_nothing_twice(db: Database, store_url: str) -> None:
    workers, flushes = 8, 6
    at_once(flush_many, [(store_url, worker, flushes) for worker in range(workers)])
    expected = MetricsCollector("job", clock=lambda: 5000.0)
    for worker in range(workers):
        for _ in range(flushes):
            count_pages(expected, worker)
    assert stored(db) == expected.domains
    assert stored(db)["imot.bg"].requests == workers * flushes * PAGES
    with db.read() as connection:
        [row] = connection.execute(select(run_metrics)).all()
    assert sorted(row.writers.values()) == [flushes] * workers
    assert len(str(row.counters)) < 4000


@pytest.mark.slow
def test_only_the_last_writers_are_remembered(db: Database) -> None:
    for number in range(METRICS_WRITERS_MAX + 5):
        writer = flusher(db, f"w{number}")
        writer.collector.retried("imot.bg")
        writer.flush()
    with db.read() as connection:
        writers = connection.execute(select(run_metrics.c.writers)).scalar_one()
    assert list(writers) == [f"w{number}" for number in range(5, METRICS_WRITERS_MAX + 5)]
    assert stored(db)["imot.bg"].retries == METRICS_WRITERS_MAX + 5
