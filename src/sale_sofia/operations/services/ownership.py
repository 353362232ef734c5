"""Which process runs the services of a data folder: one at a time, by a lock that ends with the process."""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.processes import TERMINATE, Process, born
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings

SHARED: Final = fcntl.LOCK_SH
ALONE: Final = fcntl.LOCK_EX


class StillLocked(RuntimeError):
    """Another process did not release the lock in time."""


@contextmanager
def lock_file(path: Path) -> Iterator[IO[str]]:
    """Open the file to lock, made if absent; leaving or dying releases it unless a child keeps it open."""
    with path.open("a", encoding="ascii") as file:
        yield file


def take(file: IO[str], kind: int, seconds: float = 0.0) -> None:
    """Lock the file, or change the lock on it, waiting at most `seconds`; raises StillLocked."""
    end = time.monotonic() + seconds
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        if time.monotonic() >= end:
            raise StillLocked(file.name)
        time.sleep(fixed.REDIS_POLL_SECONDS)


_LOCK: Final = "orchestrator.lock"


class ServicesBusy(ServiceUnavailable):
    """Another process runs the services of this data folder, and does not share them."""


class Holder(BaseModel):
    """The process that runs the services."""

    model_config = ConfigDict(frozen=True, strict=True)

    pid: Annotated[int, Field(gt=0)]
    born: str
    shared: bool
    """Whether others may use them: true for `up`, which stops them only on request."""

    @property
    def process(self) -> Process:
        """The process, to be checked or sent signals."""
        return Process(self.pid, self.born)


class Ownership:
    """The right to start and stop the services of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = ExitStack()

    def take(self, *, shared: bool) -> bool:
        """Try to get the right, until `release` or our death; whether we have it now."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceUnavailable(f"{self._folder} cannot be made: {error.strerror}.") from error
        with ExitStack() as stack:
            file = stack.enter_context(lock_file(self._folder / _LOCK))
            try:
                take(file, ALONE)
            except StillLocked:
                return False
            holder = Holder(pid=os.getpid(), born=born(os.getpid()) or "", shared=shared)
            file.truncate(0)
            file.write(holder.model_dump_json())
            file.flush()
            self._lock = stack.pop_all()
        return True

    def holder(self) -> Holder | None:
        """The living process that runs the services, if any."""
        try:
            holder = Holder.model_validate_json((self._folder / _LOCK).read_bytes())
        except (OSError, ValidationError):
            return None
        return holder if holder.process.alive else None

    def release(self) -> None:
        """Let others run the services."""
        self._lock.close()


def take_down(settings: Settings) -> bool:
    """Make the process that shares its services stop them, and wait for that; False if there is none.

    Raises ServicesBusy if they belong to a crawl, which stops them itself when it ends.
    """
    holder = Ownership(settings.data_dir / fixed.RUN_FOLDER).holder()
    if holder is None:
        return False
    if not holder.shared:
        raise ServicesBusy(
            f"The services in {settings.data_dir} belong to a crawl, process {holder.pid}; "
            "stop it where it runs."
        )
    for _ in range(2):  # the second signal forces
        holder.process.send(TERMINATE)
        if holder.process.gone_within(fixed.SERVICE_DOWN_SECONDS):
            return True
    raise ServiceUnavailable(f"`sale-sofia up`, process {holder.pid}, does not stop.")


# A full disk: known by errors and by a trial write, reported once a minute.

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_full(error: BaseException | None) -> bool:
    """Whether a full disk is the error, or its cause."""
    if error is None:
        return False
    return (isinstance(error, OSError) and error.errno in _FULL) or is_full(error.__cause__)


@dataclass(slots=True)
class DiskRoom:
    """Checks and reports whether the disk of a folder has room."""

    folder: Path
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _reported_at: float | None = None
    """When it last reported a full disk; None while there is room."""

    def check(self) -> None:
        """Raise OSError if there is no room; after a full disk only a trial write counts, due to quotas."""
        if not self.folder.is_dir():
            return
        found = os.statvfs(self.folder)  # f_bavail: without the blocks reserved for root
        if self._reported_at is None and found.f_bavail * found.f_frsize >= fixed.DISK_LEAST_BYTES:
            return
        path = self.folder / "room.tried"
        try:
            with path.open("wb") as file:
                file.write(bytes(fixed.DISK_LEAST_BYTES))
                file.flush()
                os.fsync(file.fileno())
        finally:
            path.unlink(missing_ok=True)

    def wait(self, pause: Callable[[float], None] = time.sleep) -> None:
        """Wait until there is room."""
        while True:
            try:
                self.check()
            except OSError as error:
                if not is_full(error):
                    raise
                self.tell_missing(error)
                pause(fixed.SUPERVISE_SECONDS)
            else:
                self.tell_found()
                return

    def tell_missing(self, reason: BaseException) -> None:
        """Report, at most once a minute, that there is no room here, or where the error says."""
        if self._reported_at is None or self.clock() - self._reported_at >= fixed.DISK_FULL_TELL_SECONDS:
            self._reported_at = self.clock()
            where = f"There is no room in {self.folder}." if is_full(reason) else reason
            self.say(f"{where} Waiting for room; then all goes on.")

    def tell_found(self) -> None:
        """Report that there is room again, if it was missing."""
        if self._reported_at is not None:
            self._reported_at = None
            self.say("There is room again; going on.")
