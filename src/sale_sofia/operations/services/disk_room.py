"""A disk without room: known by its errors and by trying, told of once a minute."""

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sale_sofia.operations.settings import DISK_FULL_TELL_SECONDS, DISK_LEAST_BYTES, SUPERVISE_SECONDS

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: BaseException | None) -> bool:
    """Whether a disk without room is what went wrong, or what caused it."""
    if error is None:
        return False
    return (isinstance(error, OSError) and error.errno in _FULL) or is_full(error.__cause__)


@dataclass(slots=True)
class DiskRoom:
    """Whether there is room where this folder is, and what a person hears of it."""

    folder: Path
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _told: float | None = None
    """When it was last told that there is none; None while there is."""

    def check(self) -> None:
        """Raise OSError where there is no room: found by writing once it was missing, as quotas need it."""
        if not self.folder.is_dir():
            return
        found = os.statvfs(self.folder)  # what a user may still write; what the system keeps is not counted
        if self._told is None and found.f_bavail * found.f_frsize >= DISK_LEAST_BYTES:
            return
        path = self.folder / "room.tried"
        try:
            with path.open("wb") as file:
                file.write(bytes(DISK_LEAST_BYTES))
                file.flush()
                os.fsync(file.fileno())
        finally:
            path.unlink(missing_ok=True)

    def wait(self, pause: Callable[[float], None] = time.sleep) -> None:
        """Return when there is room."""
        while True:
            try:
                self.check()
            except OSError as error:
                if not is_full(error):
                    raise
                self.tell_missing(error)
                pause(SUPERVISE_SECONDS)
            else:
                self.tell_found()
                return

    def tell_missing(self, reason: BaseException) -> None:
        """Once a minute, that there is no room here, or where the error says, and what follows."""
        if self._told is None or self.clock() - self._told >= DISK_FULL_TELL_SECONDS:
            self._told = self.clock()
            where = f"There is no room in {self.folder}." if is_full(reason) else reason
            self.say(f"{where} Waiting for room; then all goes on.")

    def tell_found(self) -> None:
        """That there is room again, if it was missing."""
        if self._told is not None:
            self._told = None
            self.say("There is room again; going on.")
