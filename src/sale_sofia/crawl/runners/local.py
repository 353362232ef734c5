"""The local runner: crawls all portals concurrently in this process, each at its own rate."""

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from sqlalchemy import Connection

from sale_sofia.alerts.after_crawl import alert_crawled
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.jobs import SiteReport, end_job, known_job, report
from sale_sofia.crawl.resilience.owners import this_owner
from sale_sofia.crawl.runners.runners import let_go, local_runner, settle_clock, site_lock, take_for_local
from sale_sofia.crawl.runners.site_crawl import SiteCrawl
from sale_sofia.crawl.settings import COLLECTOR_THRESHOLDS, FOLLOW_SECONDS, MOST_DEATHS
from sale_sofia.crawl.visit.assembly import Tools, make_fetcher, make_visitor, make_writer, shared_redis
from sale_sofia.crawl.visit.judging import classify_error
from sale_sofia.crawl.visit.writer import WorkTime
from sale_sofia.history.jobs import Job, JobState, add_job_counts, set_job_state
from sale_sofia.history.runs.reports import SessionReportGenerator
from sale_sofia.installation import open_archive, open_error_log
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.error_log import Failure
from sale_sofia.telemetry.logs import bound
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import SiteConfig


def match_crawled(
    settings: Settings,
    database: Database,
    clock: Callable[[], float] = time.time,
    stopped: Callable[[], bool] = lambda: False,
    going_on: Callable[[], object] = lambda: None,
    *,
    photos: bool = True,
) -> None:
    """Read and match what is new, fetch photos where doubts remain, score what changed.

    A failure is logged and never fails the crawl. `stopped` tells that no further photo may be fetched;
    `going_on` is called for each, as all together may take minutes. During a crawl it runs without `photos`,
    which cost requests of their own.
    What is switched off is not even imported: that alone costs as much as some hundred pages.
    """
    if settings.read_after_crawl:
        from sale_sofia.descriptions.enrichment import read_new  # noqa: PLC0415 - a crawl begins without it

        read_new(database, clock)
    if settings.match_after_crawl:
        from sale_sofia.flats.runs import match_new  # noqa: PLC0415 - numpy

        if match_new(settings, database, clock) and settings.photo_enabled and photos:
            from sale_sofia.crawl.photos.running import fetch_photos  # noqa: PLC0415 - Pillow

            fetch_photos(settings, database, clock, stopped, going_on)
    if settings.score_after_crawl:
        from sale_sofia.advice.scoring.runs import score_new  # noqa: PLC0415 - numpy

        score_new(settings, database, clock)


@contextmanager
def calm_collector() -> Iterator[None]:
    """Inside, garbage is collected less often, and not in objects of the start-up: pages make no cycles."""
    usual = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Runs jobs to their end. One portal's failure never stops another's crawl."""

    settings: Settings
    database: Database
    progress: Callable[[str, Claim], None] = lambda _site, _claim: None
    configs: Mapping[str, SiteConfig] = field(default_factory=dict)
    """Site files to use instead of the installed ones."""
    clock: Callable[[], float] = field(default_factory=lambda: time.time)
    """The clock for all stored times. By default this machine's."""

    async def run(self, job_ids: Sequence[str], stop: asyncio.Event) -> list[SiteReport]:
        """Run the jobs until all have ended or `stop` is set; their reports in the given order."""
        jobs = [self.database.run_read(partial(known_job, job_id=job_id)) for job_id in job_ids]
        archive = open_archive(self.settings) if self.settings.archive_enabled else None
        async with AsyncExitStack() as stack:
            stack.enter_context(calm_collector())
            redis_url = await stack.enter_async_context(shared_redis(self.settings))
            fetcher = make_fetcher(self.settings)
            stack.push_async_callback(fetcher.close)
            tools = Tools(fetcher, archive, redis_url, clock=self.clock)
            at_once = asyncio.Semaphore(1 if self.settings.one_by_one else len(jobs))
            over = asyncio.Event()
            following = asyncio.create_task(self.follow(over))
            try:
                reports = await asyncio.gather(*(self._in_turn(at_once, job, tools, stop) for job in jobs))
            finally:
                over.set()
                await following
        if not stop.is_set():
            await asyncio.to_thread(match_crawled, self.settings, self.database, self.clock, stop.is_set)
            await asyncio.to_thread(alert_crawled, self.settings, self.database, self.clock)
        if archive is not None:
            await asyncio.to_thread(archive.stay_small)
        return reports

    async def follow(self, over: asyncio.Event) -> None:
        """Match and score new adverts at intervals until `over` is set, so that nobody waits for the end."""
        follow = partial(match_crawled, self.settings, self.database, self.clock, photos=False)
        while not over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(FOLLOW_SECONDS):
                    await over.wait()
            if not over.is_set():
                await asyncio.to_thread(follow)

    async def _in_turn(
        self, at_once: asyncio.Semaphore, job: Job, tools: Tools, stop: asyncio.Event
    ) -> SiteReport:
        async with at_once:
            if stop.is_set():  # before its turn: not even robots.txt is asked for
                return await asyncio.to_thread(self._report, job.id, 0.0, None)
            return await self._run_job(job, tools, stop)

    async def _run_job(self, job: Job, tools: Tools, stop: asyncio.Event) -> SiteReport:
        with bound(job=job.id, site=job.site):
            log.info("crawl begins")
            work, error = WorkTime(), None
            try:
                with site_lock(self.database, self.settings.data_dir / "locks", job.site):
                    await self._crawl(job, tools, stop, work)
                    self.database.run_write(partial(let_go, job_id=job.id, runner=local_runner()))
            except Exception as exception:  # the other portals go on; the report says what happened
                error = str(exception) or type(exception).__name__
                cause = classify_error(exception)
                failure = Failure(
                    error=cause, action=cause.at_last, next_delay=None, domain=job.site, job=job.id
                )
                open_error_log(self.settings).write(failure, self.clock())
                log.info("crawl failed", exc_info=True)  # people see it in the report
            done = await asyncio.to_thread(self._report, job.id, work.since_noted()[0], error)
            names = ("state", "adverts", "new", "changed", "failed", "requests")
            log.info("crawl ended", extra={name: getattr(done, name) for name in names})
        return done

    def _report(self, job_id: str, seconds: float, error: str | None) -> SiteReport:
        if error is None:
            self.database.run_write(lambda connection: add_job_counts(connection, job_id, seconds=seconds))
        return self.database.run_read(
            lambda connection: report(connection, known_job(connection, job_id), error)
        )

    async def _crawl(self, job: Job, tools: Tools, stop: asyncio.Event, work: WorkTime) -> None:
        self.database.run_write(partial(_begin, job_id=job.id, now=self.clock()))
        config = self.configs.get(job.site) or get_scraper(job.site).config
        visitors = config.politeness.concurrency
        metrics = MetricsFlusher(self.database, MetricsCollector(job.id, self.clock), self.clock)
        visitor = await make_visitor(self.settings, config, job, tools, metrics.collector)
        crawl = SiteCrawl(
            job_id=job.id,
            owner=this_owner(),
            database=self.database,
            visitor=visitor,
            writer=make_writer(self.settings, self.database, job, config, visitors, visitor),
            metrics=metrics,
            concurrency=visitors,
            lease_seconds=self.settings.lease_seconds,
            clock=self.clock,
            stop=stop,
            progress=partial(self.progress, job.site),
        )
        crawl.writer.work = work
        try:
            finished = await crawl.run()
        finally:
            await visitor.close()
            await asyncio.to_thread(metrics.close)
        if finished:
            self.database.run_write(
                lambda connection: end_job(connection, known_job(connection, job.id), now=self.clock())
            )
            reports = SessionReportGenerator(self.settings, self.database, self.clock)
            await asyncio.to_thread(reports.finish, job.id)


def _begin(connection: Connection, job_id: str, now: float) -> None:
    """Take the job over. We hold the portal's lock, so earlier owners of its rows are dead: release them."""
    settle_clock(connection, known_job(connection, job_id).site, now=now)
    take_for_local(connection, job_id, now=now)
    frontier.release_all(connection, job_id, most_deaths=MOST_DEATHS)
    set_job_state(connection, job_id, JobState.COLLECTING, now=now)
