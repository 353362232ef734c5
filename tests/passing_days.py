"""Real crawls of a simulated portal, day after day, in this process and on a clock that the test moves."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crawls import requests
from forked_simulators import start_forked
from ready_files import put_ready_file
from sale_sofia.crawl.frontier.jobs import SiteReport, begin_job
from sale_sofia.crawl.runners import local
from sale_sofia.crawl.runners.local import LocalRunner
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import SiteConfig
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

DAY = 86_400.0
NOTHING_AFTER: dict[str, Any] = {
    "read_after_crawl": False,
    "match_after_crawl": False,
    "score_after_crawl": False,
}
"""Nothing is concluded of what a crawl found."""
Row = dict[str, Any]


@dataclass
class PassingDays:
    """A portal, a store, and a clock that is so many days ahead."""

    site: str
    simulator: RunningSimulator
    settings: Settings
    database: Database
    start_urls: list[str]
    config: SiteConfig | None = None
    day: int = 0
    asked: int = field(default=0)

    def crawl(self, *, everything: bool = False, limit: int | None = None) -> tuple[SiteReport, list[Row]]:
        """One crawl to its end, on its day: its report, and what the portal was asked for."""
        with ahead(self.day):
            report = self._crawled(everything=everything, limit=limit)
        return report, self._new_requests()

    def _crawled(self, *, everything: bool, limit: int | None) -> SiteReport:
        site = get_scraper(self.site)
        job_id = self.database.run_write(
            partial(
                begin_job,
                site=site,
                start_urls=self.start_urls,
                limit=limit,
                now=time.time(),
                everything=everything,
            )
        )
        configs = {self.site: self.config} if self.config else {}
        runner = LocalRunner(self.settings, self.database, configs=configs)
        with pytest.MonkeyPatch.context() as patch:
            # To look through all that a test process has would take longer than the crawl.
            patch.setattr(local, "calm_collector", nullcontext)
            (report,) = asyncio.run(runner.run([job_id], asyncio.Event()))
        return report

    def _new_requests(self) -> list[Row]:
        assert self.simulator.log is not None
        everything = requests(self.simulator.log)
        new, self.asked = everything[self.asked :], len(everything)
        return [row for row in new if row["path"] != "/robots.txt"]

    def next_day(self) -> None:
        """The portal's next day; the clock goes with it."""
        self.simulator.advance()
        self.day += 1


@contextmanager
def ahead(days: int) -> Iterator[None]:
    """Inside, the clock of this process is so many days ahead."""
    real = time.time
    time.time = lambda: real() + days * DAY
    try:
        yield
    finally:
        time.time = real


@contextmanager
def passing_days(
    folder: Path, site: str, *, properties: int, seed: int, etag: bool = False
) -> Iterator[PassingDays]:
    """A portal of its own process, and an empty store."""
    config = SimulatorConfig(
        sites=(site,),
        properties=properties,
        seed=seed,
        port=0,
        log=folder / "log",
        truth=folder / "truth.json",
        etag=etag,
    )
    settings = Settings(
        data_dir=folder / "data", domain_rate_limits={site: 60_000}, archive_enabled=False, **NOTHING_AFTER
    )
    put_ready_file(folder / "x.db")
    database = Database(f"sqlite:///{folder / 'x.db'}", busy_timeout_seconds=10, busy_retries=3)
    with start_forked(config) as simulator:
        yield PassingDays(site, simulator, settings, database, simulator.start_urls(site))
    database.dispose()
