"""What the processes of the tests do."""

import sqlite3
from collections import Counter
from functools import partial
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Event
from pathlib import Path

from sqlalchemy import Connection

from contract.storage.helpers import advert, database
from sale_sofia.history.listings import SaveResult, Sighting, save_listing, save_listings
from sale_sofia.history.pruning import prune_frontier
from sale_sofia.listings.model import Listing
from sale_sofia.storage.migrate import current_revision, initialize_database


def initialize(place: Path | str) -> str | None:
    db = database(place)
    initialize_database(db)
    return current_revision(db)


def price_of(worker: int, turn: int) -> float:
    """A price that no other save has."""
    return 1000.0 * (worker + 1) + turn


def moment_of(worker: int, turn: int) -> float:
    """A moment that no other save has."""
    return 1.0 + 100.0 * turn + worker


def save_many(url: str, worker: int, saves: int, adverts: int) -> Counter[str]:
    db = database(url, retries=20)
    results: Counter[str] = Counter()
    for turn in range(saves):
        listing = advert(turn % adverts, price_eur=price_of(worker, turn))
        results[db.run_write(partial(_save, listing, moment_of(worker, turn)))] += 1
    return results


def _save(listing: Listing, seen_at: float, connection: Connection) -> SaveResult:
    return save_listing(connection, listing, seen_at=seen_at, job_id=None, page_digest=None)


def hold_lock(path: Path, held: Event, release: Event, seconds: float = 60) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    held.set()
    release.wait(seconds)
    connection.execute("ROLLBACK")
    connection.close()


def save_until_killed(url: str, sender: Pipe) -> None:
    db = database(url)
    batch = 0
    while True:
        sightings = [Sighting(advert(10 * batch + number), 1.0) for number in range(10)]
        with db.write() as connection:
            save_listings(connection, sightings)
        batch += 1
        sender.send(batch)


def prune_one_by_one(url: str, before: float) -> int:
    """Forget the pages of ended jobs, each in its own transaction; how many."""
    return prune_frontier(database(url), before=before, at_once=1)
