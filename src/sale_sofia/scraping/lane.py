"""A lane: one process drains a job's frontier for a while, beside others that do the same."""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

from sale_sofia.config.parallel import (
    LANE_IDLE_SECONDS,
    LANE_LOOK_SECONDS,
    LANE_PAGES_PER_MINUTE,
    LANE_SECONDS,
)
from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database
from sale_sofia.data.jobs import Job, add_job_counts
from sale_sofia.data.store_clock import store_clock
from sale_sofia.fetching.robots import Rules
from sale_sofia.monitoring.metrics import MetricsCollector
from sale_sofia.monitoring.metrics_store import MetricsFlusher
from sale_sofia.scraping.assembly import Tools, make_fetcher, make_visitor, make_writer
from sale_sofia.scraping.collector import calm_collector
from sale_sofia.scraping.estimate import rate_per_minute
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.making_room import leave_when_others_wait, soft_limit_calls
from sale_sofia.scraping.owner import this_owner
from sale_sofia.scraping.shutdown import stop_at_shutdown
from sale_sofia.scraping.site_crawl import Shift, SiteCrawl
from sale_sofia.scraping.store import open_archive
from sale_sofia.websites.registry import get_scraper

# Lanes come and go; a portal's robots.txt is asked for once by each process, not by each lane.
_robots_known: dict[str, Rules] = {}


@dataclass(slots=True)
class LaneSummary:
    """What one lane did: counts, never data; the data is in the database already."""

    job_id: str
    pages: int = 0
    new: int = 0
    changed: int = 0
    found: int = 0
    lost: int = 0
    """Pages that somebody else had taken over by the time they were written: nothing of them was."""
    seconds: float = 0.0
    failed: bool = False
    """Something of ours broke, such as the database: what it held went back unread."""


def lanes_for(settings: Settings, site: str) -> int:
    """As many lanes as the portal can feed: one keeps up with all but the fastest."""
    config = get_scraper(site).config
    wanted = -(-rate_per_minute(settings, config) // LANE_PAGES_PER_MINUTE)
    return max(1, min(int(wanted), config.politeness.concurrency))


def visitors_for(settings: Settings, site: str) -> int:
    """A lane's share of the portal's places: with more, lanes put pages back for want of each other's."""
    return -(-get_scraper(site).config.politeness.concurrency // lanes_for(settings, site))


async def run_lane(
    settings: Settings, database: Database, job: Job, redis_url: str, summary: LaneSummary
) -> None:
    """Work for one shift; `summary` is filled in also when the lane is cut short."""
    started = time.monotonic()
    async with AsyncExitStack() as stack:
        stack.enter_context(calm_collector())
        stack.callback(_note_time, database, summary, started)
        crawl = await _crawl(settings, database, job, redis_url, stack, summary)
        stack.callback(_note_written, crawl, summary)
        stack.enter_context(soft_limit_calls(crawl.stop.set))
        for watch in (stop_at_shutdown(crawl.stop), leave_when_others_wait(crawl.end_shift)):
            stack.callback(asyncio.create_task(watch).cancel)
        await crawl.run()


def _note_written(crawl: SiteCrawl, summary: LaneSummary) -> None:
    written = crawl.writer.written
    summary.new, summary.changed = written.new, written.changed
    summary.found, summary.lost = written.found, written.lost


def _note_time(database: Database, summary: LaneSummary, started: float) -> None:
    summary.seconds = time.monotonic() - started
    database.run_write(lambda connection: add_job_counts(connection, summary.job_id, seconds=summary.seconds))


async def _crawl(
    settings: Settings,
    database: Database,
    job: Job,
    redis_url: str,
    stack: AsyncExitStack,
    summary: LaneSummary,
) -> SiteCrawl:
    config = get_scraper(job.site).config
    fetcher = make_fetcher(settings)
    stack.push_async_callback(fetcher.close)
    archive = open_archive(settings) if settings.archive_enabled else None
    clock = store_clock(database)
    tools = Tools(fetcher, archive, redis_url, _robots_known, clock)
    metrics = MetricsFlusher(database, MetricsCollector(job.id))
    stack.callback(metrics.close)
    stack.callback(metrics.collector.foretell)  # a lane ends long before an open circuit does
    visitor = await make_visitor(settings, config, job, tools, metrics.collector)
    stack.push_async_callback(visitor.close)

    visitors = visitors_for(settings, job.site)

    def count(_: Claim) -> None:
        summary.pages += 1

    return SiteCrawl(
        job_id=job.id,
        owner=this_owner(),
        database=database,
        visitor=visitor,
        writer=make_writer(settings, database, job, config, visitors, visitor),
        metrics=metrics,
        concurrency=visitors,
        lease_seconds=settings.lease_seconds,
        clock=clock,
        stop=asyncio.Event(),
        progress=count,
        shift=Shift(LANE_SECONDS, LANE_IDLE_SECONDS, LANE_LOOK_SECONDS),
    )
