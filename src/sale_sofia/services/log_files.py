"""Log files that many processes write to: no line is torn, lost or mixed when a file is put aside.

A file keeps its place for ever, as programs hold it open: what is put aside is copied, then cut off, while
nobody writes. The lock is the system's, on the file itself; who dies lets go of it.
"""

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from sale_sofia.config.logs import LOG_MOST_BYTES, LOGS_PUT_ASIDE

_ANEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


@contextmanager
def nobody_else_writes(file: int) -> Iterator[None]:
    """Inside, no other process of ours writes to this file or puts it aside; nothing for what is no file.

    Where the file system knows no locks, what is written by one call is still whole.
    """
    if not stat.S_ISREG(os.fstat(file).st_mode):
        yield
        return
    with suppress(OSError):
        fcntl.lockf(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN)


def put_aside(path: Path, beyond: int = LOG_MOST_BYTES) -> None:
    """A log larger than this begins anew; the last ones stay beside it as `.1` (the newest), `.2` and so on.

    A disk that refuses it leaves the log as it is.
    """
    with suppress(OSError), path.open("r+b") as file:
        if os.fstat(file.fileno()).st_size > beyond:
            with nobody_else_writes(file.fileno()):
                _cut(path, file, beyond)


def put_aside_path(path: Path, number: int) -> Path:
    """Where the log is that was put aside so many times ago."""
    return path.with_name(f"{path.name}.{number}")


def last_line(path: Path) -> str:
    """The last line of a log that says anything; nothing when there is none."""
    with suppress(OSError):
        lines = path.read_text("utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


def _cut(path: Path, file: BinaryIO, beyond: int) -> None:
    if os.fstat(file.fileno()).st_size <= beyond:  # another process was faster
        return
    for number in range(LOGS_PUT_ASIDE, 1, -1):
        with suppress(FileNotFoundError):
            put_aside_path(path, number - 1).replace(put_aside_path(path, number))
    # Read through the file that is locked: to open and close it anew would end the lock.
    with os.fdopen(os.open(put_aside_path(path, 1), _ANEW, 0o600), "wb") as copy:
        shutil.copyfileobj(file, copy)
    file.truncate(0)
