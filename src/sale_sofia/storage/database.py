"""The database: its transactions, with retries while it is busy or its server is away."""

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from itertools import count
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from sqlalchemy import URL, Connection, make_url, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.storage.connections import OwnThread, ServerOutage
from sale_sofia.storage.errors import DatabaseBusy, DatabaseError, DatabaseUnreachable, Stop, never
from sale_sofia.storage.settings import BUSY_FIRST_PAUSE_SECONDS, BUSY_LONGEST_PAUSE_SECONDS, ServerLimits
from sale_sofia.storage.sqlite import SqliteStore, file_of

if TYPE_CHECKING:
    from sale_sofia.storage.postgres import PostgresStore

P = ParamSpec("P")
T = TypeVar("T")


def is_on_server(url: str | URL) -> bool:
    """Whether the address is that of a database server, which many machines can share, not of a file."""
    return make_url(url).get_backend_name() == "postgresql"


def _make_store(url: URL, busy_timeout: float, limits: ServerLimits) -> "SqliteStore | PostgresStore":
    if not is_on_server(url):
        return SqliteStore(url, busy_timeout)
    from sale_sofia.storage.postgres import PostgresStore  # noqa: PLC0415 - a file needs no driver

    return PostgresStore(url, busy_timeout, limits)


def retry_on_busy(
    retries: int, *, first_pause: float = BUSY_FIRST_PAUSE_SECONDS
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator: retries the whole function up to `retries` times while the database is busy.

    The pauses double, with jitter. The last `DatabaseBusy` is raised.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def persistent(*args: P.args, **kwargs: P.kwargs) -> T:
            for attempt in range(retries):
                try:
                    return function(*args, **kwargs)
                except DatabaseBusy:
                    longest = min(BUSY_LONGEST_PAUSE_SECONDS, first_pause * 2**attempt)
                    time.sleep(random.uniform(0, longest))  # noqa: S311 - a pause
            return function(*args, **kwargs)

        return persistent

    return decorate


_BEFORE_COMMIT: Final = "before_commit"


def before_commit(
    connection: Connection, work: Callable[[Connection, set[int]], None], ids: Iterable[int]
) -> None:
    """Make `Database.write` call `work` right before its commit, once for all ids collected until then."""
    if collected := set(ids):
        waiting = connection.info.setdefault(_BEFORE_COMMIT, {})
        waiting.setdefault(work, set()).update(collected)


class Database:
    """One database. Creating this object opens, creates and changes nothing.

    Safe to use from many threads, and on both sides of a fork (but do not fork inside a transaction).
    """

    def __init__(
        self,
        url: str,
        *,
        busy_timeout_seconds: float,
        busy_retries: int,
        server: ServerLimits = ServerLimits(),  # noqa: B008 - it cannot be changed
    ) -> None:
        self.url = make_url(url)
        """Its address; printed, it shows no password."""
        self.busy_retries = busy_retries
        self._store = _make_store(self.url, busy_timeout_seconds, server)
        self.name = self._store.name
        """Its name for people."""
        self._outage = ServerOutage(server.outage_seconds)
        self._thread = OwnThread("database")

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: all of it is committed, or, after any error or a kill, nothing."""
        with self._explained(), self._store.write() as connection:
            connection.info.pop(_BEFORE_COMMIT, None)  # left by a failed transaction on the same connection
            yield connection
            for work, ids in connection.info.pop(_BEFORE_COMMIT, {}).items():
                work(connection, ids)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent snapshot of the data; writing through it is refused."""
        with self._explained(), self._store.read() as connection:
            yield connection

    def run_write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a write transaction; retried as a whole while the database is busy or away.

        It takes effect exactly once, even when the connection breaks during the commit.
        """
        return self._persistently(self.write, work)

    def run_read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a read transaction; retried as a whole while the database is busy or away."""
        return self._persistently(self.read, work)

    async def run_write_async(self, work: Callable[[Connection], T]) -> T:
        """As `run_write`, in the database's own thread, so that the event loop never waits for the disk."""
        return await self._thread.run(lambda: self.run_write(work))

    async def run_read_async(self, work: Callable[[Connection], T]) -> T:
        """As `run_read`, in the database's own thread."""
        return await self._thread.run(lambda: self.run_read(work))

    def exists(self) -> bool:
        """Whether there is a file, or a server, that could be opened."""
        return self._store.exists()

    def prepare(self) -> None:
        """Create the database for the tables; an existing one is left as it is."""
        with self._explained():
            self._store.prepare()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Only one process, of all machines that use this database, is inside."""
        with self._explained(), self._store.exclusive():
            yield

    @contextmanager
    def portal_lock(self, site: str) -> Iterator[str | None]:
        """Lock a portal on all machines that use this database; yields the holder if another has it."""
        with self._explained(), self._store.portal_lock(site) as holder:
            yield holder

    def faults(self, stop: Stop = never) -> list[str]:
        """What the database itself finds wrong, one line each; `stop` is polled to end it early.

        Raises:
            CheckStopped: it was stopped before it had checked everything.
        """
        return self.run_read(lambda connection: self._store.faults(connection, stop))

    def give_up_waiting(self) -> None:
        """From now on do not wait for a server that is away."""
        self._outage.give_up()

    def explain(self, error: DBAPIError) -> DatabaseError | None:
        """The error for people behind a failure of the environment; `None` for a caller's mistake."""
        return self._store.explain(error)

    def dispose(self) -> None:
        """Close all connections. The object can still be used: it opens new ones."""
        self._thread.close()
        self._store.dispose()

    def _persistently(
        self, transaction: Callable[[], AbstractContextManager[Connection]], work: Callable[[Connection], T]
    ) -> T:
        @retry_on_busy(self.busy_retries)
        def attempt() -> T:
            with transaction() as connection:
                return work(connection)

        for tries in count():
            try:
                result = attempt()
            except DatabaseUnreachable as error:
                self._outage.endure(error, tries)
            else:
                self._outage.over()
                return result
        raise AssertionError("counting has no end")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            meaning = self.explain(error)
            if meaning is None:
                raise
            raise meaning from error


# A check whether anything was committed since the last one, cheap enough for every request of a page.

_SERVER_SNAPSHOT: Final = text("SELECT CAST(pg_current_snapshot() AS text)")
"""Identifies the visible committed transactions: the same text means the same data."""


class DataVersion:
    """The version of one database's data. While `current` returns the same, nothing was committed.

    On a server it also changes with commits to its other databases.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._served = is_on_server(database.url)
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None

    def current(self) -> str:
        """The version of the data; after a commit, never one from before it."""
        if self._served:
            return str(self._database.run_read(lambda connection: connection.scalar(_SERVER_SNAPSHOT)))
        with self._lock:
            if self._file is None:
                # A read-only connection of its own: SQLite counts the commits of others per connection.
                uri = f"{file_of(self._database.url).as_uri()}?mode=ro"
                self._file = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
            return str(self._file.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
