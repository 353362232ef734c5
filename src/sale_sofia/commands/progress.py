"""Progress bars while portals are crawled: what is done, of what is known so far."""

import asyncio
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Self

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

from sale_sofia.config.monitoring import PROGRESS_SECONDS
from sale_sofia.data.database import Database
from sale_sofia.scraping import frontier
from sale_sofia.scraping.jobs import known_job


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
