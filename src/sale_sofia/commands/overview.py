"""Commands about jobs: list them, see how the portals are, end one."""

import time
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text
from sqlalchemy import Connection

from sale_sofia.commands.console import AsJson, log, out, print_json, refuse
from sale_sofia.commands.crawl_tables import incident_line, jobs_table, status_table
from sale_sofia.config.monitoring import SHOWN_JOBS, STATUS_WATCH_SECONDS
from sale_sofia.config.settings import load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.future_moments import future_sentence
from sale_sofia.data.incidents import Incident, open_incidents
from sale_sofia.data.jobs import list_jobs
from sale_sofia.scraping.cancelling import cancel_job
from sale_sofia.scraping.status import SiteStatus, site_statuses
from sale_sofia.scraping.store import open_ready
from sale_sofia.websites.registry import AVAILABLE_SITES


def jobs(as_json: AsJson = False) -> None:
    """List the newest jobs and how each ended."""
    with open_ready(load_settings()).read() as connection:
        found = list_jobs(connection, limit=SHOWN_JOBS)
    if as_json:
        print_json({"jobs": [asdict(job) for job in found]})
    else:
        out.print(jobs_table(found))
        for job in found:
            if job.error:
                out.print(f"{job.id}: {job.error}", highlight=False, soft_wrap=True)


def status(
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again every two seconds, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show for each portal how many adverts are stored, how fresh they are, and what its last job did."""
    refuse(watch and as_json, "--watch is for people; leave out --json, or run it again and again")
    database = open_ready(load_settings())
    if watch:
        _watch(database)
        return
    sites, incidents, clock = database.run_read(_state)
    if as_json:
        told = {"sites": [asdict(one) for one in sites], "incidents": [asdict(one) for one in incidents]}
        print_json({**told, "clock": clock})
    else:
        out.print(_picture(sites, incidents, clock), highlight=False)


def _state(connection: Connection) -> tuple[list[SiteStatus], list[Incident], str | None]:
    """The portals, what is wrong, and what the database holds of the future."""
    clock = future_sentence(connection, now=time.time())
    return site_statuses(connection, AVAILABLE_SITES), open_incidents(connection), clock


def _picture(sites: list[SiteStatus], incidents: list[Incident], clock: str | None) -> Group:
    # Text and not a string, so that square brackets in a message are never taken for markup.
    lines = [*map(incident_line, incidents), *([f"clock: {clock}"] if clock else [])]
    return Group(status_table(sites), *map(Text, lines))


def _watch(database: Database) -> None:
    with suppress(KeyboardInterrupt), Live(console=out, auto_refresh=False) as live:
        # Where lines cannot be taken back, one picture follows the other.
        show = partial(live.update, refresh=True) if out.is_terminal else out.print
        while True:
            show(_picture(*database.run_read(_state)))
            out.file.flush()
            time.sleep(STATUS_WATCH_SECONDS)


def cancel(job: Annotated[str, typer.Argument(help="A job of `sale-sofia jobs`.")]) -> None:
    """End a job for good, whoever crawls it: no further page of it is begun. What is stored stays."""
    ended = open_ready(load_settings()).run_write(
        lambda connection: cancel_job(connection, job, now=time.time())
    )
    log.print(f"job {job} is cancelled" if ended else f"job {job} was cancelled before", highlight=False)
