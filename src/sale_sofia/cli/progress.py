"""A crawl for people: bars while portals are crawled, and what came of it at its end."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Final

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
from sqlalchemy import Connection

from sale_sofia.cli.console import INTERRUPTED, NOT_ALL_RIGHT, out, plain_table, print_json, tell
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.jobs import SiteReport, known_job
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.listings.dates import SOFIA
from sale_sofia.operations.status import best_offers
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.settings import PROGRESS_SECONDS

_SECONDS_PER_MONTH: Final = 365.25 / 12 * SECONDS_PER_DAY
GO_ON = "stopped; go on with: sale-sofia resume"


def number(value: float | None, digits: int = 0) -> str:
    """A number with spaces between thousands; a question mark for what is not known."""
    return "?" if value is None else f"{value:,.{digits}f}".replace(",", " ")


SAID_BY: Final = {
    "posted": "posted then",
    "id": "by the moment in its imot.bg id",
    "first_seen": "first seen then",
}


def on_market_words(since: float, source: str, days: float) -> str:
    """Since when something is on the market, who says so, and how long that is."""
    return f"on the market since {moment(since)} ({SAID_BY[source]}), {days:.0f} days"


def ago(at: float, now: float) -> str:
    """How long ago a moment was, in months where there are at least two of them."""
    passed = max(0.0, now - at)
    months = int(passed / _SECONDS_PER_MONTH)
    return f"{months} months ago" if months > 1 else f"{passed / SECONDS_PER_DAY:.0f} days ago"


def moment(seconds: float | None) -> str:
    """A moment on Sofia's clock."""
    return "never" if seconds is None else f"{datetime.fromtimestamp(seconds, SOFIA):%Y-%m-%d %H:%M}"


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


@asynccontextmanager
async def crawl_progress(database: Database, job_ids: Sequence[str], console: Console) -> AsyncIterator[None]:
    """A bar per portal on a terminal, nothing elsewhere. It only reads; a crawl never waits for it."""
    with make_bars(console) as bars:
        refreshing = None if bars.disable else asyncio.create_task(_refresh(bars, database, job_ids))
        try:
            yield
        finally:
            if refreshing is not None:
                refreshing.cancel()


async def _refresh(bars: Progress, database: Database, job_ids: Sequence[str]) -> None:
    tasks: dict[str, TaskID] = {}
    while True:
        for job_id in job_ids:
            site, counts = await database.run_read_async(partial(_counts, job_id=job_id))
            if job_id not in tasks:
                tasks[job_id] = bars.add_task(site)
            bars.update(tasks[job_id], completed=counts.done + counts.failed, total=counts.total)
        await asyncio.sleep(PROGRESS_SECONDS)


def _counts(connection: Connection, job_id: str) -> tuple[str, frontier.Counts]:
    return known_job(connection, job_id).site, frontier.count_rows(connection, job_id)


def held_back(adverts: int) -> str:
    """What became of new adverts of a run that did not read them."""
    return f"{adverts} new adverts are held back until adverts are read right and a sweep is complete"


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
        tell(advice)
        raise typer.Exit(INTERRUPTED)
    if any(one.error or one.state != "COMPLETE" or one.shortfalls or one.missing for one in reports):
        raise typer.Exit(NOT_ALL_RIGHT)


def _print_summary(database: Database, reports: Sequence[SiteReport]) -> None:
    counted = ("adverts", "new", "changed", "failed", "requests", "seconds")
    table = plain_table("Crawled", ("site", "state"), counted)
    for one in reports:
        counts = map(number, (one.adverts, one.new, one.changed, one.failed, one.requests))
        table.add_row(one.site, one.state, *counts, number(one.seconds, 1))
    out.print(table)
    for one in reports:
        for sentence in _remarks(one):
            tell(f"{one.site}: {sentence}", style="red")
        for sentence in one.notes:
            tell(f"{one.site}: {sentence}")
    with database.read() as connection:
        offers = best_offers(connection)
    if offers:
        words, numbers = ("site", "advert", "neighbourhood"), ("rooms", "m²", "€", "€/m²")
        table = plain_table("Lowest price per m²", words, numbers)
        for offer in offers:
            cells = map(number, (offer.rooms, offer.area_sqm, offer.price_eur, offer.price_per_sqm))
            table.add_row(offer.site, offer.external_id, offer.neighbourhood or "?", *cells)
        out.print(table)
    out.print(f"database: {database.name}", highlight=False, soft_wrap=True)


def _remarks(report: SiteReport) -> Iterator[str]:
    if report.error:
        yield report.error
    if report.reasons:
        counted = ", ".join(f"{reason} {pages}" for reason, pages in report.reasons.items())
        yield f"pages that failed, by reason: {counted}"
    if report.missing:
        yield report.missing
    yield from report.shortfalls
    if report.held_back:
        yield held_back(report.held_back)
