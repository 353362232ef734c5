"""A store with a million listings of twenty changes each: its size, and how fast its history is read."""

import os
import random
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import select

from sale_sofia.history.changes import happenings
from sale_sofia.history.listing_rows import STORED_FIELDS
from sale_sofia.history.prices import price_history
from sale_sofia.history.tables import listing_changes
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

LISTINGS, QUICK_LISTINGS = 1_000_000, 20_000
CHANGES = 20
DAYS = 730
DAY = 86_400
NOW = 1_790_000_000.0
HISTORY_GOAL_SECONDS, CHANGES_GOAL_SECONDS, BYTES_GOAL = 0.020, 1.0, 5000
_FIELDS = ("price_eur", "title", "price_eur", "description", "price_eur", "vat", "photo_urls", "price_eur")
_LISTS = ("heating", "orientation", "parking", "phones", "photo_urls", "features", "flags")
_TEXT = "Тристаен апартамент с южно изложение, близо до метро и парк. " * 6
_HISTORY_TABLES = ("listing_changes", "price_points", "scrape_history", "market_events")


def run(folder: Path, *, quick: bool, listings: float | None) -> tuple[dict[str, Any], bool]:
    """Fill, then read."""
    count = int(listings or (QUICK_LISTINGS if quick else LISTINGS))
    path = folder / "sale_sofia.db"
    database = Database(f"sqlite:///{path}", busy_timeout_seconds=30, busy_retries=3)
    initialize_database(database)
    database.dispose()
    started = time.perf_counter()
    _fill(path, count)
    filled = time.perf_counter() - started
    one = _history_seconds(database, count)
    many, found = _changes_seconds(database)
    size = round(path.stat().st_size / count)
    result = {
        "listings": count,
        "changes": count * CHANGES,
        "filled_in_seconds": round(filled),
        "file_bytes_per_listing": size,
        "history_bytes_per_listing": round(_history_bytes(path) / count),
        "history_ms": {name: round(value * 1000, 2) for name, value in one.items()},
        "changes_since_yesterday": found,
        "changes_seconds": round(many, 3),
        "command_seconds": round(_command_seconds(folder), 2),
    }
    return result, size <= BYTES_GOAL and one["p99"] <= HISTORY_GOAL_SECONDS and many <= CHANGES_GOAL_SECONDS


def _fill(path: Path, count: int) -> None:
    """Plain rows by the plainest way; the indexes are made at the end, as the schema has them."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA foreign_keys = OFF;"
    )
    named = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
    indexes = connection.execute(named).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    connection.execute("BEGIN")
    for table, columns, rows in _rows(count):
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608
    connection.execute("COMMIT")
    for _, statement in indexes:
        connection.execute(statement)
    connection.executescript("PRAGMA journal_mode = WAL; ANALYZE;")
    connection.close()


def _rows(count: int) -> Iterator[tuple[str, tuple[str, ...], Iterator[tuple[Any, ...]]]]:
    jobs = ((_job(turn), "imot.bg", "COMPLETE", "[]", NOW) for turn in range(CHANGES + 1))
    yield "jobs", ("id", "site", "state", "start_urls", "created_at"), jobs
    state = ("generation", "content_hash", "first_seen_at", "last_seen_at", "visited_at", "revisit_seconds")
    columns = (*STORED_FIELDS, *state, "revisit_at", "consecutive_unchanged", "odd_visits")
    yield "listings", columns, (_listing(number) for number in range(1, count + 1))
    changes = ("listing_id", "visit_id", "field", "old", "new", "seen_at")
    yield "listing_changes", changes, _over(count, _changes)
    points = ("listing_id", "price_eur", "vat", "kind", "visit_id", "seen_at")
    yield "price_points", points, _over(count, _points)
    visits = (
        "id",
        "site",
        "job_id",
        "fetched_at",
        "verdict",
        "seconds",
        "content_hash",
        "page_digest",
        "listing_id",
        "result",
    )
    yield "scrape_history", visits, _over(count, _visits)


def _over(count: int, rows: Callable[[int], Iterator[tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
    return (row for number in range(1, count + 1) for row in rows(number))


def _listing(number: int) -> tuple[Any, ...]:
    first = _moments(number)[0]
    values = dict.fromkeys(STORED_FIELDS) | dict.fromkeys(_LISTS, "[]")
    values |= {
        "site": "imot.bg",
        "external_id": f"1b{number:015d}",
        "url": f"https://www.imot.bg/obiava-1b{number:015d}",
    }
    values |= {"title": "3-СТАЕН", "description": _TEXT, "price_eur": 100_000.0, "area_sqm": 80.0}
    return (*(values[name] for name in STORED_FIELDS), 1, "0" * 32, first, NOW, NOW, DAY, NOW + DAY, 0, 0)


def _moments(number: int) -> list[float]:
    """When the listing was first seen, and then each time it changed."""
    rng = random.Random(number)
    return sorted(NOW - rng.random() * DAYS * DAY for _ in range(CHANGES + 1))


def _visit(number: int, turn: int) -> int:
    return number * (CHANGES + 1) + turn


def _job(turn: int) -> str:
    return f"imot.bg-20260101-000000-{turn:06x}"


def _changes(number: int) -> Iterator[tuple[Any, ...]]:
    for turn, at in enumerate(_moments(number)[1:], start=1):
        field = _FIELDS[turn % len(_FIELDS)]
        old, new = ("120000.0", "115000.0") if field == "price_eur" else ('"едно"', '"друго"')
        yield number, _visit(number, turn), field, old, new, at


def _points(number: int) -> Iterator[tuple[Any, ...]]:
    for turn, at in enumerate(_moments(number)):
        if turn == 0 or _FIELDS[turn % len(_FIELDS)] == "price_eur":
            yield number, 115_000.0, "none", "price" if turn else "first", _visit(number, turn), at


def _visits(number: int) -> Iterator[tuple[Any, ...]]:
    for turn, at in enumerate(_moments(number)):
        result = "changed" if turn else "new"
        yield (
            _visit(number, turn),
            "imot.bg",
            _job(turn),
            at,
            "ok",
            0.2,
            bytes(16),
            bytes(16),
            number,
            result,
        )


def _history_seconds(database: Database, count: int) -> dict[str, float]:
    """The prices and all changes of single listings, each asked for once."""
    rng = random.Random(7)
    spent = []
    for number in (rng.randint(1, count) for _ in range(500)):
        started = time.perf_counter()
        with database.read() as connection:
            found = price_history(connection, "imot.bg", f"1b{number:015d}", now=NOW)
            own = select(listing_changes).where(listing_changes.c.listing_id == number)
            changed = connection.execute(own.order_by(listing_changes.c.seen_at)).all()
        spent.append(time.perf_counter() - started)
        if len(changed) != CHANGES or len(found) != 1:
            raise AssertionError(f"listing {number} has {len(changed)} changes")
    return {"p50": statistics.median(spent), "p99": statistics.quantiles(spent, n=100)[98]}


def _changes_seconds(database: Database) -> tuple[float, int]:
    started = time.perf_counter()
    with database.read() as connection:
        found = sum(1 for _ in happenings(connection, NOW - DAY))
    return time.perf_counter() - started, found


def _command_seconds(folder: Path) -> float:
    """The command as a program runs it, its start included."""
    since = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(NOW - DAY))
    command = [str(Path(sys.prefix) / "bin" / "sale-sofia"), "changes", "--since", since, "--json"]
    started = time.perf_counter()
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "DATA_DIR": str(folder)}
    )
    return time.perf_counter() - started


def _history_bytes(path: Path) -> int:
    """The pages of the history's tables and of their indexes."""
    connection = sqlite3.connect(path)
    try:
        sizes = dict(connection.execute("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name"))
        indexes = connection.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'")
        owners = dict(indexes.fetchall())
    except sqlite3.OperationalError:  # SQLite without dbstat
        return 0
    finally:
        connection.close()
    return sum(size for name, size in sizes.items() if owners.get(name, name) in _HISTORY_TABLES)
