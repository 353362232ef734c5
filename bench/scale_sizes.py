"""How many bytes a row takes, heap and indexes apart, on a PostgreSQL filled through our own writer.

A simulated portal is swept twice: pages of results with cards, then every advert; on the second day a
twentieth has another price. From bytes per row follows what a million and a hundred million adverts take.
"""

from hashlib import sha256
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import Connection

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.urls import Target
from sale_sofia.crawl.visit.outcomes import Found, Kept, Outcome, Read
from sale_sofia.crawl.visit.writer import Ledger, write_batch
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.jobs import create_job
from sale_sofia.history.sweeps import begin_sweep
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from store_adverts import SITE, advert

BATCH = 500
DAY = 86_400.0
BEGIN = 1_800_000_000.0
CHANGED_EVERY = 20
"""One advert in so many has another price on the second day."""
MEASURED = ("listings", "scrape_history", "price_points", "listing_changes", "cards", "pages", "frontier")
PER_YEAR = {
    "listings": 1,
    "cards": 1,
    "price_points": 10,
    "listing_changes": 6,
    "scrape_history": 20,
    "pages": 42,
}
"""Rows that an advert has after a year, by `history.py`: 6 changes, 10 prices, 11.6 % of the adverts opened
a day, 42 visits each; of those that changed nothing SCRAPE_HISTORY_DAYS keeps the last quarter."""
FRONTIER_DAYS = 14
"""Frontier rows are of use for as long as runs are compared; one a day for each advert."""


class RowSize(NamedTuple):
    """Bytes of one row of a table."""

    rows: int
    heap: float
    indexes: float

    @property
    def both(self) -> float:
        """All of it."""
        return self.heap + self.indexes


def measured(url: str, adverts: int) -> dict[str, RowSize]:
    """The sizes after two sweeps of so many adverts."""
    database = Database(url, busy_timeout_seconds=30, busy_retries=3)
    initialize_database(database)
    for day in range(2):
        _sweep(database, adverts, day)
    database.dispose()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("VACUUM FULL ANALYZE")
        return {name: _size(server, name) for name in MEASURED}


def _size(server: "psycopg.Connection[Any]", table: str) -> RowSize:
    counted = "SELECT count(*), pg_table_size('{0}'), pg_indexes_size('{0}') FROM {0}".format(table)  # noqa: S608, UP032
    rows, heap, indexes = server.execute(counted.encode()).fetchone() or (1, 0, 0)
    return RowSize(rows, heap / rows, indexes / rows)


def at_scale(sizes: dict[str, RowSize], adverts: int) -> dict[str, float]:
    """Gigabytes of each table with so many adverts after a year."""
    rows = {**PER_YEAR, "frontier": FRONTIER_DAYS}
    return {name: round(count * adverts * sizes[name].both / 1e9, 2) for name, count in rows.items()}


def _sweep(database: Database, adverts: int, day: int) -> None:
    job_id, now = f"{SITE}-{day}", BEGIN + day * DAY
    database.run_write(lambda connection: _begin(connection, job_id, adverts, now))
    while claims := database.run_write(lambda connection: _claim(connection, job_id, now)):
        outcomes = [_outcome(one, adverts, day, now) for one in claims]
        ledger = Ledger(job_id, SITE)
        database.run_write(lambda connection: write_batch(connection, ledger, outcomes, now=now))  # noqa: B023


def _begin(connection: Connection, job_id: str, adverts: int, now: float) -> None:
    create_job(connection, job_id=job_id, site=SITE, start_urls=[], listing_limit=None, now=now)
    searches = [f"https://www.imot.bg/search/{first}" for first in range(0, adverts, BATCH)]
    frontier.add_targets(connection, job_id, [Target("search", url, f"search:{url}") for url in searches])
    begin_sweep(connection, job_id=job_id, site=SITE, searches=["search:all"], everything=True, now=now)


def _claim(connection: Connection, job_id: str, now: float) -> list[Claim]:
    return frontier.claim(connection, job_id, owner="bench", count=BATCH, now=now, lease_seconds=DAY)


def _outcome(claim: Claim, adverts: int, day: int, now: float) -> Outcome:
    number = int(claim.url.rpartition("/")[2].removeprefix("obiava-1c"))
    kept = Kept(_digest(claim.url, day), "text/html; charset=windows-1251")
    if claim.kind == "search":
        shown = range(number, min(number + BATCH, adverts))
        cards = tuple((SeenCard(_external_id(one), _digest(str(one), day)), _target(one)) for one in shown)
        return Found(claim, cards, kept=kept, fetched_at=now)
    return Read(claim, _advert(number, day), kept=kept, fetched_at=now, seconds=0.3)


def _advert(number: int, day: int) -> Listing:
    listing = advert(number)
    if day and number % CHANGED_EVERY == 0:
        return listing.model_copy(update={"price_eur": (listing.price_eur or 0.0) + 500.0})
    return listing


def _target(number: int) -> Target:
    return Target("listing", f"https://www.imot.bg/obiava-1c{number:012d}", f"listing:{_external_id(number)}")


def _external_id(number: int) -> str:
    return f"1c{number:012d}"


def _digest(words: str, day: int) -> str:
    return sha256(f"{words}-{day}".encode()).hexdigest()


def figures(sizes: dict[str, RowSize]) -> dict[str, Any]:
    """As the last line shows them."""
    return {
        "bytes_per_row": {name: [round(one.heap), round(one.indexes)] for name, one in sizes.items()},
        "gigabytes": {str(adverts): at_scale(sizes, adverts) for adverts in (1_000_000, 100_000_000)},
    }
