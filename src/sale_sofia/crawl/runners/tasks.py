"""The Celery tasks. A message is only a hint that there is work: what work, the frontier says.

Every task may be lost, repeated or reordered: each looks at the database first and changes it only where
that still makes sense. None raises for a page, and none carries pages: they return counts. Only what a lane
returns is kept, for its chord; of the others nobody asks, and each would be a key in Redis for an hour.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from celery import chord, group, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from celery.utils.log import get_task_logger
from structlog.contextvars import bound_contextvars

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import is_dead
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.runners import dispatching
from sale_sofia.crawl.runners.conclusion import match_crawled
from sale_sofia.crawl.runners.dispatching import Next, Step
from sale_sofia.crawl.runners.lane import (
    LaneSummary,
    announce_end,
    database,
    is_shutting_down,
    lanes_for,
    now,
    redis_url,
    run_lane,
    settings,
    show_progress,
)
from sale_sofia.crawl.runners.messages import (
    check_job,
    check_jobs,
    check_lane,
    check_summaries,
    check_version,
)
from sale_sofia.crawl.runners.schedule import jobs_of_turns
from sale_sofia.crawl.settings import TASK_VERSION
from sale_sofia.history.jobs import CELERY, Job, unfinished_jobs
from sale_sofia.history.runs.facts import read_run
from sale_sofia.history.runs.incidents import open_stuck_jobs, review_run
from sale_sofia.history.runs.reports import SessionReportGenerator

log = get_task_logger(__name__)
Summary = dict[str, Any]


@shared_task(name="sale_sofia.crawl.runners.tasks.scrape_all_sites", ignore_result=True)
def scrape_all_sites(jobs: Mapping[str, Mapping[str, Any]], version: int = TASK_VERSION) -> list[str]:
    """Dispatch every job of `{site: {job_id, start_urls}}`; the jobs' rows exist already."""
    check_version(version)
    wanted = check_jobs(jobs)
    group(
        dispatch_site_scraping.si(one.site, list(one.start_urls), one.job_id, version) for one in wanted
    ).apply_async()
    return [one.job_id for one in wanted]


@shared_task(name="sale_sofia.crawl.runners.tasks.dispatch_site_scraping", ignore_result=True)
def dispatch_site_scraping(site: str, start_urls: list[str], job_id: str, version: int = TASK_VERSION) -> str:
    """Send out the first lanes of a job; a second message for the same job changes nothing."""
    check_version(version)
    check_job(site, start_urls, job_id)
    step = database().run_write(partial(dispatching.begin, job_id=job_id, now=now()))
    _go_on(job_id, site, step)
    return job_id


@shared_task(name="sale_sofia.crawl.runners.tasks.scrape_chunk")
def scrape_chunk(job_id: str, site: str, generation: int, version: int = TASK_VERSION) -> Summary:
    """One lane: claims small batches until its shift ends. What it could not finish is handed back."""
    check_lane(job_id, site, version)
    job = database().run_read(partial(known_job, job_id=job_id))
    summary = LaneSummary(job_id)
    if job.state.finished or job.runner != CELERY or is_shutting_down() or _has_enough_lanes(job):
        return asdict(summary)
    with bound_contextvars(job=job_id, site=site):
        log.info("lane begins", extra={"generation": generation})
        try:
            asyncio.run(run_lane(settings(), database(), job, redis_url(), summary))
        except SoftTimeLimitExceeded:
            log.warning("%s: a lane of generation %s met its time limit", job.id, generation)
        except CrawlError as error:
            summary.failed = True
            log.warning("%s: a lane could not begin: %s", job.id, error)
        except Exception:
            # The chord must go on: what this lane held comes back to the frontier, and the log says why.
            summary.failed = True
            log.exception("%s: a lane of %s failed", job.id, job.site)
        numbers = {"pages": summary.pages, "new": summary.new, "changed": summary.changed}
        log.info("lane ended", extra=numbers)
    show_progress(job_id)
    return asdict(summary)


@shared_task(name="sale_sofia.crawl.runners.tasks.aggregate_results", ignore_result=True)
def aggregate_results(
    summaries: list[Summary] | None, job_id: str, site: str, version: int = TASK_VERSION
) -> Summary:
    """Finish the job if the frontier says so, else send the next lanes; idempotent, whoever calls it."""
    check_lane(job_id, site, version)
    lanes = check_summaries(summaries)
    # Lanes that all broke would break again on the same pages: the reconciler sends others, a little later.
    broken = bool(lanes) and all(one.get("failed") for one in lanes)
    decide = dispatching.repair if broken else dispatching.after_lanes
    step = database().run_write(partial(decide, job_id=job_id, now=now()))
    _go_on(job_id, site, step)
    return {"job_id": job_id, "lanes": len(lanes), "next": step.what.name}


@shared_task(name="sale_sofia.crawl.runners.tasks.lanes_failed", ignore_result=True)
def lanes_failed(job_id: str, site: str, version: int = TASK_VERSION) -> Summary:
    """A lane's message came to grief: look at the frontier, as if the lanes had come back."""
    summary: Summary = aggregate_results.run(None, job_id, site, version)
    return summary


@shared_task(name="sale_sofia.crawl.runners.tasks.reconcile", ignore_result=True)
def reconcile() -> dict[str, str]:
    """Wake every job of ours whose wake-up was lost or whose waiting rows are due; end what is finished.

    A job of a local runner, or one that was stopped, is nobody's business here.
    """
    return reconcile_jobs()


def reconcile_jobs() -> dict[str, str]:
    """What became of each unfinished job of the workers, by its id; needs no configured Celery app."""
    unfinished = database().run_read(unfinished_jobs)
    database().run_write(partial(open_stuck_jobs, settings=settings(), now=now()))
    return {job.id: _reconcile(job.id, job.site) for job in unfinished if job.runner == CELERY}


@shared_task(name="sale_sofia.crawl.runners.tasks.begin_scheduled", ignore_result=True)
def begin_scheduled() -> list[str]:
    """Begin the crawls of the schedule whose turn has come, unless somebody began that turn already."""
    turns = jobs_of_turns(settings(), database(), now())
    for jobs in turns:
        scrape_all_sites.delay(jobs, TASK_VERSION)
    return sorted(site for jobs in turns for site in jobs)


def _has_enough_lanes(job: Job) -> bool:
    """Whether as many lanes are at work as the portal can feed: one more would only take their places.

    It comes when lanes waited so long for a slot that others were sent.
    """
    owners = database().run_read(partial(frontier.owners, job_id=job.id))
    return sum(not is_dead(owner) for owner in owners) >= lanes_for(settings(), job.site)


def _reconcile(job_id: str, site: str) -> str:
    # A circuit that is open for long is an incident now, not only when the job ends, perhaps in days.
    moment = now()
    run = database().run_read(partial(read_run, job_id=job_id, now=moment))
    if run.circuit_open_seconds >= settings().incident_circuit_seconds:
        database().run_write(partial(review_run, job_id=job_id, settings=settings(), now=moment))
    step = database().run_write(partial(dispatching.repair, job_id=job_id, now=now()))
    _go_on(job_id, site, step)
    return step.what.name


def _go_on(job_id: str, site: str, step: Step) -> None:
    if step.what is Next.LANES:
        count = lanes_for(settings(), site)
        lanes = [scrape_chunk.si(job_id, site, step.generation, TASK_VERSION) for _ in range(count)]
        finish = aggregate_results.s(job_id, site, TASK_VERSION)
        failed = lanes_failed.si(job_id, site, TASK_VERSION)
        chord(lanes)(finish.on_error(failed))
    if step.what is Next.OVER:
        SessionReportGenerator(settings(), database()).finish(job_id)
        match_crawled(settings(), database())
        announce_end(job_id)
    show_progress(job_id)
