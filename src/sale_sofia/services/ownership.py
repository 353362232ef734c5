"""Who runs the services of a data folder: one process at a time, known by a lock it loses when it dies."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sale_sofia.services.errors import ServiceError
from sale_sofia.services.folder_locks import ALONE, StillLocked, lock_file, take
from sale_sofia.services.processes import Process, born

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
        with ExitStack() as stack:
            file = stack.enter_context(lock_file(self._made() / _LOCK))
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

    def _made(self) -> Path:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceError(f"{self._folder} cannot be made: {error.strerror}.") from error
        return self._folder
