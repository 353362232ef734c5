"""What one page costs the database: statements, transactions and time, while real pages are stored.

The real `SiteCrawl` claims rows, its visitor reads a rendered page of imot.bg as the judge does (only the
fetch is left out), and the real group writer commits listing, visit, price point, page and the row's end.
First all adverts are new, then all are as they were.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar, cast

from sqlalchemy import Connection, Engine, event

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.runners.site_crawl import SiteCrawl
from sale_sofia.crawl.urls import target
from sale_sofia.crawl.visit.assembly import make_writer
from sale_sofia.crawl.visit.judging import Judge
from sale_sofia.crawl.visit.outcomes import Kept, Outcome
from sale_sofia.crawl.visit.visit import Visitor
from sale_sofia.history.jobs import create_job, get_job
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.metrics import NO_METER
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import load_site_config
from sale_sofia_simulator.render import RenderedPage, render_world
from sale_sofia_simulator.world import make_world

SITE = "imot.bg"
SEED = 20261115
HTML = {"content-type": "text/html; charset=windows-1251"}
DIGEST = "0123456789abcdef" * 4
WRITING = ("INSERT", "UPDATE", "DELETE", "WITH due")
"""How statements that change rows begin; the last is a claim."""
T = TypeVar("T")


class PageCost(NamedTuple):
    """Means over all pages of one crawl."""

    transactions: float
    statements: float
    writing: float
    """Statements that change rows: a page has no fewer, new or not."""
    claim_ms: float
    """Of the transactions that claim, for each page claimed."""
    commit_ms: float
    """Of those that store, for each page stored."""
    parse_ms: float
    """CPU of reading the page."""
    cpu_ms: float
    """All of our CPU, reading included."""
    claim_transaction_ms: float
    """One transaction that claims, of as many pages as there are visitors."""


def rendered(adverts: int) -> list[RenderedPage]:
    """Adverts of imot.bg."""
    pages = render_world(make_world(adverts, SEED))
    return [page for page in pages if page.site == SITE and page.truth["kind"] == "listing"]


class TimedDatabase(Database):
    """The real database; it notes how long its claims and its commits take."""

    def run_write(self, work: Callable[[Connection], T]) -> T:
        """See `Database`."""
        begun = time.perf_counter()
        try:
            return super().run_write(work)
        finally:
            claims = getattr(work, "__name__", "") == SiteCrawl.lease.__name__
            _spent["claim" if claims else "commit"] += time.perf_counter() - begun
            _spent["claims"] += claims


_spent: dict[str, float] = dict.fromkeys(("claim", "commit", "claims"), 0.0)
"""Seconds of either, and how many claimed."""


class Reader:
    """Stands where the visitor stands: what it would have fetched it has already, and reads for real."""

    def __init__(self, pages: Mapping[str, RenderedPage]) -> None:
        self.conditions: dict[str, Mapping[str, str]] = {}
        self.seconds = 0.0
        self.clock, self.meter = time.time, NO_METER
        self._pages = pages
        self._judge = Judge(get_scraper(SITE), load_site_config(SITE).proof)

    async def visit(self, claim: Claim) -> Outcome:
        """See `Visitor`."""
        begun = time.thread_time()
        response = Response(claim.url, 200, HTML, self._pages[claim.url].body, 0.3)
        outcome = self._judge.outcome(claim, response, datetime.now(UTC))
        self.seconds += time.thread_time() - begun
        return replace(outcome, kept=Kept(DIGEST, HTML["content-type"]))


def crawl(database: Database, pages: Sequence[RenderedPage], visitors: int, number: int) -> PageCost:
    """One crawl of these adverts by one lane with so many visitors."""
    job_id = f"{SITE}-{visitors}-{number}"
    database.run_write(lambda connection: _begin(connection, job_id, pages))
    reader = Reader({page.url: page for page in pages})
    _spent.update(dict.fromkeys(_spent, 0.0))
    with counted() as counts:
        begun = time.process_time()
        asyncio.run(_drain(database, job_id, reader, visitors))
        cpu = time.process_time() - begun
    of_page = 1000 / len(pages)
    return PageCost(
        counts["commit"] / len(pages),
        counts["statement"] / len(pages),
        counts["writing"] / len(pages),
        _spent["claim"] * of_page,
        _spent["commit"] * of_page,
        reader.seconds * of_page,
        cpu * of_page,
        1000 * _spent["claim"] / _spent["claims"],
    )


def _begin(connection: Connection, job_id: str, pages: Sequence[RenderedPage]) -> None:
    create_job(connection, job_id=job_id, site=SITE, start_urls=[], listing_limit=None, now=time.time())
    frontier.add_targets(connection, job_id, [target(get_scraper(SITE), page.url) for page in pages])


async def _drain(database: Database, job_id: str, reader: Reader, visitors: int) -> None:
    job = database.run_read(lambda connection: get_job(connection, job_id))
    if job is None:
        raise SystemExit(f"no job {job_id}")
    settings, visitor = Settings(), cast("Visitor", reader)
    await SiteCrawl(
        job_id=job_id,
        owner="bench",
        database=database,
        visitor=visitor,
        writer=make_writer(settings, database, job, get_scraper(SITE).config, visitors, visitor),
        concurrency=visitors,
        lease_seconds=settings.lease_seconds,
        clock=time.time,
        stop=asyncio.Event(),
        progress=lambda _: None,
    ).run()
    done = database.run_read(lambda connection: frontier.count_rows(connection, job_id))
    if done.done != done.total:
        raise SystemExit(f"{done.total - done.done} pages were not stored")


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Inside, every statement and every commit is counted."""
    counts: Counter[str] = Counter()

    def statement(_connection: object, _cursor: object, words: str, *_more: object) -> None:
        counts["statement"] += 1
        counts["writing"] += words.startswith(WRITING)

    def commit(_: Connection) -> None:
        counts["commit"] += 1

    event.listen(Engine, "before_cursor_execute", statement)
    event.listen(Engine, "commit", commit)
    try:
        yield counts
    finally:
        event.remove(Engine, "before_cursor_execute", statement)
        event.remove(Engine, "commit", commit)
