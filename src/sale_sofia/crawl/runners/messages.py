"""What a task message must hold. One that holds something else is refused before anything is done."""

import re
from collections.abc import Mapping, Sequence
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
    """One job to dispatch; without a `job_id` it is still to be made."""

    site: str
    job_id: str | None
    start_urls: tuple[str, ...]


def check_version(version: object) -> None:
    """Refuse a message of another version: its words may mean something else."""
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
    """The job that a dispatch names, or asks for."""
    known_id = None if job_id is None else check_job_id(job_id)
    return JobMessage(check_site(site), known_id, tuple(check_urls("start_urls", start_urls)))


def check_urls(name: str, urls: object) -> Sequence[str]:
    """Addresses in a message; whether they lead to the portal, the portal's file says."""
    if not isinstance(urls, list) or not all(isinstance(url, str) for url in urls):
        raise WrongMessage(f"{name}: expected a list of addresses, not {urls!r:.80}")
    if len(urls) > MESSAGE_MOST_URLS:
        raise WrongMessage(f"{name}: {len(urls)} of them; at most {MESSAGE_MOST_URLS} are taken")
    return urls


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


def generation_of(summaries: Sequence[Mapping[str, Any]]) -> int | None:
    """The generation whose lanes returned these; None for chunks that another program sent."""
    numbers = [one.get("generation") for one in summaries]
    return max((number for number in numbers if isinstance(number, int) and number > 0), default=None)


class ScrapingKeys(StrEnum):
    """What a job keeps in Redis, a key for each; all of them expire, the database does not."""

    STATUS = "status"
    TOTAL_CHUNKS = "total_chunks"
    """Batches of at most SCRAPING_CHUNK_SIZE pages that were begun: those that ended, one in each lane."""
    COMPLETED_CHUNKS = "completed_chunks"
    """Those that ended: full, or as far as their lane came. One whose worker died is begun by another."""
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
