"""The jobs: one crawl of one site each, and its state."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, bindparam, func, insert, select, update

from sale_sofia.crawl.tables import jobs
from sale_sofia.settings.words import Said
from sale_sofia.storage.quick import Quick

CELERY: Final = "celery"
"""The runner of a job that the Celery workers crawl."""


class JobState(StrEnum):
    """The state of a job; the last five are final."""

    DISPATCHED = "DISPATCHED"
    COLLECTING = "COLLECTING"
    PROCESSING = "PROCESSING"
    AGGREGATING = "AGGREGATING"
    COMPLETE = "COMPLETE"
    PARTIAL = "PARTIAL"
    """Too many of its adverts could not be read."""
    EMPTY = "EMPTY"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen."""
        return self in FINISHED_STATES

    @property
    def takes_pages(self) -> bool:
        """Whether pages are still fetched for it."""
        return not self.finished and self is not JobState.AGGREGATING


FINISHED_STATES = frozenset(
    {JobState.COMPLETE, JobState.PARTIAL, JobState.EMPTY, JobState.FAILED, JobState.CANCELLED}
)


class UnknownJob(LookupError):
    """There is no job of this id."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is stored. Moments are seconds since 1970."""

    id: str
    site: str
    state: JobState
    start_urls: tuple[str, ...]
    listing_limit: int | None
    created_at: float
    started_at: float | None
    finished_at: float | None
    error: Said | None
    requests: int
    new_listings: int
    changed_listings: int
    seconds: float
    runner: str | None = None
    """Who crawls it: `local` on a machine, or `celery`; None before it was begun."""
    generation: int = 0
    """How often lanes were sent for it."""
    woken_at: float | None = None
    """When they were last sent."""
    shut_until: float | None = None
    """Until when none of its pages may be claimed."""
    shut_at: float | None = None
    """When that was written."""
    chunks: int = 0
    """Finished batches of its pages."""
    ranked_by: str | None = None
    """Digest of the wishes by which its rows were ranked."""
    looks_for: Mapping[str, Any] | None = None
    """The profiles and saved searches it is for, with their wishes as of its start; None: everything."""
    linked: int = 0
    """Adverts that were not opened, being copies of one that was opened on another portal."""
    sampled: int = 0
    """Copies that were opened as a check."""
    disagreed: int = 0
    """Adverts that were opened because their cards disagree with the other portal's page."""
    differing: int = 0
    """Copies opened as a check whose pages differed."""

    @property
    def worked_seconds(self) -> float:
        """How long it was worked on: parallel lanes add up, but never to more than its duration."""
        if self.runner != CELERY or self.started_at is None or self.finished_at is None:
            return self.seconds
        return min(self.seconds, self.finished_at - self.started_at)


_UNFINISHED = jobs.c.state.not_in([state.value for state in sorted(FINISHED_STATES)])
_HAS_PAGES = jobs.c.state != JobState.AGGREGATING.value
_BY_ID = Quick(select(jobs).where(jobs.c.id == bindparam("of_id")))
NEWEST_JOB_FIRST = (jobs.c.created_at.desc(), jobs.c.id.desc())
"""Jobs in one order also where two began at the same moment."""
_NEWEST_FIRST = select(jobs).order_by(*NEWEST_JOB_FIRST)
_ADD_COUNTS = Quick(
    update(jobs)
    .where(jobs.c.id == bindparam("of_id"))
    .values(
        requests=jobs.c.requests + bindparam("requests_more"),
        new_listings=jobs.c.new_listings + bindparam("new_more"),
        changed_listings=jobs.c.changed_listings + bindparam("changed_more"),
        seconds=jobs.c.seconds + bindparam("seconds_more"),
        chunks=jobs.c.chunks + bindparam("chunks_more"),
    )
)
COPY_COUNTS = ("linked", "sampled", "disagreed", "differing")
"""The counts of a job's adverts that another portal has too."""
_ADD_COPIES = (
    update(jobs)
    .where(jobs.c.id == bindparam("of_id"))
    .values({name: jobs.c[name] + bindparam(f"{name}_more") for name in COPY_COUNTS})
)


def create_job(  # noqa: PLR0913 - each is a choice of its own
    connection: Connection,
    *,
    job_id: str,
    site: str,
    start_urls: Sequence[str],
    listing_limit: int | None,
    now: float,
    looks_for: Mapping[str, Any] | None = None,
) -> Job:
    """Create the job, or return the existing one with this id."""
    if existing := get_job(connection, job_id):
        return existing
    connection.execute(
        insert(jobs).values(
            id=job_id,
            site=site,
            state=JobState.DISPATCHED.value,
            start_urls=list(start_urls),
            listing_limit=listing_limit,
            created_at=now,
            looks_for=looks_for,
        )
    )
    [row] = _BY_ID.mappings(connection, {"of_id": job_id})
    return _job(row)


def after_all_others(connection: Connection, site: str, now: float) -> float:
    """The creation time of a new job: now, or just after the portal's newest if a clock was ahead."""
    newest = connection.execute(select(func.max(jobs.c.created_at)).where(jobs.c.site == site)).scalar()
    return now if newest is None else max(now, math.nextafter(newest, math.inf))


def set_job_state(
    connection: Connection, job_id: str, state: JobState, *, now: float, error: Said | None = None
) -> bool:
    """Set the job's state; `False`, with nothing changed, if it was finished already.

    The first change from DISPATCHED is its start, the change to a finished state its end. A job that is
    AGGREGATING has no pages left and can only end.

    Raises:
        UnknownJob: there is no such job.
    """
    values: dict[str, Any] = {"state": state.value, "error": error}
    if state is not JobState.DISPATCHED:
        values["started_at"] = func.coalesce(jobs.c.started_at, now)
    if state.finished:
        values["finished_at"] = now
    movable = _UNFINISHED if state.finished else and_(_UNFINISHED, _HAS_PAGES)
    result = connection.execute(update(jobs).where(jobs.c.id == job_id, movable).values(values))
    if result.rowcount:
        return True
    if get_job(connection, job_id) is None:
        raise UnknownJob(f"There is no job {job_id}.")
    return False


def add_job_counts(  # noqa: PLR0913 - each is a count of its own
    connection: Connection,
    job_id: str,
    *,
    requests: int = 0,
    new: int = 0,
    changed: int = 0,
    seconds: float = 0.0,
    chunks: int = 0,
) -> None:
    """Add to the job's counts.

    Raises:
        UnknownJob: there is no such job.
    """
    counts = {"of_id": job_id, "requests_more": requests, "new_more": new, "changed_more": changed}
    if not _ADD_COUNTS.run(connection, [{**counts, "seconds_more": seconds, "chunks_more": chunks}]):
        raise UnknownJob(f"There is no job {job_id}.")


def add_copy_counts(connection: Connection, job_id: str, **counts: int) -> None:
    """Add to the job's `COPY_COUNTS`."""
    if any(counts.values()):
        more = {f"{name}_more": counts.get(name, 0) for name in COPY_COUNTS}
        connection.execute(_ADD_COPIES, {"of_id": job_id, **more})


def get_job(connection: Connection, job_id: str) -> Job | None:
    """The job of this id."""
    return next(map(_job, _BY_ID.mappings(connection, {"of_id": job_id})), None)


def list_jobs(connection: Connection, limit: int) -> list[Job]:
    """The newest jobs, the newest first."""
    return _read(connection, _NEWEST_FIRST.limit(limit))


def latest_unfinished_job(connection: Connection, site: str) -> Job | None:
    """The newest unfinished job of the site."""
    query = _NEWEST_FIRST.where(jobs.c.site == site, _UNFINISHED).limit(1)
    return next(iter(_read(connection, query)), None)


def jobs_since_unfinished(connection: Connection, site: str) -> list[Job]:
    """The site's jobs from its oldest unfinished one on, the newest first."""
    oldest = select(func.min(jobs.c.created_at)).where(jobs.c.site == site, _UNFINISHED).scalar_subquery()
    return _read(connection, _NEWEST_FIRST.where(jobs.c.site == site, jobs.c.created_at >= oldest))


def unfinished_jobs(connection: Connection) -> list[Job]:
    """All unfinished jobs, the oldest first."""
    return _read(connection, select(jobs).where(_UNFINISHED).order_by(jobs.c.created_at, jobs.c.id))


def _read(connection: Connection, query: Select[Any]) -> list[Job]:
    return [_job(row) for row in connection.execute(query).mappings()]


def _job(row: Mapping[Any, Any]) -> Job:
    return Job(**{**row, "state": JobState(row["state"]), "start_urls": tuple(row["start_urls"])})
