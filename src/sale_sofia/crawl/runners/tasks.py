"""The Celery tasks. A message is only a hint that there is work; the frontier decides what work.

Every task may be lost, repeated or reordered: each reads the database first and changes it only where that
is still valid. None raises for a page, and none carries pages: they return counts and ids, for an hour, to
whoever sent the message; of those between our own processes only a lane's result is kept, for its chord.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from celery import Signature, Task, chord, group, shared_task
from celery.exceptions import SoftTimeLimitExceeded
from celery.utils.log import get_task_logger
from sqlalchemy import Connection

import sale_sofia.celery_app  # noqa: F401 - a program that imports these alone sends to our Redis too
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.jobs import end_job, known_job
from sale_sofia.crawl.frontier.planning import JobPlan, check_plans, plan_for_workers
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.resilience.owners import is_dead
from sale_sofia.crawl.runners import dispatching
from sale_sofia.crawl.runners.dispatching import (
    JobMessage,
    JobStep,
    Next,
    ScrapingKeys,
    WrongMessage,
    check_job,
    check_lane,
    check_sites,
    check_summaries,
    check_urls,
    check_version,
    generation_of,
)
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
from sale_sofia.crawl.runners.local import match_crawled
from sale_sofia.crawl.runners.progress import read_progress
from sale_sofia.crawl.runners.runners import SiteBusy, site_lock
from sale_sofia.crawl.runners.schedule import jobs_of_turns
from sale_sofia.crawl.settings import LANE_RETRIES, TASK_VERSION
from sale_sofia.crawl.urls import Target, allowed_hosts, target
from sale_sofia.history.jobs import CELERY, Job, unfinished_jobs
from sale_sofia.history.runs.facts import read_run
from sale_sofia.history.runs.incidents import open_stuck_jobs, review_run
from sale_sofia.history.runs.reports import SessionReportGenerator
from sale_sofia.telemetry.logs import bound
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import start_urls_of

log = get_task_logger(__name__)
Summary = dict[str, Any]
_NO_RESULT: Final[dict[str, Any]] = {"ignore_result": True}


@shared_task(name="sale_sofia.crawl.runners.tasks.scrape_all_sites")
def scrape_all_sites(sites: Mapping[str, Any], version: int = TASK_VERSION) -> Summary:
    """Crawl every portal of `{site: [start URL, …]}`; an empty list stands for the portal's own start URLs.

    Also takes `{site: {job_id, start_urls}}`, whose jobs exist already. A portal that is being crawled is
    refused with a sentence; the others are crawled.
    """
    check_version(version)
    jobs, refused = {}, {}
    plans = [_plan(message) for message in check_sites(sites)]
    check_plans(plans)
    for plan in plans:
        try:
            jobs[plan.site.name] = plan_for_workers(settings(), database(), plan)
        except SiteBusy as error:
            refused[plan.site.name] = str(error)
    urls = {plan.site.name: list(plan.start_urls) for plan in plans}
    group(
        _ours(dispatch_site_scraping, site, urls[site], job_id) for site, job_id in jobs.items()
    ).apply_async()
    return {"jobs": jobs, "refused": refused}


@shared_task(name="sale_sofia.crawl.runners.tasks.dispatch_site_scraping")
def dispatch_site_scraping(
    site_name: str, start_urls: list[str], job_id: str | None = None, version: int = TASK_VERSION
) -> Summary:
    """Send the first lanes of a job, which is created if there is none with this id. Idempotent by the id."""
    check_version(version)
    planned = plan_for_workers(settings(), database(), _plan(check_job(site_name, start_urls, job_id)))
    step = database().run_write(partial(dispatching.begin, job_id=planned, now=now()))
    _go_on(planned, site_name, step)
    return _numbers(planned)


@shared_task(name="sale_sofia.crawl.runners.tasks.scrape_chunk", bind=True, max_retries=LANE_RETRIES)
def scrape_chunk(
    self: Task[Any, Any],
    urls: list[str] | None,
    job_id: str,
    site_name: str,
    generation: int = 0,
    version: int = TASK_VERSION,
) -> Summary:
    """One lane: claims small batches until its shift ends, and releases what it could not finish.

    Adverts of `urls` that the job does not have are added to it first, unless it has ended.
    """
    check_lane(job_id, site_name, version)
    targets = _add_urls(job_id, site_name, urls or [])
    job = database().run_read(partial(known_job, job_id=job_id))
    summary = LaneSummary(job_id)
    is_ours = job.state.takes_pages and job.runner == CELERY
    if is_ours and not is_shutting_down() and not _has_enough_lanes(job):
        with bound(job=job_id, site=site_name):
            log.info("lane begins", extra={"generation": generation})
            _run_lane(self, job, summary)
            numbers = {"pages": summary.pages, "new": summary.new, "changed": summary.changed}
            log.info("lane ended", extra=numbers)
        show_progress(job_id)
    ended = database().run_read(partial(frontier.count_states, job_id=job_id, targets=targets))
    return asdict(summary) | {
        "site": site_name, "generation": generation,
        "result_count": ended.get("done", 0), "error_count": ended.get("failed", 0)
    }  # fmt: skip


def _add_urls(job_id: str, site_name: str, urls: list[str]) -> Sequence[Target]:
    """Add the adverts at these addresses to the job; all of them or none."""
    site = get_scraper(site_name)
    targets = [target(site, url) for url in check_urls("urls", urls)]

    def add(connection: Connection) -> None:
        frontier.lock_job(connection, job_id)  # a job that is cancelled at this moment gets no pages
        job = known_job(connection, job_id)
        hosts = allowed_hosts(site.config.hosts, job.start_urls)
        for page in targets:
            if page.kind != "listing" or urlsplit(page.url).netloc.lower() not in hosts:
                raise WrongMessage(f"urls: {page.url[:80]!r} is no advert of {site_name} for this job")
        if job.state.takes_pages:
            frontier.add_targets(connection, job_id, targets)

    if targets:
        database().run_write(add)
    return targets


def _run_lane(task: Task[Any, Any], job: Job, summary: LaneSummary) -> None:
    """Run a lane; failures outside of pages are retried by Celery, then only noted: the chord must go on."""
    try:
        asyncio.run(run_lane(settings(), database(), job, redis_url(), summary))
    except SoftTimeLimitExceeded:
        log.warning("%s: a lane met its time limit", job.id)
    except Exception as error:
        # Its rows were released; the log says why.
        if not isinstance(error, CrawlError):
            log.exception("%s: a lane of %s failed", job.id, job.site)
        else:
            log.warning("%s: a lane could not begin: %s", job.id, error)
        if task.request.retries < LANE_RETRIES:
            wait = settings().retry_base_delay * 2**task.request.retries
            raise task.retry(exc=error, countdown=wait) from error
        summary.failed = True


@shared_task(name="sale_sofia.crawl.runners.tasks.aggregate_results")
def aggregate_results(
    chunk_results: list[Summary] | None, job_id: str, site_name: str, version: int = TASK_VERSION
) -> Summary:
    """Finish the job if its frontier is done, else send the next lanes; idempotent."""
    check_lane(job_id, site_name, version)
    lanes = check_summaries(chunk_results)
    # If all lanes failed, new ones would fail on the same pages: the reconciler sends some a little later.
    broken = bool(lanes) and all(lane.get("failed") for lane in lanes)
    after = partial(dispatching.after_lanes, generation=generation_of(lanes))
    decide = dispatching.repair if broken else after
    step = database().run_write(partial(decide, job_id=job_id, now=now()))
    _go_on(job_id, site_name, step)
    return _numbers(job_id) | {"lanes": len(lanes), "next": step.kind.name}


@shared_task(name="sale_sofia.crawl.runners.tasks.lanes_failed", ignore_result=True)
def lanes_failed(job_id: str, site: str, version: int = TASK_VERSION) -> Summary:
    """Called when a lane's message failed: go on as if the lanes had returned."""
    summary: Summary = aggregate_results.run(None, job_id, site, version)
    return summary


@shared_task(name="sale_sofia.crawl.runners.tasks.reconcile", ignore_result=True)
def reconcile() -> dict[str, str]:
    """Wake every job of the workers whose wake-up was lost or whose rows are due; end finished ones.

    Jobs of a local runner and stopped jobs are left alone.
    """
    return reconcile_jobs()


def reconcile_jobs() -> dict[str, str]:
    """As `reconcile`; returns what each unfinished job needed, by its id. Needs no configured Celery app.

    A job that fails is logged and left out; the next round tries it again.
    """
    unfinished = database().run_read(unfinished_jobs)
    database().run_write(partial(open_stuck_jobs, settings=settings(), now=now()))
    needed = {}
    for job in unfinished:
        if job.runner == CELERY:
            try:
                needed[job.id] = _reconcile(job.id, job.site)
            except SoftTimeLimitExceeded:
                raise
            except Exception:  # the jobs after it go on all the same
                log.exception("%s: could not be reconciled", job.id)
    return needed


@shared_task(name="sale_sofia.crawl.runners.tasks.follow_crawls", ignore_result=True)
def follow_crawls() -> bool:
    """While jobs of the workers run, match and score their new adverts; returns whether any runs."""
    return follow_jobs()


def follow_jobs() -> bool:
    """As `follow_crawls`; needs no configured Celery app."""
    unfinished = database().run_read(unfinished_jobs)
    goes_on = any(job.runner == CELERY and job.state.takes_pages for job in unfinished)
    if goes_on:
        match_crawled(settings(), database(), photos=False)
    return goes_on


@shared_task(name="sale_sofia.crawl.runners.tasks.begin_scheduled", ignore_result=True)
def begin_scheduled() -> list[str]:
    """Begin the scheduled crawls whose turn has come and was not begun yet."""
    turns = jobs_of_turns(settings(), database(), now())
    for jobs in turns:
        _ours(scrape_all_sites, jobs).apply_async()
    return sorted(site for jobs in turns for site in jobs)


def _has_enough_lanes(job: Job) -> bool:
    """Whether as many lanes run as the portal needs: one more would only compete with them.

    That happens when lanes waited so long for a slot that others were sent.
    """
    owners = database().run_read(partial(frontier.owners, job_id=job.id))
    return sum(not is_dead(owner) for owner in owners) >= lanes_for(settings(), job.site)


def _reconcile(job_id: str, site: str) -> str:
    # A circuit that is open for long is an incident now, not only at the job's end, perhaps in days.
    moment = now()
    run = database().run_read(partial(read_run, job_id=job_id, now=moment))
    if run.circuit_open_seconds >= settings().incident_circuit_seconds:
        database().run_write(partial(review_run, job_id=job_id, settings=settings(), now=moment))
    step = database().run_write(partial(dispatching.repair, job_id=job_id, now=now()))
    _go_on(job_id, site, step)
    return step.kind.name


def _plan(message: JobMessage) -> JobPlan:
    site = get_scraper(message.site)
    urls = message.start_urls or tuple(start_urls_of(message.site))
    return JobPlan(site, urls, limit=None, fresh=message.job_id is not None, job_id=message.job_id)


def _numbers(job_id: str) -> Summary:
    """The job's id, site and numbers, by the names of its keys in Redis."""
    progress = asdict(database().run_read(partial(read_progress, job_id=job_id)))
    return {name: progress[name] for name in ("job_id", "site", *map(str, ScrapingKeys))}


def _ours(task: Task[Any, Any], *arguments: object) -> Signature[Any]:
    """A message between our own processes: without a result, which would stay in Redis for an hour."""
    return task.si(*arguments, TASK_VERSION).set(**_NO_RESULT)


def _go_on(job_id: str, site: str, step: JobStep) -> None:
    if step.kind is Next.LANES:
        count = lanes_for(settings(), site)
        lanes = [scrape_chunk.si(None, job_id, site, step.generation, TASK_VERSION) for _ in range(count)]
        finish = aggregate_results.s(job_id, site, TASK_VERSION).set(**_NO_RESULT)
        chord(lanes)(finish.on_error(_ours(lanes_failed, job_id, site)))
    show_progress(job_id)
    if step.kind is Next.OVER:
        # If the lock is taken, another process concludes the job; if that dies, the job becomes overdue.
        with suppress(SiteBusy), site_lock(database(), settings().data_dir / "locks", f"{site}-end"):
            awake = partial(_keep_awake, job_id)
            match_crawled(settings(), database(), stopped=is_shutting_down, going_on=awake)
            _end(job_id)
    elif step.kind is Next.OVERDUE:  # matching may have killed the process: end the job first
        _end(job_id)
        match_crawled(settings(), database(), stopped=is_shutting_down)


def _keep_awake(job_id: str) -> None:
    database().run_write(partial(dispatching.keep_awake, job_id=job_id, now=now()))


def _end(job_id: str) -> None:
    """End the job; its end is announced once it is visible in the database and in Redis."""

    def end(connection: Connection) -> None:
        end_job(connection, known_job(connection, job_id), now=now())

    database().run_write(end)
    SessionReportGenerator(settings(), database()).finish(job_id)
    show_progress(job_id)
    announce_end(job_id)
