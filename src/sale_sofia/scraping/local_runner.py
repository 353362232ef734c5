"""The local runner: all portals at once in this process, each at its own rate; it needs only the disk."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial

from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import SiteConfig, load_site_config
from sale_sofia.data.database import Database
from sale_sofia.data.jobs import Job, JobState, add_job_counts, set_job_state
from sale_sofia.fetching.archive import PageArchive
from sale_sofia.fetching.base import Fetcher
from sale_sofia.fetching.client import CurlFetcher
from sale_sofia.scraping import frontier
from sale_sofia.scraping.assembly import make_visitor, open_archive
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.jobs import SiteReport, end_job, known_job, report
from sale_sofia.scraping.locks import site_lock
from sale_sofia.scraping.site_crawl import SiteCrawl
from sale_sofia.scraping.writer import GroupWriter, Ledger, Patience

Progress = Callable[[str, Claim], None]


def _ignore(_site: str, _claim: Claim) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Tools:
    """What all jobs of a run share."""

    fetcher: Fetcher
    archive: PageArchive | None
    stop: asyncio.Event


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Runs jobs to their end. One portal's failure never stops another's crawl."""

    settings: Settings
    database: Database
    progress: Progress = _ignore
    configs: Mapping[str, SiteConfig] = field(default_factory=dict)
    """Site files to use instead of the installed ones."""

    async def run(self, job_ids: Sequence[str], stop: asyncio.Event) -> list[SiteReport]:
        """The jobs' reports in the given order, when all have ended or `stop` was set."""
        jobs = [self.database.run_read(partial(known_job, job_id=job_id)) for job_id in job_ids]
        archive = open_archive(self.settings) if self.settings.archive_enabled else None
        async with AsyncExitStack() as stack:
            fetcher = self._fetcher()
            stack.push_async_callback(fetcher.close)
            tools = Tools(fetcher, archive, stop)
            reports = await asyncio.gather(*(self._run_job(job, tools) for job in jobs))
        if archive is not None and archive.full:
            await asyncio.to_thread(archive.prune)
        return reports

    def _fetcher(self) -> CurlFetcher:
        settings = self.settings
        return CurlFetcher(
            settings.fetch_profile, settings.fetch_max_redirects, settings.fetch_dns_cache_seconds
        )

    async def _run_job(self, job: Job, tools: Tools) -> SiteReport:
        started, error = time.monotonic(), None
        try:
            with site_lock(self.settings.data_dir / "locks", job.site):
                await self._crawl(job, tools)
        except Exception as problem:  # noqa: BLE001 - the other portals go on; the report says what happened
            error = str(problem) or type(problem).__name__
        return await asyncio.to_thread(self._report, job.id, time.monotonic() - started, error)

    def _report(self, job_id: str, seconds: float, error: str | None) -> SiteReport:
        if error is None:
            self.database.run_write(lambda connection: add_job_counts(connection, job_id, seconds=seconds))
        return self.database.run_read(
            lambda connection: report(connection, known_job(connection, job_id), error)
        )

    async def _crawl(self, job: Job, tools: Tools) -> None:
        # We hold the portal's lock, so whoever leased a row before us is dead: its rows are ours at once.
        self.database.run_write(partial(frontier.release_all, job_id=job.id))
        self.database.run_write(
            lambda connection: set_job_state(connection, job.id, JobState.COLLECTING, now=time.time())
        )
        crawl = await self._site_crawl(job, tools)
        if await crawl.run():
            self.database.run_write(
                lambda connection: end_job(connection, known_job(connection, job.id), now=time.time())
            )

    async def _site_crawl(self, job: Job, tools: Tools) -> SiteCrawl:
        config = self.configs.get(job.site) or load_site_config(job.site)
        visitors = config.politeness.concurrency
        return SiteCrawl(
            job_id=job.id,
            owner=f"local:{job.id}",
            database=self.database,
            visitor=await make_visitor(self.settings, config, job, tools.fetcher, tools.archive),
            writer=self._writer(job, visitors),
            concurrency=visitors,
            lease_seconds=self.settings.lease_seconds,
            clock=time.time,
            stop=tools.stop,
            progress=partial(self.progress, job.site),
        )

    def _writer(self, job: Job, visitors: int) -> GroupWriter:
        """Half of the visitors may wait for a commit while the other half goes on."""
        ledger = Ledger(job.id, job.site, job.listing_limit)
        outcomes = min(self.settings.checkpoint_batch_size, (visitors + 1) // 2)
        return GroupWriter(
            self.database, ledger, Patience(outcomes, self.settings.checkpoint_seconds), time.time
        )
