"""Commands that crawl and that tell how crawling goes: crawl, resume, jobs, status."""

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from sale_sofia.commands.console import INTERRUPTED, NOT_ALL_RIGHT, AsJson, log, out, print_json
from sale_sofia.commands.crawl_tables import (
    best_table,
    estimate_table,
    jobs_table,
    reports_table,
    status_table,
)
from sale_sofia.commands.progress import CrawlProgress
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.config.site_config import load_site_config, load_start_urls
from sale_sofia.data.database import Database
from sale_sofia.data.jobs import list_jobs
from sale_sofia.data.migrate import initialize_database
from sale_sofia.scraping.estimate import estimate as estimate_site
from sale_sofia.scraping.jobs import SiteReport
from sale_sofia.scraping.local_runner import LocalRunner
from sale_sofia.scraping.planning import JobPlan, job_to_resume, plan_job, unfinished_jobs
from sale_sofia.scraping.status import best_offers, site_statuses
from sale_sofia.scraping.store import open_database
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper

_NEWEST_JOBS = 20


def crawl(
    sites: Annotated[
        list[str] | None, typer.Argument(help=f"Portals: {', '.join(AVAILABLE_SITES)}. All without any.")
    ] = None,
    start_url: Annotated[
        list[str] | None, typer.Option(help="Begin here instead of at the portal's searches; any host.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many adverts per portal.")] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say how many requests and hours it takes; send nothing.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew even if the same crawl was not finished.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Crawl portals, all at once, each at its own rate. Stopped or killed, it goes on from there."""
    settings = load_settings()
    names = sites or list(AVAILABLE_SITES)
    if start_url and len(names) != 1:
        raise typer.BadParameter("--start-url needs exactly one SITE: its name decides how pages are read")
    plans = [JobPlan(get_scraper(name), _start_urls(name, start_url), limit, fresh) for name in names]
    database = open_database(settings)
    initialize_database(database)
    if estimate:
        _print_estimates(settings, database, names, limit)
        return
    finish(settings, database, [plan_job(settings, database, plan) for plan in plans], as_json=as_json)


def _start_urls(name: str, given: list[str] | None) -> tuple[str, ...]:
    return tuple(given) if given else load_start_urls()[name]


def _print_estimates(settings: Settings, database: Database, names: Sequence[str], limit: int | None) -> None:
    with database.read() as connection:
        found = [estimate_site(connection, settings, load_site_config(name), limit) for name in names]
    out.print(estimate_table(found))


def resume(
    job: Annotated[
        str | None, typer.Argument(help="A job of `sale-sofia jobs`; all unfinished without it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Go on with crawls that were stopped or killed: nothing is lost, nothing is fetched twice."""
    settings = load_settings()
    database = open_database(settings)
    initialize_database(database)
    job_ids = [job_to_resume(database, job)] if job else unfinished_jobs(database)
    if not job_ids:
        log.print("nothing to resume: every job has ended")
        return
    finish(settings, database, job_ids, as_json=as_json)


def finish(settings: Settings, database: Database, job_ids: Sequence[str], *, as_json: bool) -> None:
    """Run the jobs, show how it goes, say what came of it, and end with the right exit code."""
    reports, stopped = asyncio.run(_run(settings, database, job_ids))
    if as_json:
        print_json({"jobs": [asdict(one) for one in reports], "stopped": stopped})
    else:
        _print_summary(database, reports)
    if stopped:
        log.print("stopped; go on with: sale-sofia resume")
        raise typer.Exit(INTERRUPTED)
    if any(one.error or one.state != "COMPLETE" for one in reports):
        raise typer.Exit(NOT_ALL_RIGHT)


async def _run(
    settings: Settings, database: Database, job_ids: Sequence[str]
) -> tuple[list[SiteReport], bool]:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    async with CrawlProgress(database, job_ids, log) as progress:
        reports = await LocalRunner(settings, database, progress.advance).run(job_ids, stop)
    return reports, stop.is_set()


def _print_summary(database: Database, reports: Sequence[SiteReport]) -> None:
    out.print(reports_table(reports))
    for one in reports:
        if one.error:
            log.print(f"{one.site}: {one.error}", style="red", markup=False, highlight=False, soft_wrap=True)
    with database.read() as connection:
        offers = best_offers(connection)
    if offers:
        out.print(best_table(offers))
    out.print(f"database: {database.path}", highlight=False, soft_wrap=True)


def jobs(as_json: AsJson = False) -> None:
    """List the newest jobs and how each ended."""
    database = open_database(load_settings())
    initialize_database(database)
    with database.read() as connection:
        found = list_jobs(connection, limit=_NEWEST_JOBS)
    if as_json:
        print_json({"jobs": [asdict(job) for job in found]})
    else:
        out.print(jobs_table(found))
        for job in found:
            if job.error:
                out.print(f"{job.id}: {job.error}", markup=False, highlight=False, soft_wrap=True)


def status(as_json: AsJson = False) -> None:
    """Show for each portal how many adverts are stored, how fresh they are, and what its last job did."""
    database = open_database(load_settings())
    initialize_database(database)
    with database.read() as connection:
        found = site_statuses(connection, AVAILABLE_SITES)
    if as_json:
        print_json({"sites": [asdict(one) for one in found]})
    else:
        out.print(status_table(found))
