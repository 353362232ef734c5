"""Telling the workers that there is work: only a hint, as the reconciler wakes jobs whose hint was lost."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, and_, or_, update

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.clock import bring_back
from sale_sofia.crawl.frontier.jobs import close_frontier, known_job
from sale_sofia.crawl.resilience.owners import is_dead
from sale_sofia.crawl.settings import (
    APP_NAME,
    BROKER_CONNECT_SECONDS,
    BROKER_SOCKET_SECONDS,
    CONCLUSION_GRACE_SECONDS,
    DISPATCH_GRACE_SECONDS,
    MOST_DEATHS,
    TASK_VERSION,
)
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import CELERY, Job, JobState, set_job_state

if TYPE_CHECKING:
    from celery import Celery


def jobs_message(jobs: Iterable[Job]) -> dict[str, dict[str, Any]]:
    """The jobs as `scrape_all_sites` takes them."""
    return {job.site: {"job_id": job.id, "start_urls": list(job.start_urls)} for job in jobs}


def send_jobs(redis_url: str, jobs: Iterable[Job]) -> bool:
    """Send the jobs to the workers; whether the broker took the message."""
    from kombu.exceptions import OperationalError  # noqa: PLC0415 - see `sender`

    task = "sale_sofia.crawl.runners.tasks.scrape_all_sites"
    with sender(redis_url) as app:
        try:
            arguments = [jobs_message(jobs), TASK_VERSION]
            app.send_task(task, args=arguments, retry=False, ignore_result=True)
        except OperationalError:
            return False
    return True


def sender(redis_url: str) -> "Celery":
    """An app that only sends; one that also reads the settings of its surroundings is `celery_app`."""
    # Celery is slow to import, and most commands need nothing of it.
    from celery import Celery  # noqa: PLC0415
    from kombu import Queue  # noqa: PLC0415

    app = Celery(APP_NAME, broker=redis_url, set_as_current=False)
    app.conf.update(
        task_default_queue=APP_NAME,
        task_queues=(Queue(APP_NAME),),
        task_ignore_result=True,
        broker_transport_options={
            "socket_timeout": BROKER_SOCKET_SECONDS,
            "socket_connect_timeout": BROKER_CONNECT_SECONDS,
        },
    )
    return app


# When lanes of a job are sent out: never twice for the same reason, and again when they were lost.


class Next(Enum):
    """What a job needs now."""

    NOTHING = auto()
    """Its lanes are at work, or all its rows wait for a later moment."""
    LANES = auto()
    """A new generation of lanes."""
    OVER = auto()
    """No page is left, or it has ended: what follows its last page is to be done."""
    OVERDUE = auto()
    """The same; but whoever began with that never came to its end."""


@dataclass(frozen=True, slots=True)
class Step:
    """What was decided, and the generation it is for."""

    what: Next
    generation: int = 0


def begin(connection: Connection, job_id: str, *, now: float) -> Step:
    """A job is dispatched: its first generation; one that was dispatched before gets what it needs now."""
    job = known_job(connection, job_id)
    if job.state.finished or job.generation:
        return repair(connection, job_id, now=now)
    if not _take_generation(connection, job, now):
        return Step(Next.NOTHING)
    set_job_state(connection, job_id, JobState.COLLECTING, now=now)
    return Step(Next.LANES, job.generation + 1)


def after_lanes(connection: Connection, job_id: str, *, now: float, generation: int | None = None) -> Step:
    """A generation is back: the job ends, goes on, or waits. Calling it again changes nothing more.

    An older `generation` than the last sends nobody while those sent a moment ago may be on their way.
    """
    job = known_job(connection, job_id)
    counts = frontier.count_rows(connection, job_id)
    if not counts.open and job.state.takes_pages:
        close_frontier(connection, job, now=now)
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(woken_at=now))
    if not counts.open or job.state.finished:
        return Step(Next.OVER)
    if (
        generation is not None
        and generation < job.generation
        and _since_woken(job, now) < DISPATCH_GRACE_SECONDS
    ):
        return Step(Next.NOTHING)
    due = counts.next_due is not None and counts.next_due <= now
    if due and not counts.leased and _take_generation(connection, job, now):
        return Step(Next.LANES, job.generation + 1)
    return Step(Next.NOTHING)


def repair(connection: Connection, job_id: str, *, now: float) -> Step:
    """What a job needs whose wake-up may have been lost: the rows of the dead come back first."""
    bring_back(connection, job_id, now=now)
    for owner in filter(is_dead, frontier.owners(connection, job_id)):
        frontier.release_owner(connection, job_id, owner, most_deaths=MOST_DEATHS)
    frontier.reclaim_expired(connection, job_id, now=now, most_deaths=MOST_DEATHS)
    job = known_job(connection, job_id)
    since = _since_woken(job, now)
    if job.state is JobState.AGGREGATING:
        return Step(Next.NOTHING if since < CONCLUSION_GRACE_SECONDS else Next.OVERDUE)
    if since < DISPATCH_GRACE_SECONDS and frontier.count_rows(connection, job_id).open:
        return Step(Next.NOTHING)
    return after_lanes(connection, job_id, now=now)


def _since_woken(job: Job, now: float) -> float:
    return math.inf if job.woken_at is None else now - job.woken_at


def keep_awake(connection: Connection, job_id: str, *, now: float) -> None:
    """Say that the end of a job is still being worked out, so that it is not taken for overdue."""
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(woken_at=now))


def _take_generation(connection: Connection, job: Job, now: float) -> bool:
    """Whether the next generation is ours to send: of many who ask at once, one gets it."""
    # One that nobody runs was stopped on purpose, unless it has not begun at all.
    may_be_ours = or_(jobs.c.runner == CELERY, and_(jobs.c.runner.is_(None), jobs.c.generation == 0))
    taken = connection.execute(
        update(jobs)
        .where(jobs.c.id == job.id, jobs.c.generation == job.generation, may_be_ours)
        .values(generation=job.generation + 1, woken_at=now, runner=CELERY)
    )
    return bool(taken.rowcount)
