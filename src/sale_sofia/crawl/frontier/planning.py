"""Which job a command runs: a new one, or the same crawl that was not finished."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from sale_sofia.crawl.frontier.clock import store_time
from sale_sofia.crawl.frontier.jobs import begin_job, known_job
from sale_sofia.crawl.frontier.wanted import Wanted
from sale_sofia.crawl.runners.runners import (
    busy,
    check_free,
    running_job,
    settle_clock,
    site_lock,
    take_for_workers,
)
from sale_sofia.crawl.urls import check_host, check_start_url
from sale_sofia.history.jobs import (
    CELERY,
    Job,
    JobState,
    get_job,
    jobs_since_unfinished,
    latest_unfinished_job,
    set_job_state,
)
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.base import Site
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia.websites.site_file import SiteConfigError


class JobEnded(ValueError):
    """A job that cannot be resumed."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A requested crawl."""

    site: Site
    start_urls: tuple[str, ...]
    limit: int | None
    fresh: bool
    everything: bool = False
    """Open adverts even where their cards are unchanged."""
    job_id: str | None = None
    """The id of the new job, which makes repeated requests idempotent; None: a generated one."""
    wanted: Wanted | None = None
    """What it is for; None: everything."""

    def is_the_same(self, job: Job) -> bool:
        """Whether a job is the same crawl, or one that opens more."""
        looks_for = None if self.wanted is None else self.wanted.stored()
        same = (job.start_urls, job.listing_limit, job.looks_for) == (self.start_urls, self.limit, looks_for)
        return same and not self.everything


def check_plans(plans: Sequence[JobPlan]) -> None:
    """Reject invalid start URLs and disabled portals before anything is started or written."""
    for plan in plans:
        if not plan.site.enabled:
            raise SiteConfigError(f"{plan.site.name} is switched off (enabled: false in its site file)")
        for url in plan.start_urls:
            check_start_url(plan.site, url)


def plan_job(settings: Settings, database: Database, plan: JobPlan, now: float | None = None) -> str:
    """The job for a local runner. Refused, with nothing written, while anybody crawls the portal.

    It is dated by `now`, the clock that its cards will be dated by, else by the store's. By the store's clock
    alone is judged who crawls the portal.
    """
    check_plans([plan])
    with site_lock(database, settings.data_dir / "locks", plan.site.name):
        moment = store_time(database)
        dated = moment if now is None else now
        return database.run_write(partial(_plan_local, plan=plan, now=moment, dated=dated))


def _plan_local(connection: Connection, plan: JobPlan, now: float, dated: float) -> str:
    settle_clock(connection, plan.site.name, now=now)
    check_free(connection, plan.site.name, now=now)
    return _same_or_new(connection, plan, dated)


def _same_or_new(connection: Connection, plan: JobPlan, now: float) -> str:
    same = next(filter(plan.is_the_same, jobs_since_unfinished(connection, plan.site.name)), None)
    if same and not same.state.finished and not plan.fresh:  # one that was abandoned for a newer is past
        return same.id
    return begin_job(
        connection,
        plan.site,
        plan.start_urls,
        limit=plan.limit,
        now=now,
        everything=plan.everything,
        job_id=plan.job_id,
        wanted=plan.wanted,
    )


def plan_for_workers(settings: Settings, database: Database, plan: JobPlan) -> str:
    """The job for the workers, assigned to them; the one they are running, when it is the same crawl.

    Raises `SiteBusy`, with nothing written, while another crawl of the portal runs.
    """
    check_plans([plan])
    with site_lock(database, settings.data_dir / "locks", plan.site.name):
        return database.run_write(partial(_plan_shared, plan=plan, now=store_time(database)))


def _plan_shared(connection: Connection, plan: JobPlan, now: float) -> str:
    if plan.job_id and get_job(connection, plan.job_id):
        return plan.job_id
    settle_clock(connection, plan.site.name, now=now)
    running = running_job(connection, plan.site.name, now=now)
    if running and not (running.runner == CELERY and plan.is_the_same(running) and not plan.fresh):
        raise busy(running)
    job_id = running.id if running else _same_or_new(connection, plan, now)
    take_for_workers(connection, job_id, now=now)
    return job_id


def resume_for_workers(settings: Settings, database: Database, job_id: str) -> str:
    """Assign an unfinished job to the workers. Raises `JobEnded` or `SiteBusy` where it cannot go on."""
    job_to_resume(database, job_id)
    job = database.run_read(partial(known_job, job_id=job_id))
    with site_lock(database, settings.data_dir / "locks", job.site):
        return database.run_write(partial(_resume_shared, job_id=job_id, now=store_time(database)))


def _resume_shared(connection: Connection, job_id: str, now: float) -> str:
    site = known_job(connection, job_id).site
    settle_clock(connection, site, now=now)
    running = running_job(connection, site, now=now)
    if running and (running.id != job_id or running.runner != CELERY):
        raise busy(running)
    take_for_workers(connection, job_id, now=now)
    return job_id


def job_to_resume(database: Database, job_id: str) -> str:
    """The job's id. Raises `JobEnded`, or `BadAddress` for another portal's, where it cannot go on."""
    job = database.run_read(lambda connection: known_job(connection, job_id))
    if job.state.finished:
        raise JobEnded(f"job {job_id} has ended ({job.state.value}); begin a new one with `sale-sofia crawl`")
    for url in job.start_urls:  # the site files may be others now
        check_host(job.site, url)
    return job.id


def unfinished_jobs(database: Database) -> list[str]:
    """The newest unfinished job of each portal."""
    found = [database.run_read(partial(latest_unfinished_job, site=site)) for site in AVAILABLE_SITES]
    return [job.id for job in found if job]


# Cancelling. Whoever crawls the job notices when it claims the next page.


def cancel_job(connection: Connection, job_id: str, *, now: float) -> bool:
    """Cancel the job; False when it was cancelled before. Raises `JobEnded` if it ended otherwise."""
    if set_job_state(connection, known_job(connection, job_id).id, JobState.CANCELLED, now=now):
        return True
    state = known_job(connection, job_id).state
    if state is not JobState.CANCELLED:
        raise JobEnded(f"job {job_id} has ended already ({state.value}); there is nothing to cancel")
    return False
