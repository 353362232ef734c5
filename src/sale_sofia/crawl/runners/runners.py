"""Who crawls a job: a local runner or the Celery workers, never both; one job of a portal at a time.

A local runner holds the portal's lock (`site_lock`) while it lives, on one machine or, with a database
server, across all; without it nobody plans a crawl. The workers have no lock: they come and go, on any
machine. A job is theirs if its row says `celery`, and they are at work if lanes were sent a moment ago; or an
owner not known to be dead holds a row, or did a moment ago; or all rows wait for later and the last owner
lives. The check and the change of the runner are one transaction.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, and_, update

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.clock import bring_back
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.resilience.owners import is_dead
from sale_sofia.crawl.settings import DISPATCH_GRACE_SECONDS
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import CELERY, Job, JobState, unfinished_jobs
from sale_sofia.storage.database import Database


class SiteBusy(RuntimeError):
    """Another crawl of this portal is running."""


def local_runner() -> str:
    """The name of a local runner on this machine."""
    return f"local@{socket.gethostname()}"[:80]  # as much as its column holds


def running_job(connection: Connection, site: str, *, now: float) -> Job | None:
    """The portal's job that is being crawled now, by any runner."""
    return next(
        (job for job in unfinished_jobs(connection) if job.site == site and _is_run(connection, job, now)),
        None,
    )


def settle_clock(connection: Connection, site: str, *, now: float) -> None:
    """Repair the times of the portal's jobs after a clock was set back."""
    for job in unfinished_jobs(connection):
        if job.site == site:
            bring_back(connection, job.id, now=now)


def _is_run(connection: Connection, job: Job, now: float) -> bool:
    if job.runner == CELERY and job.woken_at is not None and now - job.woken_at < DISPATCH_GRACE_SECONDS:
        return True
    # Between two pages a lane holds none: rows it held within the time of a lease count too.
    owners = frontier.owners(connection, job.id, since=now, also_former=job.runner == CELERY)
    if any(not is_dead(owner) for owner in owners):
        return True
    if job.runner != CELERY:
        return False
    # No lane waits for a backoff or an open circuit; the reconciler sends one when it is over.
    due = frontier.count_rows(connection, job.id).next_due
    last = frontier.last_owner(connection, job.id)
    return due is not None and due > now and last is not None and not is_dead(last)


def check_free(connection: Connection, site: str, *, now: float) -> None:
    """Raise a `SiteBusy` that says who is crawling the portal, if anybody is."""
    if job := running_job(connection, site, now=now):
        raise busy(job)


def busy(job: Job) -> SiteBusy:
    """The error that says who is crawling the portal of a running job."""
    who = "the Celery workers" if job.runner == CELERY else job.runner or "another process"
    return SiteBusy(
        f"{job.site} is being crawled by {who}; "
        f"wait for job {job.id}, or end it with `sale-sofia cancel {job.id}`"
    )


def take_for_local(connection: Connection, job_id: str, *, now: float) -> None:
    """Assign the job to this local runner, which holds the portal's lock; `SiteBusy` while workers run it."""
    job = known_job(connection, job_id)
    check_free(connection, job.site, now=now)
    _let_others_go(connection, job)
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(runner=local_runner()))


def take_for_workers(connection: Connection, job_id: str, *, now: float) -> None:
    """Assign the job to the workers.

    One they had before is woken at once, unless a live lease shows that they are at work: the lanes sent by a
    process that was just killed may be dead too.
    """
    job = known_job(connection, job_id)
    _let_others_go(connection, job)
    woken_at = None if job.generation else now
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(runner=CELERY, woken_at=woken_at))


def _let_others_go(connection: Connection, job: Job) -> None:
    """Release the portal's other jobs whose runner died: they rest until they are resumed.

    Else workers that come back would crawl them beside this one, and one of a local runner would count as
    running. One of the workers that has no pages left is only to be concluded and stays theirs.
    """
    others = (jobs.c.site == job.site, jobs.c.id != job.id, jobs.c.runner.is_not(None))
    may_end = and_(jobs.c.state == JobState.AGGREGATING.value, jobs.c.runner == CELERY)
    # By the next generation, a message that still waits cannot begin one that has not begun.
    rest = {"runner": None, "woken_at": None, "generation": jobs.c.generation + 1}
    connection.execute(update(jobs).where(*others, jobs.c.finished_at.is_(None), ~may_end).values(rest))


def let_go(connection: Connection, job_id: str, runner: str) -> None:
    """Release a job whose runner stopped before its end: it rests until it is resumed."""
    mine = (jobs.c.id == job_id, jobs.c.runner == runner, jobs.c.finished_at.is_(None))
    connection.execute(update(jobs).where(*mine).values(runner=None, woken_at=None))


# One crawl of a portal at a time, even after a crash.


@contextmanager
def site_lock(database: Database, folder: Path, site: str) -> Iterator[None]:
    """Lock the portal, here and on all machines that use the same server; `SiteBusy` says who has it.

    The lock is released when the process ends, however it ends.
    """
    with _on_this_machine(folder, site), database.portal_lock(site) as holder:
        if holder is not None:
            raise SiteBusy(f"{site} is being crawled by {holder}; wait for it or stop it there")
        yield


@contextmanager
def _on_this_machine(folder: Path, site: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{site}.lock").open("a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise SiteBusy(f"{site} is being crawled by process {holder}; wait for it or stop it") from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
