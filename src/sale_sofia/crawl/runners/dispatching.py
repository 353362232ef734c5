"""Messages to the workers: their validation and dispatch; each is only a hint and may be lost."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import Connection, and_, or_, update

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.clock import bring_back
from sale_sofia.crawl.frontier.jobs import close_frontier, known_job
from sale_sofia.crawl.resilience.owners import is_dead
from sale_sofia.crawl.settings import (
    CONCLUSION_GRACE_SECONDS,
    DISPATCH_GRACE_SECONDS,
    JOB_ID_CHARACTERS,
    MESSAGE_MOST_URLS,
    MOST_DEATHS,
    TASK_VERSION,
)
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import CELERY, Job, JobState, set_job_state
from sale_sofia.operations.services.celery import sender
from sale_sofia.websites.registry import AVAILABLE_SITES

# An invalid message is rejected before anything is done.

_JOB_ID: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{JOB_ID_CHARACTERS - 1}}}", re.ASCII)
"""Excludes anything that could be a path or a key pattern."""


class WrongMessage(ValueError):
    """A message that is not ours, or of another release."""


@dataclass(frozen=True, slots=True)
class JobMessage:
    """One job to dispatch; without a `job_id` it is still to be created."""

    site: str
    job_id: str | None
    start_urls: tuple[str, ...]


def check_version(version: object) -> None:
    """Reject a message of another version: its fields may mean something else."""
    if type(version) is not int or version != TASK_VERSION:
        raise WrongMessage(
            f"the message is of version {version!r:.40}, this worker speaks {TASK_VERSION}: "
            "run the same release everywhere"
        )


def check_sites(sites: object) -> list[JobMessage]:
    """The crawls of `{site: [start URL, …]}`, or of `{site: {job_id, start_urls}}` whose rows exist."""
    if not isinstance(sites, Mapping) or not sites:
        raise WrongMessage(f"sites: expected {{site: [start URL, …]}}, not {sites!r:.80}")
    return [_check_crawl(site, crawl) for site, crawl in sites.items()]


def _check_crawl(site: object, crawl: object) -> JobMessage:
    if isinstance(crawl, list):
        return check_job(site, crawl, None)
    if not isinstance(crawl, Mapping) or set(crawl) != {"job_id", "start_urls"}:
        raise WrongMessage(
            f"sites[{site!r:.40}]: expected start URLs, or job_id and start_urls, not {crawl!r:.80}"
        )
    return check_job(site, crawl["start_urls"], check_job_id(crawl["job_id"]))


def check_job(site: object, start_urls: object, job_id: object) -> JobMessage:
    """The validated job of a dispatch."""
    known_id = None if job_id is None else check_job_id(job_id)
    return JobMessage(check_site(site), known_id, tuple(check_urls("start_urls", start_urls)))


def check_urls(name: str, urls: object) -> Sequence[str]:
    """The addresses of a message; whether they belong to the portal is checked later."""
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        raise WrongMessage(f"{name}: expected a list of addresses, not {urls!r:.80}")
    if len(urls) > MESSAGE_MOST_URLS:
        raise WrongMessage(f"{name}: {len(urls)} of them; at most {MESSAGE_MOST_URLS} are taken")
    return urls


def check_site(site: object) -> str:
    """The portal of a message: one of ours, never a path."""
    if not isinstance(site, str) or site not in AVAILABLE_SITES:
        raise WrongMessage(f"site: no portal {site!r:.40}; there are {', '.join(AVAILABLE_SITES)}")
    return site


def check_job_id(job_id: object) -> str:
    """The job id of a message; whether the job exists is checked later."""
    if not isinstance(job_id, str) or not _JOB_ID.fullmatch(job_id):
        raise WrongMessage(
            f"job_id: expected 1 to {JOB_ID_CHARACTERS} letters, digits, '.', '_' or '-', not {job_id!r:.40}"
        )
    return job_id


def check_lane(job_id: object, site: object, version: object) -> None:
    """Validate a message about a job's lanes."""
    check_version(version)
    check_job_id(job_id)
    check_site(site)


def check_summaries(summaries: object) -> list[Mapping[str, Any]]:
    """What lanes returned; empty where nobody waited for them."""
    if summaries is None:
        return []
    if not isinstance(summaries, list) or not all(isinstance(summary, Mapping) for summary in summaries):
        raise WrongMessage(f"summaries: expected what lanes return, not {summaries!r:.80}")
    return summaries


def generation_of(summaries: Sequence[Mapping[str, Any]]) -> int | None:
    """The generation whose lanes returned these; None for chunks that another program sent."""
    numbers = [summary.get("generation") for summary in summaries]
    return max((number for number in numbers if isinstance(number, int) and number > 0), default=None)


class ScrapingKeys(StrEnum):
    """A job's keys in Redis; all of them expire, the database is permanent."""

    STATUS = "status"
    TOTAL_CHUNKS = "total_chunks"
    """Batches of at most SCRAPING_CHUNK_SIZE pages that were begun: the ended ones, and one per lane."""
    COMPLETED_CHUNKS = "completed_chunks"
    """Batches that ended, full or not. One whose worker died is begun again by another."""
    TOTAL_URLS = "total_urls"
    RESULT_COUNT = "result_count"
    """Rows that are done."""
    ERROR_COUNT = "error_count"
    """Rows that failed for good."""
    STARTED_AT = "started_at"
    """Seconds since 1970."""
    COMPLETED_AT = "completed_at"

    def of(self, job_id: str) -> str:
        """The key for one job."""
        return f"scraping:{job_id}:{self}"


def result_url(url: str) -> str:
    """The URL of the Redis database for results: the one after the broker's."""
    parts = urlsplit(url)
    number = parts.path.strip("/") or "0"
    return urlunsplit(parts._replace(path=f"/{int(number) + 1}"))


def jobs_message(jobs: Iterable[Job]) -> dict[str, dict[str, Any]]:
    """The jobs as `scrape_all_sites` takes them."""
    return {job.site: {"job_id": job.id, "start_urls": list(job.start_urls)} for job in jobs}


def send_jobs(redis_url: str, jobs: Iterable[Job]) -> bool:
    """Send the jobs to the workers; returns whether the broker accepted the message."""
    from kombu.exceptions import OperationalError  # noqa: PLC0415 - see `sender`

    task = "sale_sofia.crawl.runners.tasks.scrape_all_sites"
    with sender(redis_url) as app:
        try:
            arguments = [jobs_message(jobs), TASK_VERSION]
            app.send_task(task, args=arguments, retry=False, ignore_result=True)
        except OperationalError:
            return False
    return True


# When lanes of a job are sent: never twice for the same reason, and again when they were lost.


class Next(Enum):
    """What a job needs now."""

    NOTHING = auto()
    """Its lanes are at work, or all its rows wait for a later moment."""
    LANES = auto()
    """A new generation of lanes."""
    OVER = auto()
    """No page is left, or it has ended: it is to be concluded."""
    OVERDUE = auto()
    """The same, but an earlier attempt to conclude it never finished."""


@dataclass(frozen=True, slots=True)
class JobStep:
    """What was decided, and the generation it is for."""

    kind: Next
    generation: int = 0


def begin(connection: Connection, job_id: str, *, now: float) -> JobStep:
    """Dispatch a job: start its first generation, or what it needs now if it was dispatched before."""
    job = known_job(connection, job_id)
    if job.state.finished or job.generation:
        return repair(connection, job_id, now=now)
    if not _take_generation(connection, job, now):
        return JobStep(Next.NOTHING)
    set_job_state(connection, job_id, JobState.COLLECTING, now=now)
    return JobStep(Next.LANES, job.generation + 1)


def after_lanes(connection: Connection, job_id: str, *, now: float, generation: int | None = None) -> JobStep:
    """After a generation has returned: end the job, go on, or wait. Idempotent.

    A `generation` older than the last sends no lanes while newer ones may still be on their way.
    """
    job = known_job(connection, job_id)
    counts = frontier.count_rows(connection, job_id)
    if not counts.open and job.state.takes_pages:
        close_frontier(connection, job, now=now)
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(woken_at=now))
    if not counts.open or job.state.finished:
        return JobStep(Next.OVER)
    if (
        generation is not None
        and generation < job.generation
        and _since_woken(job, now) < DISPATCH_GRACE_SECONDS
    ):
        return JobStep(Next.NOTHING)
    due = counts.next_due is not None and counts.next_due <= now
    if due and not counts.leased and _take_generation(connection, job, now):
        return JobStep(Next.LANES, job.generation + 1)
    return JobStep(Next.NOTHING)


def repair(connection: Connection, job_id: str, *, now: float) -> JobStep:
    """What a job needs whose wake-up may be lost, after releasing the rows of dead workers."""
    bring_back(connection, job_id, now=now)
    for owner in filter(is_dead, frontier.owners(connection, job_id)):
        frontier.release_owner(connection, job_id, owner, most_deaths=MOST_DEATHS)
    frontier.reclaim_expired(connection, job_id, now=now, most_deaths=MOST_DEATHS)
    job = known_job(connection, job_id)
    since = _since_woken(job, now)
    if job.state is JobState.AGGREGATING:
        return JobStep(Next.NOTHING if since < CONCLUSION_GRACE_SECONDS else Next.OVERDUE)
    if since < DISPATCH_GRACE_SECONDS and frontier.count_rows(connection, job_id).open:
        return JobStep(Next.NOTHING)
    return after_lanes(connection, job_id, now=now)


def _since_woken(job: Job, now: float) -> float:
    return math.inf if job.woken_at is None else now - job.woken_at


def keep_awake(connection: Connection, job_id: str, *, now: float) -> None:
    """Note that a job is still being concluded, so that it does not count as overdue."""
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(woken_at=now))


def _take_generation(connection: Connection, job: Job, now: float) -> bool:
    """Take the right to send the next generation; of concurrent callers one gets it."""
    # A job without a runner was stopped on purpose, unless it has not begun at all.
    may_be_ours = or_(jobs.c.runner == CELERY, and_(jobs.c.runner.is_(None), jobs.c.generation == 0))
    result = connection.execute(
        update(jobs)
        .where(jobs.c.id == job.id, jobs.c.generation == job.generation, may_be_ours)
        .values(generation=job.generation + 1, woken_at=now, runner=CELERY)
    )
    return bool(result.rowcount)
