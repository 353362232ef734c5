"""Real databases, and real processes that use them; a started process finds its work here by name."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, select, text

from new_processes import FORKED
from ready_files import put_ready_file
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

T = TypeVar("T")
NOBODY = 65534
PATIENCE_SECONDS = 60.0
_start: Barrier | None = None


def database(place: Path | str, *, timeout: float = 30, retries: int = 3) -> Database:
    """The database in a file, or at a URL."""
    url = place if isinstance(place, str) else f"sqlite:///{place}"
    return Database(url, busy_timeout_seconds=timeout, busy_retries=retries)


def ready_database(place: Path | str, *, timeout: float = 30, retries: int = 3) -> Database:
    """Of a file that is not there yet, the tables are copied and not made anew."""
    if isinstance(place, Path):
        put_ready_file(place)
    db = database(place, timeout=timeout, retries=retries)
    initialize_database(db)
    return db


def url_of(db: Database) -> str:
    """Its address with the password, for another object or process."""
    return db.url.render_as_string(hide_password=False)


def advert(number: int = 1, **fields: Any) -> Listing:  # noqa: ANN401 - any field
    given = {"site": "imot.bg", "external_id": f"id{number}", "url": f"https://imot.bg/{number}", **fields}
    return Listing.model_validate(given)


def wait_for_waiter(db: Database) -> None:
    """Until a transaction waits for the end of another."""
    end = time.monotonic() + PATIENCE_SECONDS
    waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    while not db.run_read(lambda one: one.scalar(text(f"SELECT count(*) {waiting}"))):
        assert time.monotonic() < end, "nobody waits"
        time.sleep(0.01)


def rows(connection: Connection, table: Table, *columns: str) -> list[tuple[Any, ...]]:
    found = connection.execute(select(*(table.c[name] for name in columns)).order_by(table.c.id))
    return [tuple(row) for row in found]


def at_once(work: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
    """Each call in its own new process; none begins before all are there."""
    context = FORKED
    barrier = context.Barrier(len(arguments))
    with ProcessPoolExecutor(len(arguments), context, _set_start, (barrier,)) as pool:
        return list(pool.map(_after_start, [work] * len(arguments), arguments))


def _set_start(barrier: Barrier) -> None:
    global _start  # noqa: PLW0603 - a barrier reaches a process only while it starts
    _start = barrier


def _after_start(work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    if _start is not None:
        _start.wait()
    return work(*arguments)


@contextmanager
def without_rights() -> Iterator[None]:
    """As a user who owns nothing: root may write to everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
