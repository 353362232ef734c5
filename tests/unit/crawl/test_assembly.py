"""What a crawl begins with: a portal that is down costs a job that is under way none of its pages."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ready_files import put_ready_file
from sale_sofia.crawl.frontier.frontier import Counts, count_rows
from sale_sofia.crawl.frontier.jobs import SiteReport, begin_job
from sale_sofia.crawl.runners.local import LocalRunner
from sale_sofia.history.jobs import add_job_counts
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper
from site_copies import changed_site
from unit.crawl.fetch.portal import Handler, portal
from visiting import advert

SITE = "imot.bg"


async def down(_: web.BaseRequest) -> web.StreamResponse:
    return web.Response(status=503)


async def broken(request: web.BaseRequest) -> web.StreamResponse:
    """robots.txt is not there, and every page fails."""
    return web.Response(status=404 if request.path == "/robots.txt" else 503)


def crawled(
    folder: Path,
    *,
    requests_before: int,
    answer: Handler = down,
    **settings: Any,  # noqa: ANN401 - of many types
) -> tuple[SiteReport, Counts, list[str]]:
    """A job of one page, which sent so many requests before, meets a portal that answers like this."""
    put_ready_file(folder / "x.db")
    database = Database(f"sqlite:///{folder / 'x.db'}", busy_timeout_seconds=5, busy_retries=2)

    async def run() -> tuple[SiteReport, Counts, list[str]]:
        async with portal(answer) as log:
            begin = partial(begin_job, site=get_scraper(SITE), limit=None, now=1.0)
            job_id = database.run_write(partial(begin, start_urls=[log.url(advert()[0])]))
            database.run_write(partial(add_job_counts, job_id=job_id, requests=requests_before))
            runner = LocalRunner(Settings(data_dir=folder, **settings), database)
            [report] = await runner.run([job_id], asyncio.Event())
            return report, database.run_read(partial(count_rows, job_id=job_id)), log.paths

    try:
        return asyncio.run(run())
    finally:
        database.dispose()


@pytest.mark.slow
def test_a_job_under_way_keeps_its_pages_while_robots_txt_cannot_be_had(tmp_path: Path) -> None:
    report, counts, asked = crawled(tmp_path, requests_before=7)
    assert (report.state, counts.pending, counts.failed, asked) == ("COLLECTING", 1, 0, ["/robots.txt"])
    assert report.error == (
        f"{SITE}: robots.txt cannot be had now, and without it nothing is asked; "
        f"go on later with `sale-sofia resume {report.job_id}`"
    )


@pytest.mark.slow
def test_a_job_that_has_asked_for_nothing_yet_ends_at_once(tmp_path: Path) -> None:
    report, counts, asked = crawled(tmp_path, requests_before=0)
    assert (report.state, counts.pending, counts.failed, asked) == ("FAILED", 0, 1, ["/robots.txt"])
    assert "RobotsDisallowed" in (report.error or "")


@pytest.mark.slow
@pytest.mark.parametrize(("retries", "most_attempts", "requests"), [(1, 5, 2), (None, 3, 3), (9, 3, 3)])
def test_a_site_file_says_how_often_a_page_is_asked_for_again(
    tmp_path: Path, retries: int | None, most_attempts: int, requests: int
) -> None:
    def allow(tables: dict[str, Any]) -> None:
        tables["politeness"]["retries"] = retries

    with changed_site(tmp_path / "sites", SITE, allow):
        _, counts, paths = crawled(
            tmp_path,
            requests_before=0,
            answer=broken,
            retry_max_attempts=most_attempts,
            retry_base_delay=0.1,
            retry_max_delay=0.2,
            circuit_breaker_fail_max=50,
            domain_rate_limits={SITE: 6_000},
        )
    assert (counts.failed, paths.count(advert()[0])) == (1, requests)
