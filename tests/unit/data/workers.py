"""What the processes of the tests do."""

import sqlite3
from collections import Counter
from multiprocessing.connection import Connection as Pipe
from multiprocessing.synchronize import Event
from pathlib import Path

from sale_sofia.data.listings import Sighting, save_listing, save_listings
from sale_sofia.data.migrate import current_revision, initialize_database
from unit.data.helpers import advert, database


def initialize(path: Path) -> str | None:
    db = database(path)
    initialize_database(db)
    return current_revision(db)


def price_of(worker: int, turn: int) -> float:
    """A price that no other save has."""
    return 1000.0 * (worker + 1) + turn


def save_many(path: Path, worker: int, saves: int, adverts: int) -> Counter[str]:
    db = database(path)
    results: Counter[str] = Counter()
    for turn in range(saves):
        listing = advert(turn % adverts, price_eur=price_of(worker, turn))
        with db.write() as connection:
            result = save_listing(connection, listing, seen_at=float(turn), job_id=None, page_digest=None)
        results[result] += 1
    return results


def hold_lock(path: Path, held: Event, release: Event, seconds: float = 60) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    held.set()
    release.wait(seconds)
    connection.execute("ROLLBACK")
    connection.close()


def save_until_killed(path: Path, sender: Pipe) -> None:
    db = database(path)
    batch = 0
    while True:
        sightings = [Sighting(advert(10 * batch + number), 1.0) for number in range(10)]
        with db.write() as connection:
            save_listings(connection, sightings)
        batch += 1
        sender.send(batch)
