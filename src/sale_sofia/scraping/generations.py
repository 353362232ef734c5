"""When lanes of a job are sent out: never twice for the same reason, and again when they were lost."""

from dataclasses import dataclass
from enum import Enum, auto

from sqlalchemy import Connection, and_, or_, update

from sale_sofia.config.parallel import DISPATCH_GRACE_SECONDS, MOST_DEATHS
from sale_sofia.data.crawl_schema import jobs
from sale_sofia.data.job_model import CELERY
from sale_sofia.data.jobs import Job, JobState, set_job_state
from sale_sofia.scraping import frontier, leases
from sale_sofia.scraping.clock_faults import bring_back
from sale_sofia.scraping.jobs import end_job, known_job
from sale_sofia.scraping.owner import is_dead

# One that nobody runs was stopped on purpose, unless it has not begun at all.
_may_be_ours = or_(jobs.c.runner == CELERY, and_(jobs.c.runner.is_(None), jobs.c.generation == 0))


class Next(Enum):
    """What a job needs now."""

    NOTHING = auto()
    """Its lanes are at work, or all its rows wait for a later moment."""
    LANES = auto()
    """A new generation of lanes."""
    OVER = auto()
    """It has ended."""


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


def after_lanes(connection: Connection, job_id: str, *, now: float) -> Step:
    """A generation is back: the job ends, goes on, or waits. Calling it again changes nothing more."""
    job = known_job(connection, job_id)
    counts = frontier.count_rows(connection, job_id)
    if not counts.open:
        end_job(connection, job, now=now)
        return Step(Next.OVER)
    if job.state.finished:
        return Step(Next.OVER)
    due = counts.next_due is not None and counts.next_due <= now
    if due and not counts.leased and _take_generation(connection, job, now):
        return Step(Next.LANES, job.generation + 1)
    return Step(Next.NOTHING)


def repair(connection: Connection, job_id: str, *, now: float) -> Step:
    """What a job needs whose wake-up may have been lost: the rows of the dead come back first."""
    bring_back(connection, job_id, now=now)
    for owner in filter(is_dead, leases.owners(connection, job_id)):
        leases.release_owner(connection, job_id, owner, most_deaths=MOST_DEATHS)
    leases.reclaim_expired(connection, job_id, now=now, most_deaths=MOST_DEATHS)
    job = known_job(connection, job_id)
    fresh = job.woken_at is not None and now - job.woken_at < DISPATCH_GRACE_SECONDS
    if fresh and frontier.count_rows(connection, job_id).open:
        return Step(Next.NOTHING)
    return after_lanes(connection, job_id, now=now)


def _take_generation(connection: Connection, job: Job, now: float) -> bool:
    """Whether the next generation is ours to send: of many who ask at once, one gets it."""
    taken = connection.execute(
        update(jobs)
        .where(jobs.c.id == job.id, jobs.c.generation == job.generation, _may_be_ours)
        .values(generation=job.generation + 1, woken_at=now, runner=CELERY)
    )
    return bool(taken.rowcount)
