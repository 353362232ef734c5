"""What a task message must hold. One that holds something else is refused before anything is done."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from sale_sofia.crawl.settings import JOB_ID_CHARACTERS, MESSAGE_MOST_URLS, TASK_VERSION
from sale_sofia.websites.registry import AVAILABLE_SITES

_JOB_ID: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{JOB_ID_CHARACTERS - 1}}}", re.ASCII)
"""Nothing that could be a path or a pattern of keys."""


class WrongMessage(ValueError):
    """A message that is not one of ours, or of another version of us."""


@dataclass(frozen=True, slots=True)
class JobMessage:
    """One job to dispatch."""

    site: str
    job_id: str
    start_urls: tuple[str, ...]


def check_version(version: object) -> None:
    """Refuse a message of another version: its words may mean something else."""
    if type(version) is not int or version != TASK_VERSION:
        raise WrongMessage(
            f"the message is of version {version!r:.40}, this worker speaks {TASK_VERSION}: "
            "run the same release everywhere"
        )


def check_jobs(jobs: object) -> list[JobMessage]:
    """The jobs of `{site: {job_id, start_urls}}`."""
    if not isinstance(jobs, Mapping) or not jobs:
        raise WrongMessage(f"jobs: expected {{site: {{job_id, start_urls}}}}, not {jobs!r:.80}")
    for site, job in jobs.items():
        if not isinstance(job, Mapping) or set(job) != {"job_id", "start_urls"}:
            raise WrongMessage(f"jobs[{site!r:.40}]: expected job_id and start_urls, not {job!r:.80}")
    return [check_job(site, job["start_urls"], job["job_id"]) for site, job in jobs.items()]


def check_job(site: object, start_urls: object, job_id: object) -> JobMessage:
    """The job that a dispatch names."""
    known_site, known_id = check_site(site), check_job_id(job_id)
    if not isinstance(start_urls, list) or not all(isinstance(url, str) for url in start_urls):
        raise WrongMessage(f"start_urls: expected a list of addresses, not {start_urls!r:.80}")
    if len(start_urls) > MESSAGE_MOST_URLS:
        raise WrongMessage(f"start_urls: {len(start_urls)} of them; at most {MESSAGE_MOST_URLS} are taken")
    return JobMessage(known_site, known_id, tuple(start_urls))


def check_site(site: object) -> str:
    """The portal that a message names: one of ours, never a path."""
    if not isinstance(site, str) or site not in AVAILABLE_SITES:
        raise WrongMessage(f"site: no portal {site!r:.40}; there are {', '.join(AVAILABLE_SITES)}")
    return site


def check_job_id(job_id: object) -> str:
    """The job that a message names; whether there is one, the database says."""
    if not isinstance(job_id, str) or not _JOB_ID.fullmatch(job_id):
        raise WrongMessage(
            f"job_id: expected 1 to {JOB_ID_CHARACTERS} letters, digits, '.', '_' or '-', not {job_id!r:.40}"
        )
    return job_id


def check_lane(job_id: object, site: object, version: object) -> None:
    """Refuse a message about a job's lanes that none of ours can be."""
    check_version(version)
    check_job_id(job_id)
    check_site(site)


def check_summaries(summaries: object) -> list[Mapping[str, Any]]:
    """What lanes returned; nothing where nobody waited for them."""
    if summaries is None:
        return []
    if not isinstance(summaries, list) or not all(isinstance(one, Mapping) for one in summaries):
        raise WrongMessage(f"summaries: expected what lanes return, not {summaries!r:.80}")
    return summaries


class ScrapingKeys(StrEnum):
    """What a job keeps in Redis, a key for each; all of them expire, the database does not."""

    STATUS = "status"
    TOTAL_CHUNKS = "total_chunks"
    """Batches of SCRAPING_CHUNK_SIZE the frontier amounts to."""
    COMPLETED_CHUNKS = "completed_chunks"
    """Batches' worth of rows that have come to an end."""
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
    """Results go into the database after the broker's."""
    parts = urlsplit(url)
    number = parts.path.strip("/") or "0"
    return urlunsplit(parts._replace(path=f"/{int(number) + 1}"))
