"""The database: its transactions, and what happens when somebody else is writing."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import DBAPIError

from sale_sofia.data import sqlite
from sale_sofia.data.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseTooNew,
    DatabaseUnsupported,
    DiskFull,
)
from sale_sofia.data.forks import guard_forks
from sale_sofia.data.own_thread import OwnThread
from sale_sofia.data.sqlite_errors import explain

__all__ = [
    "Database",
    "DatabaseBusy",
    "DatabaseCorrupt",
    "DatabaseError",
    "DatabaseMissing",
    "DatabaseReadOnly",
    "DatabaseTooNew",
    "DatabaseUnsupported",
    "DiskFull",
    "retry_on_busy",
]

P = ParamSpec("P")
T = TypeVar("T")

# The long wait is SQLite's own; between two of them a short, uneven pause lets others go first.
FIRST_PAUSE_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 2.0


def retry_on_busy(
    retries: int, *, first_pause: float = FIRST_PAUSE_SECONDS, longest_pause: float = LONGEST_PAUSE_SECONDS
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: what fails because the database is busy is done again as a whole, `retries` times more.

    The pauses double, and chance shortens them. The last `DatabaseBusy` is the caller's.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def persistent(*args: P.args, **kwargs: P.kwargs) -> T:
            for attempt in range(retries):
                try:
                    return function(*args, **kwargs)
                except DatabaseBusy:
                    time.sleep(random.uniform(0, min(longest_pause, first_pause * 2**attempt)))
            return function(*args, **kwargs)

        return persistent

    return decorate


class Database:
    """One database. Making this object opens, creates and changes nothing.

    Safe to use from many threads, and on both sides of a fork (not by forking inside a transaction).
    """

    def __init__(self, url: str, *, busy_timeout_seconds: float, busy_retries: int) -> None:
        parsed = make_url(url)
        self.path = sqlite.file_of(parsed)
        self.busy_timeout_seconds = busy_timeout_seconds
        self.busy_retries = busy_retries
        self._writer = sqlite.make_engine(parsed, busy_timeout_seconds, writes=True)
        self._reader = sqlite.make_engine(parsed, busy_timeout_seconds, writes=False)
        self._thread = OwnThread("database")
        guard_forks(self._writer)
        guard_forks(self._reader)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it is kept, or, after any error or a kill, nothing."""
        with self._explained(), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One view of the data, unmoved by writers; writing through it is refused."""
        with self._explained(), self._reader.connect() as connection:
            yield connection

    def run_write(self, work: Callable[[Connection], T]) -> T:
        """`work` in a write transaction; while the database is busy, the whole of it again."""
        return self._persistently(self.write, work)

    def run_read(self, work: Callable[[Connection], T]) -> T:
        """`work` in a read transaction; while the database is busy, the whole of it again."""
        return self._persistently(self.read, work)

    async def run_write_async(self, work: Callable[[Connection], T]) -> T:
        """As `run_write`, in the database's own thread: the event loop never waits for the disk."""
        return await self._thread.run(lambda: self.run_write(work))

    async def run_read_async(self, work: Callable[[Connection], T]) -> T:
        """As `run_read`, in the database's own thread."""
        return await self._thread.run(lambda: self.run_read(work))

    def prepare(self) -> None:
        """Make the place where the tables will be; nothing is lost if there is one already."""
        sqlite.prepare(self.path, self.busy_timeout_seconds)

    def exclusive(self) -> AbstractContextManager[None]:
        """Only one process of all is inside. A database server would take an advisory lock here."""
        return sqlite.exclusive(self.path, self.busy_timeout_seconds)

    def dispose(self) -> None:
        """Close what is open. The object can still be used: it opens anew."""
        self._thread.close()
        self._writer.dispose()
        self._reader.dispose()

    def _persistently(
        self, transaction: Callable[[], AbstractContextManager[Connection]], work: Callable[[Connection], T]
    ) -> T:
        @retry_on_busy(self.busy_retries)
        def attempt() -> T:
            with transaction() as connection:
                return work(connection)

        return attempt()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            meaning = explain(error.orig, self.path, self.busy_timeout_seconds)
            if meaning is None:
                raise
            raise meaning from error
