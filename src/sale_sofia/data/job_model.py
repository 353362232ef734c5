"""What a job is, and the states it goes through."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CELERY: Final = "celery"
"""The runner of a job that the Celery workers crawl."""


class JobState(StrEnum):
    """Where a job is; the last five are for ever."""

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
    error: str | None
    requests: int
    new_listings: int
    changed_listings: int
    seconds: float
    runner: str | None = None
    """Who crawls it: `local` on a machine, or `celery`; None before anybody did."""
    generation: int = 0
    """How often lanes were sent out for it."""
    woken_at: float | None = None
    """When they were sent out last."""
