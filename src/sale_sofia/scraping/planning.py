"""Which jobs a command runs: a new one, or the same one that was not finished."""

import time
from dataclasses import dataclass
from functools import partial

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database
from sale_sofia.data.jobs import Job, latest_unfinished_job
from sale_sofia.scraping.jobs import begin_job, known_job
from sale_sofia.scraping.locks import site_lock
from sale_sofia.scraping.urls import check_start_url
from sale_sofia.websites.base import Site
from sale_sofia.websites.registry import AVAILABLE_SITES


class JobEnded(ValueError):
    """A job that cannot be resumed."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A crawl somebody asked for."""

    site: Site
    start_urls: tuple[str, ...]
    limit: int | None
    fresh: bool

    def is_the_same(self, job: Job) -> bool:
        """Whether an unfinished job is this very crawl."""
        return job.start_urls == self.start_urls and job.listing_limit == self.limit


def plan_job(settings: Settings, database: Database, plan: JobPlan) -> str:
    """The job to run. Refused, with nothing written, while another process crawls the portal."""
    for url in plan.start_urls:
        check_start_url(plan.site, url)
    with site_lock(settings.data_dir / "locks", plan.site.name):
        unfinished = database.run_read(lambda connection: latest_unfinished_job(connection, plan.site.name))
        if unfinished and plan.is_the_same(unfinished) and not plan.fresh:
            return unfinished.id
        return database.run_write(
            lambda connection: begin_job(
                connection, plan.site, plan.start_urls, limit=plan.limit, now=time.time()
            )
        )


def job_to_resume(database: Database, job_id: str) -> str:
    """The job's id, when it can go on."""
    job = database.run_read(lambda connection: known_job(connection, job_id))
    if job.state.finished:
        raise JobEnded(f"job {job_id} has ended ({job.state.value}); begin a new one with `sale-sofia crawl`")
    return job.id


def unfinished_jobs(database: Database) -> list[str]:
    """The newest unfinished job of each portal."""
    found = [database.run_read(partial(latest_unfinished_job, site=site)) for site in AVAILABLE_SITES]
    return [job.id for job in found if job]
