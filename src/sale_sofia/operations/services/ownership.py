"""Who runs the services of a data folder: one process at a time, known by a lock it loses when it dies."""

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
from sale_sofia.settings.errors import ServiceError
from sale_sofia.settings.model import Settings

SHARED: Final = fcntl.LOCK_SH
ALONE: Final = fcntl.LOCK_EX


class StillLocked(RuntimeError):
    """Somebody else did not let go in time."""


@contextmanager
def lock_file(path: Path) -> Iterator[IO[str]]:
    """The file to lock, made when absent; who leaves or dies lets go, unless a child keeps it."""
    with path.open("a", encoding="ascii") as file:
        yield file


def take(file: IO[str], kind: int, seconds: float = 0.0) -> None:
    """Lock the file, or change the lock on it, waiting at most so long; raises StillLocked."""
    end = time.monotonic() + seconds
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        if time.monotonic() >= end:
            raise StillLocked(file.name)
        time.sleep(fixed.REDIS_POLL_SECONDS)


_LOCK: Final = "orchestrator.lock"


class ServicesBusy(ServiceError):
    """Another process runs the services of this data folder, and not for everybody."""


class Holder(BaseModel):
    """The process that runs the services."""

    model_config = ConfigDict(frozen=True, strict=True)

    pid: Annotated[int, Field(gt=0)]
    born: str
    shared: bool
    """Whether others may use them: yes for `up`, which stops them when told to, not when its work is done."""

    @property
    def process(self) -> Process:
        """As a process that can be asked and told."""
        return Process(self.pid, self.born)


class Ownership:
    """The right to start and stop the services of one data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept = ExitStack()

    def take(self, *, shared: bool) -> bool:
        """Whether the services are ours now; until `release`, or our death."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceError(f"{self._folder} cannot be made: {error.strerror}.") from error
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
            self._kept = stack.pop_all()
        return True

    def holder(self) -> Holder | None:
        """The living process that runs the services, if there is one."""
        try:
            holder = Holder.model_validate_json((self._folder / _LOCK).read_bytes())
        except (OSError, ValidationError):
            return None
        return holder if holder.process.alive else None

    def release(self) -> None:
        """Let others run the services."""
        self._kept.close()


def take_down(settings: Settings) -> bool:
    """Tell whoever runs the services for everybody to stop them, and wait for that; False when nobody does.

    Raises ServicesBusy where they belong to a crawl, which stops them itself when it ends.
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
    raise ServiceError(f"`sale-sofia up`, process {holder.pid}, does not stop.")


# A disk without room: known by its errors and by trying, told of once a minute.

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
        if self._told is None and found.f_bavail * found.f_frsize >= fixed.DISK_LEAST_BYTES:
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
        """Return when there is room."""
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
        """Once a minute, that there is no room here, or where the error says, and what follows."""
        if self._told is None or self.clock() - self._told >= fixed.DISK_FULL_TELL_SECONDS:
            self._told = self.clock()
            where = f"There is no room in {self.folder}." if is_full(reason) else reason
            self.say(f"{where} Waiting for room; then all goes on.")

    def tell_found(self) -> None:
        """That there is room again, if it was missing."""
        if self._told is not None:
            self._told = None
            self.say("There is room again; going on.")
