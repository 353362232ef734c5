"""Processes that outlive whoever started them, known by number and birth: a number alone is given again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sale_sofia.config.services import REDIS_POLL_SECONDS

_PROC: Final = Path("/proc")
_BOOT_ID: Final = _PROC / "sys/kernel/random/boot_id"
_STATE, _THREADS, _START_TICKS = 0, 17, 19
"""Places in /proc/PID/stat, counted from behind the program's name."""
_DEAD: Final = frozenset("ZX")
TERMINATE: Final = signal.SIGTERM
QUIT: Final = signal.SIGQUIT
KILL: Final = signal.SIGKILL
_HELD_AS: Final = 3
"""The first number behind standard input, output and error."""
_children: Final[set[int]] = set()


@dataclass(frozen=True, slots=True)
class Process:
    """One process; never mistaken for another that got its number later."""

    pid: int
    born: str

    @property
    def alive(self) -> bool:
        """Whether this very process still runs; one that only waits to be buried does not."""
        return born(self.pid) == self.born

    def send(self, number: signal.Signals) -> None:
        """Send it a signal; nobody gets one when it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        except (AttributeError, OSError):  # not Linux, or a container that forbids it
            self._send_by_number(number)
            return
        # The handle stays with one process, so that between the look and the signal nothing can change.
        try:
            if self.alive:
                signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)

    def _send_by_number(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            if self.alive:
                os.kill(self.pid, number)

    def gone_within(self, seconds: float) -> bool:
        """Wait for its end, at most so long; whether it came."""
        end = time.monotonic() + seconds
        while self.alive:
            if time.monotonic() > end:
                return False
            time.sleep(REDIS_POLL_SECONDS)
        return True


def spawn(
    command: Sequence[str], log: Path, held: int | None = None, environ: Mapping[str, str] | None = None
) -> Process:
    """Start a program in a session of its own, which a Ctrl-C at our terminal does not reach.

    What it says goes to `log`. It keeps the open file `held`, and with it a lock on that file, until it dies.
    """
    pid = os.posix_spawn(
        command[0],
        list(command),
        {**os.environ, "LC_ALL": "C"} if environ is None else environ,
        file_actions=[
            *([] if held is None else [(os.POSIX_SPAWN_DUP2, held, _HELD_AS)]),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
            *((os.POSIX_SPAWN_CLOSE, number) for number in _inherited() if number > _last_kept(held)),
        ],
        setsid=True,
        setsigmask=(),
    )
    birth = born(pid)
    _children.add(pid)
    return Process(pid, birth or "")


def _last_kept(held: int | None) -> int:
    return _HELD_AS - 1 if held is None else _HELD_AS


def _inherited() -> list[int]:
    """Open files that a child would get; one could be a pipe, whose reader would wait for the child's end."""
    numbers = [int(entry.name) for entry in Path("/dev/fd").iterdir()]
    return [number for number in numbers if _is_inherited(number)]


def _is_inherited(number: int) -> bool:
    try:
        return os.get_inheritable(number)
    except OSError:  # the one that the list was read through
        return False


def born(pid: int) -> str | None:
    """When the process with this number began, as text only good for comparing; None when there is none."""
    _bury(pid)
    return _born_by_proc(pid) if sys.platform == "linux" else _born_by_ps(pid)


def _bury(pid: int) -> None:
    """Take leave of a dead child of ours. Of ours only: others want to hear of theirs themselves."""
    if pid in _children:
        try:
            buried = os.waitpid(pid, os.WNOHANG)[0]
        except ChildProcessError:
            buried = pid
        if buried:
            _children.discard(pid)


def _born_by_proc(pid: int) -> str | None:
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
        # Ticks count from the start of the machine: the next start could give the same ones.
        boot = _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return None
    # Killed, a process has its ports and files until its last thread has ended, not only its first.
    ended = fields[_STATE] in _DEAD and int(fields[_THREADS]) <= 1
    return None if ended else f"{boot} {fields[_START_TICKS]}"


def _born_by_ps(pid: int) -> str | None:
    told = subprocess.run(  # noqa: S603 - a fixed command and a number
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],  # noqa: S607 - each system keeps it elsewhere
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, start = told.stdout.strip().partition(" ")
    return start.strip() if state and state[0] not in _DEAD else None
