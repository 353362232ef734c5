"""How people see a crawl: bars or lines while it runs, a summary at its end."""

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
from sale_sofia.crawl.frontier.estimate import read_outlook
from sale_sofia.crawl.frontier.jobs import SiteReport, known_job
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
NO_FLATS = "no flat yet; adverts come with `sale-sofia crawl`"


def number(value: float | None, digits: int = 0) -> str:
    """A number with spaces between thousands; a question mark for what is not known."""
    return "?" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def merge_flats(database: Database) -> None:
    """Bring the table of flats up to date; prints how far it is where that takes a while."""
    from sale_sofia.flats.projection import refresh_flats  # noqa: PLC0415 - a crawl begins without it

    def report(done: int, total: int) -> None:
        if total > MERGED_TOLD and (done % MERGED_TOLD == 0 or done == total):
            tell(f"{number(done)} of {number(total)} flats merged")

    refresh_flats(database, report)


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


OUTLOOK_COLUMN: Final = TextColumn("{task.fields[outlook]}", table_column=Column(ratio=1))
"""What a crawl has found, beside its bar; it wraps where there is no room."""
NARROW_BAR: Final = 12
LANGUAGE: Final[ContextVar[Language]] = ContextVar("language", default="en")
"""The language of a crawl's progress: English unless `start` set another."""


class JobProgress(NamedTuple):
    """How far a job has come."""

    job_id: str
    site: str
    state: str
    ended: int
    """Pages that are done or have failed."""
    total: int
    """Pages known by now."""
    outlook: str = ""
    """What it has found, and how long it will still take."""

    def line(self, language: Language) -> str:
        """All of it in one line; in English a state is its code, as in all commands."""
        state = self.state if language == "en" else Said(f"job_state.{self.state}")
        pages = Said("outlook.pages", site=self.site, state=state, ended=self.ended, total=self.total)
        return ": ".join(filter(None, (pages.in_words(language), self.outlook)))


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

    def show(self, jobs: Sequence[JobProgress]) -> None:
        """Print all jobs that go on if ten seconds have passed, else those whose state changed."""
        changed = [job for job in jobs if self._states.setdefault(job.job_id, job.state) != job.state]
        self._states.update((job.job_id, job.state) for job in changed)
        if due := self._clock() >= self._due:
            self._due = self._clock() + PROGRESS_LINE_SECONDS
        reported = [job for job in jobs if job in changed or (due and not JobState(job.state).finished)]
        if reported:
            lines = [job.line(self._language) for job in reported]
            for line in lines if any(job.outlook for job in reported) else ["; ".join(lines)]:
                self._console.print(line, soft_wrap=True)


class Outlooks:
    """What jobs have found and how long they will take; read every ten seconds, as it scans all rows."""

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = time.monotonic, language: Language = "en"
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._language = language
        self._cache: dict[str, tuple[float, str]] = {}

    def sentence(self, connection: Connection, job_id: str) -> str:
        """The outlook of a job in one line; empty before the first advert and after the end."""
        job = known_job(connection, job_id)
        due, sentence = self._cache.get(job_id, (self._clock(), ""))
        if self._clock() >= due or job.state.finished:
            outlook = read_outlook(connection, job, self._settings)
            sentence = outlook.told.in_words(self._language) if outlook else ""
            self._cache[job_id] = (self._clock() + PROGRESS_LINE_SECONDS, sentence)
        return sentence


class LiveBars:
    """A bar per portal on a terminal, lines elsewhere. It only reads; a crawl never waits for it."""

    def __init__(self, settings: Settings, console: Console) -> None:
        self._bars = make_bars(console, OUTLOOK_COLUMN, width=NARROW_BAR)
        self._lines = ProgressLines(console, language=LANGUAGE.get())
        self._outlooks = Outlooks(settings, language=LANGUAGE.get())
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def read(self, connection: Connection, job_ids: Sequence[str]) -> list[JobProgress]:
        """The jobs as they are now."""
        found = []
        for job_id in job_ids:
            job, counts = known_job(connection, job_id), frontier.count_rows(connection, job_id)
            outlook = self._outlooks.sentence(connection, job_id)
            ended = counts.done + counts.failed
            found.append(JobProgress(job_id, job.site, job.state, ended, counts.total, outlook))
        return found

    def show(self, jobs: Sequence[JobProgress]) -> None:
        """Draw the jobs, or say how far they are."""
        if self._bars.disable:
            self._lines.show(jobs)
            return
        for job in jobs:
            if job.job_id not in self._tasks:
                self._tasks[job.job_id] = self._bars.add_task(job.site, outlook="")
            task = self._tasks[job.job_id]
            self._bars.update(task, completed=job.ended, total=job.total, outlook=job.outlook)


@asynccontextmanager
async def crawl_progress(
    settings: Settings, database: Database, job_ids: Sequence[str], console: Console
) -> AsyncIterator[None]:
    """Show the progress of jobs of this process inside the block."""
    seconds = PROGRESS_SECONDS if console.is_terminal else PROGRESS_LINE_SECONDS
    with LiveBars(settings, console) as bars:

        async def show() -> None:
            while True:
                with suppress(DatabaseError):  # the crawl meets the same error and reports it
                    bars.show(await database.run_read_async(partial(bars.read, job_ids=job_ids)))
                await asyncio.sleep(seconds)

        showing = asyncio.create_task(show())
        try:
            yield
        finally:
            showing.cancel()


def held_back(adverts: int) -> str:
    """The sentence about new adverts that a run holds back."""
    return f"{adverts} new adverts are held back until adverts are read right and a sweep is complete"


def conclude(
    database: Database, reports: Sequence[SiteReport], *, stopped: bool, as_json: bool, advice: str = GO_ON
) -> None:
    """Print the result of the jobs; raises typer.Exit unless all of them are complete and sound."""
    if as_json:
        print_json({"jobs": [asdict(report) for report in reports], "stopped": stopped})
    else:
        _print_summary(database, reports)
    if stopped:
        tell(advice)
        raise typer.Exit(INTERRUPTED)
    if any(
        report.error or report.state != "COMPLETE" or report.shortfalls or report.missing
        for report in reports
    ):
        raise typer.Exit(NOT_ALL_RIGHT)


def _print_summary(database: Database, reports: Sequence[SiteReport]) -> None:
    counted = ("adverts", "new", "changed", "failed", "requests", "seconds")
    table = plain_table("Crawled", ("site", "state"), counted)
    for report in reports:
        counts = map(number, (report.adverts, report.new, report.changed, report.failed, report.requests))
        table.add_row(report.site, report.state, *counts, number(report.seconds, 1))
    out.print(table)
    for report in reports:
        for sentence in _remarks(report):
            tell(f"{report.site}: {sentence}", style="red")
        for sentence in report.notes:
            tell(f"{report.site}: {sentence}")
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
