"""Locks on files of a folder; the system lets go of them when their holder dies, however it dies."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from sale_sofia.config.services import REDIS_POLL_SECONDS

SHARED: Final = fcntl.LOCK_SH
ALONE: Final = fcntl.LOCK_EX


class StillLocked(RuntimeError):
    """Somebody else did not let go in time."""


@contextmanager
def lock_file(path: Path) -> Iterator[IO[str]]:
    """The file to lock, made when absent; leaving lets go of it, unless a child process keeps it."""
    with path.open("a", encoding="ascii") as file:
        yield file


def take(file: IO[str], kind: int, seconds: float = 0.0) -> None:
    """Lock the file, or change the lock on it, waiting at most so long.

    Raises:
        StillLocked: others hold it; a lock held before may then be lost.
    """
    end = time.monotonic() + seconds
    while not _taken(file, kind):
        if time.monotonic() >= end:
            raise StillLocked(file.name)
        time.sleep(REDIS_POLL_SECONDS)


def _taken(file: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
