"""Everything specific to SQLite: its file, locks, transactions and errors."""

import errno
import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Final, cast

from sqlalchemy import URL, Connection, Engine, PoolProxiedConnection, QueuePool, create_engine
from sqlalchemy.exc import DBAPIError

from sale_sofia.settings.files import sync_parents
from sale_sofia.storage.connections import from_json, guard_forks, to_json
from sale_sofia.storage.errors import (
    CheckStopped,
    DamagedDatabase,
    DatabaseBusy,
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnsupported,
    DiskFull,
    Stop,
)
from sale_sofia.storage.settings import (
    CACHED_STATEMENTS,
    CHECK_LOOK_STEPS,
    CHECKPOINT_PAGES,
    PREPARING_LOOK_SECONDS,
)

# Errors of SQLite, or of its disk, for people.

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_CORRUPT: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# A write past RLIMIT_FSIZE or a quota is an I/O error to SQLite, not a full disk.
_NO_ROOM: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
)  # fmt: skip


def explain(error: BaseException | None, path: Path, busy_timeout: float) -> DatabaseError | None:
    """The error for people behind a failure of the environment; `None` for a caller's mistake."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    primary = code & 0xFF
    if primary in _BUSY:
        return DatabaseBusy(
            f"Another process kept the database {path} locked for longer than {busy_timeout:g} seconds "
            "(SQLITE_TIMEOUT); nothing was written."
        )
    if code in _NO_ROOM:
        return _full(path)
    if primary in _CORRUPT:
        return DamagedDatabase(f"{path} is not a sound SQLite database; restore a copy or move it away.")
    if primary == sqlite3.SQLITE_READONLY:
        return _read_only(path)
    if primary == sqlite3.SQLITE_CANTOPEN:
        return _cannot_open(path)
    return _other(error, path)


def _explain_os_error(error: OSError, path: Path) -> DatabaseError:
    """The error for a folder or file that could not be created."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return _full(path)
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return _read_only(path)
    if file := next((place for place in path.parents if place.is_file()), None):
        return DatabaseError(f"The database {path} cannot be made: {file} is a file, not a folder.")
    return DatabaseError(f"The database {path} cannot be made: {error.strerror}.")


def _cannot_open(path: Path) -> DatabaseError:
    if not path.exists():
        return _missing(path)
    as_who_we_are = os.access in os.supports_effective_ids
    if not all(os.access(place, os.W_OK, effective_ids=as_who_we_are) for place in (path, path.parent)):
        return _read_only(path)  # even a reader has to write the WAL index beside the file
    return DatabaseError(f"The database {path} cannot be opened; is it a file?")


def _other(error: BaseException | None, path: Path) -> DatabaseError | None:
    if not isinstance(error, sqlite3.OperationalError):
        return None
    if "no such table" in str(error):
        return _missing(path)
    return DatabaseError(f"The database {path} failed: {error}.")


def _missing(path: Path) -> DatabaseMissing:
    return DatabaseMissing(f"There is no initialised database at {path}; initialise it first.")


def _full(path: Path) -> DiskFull:
    return DiskFull(f"There is no room for {path} to grow; nothing of this write was kept: free some space.")


def _read_only(path: Path) -> DatabaseReadOnly:
    return DatabaseReadOnly(
        f"The database {path} may only be read here; let this user write to the file and its folder."
    )


# Network shares, on which SQLite must not be.

_MOUNTS: Final = Path("/proc/self/mountinfo")
_SHARES: Final = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "fuse.sshfs"}
    | {"fuse.glusterfs", "glusterfs", "beegfs", "fuse.s3fs", "fuse.rclone", "davfs", "fuse.davfs2"}
)


def network_share(path: Path, mounts: str | None = None) -> str | None:
    """The type of network share that the path is on; None on a local disk, or if it is unknown."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text("utf-8", "surrogateescape")
        except OSError:
            return None
    kinds = {}  # by mount point; a later mount hides an earlier one
    for line in mounts.splitlines():
        left, mark, right = line.partition(" - ")
        if mark:
            place = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), left.split()[4])
            kinds[Path(place)] = right.split()[0]
    here = path.resolve()
    kind = next((kinds[place] for place in (here, *here.parents) if place in kinds), None)
    return kind if kind in _SHARES else None


class SqliteStore:
    """One file. A write locks all of it from its start; readers never wait."""

    def __init__(self, url: URL, busy_timeout: float) -> None:
        self.file = file_of(url)
        self.name = str(self.file)
        self._busy_timeout = busy_timeout
        self._writer = self._engine(url, writes=True)
        self._reader = self._engine(url, writes=False)

    def _engine(self, url: URL, *, writes: bool) -> Engine:
        """An engine whose connections all write (`BEGIN IMMEDIATE`) or all only read; none is opened yet.

        A connection belongs to one thread at a time, from checkout to return.
        """
        engine = create_engine(
            url,
            creator=lambda: self._connect(writes=writes),
            poolclass=QueuePool,
            max_overflow=-1,  # without limit
            json_serializer=to_json,
            json_deserializer=from_json,
        )
        # A write takes its lock before it reads, so what it has read cannot change. Not by an engine event:
        # with a single one, SQLAlchemy checks for listeners on every statement.
        statement = "BEGIN IMMEDIATE" if writes else "BEGIN"

        def begin(dbapi_connection: PoolProxiedConnection) -> None:
            dbapi_connection.cursor().execute(statement)

        engine.dialect.do_begin = begin  # type: ignore[method-assign]
        guard_forks(engine)
        return engine

    def _connect(self, *, writes: bool) -> sqlite3.Connection:
        # mode=rw: opening never creates a file. isolation_level=None: the driver begins no transactions.
        connection = sqlite3.connect(
            f"{self.file.as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy_timeout,
            isolation_level=None,
            check_same_thread=False,  # the pool hands a connection to one thread after another, never to two
            cached_statements=CACHED_STATEMENTS,
        )
        connection.execute("PRAGMA synchronous = FULL")  # commits survive a power cut
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute("PRAGMA foreign_keys = ON")
        if not writes:
            connection.execute("PRAGMA query_only = ON")
        return connection

    def write(self) -> AbstractContextManager[Connection]:
        """One transaction, committed at the end of the block."""
        return self._writer.begin()

    def read(self) -> AbstractContextManager[Connection]:
        """One consistent snapshot of the data."""
        return self._reader.connect()

    def exists(self) -> bool:
        """Whether there is anything that could be opened."""
        return self.file.exists()

    def prepare(self) -> None:
        """Create the file if there is none, in WAL mode, which is permanent.

        Raises:
            DatabaseUnsupported: it would be on a network share, where its locks do not work.
        """
        if kind := network_share(self.file):
            raise DatabaseUnsupported(
                f"{self.file} is on a network share ({kind}), where SQLite loses data: put DATA_DIR on a "
                "disk of this machine, or, for several machines, set DATABASE_URL to a PostgreSQL server."
            )
        try:
            self.file.touch()  # to SQLite an empty file is a database
            with closing(self._connect(writes=True)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            sync_parents(self.file)
        except OSError as error:
            raise _explain_os_error(error, self.file) from error
        except sqlite3.Error as error:
            raise explain(error, self.file, self._busy_timeout) or error from error

    def exclusive(self) -> AbstractContextManager[None]:
        """Only one process of this machine is inside."""
        return exclusive(self.file, self._busy_timeout)

    def portal_lock(self, _site: str) -> AbstractContextManager[str | None]:
        """Nothing: a file is used on one machine, where the lock in DATA_DIR is enough."""
        return nullcontext()

    def faults(self, connection: Connection, stop: Stop) -> list[str]:
        """What SQLite itself finds wrong in the file.

        Raises:
            CheckStopped: it was stopped before it had checked everything.
        """
        faults: list[str] = []
        driver = cast("sqlite3.Connection", connection.connection.driver_connection)
        driver.set_progress_handler(stop, CHECK_LOOK_STEPS)
        try:
            for fault in _faults(connection):
                faults.append(fault)  # noqa: PERF402 - keeps the findings when the next step is stopped
        except DBAPIError as error:
            if getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
                raise
            raise CheckStopped(faults) from None
        finally:
            driver.set_progress_handler(None, 0)
        return faults

    def explain(self, error: DBAPIError) -> DatabaseError | None:
        """The error for people behind a failure of the environment; `None` for a caller's mistake."""
        return explain(error.orig, self.file, self._busy_timeout)

    def dispose(self) -> None:
        """Close all connections."""
        self._writer.dispose()
        self._reader.dispose()


def file_of(url: URL) -> Path:
    """The file of an address, absolute, so that a later change of the working directory does not matter.

    Raises:
        DatabaseUnsupported: the address names no file; a database in memory would lose everything.
    """
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        address = url.render_as_string(hide_password=True)
        raise DatabaseUnsupported(
            f"{address} is no SQLite file and no PostgreSQL server; name one as sqlite:///path or "
            "postgresql://user:password@host:port/name."
        )
    return Path(url.database).absolute()


@contextmanager
def exclusive(path: Path, patience: float) -> Iterator[None]:
    """Hold the lock file beside the database; its folder is created if needed.

    The kernel releases the lock when its holder dies.

    Raises:
        DatabaseBusy: another process held it for longer than `patience` seconds.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _explain_os_error(error, path) from error
    deadline = time.monotonic() + patience
    try:
        while not _try_lock(lock):
            if time.monotonic() >= deadline:
                raise DatabaseBusy(
                    f"Another process is still preparing the database {path}; try again later."
                )
            time.sleep(PREPARING_LOOK_SECONDS)
        yield
    finally:
        os.close(lock)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _faults(connection: Connection) -> Iterator[str]:
    for (line,) in connection.exec_driver_sql("PRAGMA integrity_check"):
        if line != "ok":
            yield f"damaged: {line}"
    for row in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"row {row[1]} of {row[0]} points to a row of {row[2]} that is not there"
    mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    if mode != "wal":
        yield f"the journal mode is {mode}, not wal"


def is_in_use(file: Path) -> bool:
    """Whether any process has the database open; False for a missing or damaged one.

    In WAL mode every open connection holds a lock on the file, and an exclusive lock is granted only when
    there is no other connection.
    """
    if not file.exists():
        return False
    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, timeout=0)
        ) as connection:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        return error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    return False
