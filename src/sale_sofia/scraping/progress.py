"""How far a job is: counted in the database, and copied to Redis for whoever only looks there."""

import math
from dataclasses import asdict, dataclass

from redis import Redis
from sqlalchemy import Connection

from sale_sofia.config.parallel import PROGRESS_TTL_SECONDS
from sale_sofia.scraping import frontier
from sale_sofia.scraping.jobs import known_job
from sale_sofia.scraping.redis_keys import ScrapingKeys


@dataclass(frozen=True, slots=True)
class Progress:
    """One job's numbers, right before, during and long after it runs."""

    job_id: str
    site: str
    status: str
    total_urls: int
    result_count: int
    error_count: int
    total_chunks: int
    completed_chunks: int
    started_at: float | None
    completed_at: float | None
    new: int
    changed: int
    requests: int
    next_due: float | None
    error: str | None

    @property
    def finished(self) -> bool:
        """Whether the job has ended."""
        return self.completed_at is not None


def read_progress(connection: Connection, job_id: str, chunk_size: int) -> Progress:
    """The job's numbers, from its rows.

    Raises:
        UnknownJob: there is no such job.
    """
    job = known_job(connection, job_id)
    counts = frontier.count_rows(connection, job_id)
    ended = counts.done + counts.failed
    return Progress(
        job_id=job.id,
        site=job.site,
        status=job.state.value,
        total_urls=counts.total,
        result_count=counts.done,
        error_count=counts.failed,
        total_chunks=math.ceil(counts.total / chunk_size),
        completed_chunks=math.ceil(ended / chunk_size) if not counts.open else ended // chunk_size,
        started_at=job.started_at,
        completed_at=job.finished_at,
        new=job.new_listings,
        changed=job.changed_listings,
        requests=job.requests,
        next_due=counts.next_due,
        error=job.error,
    )


def publish(client: Redis, progress: Progress) -> None:
    """Copy the numbers to Redis, all at once, each with a time to live."""
    keys, numbers = ScrapingKeys(progress.job_id), asdict(progress)
    with client.pipeline(transaction=True) as pipe:
        for name in _PUBLISHED:
            if numbers[name] is not None:
                pipe.set(getattr(keys, name), str(numbers[name]), ex=PROGRESS_TTL_SECONDS)
        pipe.execute()


_PUBLISHED = (
    "status", "total_urls", "result_count", "error_count", "total_chunks", "completed_chunks", "started_at",
    "completed_at",
)  # fmt: skip
