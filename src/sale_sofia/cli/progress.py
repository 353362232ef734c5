"""Progress bars while portals are crawled: what is done, of what is known so far."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Self

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from sqlalchemy import Connection

from sale_sofia.cli.console import INTERRUPTED, NOT_ALL_RIGHT, log, out, plain_table, print_json
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.estimate import Estimate
from sale_sofia.crawl.frontier.jobs import SiteReport, known_job
from sale_sofia.history.jobs import Job
from sale_sofia.listings.dates import SOFIA
from sale_sofia.operations.status import Offer, SiteStatus, best_offers
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import Incident
from sale_sofia.telemetry.settings import PROGRESS_SECONDS


def make_bars(console: Console, *more: ProgressColumn) -> Progress:
    """Bars that are drawn on a terminal and nowhere else, and leave nothing behind."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *more,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class CrawlProgress:
    """A bar per portal on a terminal, nothing elsewhere. It only reads; a crawl never waits for it."""

    def __init__(self, database: Database, job_ids: Sequence[str], console: Console) -> None:
        self._database = database
        self._job_ids = tuple(job_ids)
        self._bars = make_bars(console)
        self._tasks: dict[str, TaskID] = {}
        self._refreshing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._bars.start()
        if not self._bars.disable:
            self._refreshing = asyncio.create_task(self._refresh())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
        self._bars.stop()

    async def _refresh(self) -> None:
        while True:
            for job_id in self._job_ids:
                look = partial(_counts, job_id=job_id)
                site, counts = await self._database.run_read_async(look)
                if job_id not in self._tasks:
                    self._tasks[job_id] = self._bars.add_task(site)
                task = self._tasks[job_id]
                self._bars.update(task, completed=counts.done + counts.failed, total=counts.total)
            await asyncio.sleep(PROGRESS_SECONDS)


def _counts(connection: Connection, job_id: str) -> tuple[str, frontier.Counts]:
    return known_job(connection, job_id).site, frontier.count_rows(connection, job_id)


# Tables for people: estimates, jobs, reports, the state of portals, the best offers.


def number(value: float | None, digits: int = 0) -> str:
    """A number with spaces between thousands; a question mark for what is not known."""
    return "?" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def moment(seconds: float | None) -> str:
    """A moment on Sofia's clock."""
    return "never" if seconds is None else f"{datetime.fromtimestamp(seconds, SOFIA):%Y-%m-%d %H:%M}"


def estimate_table(estimates: Sequence[Estimate]) -> Table:
    """Requests and hours per portal."""
    counted = ("requests", "a minute", "hours")
    table = plain_table("One sweep at the current rates", ("site",), counted, "from")
    for one in estimates:
        cells = (number(one.requests), number(one.requests_per_minute), number(one.hours, 1))
        table.add_row(one.site, *cells, one.basis)
    return table


def held_back(adverts: int) -> str:
    """What became of new adverts of a run that did not read them."""
    return f"{adverts} new adverts are held back until adverts are read right and a sweep is complete"


def reports_table(reports: Sequence[SiteReport]) -> Table:
    """What came of each portal's job."""
    counted = ("adverts", "new", "changed", "failed", "requests", "seconds")
    table = plain_table("Crawled", ("site", "state"), counted)
    for one in reports:
        counts = (one.adverts, one.new, one.changed, one.failed, one.requests)
        table.add_row(one.site, one.state, *map(number, counts), number(one.seconds, 1))
    return table


def best_table(offers: Sequence[Offer]) -> Table:
    """The best offers by price per square metre."""
    counted = ("rooms", "m²", "€", "€/m²")
    table = plain_table("Lowest price per m²", ("site", "advert", "neighbourhood"), counted)
    for one in offers:
        cells = (number(one.rooms), number(one.area_sqm), number(one.price_eur), number(one.price_per_sqm))
        table.add_row(one.site, one.external_id, one.neighbourhood or "?", *cells)
    return table


def jobs_table(jobs: Sequence[Job]) -> Table:
    """The newest jobs; a job's name begins with its portal and the moment it was made."""
    counted = ("requests", "new", "changed", "seconds")
    table = plain_table("Jobs", ("job", "state"), counted)
    for job in jobs:
        counts = (job.requests, job.new_listings, job.changed_listings, job.seconds)
        table.add_row(job.id, job.state.value, *map(number, counts))
    return table


def status_table(statuses: Sequence[SiteStatus]) -> Table:
    """The state of each portal's data."""
    counted = ("adverts", "pending", "failed")
    table = plain_table("Portals", ("site",), counted)
    for heading in ("last seen", "last job"):
        table.add_column(heading, no_wrap=True)
    for one in statuses:
        counts = (number(one.adverts), number(one.pending), number(one.failed))
        table.add_row(one.site, *counts, moment(one.last_seen_at), one.job_state or "none yet")
    return table


def incident_line(incident: Incident) -> str:
    """What a person should look at, in one line."""
    since = moment(incident.opened_at)
    return f"{incident.site}: open since {since}: {incident.kind}: {incident.message}"


# The end of a crawl, in whichever mode it ran: what came of it, and the exit code.

GO_ON = "stopped; go on with: sale-sofia resume"


def conclude(
    database: Database,
    reports: Sequence[SiteReport],
    *,
    stopped: bool,
    as_json: bool,
    advice: str = GO_ON,
) -> None:
    """Say what came of the jobs; leaves with an exit code that says whether all is right."""
    if as_json:
        print_json({"jobs": [asdict(one) for one in reports], "stopped": stopped})
    else:
        _print_summary(database, reports)
    if stopped:
        log.print(advice, highlight=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    if any(one.error or one.state != "COMPLETE" or one.shortfalls or one.missing for one in reports):
        raise typer.Exit(NOT_ALL_RIGHT)


def _print_summary(database: Database, reports: Sequence[SiteReport]) -> None:
    out.print(reports_table(reports))
    for one in reports:
        for sentence in _remarks(one):
            log.print(sentence, style="red", highlight=False, soft_wrap=True)
        for sentence in one.notes:
            log.print(f"{one.site}: {sentence}", highlight=False, soft_wrap=True)
    with database.read() as connection:
        offers = best_offers(connection)
    if offers:
        out.print(best_table(offers))
    out.print(f"database: {database.name}", highlight=False, soft_wrap=True)


def _remarks(report: SiteReport) -> list[str]:
    counted = ", ".join(f"{reason} {pages}" for reason, pages in report.reasons.items())
    return [
        *([f"{report.site}: {report.error}"] if report.error else []),
        *([f"{report.site}: pages that failed, by reason: {counted}"] if counted else []),
        *([f"{report.site}: {report.missing}"] if report.missing else []),
        *(f"{report.site}: {sentence}" for sentence in report.shortfalls),
        *([f"{report.site}: {held_back(report.held_back)}"] if report.held_back else []),
    ]
