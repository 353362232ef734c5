"""What the reconciler's look at one unfinished job costs: it grows with the jobs, not with the pages."""

import time

from sqlalchemy import Connection

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.runners import dispatching
from sale_sofia.crawl.runners.progress import read_progress
from sale_sofia.crawl.urls import Target
from sale_sofia.history.jobs import create_job
from sale_sofia.history.runs.facts import read_run
from sale_sofia.storage.database import Database

NOTHING_IS_DUE = -1.0
"""A moment before all rows."""


def one_job_ms(database: Database, jobs: int = 100) -> float:
    """What `tasks.reconcile` does for each unfinished job, but for Redis; the mean of the best round."""
    names = [f"waiting-{number}" for number in range(jobs)]
    for name in names:
        database.run_write(lambda connection: _waiting_job(connection, name))  # noqa: B023
    return min(_looked_at(database, names) for _ in range(3)) * 1000 / jobs


def _waiting_job(connection: Connection, name: str) -> None:
    create_job(connection, job_id=name, site=name, start_urls=[], listing_limit=None, now=time.time())
    frontier.add_targets(connection, name, [Target("listing", name, name)])


def _looked_at(database: Database, names: list[str]) -> float:
    begun, now = time.perf_counter(), time.time()
    for name in names:
        database.run_read(lambda connection: read_run(connection, name, now=now))  # noqa: B023
        database.run_write(lambda connection: dispatching.repair(connection, name, now=NOTHING_IS_DUE))  # noqa: B023
        database.run_read(lambda connection: read_progress(connection, name))  # noqa: B023
    return time.perf_counter() - begun
