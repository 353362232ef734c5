"""sale-sofia's own crawl of imot.bg, all of it but the politeness, robots.txt and the archive.

Breaker, places and limiter are asked with every request, as always; but no request waits for its turn.
"""

import argparse
import asyncio
from unittest.mock import patch

from pydantic import SecretStr

import crawler
from sale_sofia.crawl.frontier.jobs import SiteReport
from sale_sofia.crawl.frontier.planning import JobPlan, plan_job
from sale_sofia.crawl.resilience import settings as limits
from sale_sofia.crawl.runners.local import LocalRunner
from sale_sofia.installation import open_database
from sale_sofia.settings.model import DATABASE_FILE, Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import SiteConfig, load_site_config

SITE = "imot.bg"
REQUESTS_PER_MINUTE = 60_000_000.0
"""A thousand times what a setting allows: at that, most requests would wait a millisecond, no peer's does."""


def settings_for(options: argparse.Namespace) -> Settings:
    """The installed settings with their data in the folder and nothing to wait for.

    What follows a crawl (descriptions, matching, scores) has its own benchmarks; the peers do none of it.
    """
    return load_settings().model_copy(
        update={
            "data_dir": options.folder,
            "database_url": SecretStr(f"sqlite:///{options.folder / DATABASE_FILE}"),
            "domain_rate_limits": {"default": REQUESTS_PER_MINUTE, SITE: REQUESTS_PER_MINUTE},
            "archive_enabled": False,
            "robots_obeyed": False,
            "read_after_crawl": False,
            "match_after_crawl": False,
            "score_after_crawl": False,
        }
    )


def site_config(concurrency: int) -> SiteConfig:
    """The installed site file with so many visitors."""
    config = load_site_config(SITE)
    politeness = config.politeness.model_copy(update={"concurrency": concurrency})
    return config.model_copy(update={"politeness": politeness})


def crawl(options: argparse.Namespace, settings: Settings, database: Database) -> None:
    """Crawl to the end; what was cut short in the folder goes on."""
    plan = JobPlan(get_scraper(SITE), tuple(options.urls), limit=None, fresh=False)
    job_id = plan_job(settings, database, plan)
    runner = LocalRunner(settings, database, configs={SITE: site_config(options.concurrency)})
    with patch.object(limits, "RATE_MAX_PER_MINUTE", REQUESTS_PER_MINUTE):
        [report] = asyncio.run(_run(runner, job_id))
    if report.error or report.state != "COMPLETE":
        raise SystemExit(f"the crawl ended as {report.state}: {report.error}")


async def _run(runner: LocalRunner, job_id: str) -> list[SiteReport]:
    return await runner.run([job_id], asyncio.Event())


def main() -> None:
    """Make the tables, then crawl."""
    options = crawler.arguments()
    settings = settings_for(options)
    database = open_database(settings)
    initialize_database(database)
    crawler.run_measured(lambda: crawl(options, settings, database))


if __name__ == "__main__":
    main()
