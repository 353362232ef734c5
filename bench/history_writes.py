"""Four processes save adverts into one SQLite file: 95 % unchanged, 3 % with another price, 2 % new."""

import multiprocessing as mp
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

PROCESSES = 4
BATCH = 25
KNOWN = 4000
GOAL = 3000
_TEXT = "Тристаен апартамент с южно изложение, близо до метро и парк. " * 12


def run(folder: Path, *, quick: bool) -> tuple[dict[str, Any], bool]:
    """Each process has its own adverts, as lanes have."""
    url = f"sqlite:///{folder / 'writes.db'}"
    database = _open(url)
    initialize_database(database)
    for process in range(PROCESSES):
        for batch in _first(process):
            database.run_write(partial(save_listings, batch=batch))
    database.dispose()
    batches = 60 if quick else 400
    context = mp.get_context("spawn")
    barrier = context.Barrier(PROCESSES + 1)
    workers = [
        context.Process(target=_work, args=(url, process, batches, barrier)) for process in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    barrier.wait()
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - started
    saved = PROCESSES * batches * BATCH
    rate = saved / seconds
    return {"saved": saved, "seconds": round(seconds, 2), "per_second": round(rate)}, rate >= GOAL


def _open(url: str) -> Database:
    return Database(url, busy_timeout_seconds=30, busy_retries=5)


def _work(url: str, process: int, count: int, barrier: Any) -> None:  # noqa: ANN401 - a barrier of any context
    database, batches = _open(url), list(_later(process, count))
    barrier.wait()
    for batch in batches:
        database.run_write(partial(save_listings, batch=batch))


def _first(process: int) -> Iterator[list[Sighting]]:
    for start in range(0, KNOWN, BATCH):
        yield [Sighting(_advert(process, number), 1.0) for number in range(start, start + BATCH)]


def _later(process: int, count: int) -> Iterator[list[Sighting]]:
    rng, new, moment = Random(process), KNOWN, 2.0
    for _ in range(count):
        moment += 1.0
        batch = []
        for number in rng.sample(range(KNOWN), BATCH):
            draw = rng.random()
            if draw >= 0.98:
                new += 1
            price = rng.randrange(90_000, 110_000) if 0.95 <= draw < 0.98 else None
            batch.append(Sighting(_advert(process, new if draw >= 0.98 else number, price), moment))
        yield batch


def _advert(process: int, number: int, price: float | None = None) -> Listing:
    return Listing(
        site="imot.bg",
        external_id=f"1b{process}{number:014d}",
        url=f"https://www.imot.bg/obiava-1b{process}{number:014d}",
        title="3-СТАЕН",
        description=_TEXT,
        price_eur=price or 100_000.0,
        area_sqm=80.0,
        floor=3,
        heating=("district", "gas"),
        photo_urls=tuple(f"https://imotstatic1.focus.bg/imot/{number}_{photo}.jpg" for photo in range(9)),
    )
