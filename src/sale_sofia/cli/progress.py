"""A crawl for people: bars or lines while portals are crawled, and what came of it at its end."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple, Self

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
from rich.table import Column
from sqlalchemy import Connection

from sale_sofia.cli.console import INTERRUPTED, NOT_ALL_RIGHT, out, plain_table, print_json, tell
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.jobs import SiteReport, known_job
from sale_sofia.crawl.frontier.outlook import read_outlook
from sale_sofia.flats.settings import MERGED_TOLD
from sale_sofia.history.jobs import JobState
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Language, Said
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.telemetry.settings import PROGRESS_LINE_SECONDS, PROGRESS_SECONDS

_SECONDS_PER_MONTH: Final = 365.25 / 12 * SECONDS_PER_DAY
GO_ON = "stopped; go on with: sale-sofia resume"


def number(value: float | None, digits: int = 0) -> str:
    """A number with spaces between thousands; a question mark for what is not known."""
    return "?" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def merge_flats(database: Database) -> None:
    """Bring the table of flats up to date; where that takes a while, how far it is is told."""
    from sale_sofia.flats.projection import refresh_flats  # noqa: PLC0415 - a crawl begins without it

    def told(done: int, total: int) -> None:
        if total > MERGED_TOLD and (done % MERGED_TOLD == 0 or done == total):
            tell(f"{number(done)} of {number(total)} flats merged")

    refresh_flats(database, told)


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


def make_bars(console: Console, *more: ProgressColumn, width: int | None = 40) -> Progress:
    """Bars that are drawn on a terminal and nowhere else, and leave nothing behind."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(width),
        MofNCompleteColumn(),
        *more,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


TOLD: Final = TextColumn("{task.fields[told]}", table_column=Column(ratio=1))
"""What a crawl has found beside its bar, broken into lines where there is no room."""
NARROW_BAR: Final = 12
LANGUAGE: Final[ContextVar[Language]] = ContextVar("language", default="en")
"""In which a crawl says how far it is: English, unless who began it by `start` speaks another."""


class Shown(NamedTuple):
    """How far a job is."""

    job_id: str
    site: str
    state: str
    ended: int
    """Pages that came to an end, well or not."""
    total: int
    """Pages known by now."""
    told: str = ""
    """What it has found, and how long it still takes."""

    def line(self, language: Language) -> str:
        """All of it in one line; English names states by their codes, as all commands do."""
        state = self.state if language == "en" else Said(f"job_state.{self.state}")
        pages = Said("outlook.pages", site=self.site, state=state, ended=self.ended, total=self.total)
        return ": ".join(filter(None, (pages.in_words(language), self.told)))


class ProgressLines:
    """Progress where there is no terminal: a line at most every ten seconds, and when a state changes."""

    def __init__(
        self, console: Console, clock: Callable[[], float] = time.monotonic, language: Language = "en"
    ) -> None:
        self._console = console
        self._language = language
        self._clock = clock
        self._due = clock() + PROGRESS_LINE_SECONDS
        self._states: dict[str, str] = {}

    def show(self, found: Sequence[Shown]) -> None:
        """Say how far the jobs are, if it is time to; otherwise of those alone that are in another state."""
        changed = [one for one in found if self._states.setdefault(one.job_id, one.state) != one.state]
        self._states.update((one.job_id, one.state) for one in changed)
        if due := self._clock() >= self._due:
            self._due = self._clock() + PROGRESS_LINE_SECONDS
        told = [one for one in found if one in changed or (due and not JobState(one.state).finished)]
        if told:
            lines = [one.line(self._language) for one in told]
            for line in lines if any(one.told for one in told) else ["; ".join(lines)]:
                self._console.print(line, soft_wrap=True)


class Outlooks:
    """What jobs have found and how long they still take; read every ten seconds, as it looks at all rows."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = time.monotonic, language: Language = "en"
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._language = language
        self._told: dict[str, tuple[float, str]] = {}

    def told(self, connection: Connection, job_id: str) -> str:
        """In one line; empty before the first advert and after the end."""
        job = known_job(connection, job_id)
        due, told = self._told.get(job_id, (self._clock(), ""))
        if self._clock() >= due or job.state.finished:
            outlook = read_outlook(connection, job, self._settings)
            told = outlook.told.in_words(self._language) if outlook else ""
            self._told[job_id] = (self._clock() + PROGRESS_LINE_SECONDS, told)
        return told


class LiveBars:
    """A bar per portal on a terminal, lines elsewhere. It only reads; a crawl never waits for it."""

    def __init__(self, settings: Settings, console: Console) -> None:
        self._bars = make_bars(console, TOLD, width=NARROW_BAR)
        self._lines = ProgressLines(console, language=LANGUAGE.get())
        self._outlooks = Outlooks(settings, language=LANGUAGE.get())
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def read(self, connection: Connection, job_ids: Sequence[str]) -> list[Shown]:
        """The jobs as they are now."""
        found = []
        for job_id in job_ids:
            job, counts = known_job(connection, job_id), frontier.count_rows(connection, job_id)
            told = self._outlooks.told(connection, job_id)
            found.append(Shown(job_id, job.site, job.state, counts.done + counts.failed, counts.total, told))
        return found

    def show(self, found: Sequence[Shown]) -> None:
        """Draw the jobs, or say how far they are."""
        if self._bars.disable:
            self._lines.show(found)
            return
        for one in found:
            if one.job_id not in self._tasks:
                self._tasks[one.job_id] = self._bars.add_task(one.site, told="")
            self._bars.update(self._tasks[one.job_id], completed=one.ended, total=one.total, told=one.told)


@asynccontextmanager
async def crawl_progress(
    settings: Settings, database: Database, job_ids: Sequence[str], console: Console
) -> AsyncIterator[None]:
    """Show jobs of this process while they go on."""
    seconds = PROGRESS_SECONDS if console.is_terminal else PROGRESS_LINE_SECONDS
    with LiveBars(settings, console) as bars:

        async def show() -> None:
            while True:
                with suppress(DatabaseError):  # the crawl meets it itself, and says what is wrong
                    bars.show(await database.run_read_async(partial(bars.read, job_ids=job_ids)))
                await asyncio.sleep(seconds)

        showing = asyncio.create_task(show())
        try:
            yield
        finally:
            showing.cancel()


def held_back(adverts: int) -> str:
    """What became of new adverts of a run that did not read them."""
    return f"{adverts} new adverts are held back until adverts are read right and a sweep is complete"


def conclude(
    database: Database, reports: Sequence[SiteReport], *, stopped: bool, as_json: bool, advice: str = GO_ON
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
    out.print(f"database: {database.name}", soft_wrap=True)


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
