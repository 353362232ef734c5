"""What a failure of SQLite, or of its disk, means to a person."""

import errno
import os
import sqlite3
from pathlib import Path
from typing import Final

from sale_sofia.data.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseMissing,
    DatabaseReadOnly,
    DiskFull,
)

_PRIMARY_CODE: Final = 0xFF
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_CORRUPT: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
# A write past RLIMIT_FSIZE or a quota is an I/O error to SQLite, not a full disk.
_NO_ROOM: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}
)  # fmt: skip
_NO_ROOM_ON_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def explain(error: BaseException | None, path: Path, busy_timeout: float) -> DatabaseError | None:
    """The one sentence for a failure of the environment; `None` for a caller's mistake."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    primary = code & _PRIMARY_CODE
    if primary in _BUSY:
        return _busy(path, busy_timeout)
    if code in _NO_ROOM:
        return _full(path)
    if primary in _CORRUPT:
        return DatabaseCorrupt(f"{path} is not a sound SQLite database; restore a copy or move it away.")
    if primary == sqlite3.SQLITE_READONLY:
        return _read_only(path)
    if primary == sqlite3.SQLITE_CANTOPEN:
        return _cannot_open(path)
    return _other(error, path)


def explain_os_error(error: OSError, path: Path) -> DatabaseError:
    """The one sentence for a folder or file that could not be made."""
    if error.errno in _NO_ROOM_ON_DISK:
        return _full(path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return _read_only(path)
    return DatabaseError(f"The database {path} cannot be made: {error.strerror}.")


def _cannot_open(path: Path) -> DatabaseError:
    if not path.exists():
        return _missing(path)
    if not (_may_write(path) and _may_write(path.parent)):
        return _read_only(path)  # even a reader needs to write the log's index beside the file
    return DatabaseError(f"The database {path} cannot be opened; is it a file?")


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _other(error: BaseException | None, path: Path) -> DatabaseError | None:
    if not isinstance(error, sqlite3.OperationalError):
        return None
    if "no such table" in str(error):
        return _missing(path)
    return DatabaseError(f"The database {path} failed: {error}.")


def _busy(path: Path, busy_timeout: float) -> DatabaseBusy:
    waited = f"longer than {busy_timeout:g} seconds (SQLITE_TIMEOUT)"
    return DatabaseBusy(f"Another process kept the database {path} locked for {waited}; nothing was written.")


def _missing(path: Path) -> DatabaseMissing:
    return DatabaseMissing(f"There is no initialised database at {path}; initialise it first.")


def _full(path: Path) -> DiskFull:
    return DiskFull(f"There is no room for {path} to grow; nothing of this write was kept: free some space.")


def _read_only(path: Path) -> DatabaseReadOnly:
    return DatabaseReadOnly(
        f"The database {path} may only be read here; let this user write to the file and its folder."
    )
