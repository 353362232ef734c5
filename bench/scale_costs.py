"""Measured on this machine, in this run: what a page costs Redis, SQLite, PostgreSQL and a worker.

Times are the least of several crawls: what a busy machine adds is no cost of the program.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import scale_reconcile
import scale_redis
import scale_store
from durable_postgres import durable_postgres
from postgres_servers import PostgresServer
from process_sizes import children
from sale_sofia.storage.migrate import initialize_database
from scale_parts import Costs
from scale_redis import StepCost
from scale_store import PageCost

VISITORS = (1, 2, 10)
USUAL = 2
"""Visitors of a lane of imot.bg."""
ROUND_TRIP_SECONDS = 0.0005
"""Between two machines of one data centre; assumed."""
_TICKS = os.sysconf("SC_CLK_TCK")


class Gauge(NamedTuple):
    """What a server has used since it began."""

    cpu_seconds: float
    wal_bytes: float


NO_SERVER = Gauge(0.0, 0.0)


class StoreCost(NamedTuple):
    """One page in one kind of database, new and as it was, by the number of visitors."""

    new: dict[int, PageCost]
    same: dict[int, PageCost]
    server_cpu_ms: float
    """Of the server, for a page that is as it was; 0 where there is none."""
    wal_bytes: float
    """That such a page adds to the server's log of writes."""
    reconcile_ms: float
    """What the reconciler does for one unfinished job, every time it looks."""

    @property
    def usual(self) -> PageCost:
        """A page as it was, by two visitors: most of a daily crawl."""
        return self.same[USUAL]


class Measured(NamedTuple):
    """All costs."""

    redis: dict[str, StepCost]
    sqlite: StoreCost
    postgres: StoreCost | None


def measure_all(folder: Path, *, quick: bool) -> Measured:
    """Everything, one after the other."""
    redis = scale_redis.run(folder / "redis", 100 if quick else 400, 5 if quick else 10)
    pages, rounds = scale_store.rendered(40 if quick else 200), 2 if quick else 4
    numbers = iter(range(1000))
    sqlite = _store(lambda: f"sqlite:///{folder}/{next(numbers)}.db", pages, rounds, lambda: NO_SERVER)
    with durable_postgres() as server:
        known = None if server is None else _server_store(server, pages, rounds)
    return Measured(redis, sqlite, known)


def _server_store(server: PostgresServer, pages: list[Any], rounds: int) -> StoreCost:
    return _store(server.new_database, pages, rounds, lambda: _gauge(server))


def _store(
    new_url: Callable[[], str], pages: list[Any], rounds: int, gauge: Callable[[], Gauge]
) -> StoreCost:
    new, same, used, looked = {}, {}, NO_SERVER, 0.0
    for visitors in VISITORS:
        database = scale_store.TimedDatabase(new_url(), busy_timeout_seconds=30, busy_retries=3)
        initialize_database(database)
        new[visitors] = scale_store.crawl(database, pages, visitors, 0)
        begun = gauge()
        again = [scale_store.crawl(database, pages, visitors, number) for number in range(1, rounds + 1)]
        same[visitors] = PageCost(*(min(values) for values in zip(*again, strict=True)))
        if visitors == USUAL:
            used = Gauge(
                *((now - then) / (rounds * len(pages)) for now, then in zip(gauge(), begun, strict=True))
            )
            looked = scale_reconcile.one_job_ms(database)
        database.dispose()
    return StoreCost(new, same, 1000 * used.cpu_seconds, used.wal_bytes, looked)


def _gauge(server: PostgresServer) -> Gauge:
    """Of all its living processes."""
    if server.process is None:
        return NO_SERVER
    with server.admin() as admin:
        row = admin.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone() or (0,)
    pids = [server.process.pid, *children(server.process.pid)]
    return Gauge(sum(_cpu_seconds(pid) for pid in pids), float(row[0]))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def costs_of(measured: Measured, store: StoreCost) -> Costs:
    """What the simulation is told: a page that is as it was, two visitors to a lane."""
    usual, cores = store.usual, os.cpu_count() or 1
    share = store.server_cpu_ms / (usual.claim_ms + usual.commit_ms) if store.server_cpu_ms else 1.0
    database = {"claim": usual.claim_transaction_ms, "commit": usual.commit_ms, "read": 0.0}
    return Costs(
        redis={step: one.server_us / 1e6 for step, one in measured.redis.items()},
        database={what: ms * share / 1000 for what, ms in database.items()},
        database_places=cores if store.server_cpu_ms else 1,
        page_cpu=usual.parse_ms / 1000 + sum(one.client_us for one in measured.redis.values()) / 1e6,
        round_trip=ROUND_TRIP_SECONDS,
    )
