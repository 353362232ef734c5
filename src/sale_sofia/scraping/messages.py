"""What a task message must hold. One that holds something else is refused before anything is done."""

from collections.abc import Mapping
from dataclasses import dataclass

from sale_sofia.config.parallel import TASK_VERSION
from sale_sofia.websites.registry import AVAILABLE_SITES


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
    if version != TASK_VERSION:
        raise WrongMessage(
            f"the message is of version {version!r}, this worker speaks {TASK_VERSION}: "
            "run the same release everywhere"
        )


def check_jobs(jobs: object) -> list[JobMessage]:
    """The jobs of `{site: {job_id, start_urls}}`."""
    if not isinstance(jobs, Mapping) or not jobs:
        raise WrongMessage(f"jobs: expected {{site: {{job_id, start_urls}}}}, not {jobs!r:.80}")
    return [_job(site, what) for site, what in jobs.items()]


def _job(site: object, what: object) -> JobMessage:
    if not isinstance(what, Mapping) or set(what) != {"job_id", "start_urls"}:
        raise WrongMessage(f"jobs[{site!r:.40}]: expected job_id and start_urls, not {what!r:.80}")
    return check_job(site, what["start_urls"], what["job_id"])


def check_job(site: object, start_urls: object, job_id: object) -> JobMessage:
    """The job that a dispatch names."""
    if site not in AVAILABLE_SITES:
        raise WrongMessage(f"site: no portal {site!r:.40}; there are {', '.join(AVAILABLE_SITES)}")
    if not isinstance(job_id, str) or not job_id:
        raise WrongMessage(f"job_id: expected a text, not {job_id!r:.40}")
    if not isinstance(start_urls, list) or not all(isinstance(url, str) for url in start_urls):
        raise WrongMessage(f"start_urls: expected a list of addresses, not {start_urls!r:.80}")
    return JobMessage(str(site), job_id, tuple(start_urls))
