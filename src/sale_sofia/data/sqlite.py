"""All that is particular to SQLite: how a file is made, opened and locked, and how a transaction begins."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Final, cast

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError

from sale_sofia.config.storage import CHECK_LOOK_STEPS, PREPARING_LOOK_SECONDS
from sale_sofia.config.whole_files import keep_name
from sale_sofia.data.errors import CheckStopped, DatabaseBusy, DatabaseError, DatabaseUnsupported, Stop
from sale_sofia.data.forks import guard_forks
from sale_sofia.data.network_shares import network_share
from sale_sofia.data.sqlite_errors import explain, explain_os_error

_WITHOUT_LIMIT: Final = -1


class SqliteStore:
    """One file. A write has the whole of it to itself from its first moment; readers never wait."""

    def __init__(self, url: URL, busy_timeout: float) -> None:
        self.file = file_of(url)
        self.name = str(self.file)
        self._busy_timeout = busy_timeout
        self._writer = make_engine(url, busy_timeout, writes=True)
        self._reader = make_engine(url, busy_timeout, writes=False)
        guard_forks(self._writer)
        guard_forks(self._reader)

    def write(self) -> AbstractContextManager[Connection]:
        """One transaction, kept as a whole at the end of the block."""
        return self._writer.begin()

    def read(self) -> AbstractContextManager[Connection]:
        """One view of the data."""
        return self._reader.connect()

    def exists(self) -> bool:
        """Whether there is anything that could be opened."""
        return self.file.exists()

    def prepare(self) -> None:
        """Make the file if there is none.

        Raises:
            DatabaseUnsupported: it would be on a network share, where its locks do not hold.
        """
        if kind := network_share(self.file.parent):
            raise DatabaseUnsupported(
                f"{self.file} is on a network share ({kind}), where SQLite loses data: put DATA_DIR on a "
                "disk of this machine, or, for several machines, set DATABASE_URL to a PostgreSQL server."
            )
        prepare(self.file, self._busy_timeout)

    def exclusive(self) -> AbstractContextManager[None]:
        """Only one process of all on this machine is inside."""
        return exclusive(self.file, self._busy_timeout)

    def portal_lock(self, _site: str) -> AbstractContextManager[str | None]:
        """A file has no crawls on other machines: the lock in DATA_DIR is enough."""
        return nullcontext()

    def faults(self, connection: Connection, stop: Stop) -> list[str]:
        """What SQLite itself finds wrong."""
        return faults(connection, stop)

    def explain(self, error: DBAPIError) -> DatabaseError | None:
        """The one sentence for a failure of the environment; `None` for a caller's mistake."""
        return explain(error.orig, self.file, self._busy_timeout)

    def dispose(self) -> None:
        """Close what is open."""
        self._writer.dispose()
        self._reader.dispose()


def file_of(url: URL) -> Path:
    """The file that an address names, absolute, so that a later change of folder does not move it.

    Raises:
        DatabaseUnsupported: the address names no file: such a database would forget everything.
    """
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        shown = url.render_as_string(hide_password=True)
        raise DatabaseUnsupported(
            f"{shown} is no SQLite file and no PostgreSQL server; name one as sqlite:///path or "
            "postgresql://user:password@host:port/name."
        )
    return Path(url.database).absolute()


def make_engine(url: URL, busy_timeout: float, *, writes: bool) -> Engine:
    """An engine whose connections all write (`BEGIN IMMEDIATE`) or all only read; none is opened yet.

    A connection belongs to one thread at a time, from checkout to return.
    """
    path = file_of(url)
    engine = create_engine(
        url,
        creator=lambda: _connect(path, busy_timeout, writes=writes),
        poolclass=QueuePool,
        max_overflow=_WITHOUT_LIMIT,
    )
    event.listen(engine, "begin", _begin_immediate if writes else _begin)
    return engine


def _connect(path: Path, busy_timeout: float, *, writes: bool) -> sqlite3.Connection:
    # mode=rw: opening never makes a file. isolation_level=None: the driver begins no transaction by itself.
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,  # the pool hands a connection to one thread after another, never to two
    )
    connection.execute("PRAGMA synchronous = FULL")  # what was committed stays when the power goes
    connection.execute("PRAGMA foreign_keys = ON")
    if not writes:
        connection.execute("PRAGMA query_only = ON")
    return connection


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _begin_immediate(connection: Connection) -> None:
    # The lock is taken before anything is read: what a write has read cannot change under it.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def prepare(path: Path, busy_timeout: float) -> None:
    """Make the file if there is none, for readers and one writer at once; it remembers that for ever."""
    try:
        path.touch()  # to SQLite an empty file is a database
        with closing(_connect(path, busy_timeout, writes=True)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        keep_name(path)
    except OSError as error:
        raise explain_os_error(error, path) from error
    except sqlite3.Error as error:
        raise explain(error, path, busy_timeout) or error from error


@contextmanager
def exclusive(path: Path, patience: float) -> Iterator[None]:
    """Hold the lock file beside the database, whose folder is made if need be.

    The kernel lets go of the lock when its holder dies.

    Raises:
        DatabaseBusy: another process kept it for longer than `patience` seconds.
    """
    lock = _open_lock(path)
    try:
        _lock(lock, path, time.monotonic() + patience)
        yield
    finally:
        os.close(lock)


def _open_lock(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise explain_os_error(error, path) from error


def _lock(lock: int, path: Path, deadline: float) -> None:
    while not _try_lock(lock):
        if time.monotonic() >= deadline:
            raise DatabaseBusy(f"Another process is still preparing the database {path}; try again later.")
        time.sleep(PREPARING_LOOK_SECONDS)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def faults(connection: Connection, stop: Stop) -> list[str]:
    """What SQLite itself finds wrong in the file.

    Raises:
        CheckStopped: it was to stop before it had seen all.
    """
    found: list[str] = []
    try:
        with _stopping(connection, stop):
            for fault in _faults(connection):
                found.append(fault)  # noqa: PERF402 - what was found stays when the next look is stopped
    except DBAPIError as error:
        if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
            raise
        raise CheckStopped(found) from None
    return found


def _faults(connection: Connection) -> Iterator[str]:
    for (line,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if line != "ok":
            yield f"damaged: {line}"
    for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"row {row[1]} of {row[0]} points to a row of {row[2]} that is not there"
    mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    if mode != "wal":
        yield f"the journal mode is {mode}, not wal"


@contextmanager
def _stopping(connection: Connection, stop: Stop) -> Iterator[None]:
    """While inside, whatever SQLite does ends when it is to stop."""
    driver = cast("sqlite3.Connection", connection.connection.driver_connection)
    driver.set_progress_handler(stop, CHECK_LOOK_STEPS)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)
