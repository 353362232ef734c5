"""Processes that write and read one store, each for some seconds from the same moment on."""

import json
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from itertools import count
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import UniqueConstraint, make_url, select

from sale_sofia.crawl.tables import frontier
from sale_sofia.history.listings import Sighting, load_listing, save_listings
from sale_sofia.history.tables import listings
from sale_sofia.storage.database import Database
from store_adverts import BATCH, PRICE, SITE, UNCHANGED, Portal, advert

BARE = "bare_listings"
"""A table like that of the adverts, with its keys and indexes, for the driver alone."""
READ_EVERY_SECONDS = 0.005
WARM_UP = 10
"""Batches before the count begins: statements are prepared once in a process that then runs for days."""
_COLUMNS = tuple(column.name for column in listings.columns if column.name != "id")
_KEY = tuple(
    column.name
    for constraint in listings.constraints
    if isinstance(constraint, UniqueConstraint)
    for column in constraint.columns
)

BareRow = list[Any]


class Team(NamedTuple):
    """What a process is told: the store, how many adverts are in it, which of how many it is."""

    url: str
    adverts: int
    process: int
    processes: int
    seed: int
    seconds: float


class Done(NamedTuple):
    """What a process did."""

    adverts: int
    seconds: float
    errors: int
    latencies: list[float]


def opened(url: str) -> Database:
    """The store as the program opens it."""
    return Database(url, busy_timeout_seconds=30, busy_retries=5)


def write_as_we_do(team: Team, start: Barrier) -> Done:
    """Batches through the program's own write path, with change detection and history."""
    database = opened(team.url)
    portal = Portal(database, team.process, team.processes, team.seed)

    def save(batch: list[Sighting]) -> None:
        for sighting in batch:
            sighting.prepared()  # as the writer of a crawl does, before it takes the lock
        database.run_write(lambda connection: save_listings(connection, batch))

    return _repeat(portal.batches(), save, team.seconds, start)


def write_bare(team: Team, start: Barrier) -> Done:
    """The same mix as whole rows, by the driver's own upsert and nothing else."""
    with _driver(team.url) as (select_rows, upsert):
        return _repeat(_bare_batches(select_rows(_SELECT), team), upsert, team.seconds, start)


def _bare_batches(stored: list[BareRow], team: Team) -> Iterator[list[BareRow]]:
    rng, new = random.Random(team.seed * 1000 + team.process), count()
    known = [_as_text(row) for row in stored[team.process :: team.processes]]
    seen, price, name = map(_COLUMNS.index, ("last_seen_at", "price_eur", "external_id"))
    while True:
        batch = [list(row) for row in rng.choices(known, k=BATCH)]
        for row in batch:
            draw = rng.random()
            row[seen] += 1.0
            if draw > UNCHANGED + PRICE:
                row[name] = f"{team.seed}-{team.process}-{next(new)}"
            elif draw > UNCHANGED:
                row[price] += 500.0
        yield batch


def _as_text(row: BareRow) -> BareRow:
    """Lists as JSON, which is made beforehand."""
    return [json.dumps(value) if isinstance(value, list | dict) else value for value in row]


_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM {BARE} ORDER BY id LIMIT 20000"  # noqa: S608 - our own names

Driver = tuple[Callable[[str], list[BareRow]], Callable[[list[BareRow]], None]]


@contextmanager
def _driver(url: str) -> Iterator[Driver]:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(str(parsed.database), timeout=30, isolation_level=None)) as file:
            file.execute("PRAGMA synchronous = FULL")
            yield lambda words: file.execute(words).fetchall(), partial(_upsert_into_file, file)
    else:
        with psycopg.connect(
            host=parsed.host,
            port=parsed.port,
            user=parsed.username,
            password=str(parsed.password),
            dbname=parsed.database,
            autocommit=True,
        ) as server:
            read = lambda words: [list(row) for row in server.execute(words.encode())]  # noqa: E731
            yield read, partial(_upsert_into_server, server)


def _upsert_into_file(file: sqlite3.Connection, rows: list[BareRow]) -> None:
    file.execute("BEGIN IMMEDIATE")
    file.executemany(_upsert("?"), rows)
    file.execute("COMMIT")


def _upsert_into_server(server: "psycopg.Connection[Any]", rows: list[BareRow]) -> None:
    rows.sort(key=lambda row: (row[0], row[1]))  # or two processes wait for each other
    with server.transaction(), server.cursor() as cursor:
        cursor.executemany(_upsert("%s").encode(), rows)


@cache
def _upsert(mark: str) -> str:
    values = ", ".join([mark] * len(_COLUMNS))
    new = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name not in _KEY)
    return (
        f"INSERT INTO {BARE} ({', '.join(_COLUMNS)}) VALUES ({values}) "  # noqa: S608 - our own names
        f"ON CONFLICT ({', '.join(_KEY)}) DO UPDATE SET {new}"
    )


def read(team: Team, start: Barrier) -> Done:
    """One advert, and how far a crawl is, again and again, as a person at a screen would."""
    database, rng = opened(team.url), random.Random(team.seed)

    def look(number: int) -> None:
        database.run_read(lambda connection: load_listing(connection, SITE, advert(number).external_id))
        database.run_read(lambda connection: connection.execute(select(frontier.c.id).limit(1)).all())
        time.sleep(READ_EVERY_SECONDS)

    numbers = iter(lambda: rng.randrange(team.adverts), None)
    return _repeat(numbers, look, team.seconds, start)


def _repeat(work: Iterator[Any], act: Callable[[Any], None], seconds: float, start: Barrier) -> Done:
    for _ in range(WARM_UP):
        act(next(work))
    start.wait()
    begun, done, errors, latencies = time.perf_counter(), 0, 0, []
    while (now := time.perf_counter()) - begun < seconds:
        given = next(work)
        try:
            before = time.perf_counter()
            act(given)
            latencies.append(time.perf_counter() - before)
            done += len(given) if isinstance(given, list) else 1
        except Exception as error:  # noqa: BLE001 - any is one too many, and counted
            print(f"{type(error).__name__}: {error}", flush=True)
            errors += 1
    return Done(done, now - begun, errors, latencies)
