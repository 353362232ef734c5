"""Save adverts until there is no room for more."""

import resource
from pathlib import Path

from contract.storage.helpers import advert, ready_database, rows
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.tables import listing_changes, listings, price_points
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DiskFull
from sale_sofia.storage.migrate import check

BATCH = 20
MOST_BATCHES = 2000


def save_batch(db: Database, number: int) -> None:
    batch = [Sighting(advert(number * BATCH + n, description="тухла " * 200), 1.0) for n in range(BATCH)]
    db.run_write(lambda connection: save_listings(connection, batch))


def fill(db: Database, first: int) -> int:
    """Save until there is no room; how many batches were saved."""
    for number in range(first, first + MOST_BATCHES):
        try:
            save_batch(db, number)
        except DiskFull as full:
            assert "nothing of this write was kept" in str(full)  # noqa: PT017 - the loop needs its number
            return number - first
    raise AssertionError("the disk was never full")


def counts(db: Database) -> tuple[int, int, int]:
    with db.read() as connection:
        found = [rows(connection, table, "id") for table in (listings, price_points, listing_changes)]
    return len(found[0]), len(found[1]), len(found[2])


def fill_to_limit(path: Path) -> tuple[int, tuple[int, int, int], list[str], int]:
    db = ready_database(path)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_200_000, hard))
    saved = fill(db, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    after = counts(db), check(db)
    save_batch(db, saved)
    return saved, *after, counts(db)[0]
