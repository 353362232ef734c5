"""What is written down about a program we started, and which processes are really of that start."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sale_sofia.services.own_files import write_own
from sale_sofia.services.processes import Process, born

_PROC: Final = Path("/proc")
NONCE: Final = "SALE_SOFIA_NONCE"
"""Made for one start; the program and all its children have it in their environment."""
READY_FILE: Final = "SALE_SOFIA_READY_FILE"
"""Where the program says that it is at work."""


class ChildRecord(BaseModel):
    """A program as it was started."""

    model_config = ConfigDict(frozen=True, strict=True)

    nonce: Annotated[str, Field(min_length=16)]
    pid: Annotated[int, Field(gt=0)] | None = None
    """None until the process is there."""
    born: str | None = None

    @property
    def process(self) -> Process | None:
        """The program's first process, whether it still runs or not."""
        return Process(self.pid, self.born) if self.pid and self.born else None


def read_child(path: Path) -> ChildRecord | None:
    """The record of this file; None when there is none that can be read."""
    try:
        return ChildRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_child(path: Path, record: ChildRecord) -> None:
    """Replace the record; a reader sees the old one or the new one, whole."""
    write_own(path, record.model_dump_json())


def processes_of(record: ChildRecord) -> list[Process]:
    """Everything that runs of this start: the program and its children, never a stranger with its number."""
    if _PROC.is_dir():
        return [process for process in _all_processes() if _has_nonce(process.pid, record.nonce)]
    first = record.process
    return [first] if first and first.alive else []


def _all_processes() -> Iterator[Process]:
    for entry in _PROC.iterdir():
        # The birth before the look: a number given again meanwhile then belongs to nobody we know.
        if entry.name.isdecimal() and (birth := born(int(entry.name))):
            yield Process(int(entry.name), birth)


def _has_nonce(pid: int, nonce: str) -> bool:
    wanted = f"{NONCE}={nonce}".encode()
    with suppress(OSError):  # it is gone, or another user's
        return wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return False


def tell_alive() -> None:
    """Called by the program now and then, once it is at work: it still is."""
    if path := os.environ.get(READY_FILE):
        with suppress(OSError):  # it is not at work yet, or the disk is full
            os.utime(path)


def tell_ready() -> None:
    """Called by the program: it is at work."""
    if path := os.environ.get(READY_FILE):
        with suppress(OSError):  # a disk that is full stops nobody from working
            Path(path).write_text(os.environ.get(NONCE, ""), "ascii")
