"""Commands that crawl: crawl and resume, in this process or on Celery workers."""

import asyncio
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Annotated

import typer
from sqlalchemy import Connection

from sale_sofia.cli.console import AsJson, log, out, plain_table, print_json, tell
from sale_sofia.cli.progress import conclude, crawl_progress, number
from sale_sofia.crawl.frontier.estimate import Estimate, sentences
from sale_sofia.crawl.frontier.estimate import estimate as estimate_site
from sale_sofia.crawl.frontier.jobs import SiteReport
from sale_sofia.crawl.frontier.planning import JobPlan, job_to_resume, plan_job, unfinished_jobs
from sale_sofia.crawl.frontier.wanted import find_wanted
from sale_sofia.crawl.runners.local import LocalRunner
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.logs import log_to_file
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.site_file import enabled_sites, load_site_config, start_urls_of

Parallel = Annotated[
    bool | None,
    typer.Option(
        "--parallel/--local",
        help="On Celery workers, which are started if none run, or in this process; "
        "PARALLEL_SCRAPING decides without either.",
    ),
]


def crawl(
    sites: Annotated[
        list[str] | None, typer.Argument(help=f"Portals: {', '.join(AVAILABLE_SITES)}. Default: all.")
    ] = None,
    start_url: Annotated[
        list[str] | None, typer.Option(help="Begin here instead of at the portal's usual searches; any host.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most this many adverts per portal.")] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say how many requests and hours it takes; send nothing.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew even if the same crawl was not finished.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Open every advert, also where its card says nothing new.")
    ] = False,
    looks_for: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="NAME",
            help="Only what this profile or saved search looks for: searches that may contain "
            "it, adverts whose card may fit. May be given several times.",
        ),
    ] = None,
    parallel: Parallel = None,
    one_by_one: Annotated[
        bool | None,
        typer.Option(
            "--one-by-one/--at-once",
            help="One portal after the other, or all at once, in this process; ONE_BY_ONE decides without.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Crawl portals, all at once, each at its own rate. If stopped or killed, run it again to continue.

    A first look: sale-sofia crawl imot.bg --limit 50

    What all would take: sale-sofia crawl --estimate

    Only what a profile looks for: sale-sofia crawl --for me
    """
    settings = _in_mode(load_settings(), parallel)
    if one_by_one is not None:
        if settings.parallel_scraping:
            raise typer.BadParameter("--one-by-one is for a crawl in this process; give --local with it")
        settings = settings.model_copy(update={"one_by_one": one_by_one})
    names = list(dict.fromkeys(sites or enabled_sites()))  # a portal named twice is crawled once
    if start_url and len(names) != 1:
        raise typer.BadParameter("--start-url needs exactly one SITE: its name decides how pages are read")
    plans = plans_for(settings, names, start_url or (), looks_for or ())
    plans = [replace(plan, limit=limit, fresh=fresh, everything=full) for plan in plans]
    if settings.browser_enabled:
        from sale_sofia.proxies.browser import check_browser  # noqa: PLC0415 - slow, few crawls need it

        check_browser(settings, [plan.site.name for plan in plans])
    if settings.parallel_scraping and not estimate:
        from sale_sofia.cli.services import crawl_in_parallel  # noqa: PLC0415 - a local crawl needs no services

        crawl_in_parallel(settings, plans, as_json=as_json)
        return
    database = open_ready(settings)
    if estimate:
        _show_estimates(settings, database, plans, as_json=as_json)
        return
    # By this machine's clock, as its cards: those seen "before" their sweep would not count.
    job_ids = [plan_job(settings, database, plan, time.time()) for plan in plans]
    finish(settings, database, job_ids, as_json=as_json)


def plans_for(
    settings: Settings, sites: Sequence[str], start_urls: Sequence[str] = (), looks_for: Sequence[str] = ()
) -> list[JobPlan]:
    """Plans for these portals, without those none of whose searches can hold what is looked for."""
    plans = [
        JobPlan(get_scraper(name), tuple(start_urls or start_urls_of(name)), limit=None, fresh=False)
        for name in sites
    ]
    if not looks_for:
        return plans
    with open_ready(settings).read() as connection:
        wanted = find_wanted(connection, settings.data_dir, looks_for)
    fitting = [replace(plan, wanted=wanted) for plan in plans if wanted.leaves(plan.site, plan.start_urls)]
    if left_out := sorted({plan.site.name for plan in plans} - {plan.site.name for plan in fitting}):
        nothing = Said("wrong_wish.nothing", sites=left_out, names=wanted.names)
        if not fitting:
            raise typer.BadParameter(nothing)
        tell(nothing)
    return fitting


def _in_mode(settings: Settings, parallel: bool | None) -> Settings:
    return settings if parallel is None else settings.model_copy(update={"parallel_scraping": parallel})


def estimates(connection: Connection, settings: Settings, plans: Sequence[JobPlan]) -> list[Estimate]:
    """How many requests and hours each of these crawls would take."""
    return [
        estimate_site(
            connection,
            settings,
            load_site_config(plan.site.name),
            plan.limit,
            plan.wanted,
            plan.start_urls,
            everything=plan.everything,
        )
        for plan in plans
    ]


def _show_estimates(
    settings: Settings, database: Database, plans: Sequence[JobPlan], *, as_json: bool
) -> None:
    with database.read() as connection:
        found = estimates(connection, settings, plans)
    lines = list(sentences(found, at_once=not settings.one_by_one))
    if as_json:
        more = ("hours", "first_minutes", "fitting_minutes")
        rows = [
            {**asdict(estimate), **{name: getattr(estimate, name) for name in more}} for estimate in found
        ]
        print_json({"estimates": rows, "told": lines})
        return
    counted = ("may fit", "in min", "requests", "a minute", "hours")
    table = plain_table("One sweep at the current rates", ("site",), counted, "from")
    for estimate in found:
        fits = (number(estimate.fitting), number(estimate.fitting_minutes))
        cells = (number(estimate.requests), number(estimate.requests_per_minute), number(estimate.hours, 1))
        table.add_row(estimate.site, *fits, *cells, estimate.basis)
    out.print(table)
    for sentence in lines:
        out.print(sentence, soft_wrap=True)


def resume(
    job: Annotated[
        str | None, typer.Argument(help="A job of `sale-sofia jobs`; all unfinished without it.")
    ] = None,
    parallel: Parallel = None,
    as_json: AsJson = False,
) -> None:
    """Go on with crawls that were stopped or killed: nothing is lost, nothing is fetched twice."""
    settings = _in_mode(load_settings(), parallel)
    database = open_ready(settings)
    job_ids = [job_to_resume(database, one) for one in ([job] if job else unfinished_jobs(database))]
    if not job_ids:
        if as_json:
            print_json({"jobs": [], "stopped": False})
        log.print("nothing to resume: every job has ended")
    elif settings.parallel_scraping:
        from sale_sofia.cli.services import resume_in_parallel  # noqa: PLC0415 - as above

        resume_in_parallel(settings, job_ids, as_json=as_json)
    else:
        finish(settings, database, job_ids, as_json=as_json)


def finish(settings: Settings, database: Database, job_ids: Sequence[str], *, as_json: bool) -> None:
    """Run the jobs in this process with progress, print the summary and set the exit code."""
    log_to_file(settings, "crawl")
    reports, stopped = asyncio.run(run_jobs(settings, database, job_ids))
    conclude(database, reports, stopped=stopped, as_json=as_json)


async def run_jobs(
    settings: Settings, database: Database, job_ids: Sequence[str], clock: Callable[[], float] | None = None
) -> tuple[list[SiteReport], bool]:
    """Run the jobs until all end or SIGINT or SIGTERM comes; their reports, and whether one came."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    async with crawl_progress(settings, database, job_ids, log):
        reports = await LocalRunner(settings, database, clock=clock or time.time).run(job_ids, stop)
    return reports, stop.is_set()
