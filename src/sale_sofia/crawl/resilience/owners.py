"""Who holds a lease: a process, named so that others on its machine can see whether it still lives.

A process is known to be dead by its own machine alone: no process of its number and birth is there, or it
only waits to be buried. Of one on another machine, or in another container, nobody can say more than that it
was not heard of; what it holds comes back when its lease ends. Its connections say nothing: a network that
was away for a moment ends them too, and whoever lives must keep what it holds.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Final

PROC: Final = Path("/proc")
_BOOT_ID: Final = PROC / "sys/kernel/random/boot_id"
_STATE, _THREADS, _START_TICKS = 0, 17, 19
"""Places in /proc/PID/stat, counted from behind the program's name."""
_DEAD: Final = frozenset("ZX")
_TOKEN_BYTES: Final = 16


def birth(pid: int) -> str | None:
    """When the process with this number began, as text only good for comparing; None when there is none."""
    if sys.platform != "linux":
        return birth_by_ps(pid)
    try:
        ticks = _start_ticks(pid)
        # Ticks count from the start of the machine: the next start could give the same ones.
        boot = _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return None
    return ticks and f"{boot} {ticks}"


def _start_ticks(pid: int) -> str | None:
    """From /proc; None for one that has ended and was not buried yet."""
    fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
    # Killed, a process has its ports and files until its last thread has ended, not only its first.
    ended = fields[_STATE] in _DEAD and int(fields[_THREADS]) <= 1
    return None if ended else fields[_START_TICKS]


def birth_by_ps(pid: int) -> str | None:
    """As `birth`, where there is no /proc."""
    told = subprocess.run(  # noqa: S603 - a fixed command and a number
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],  # noqa: S607 - each system keeps it elsewhere
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, start = told.stdout.strip().partition(" ")
    return start.strip() if state and state[0] not in _DEAD else None


def this_owner() -> str:
    """The name of this process, different from every other's, also after a restart of the machine."""
    return _name(os.getpid())


@cache
def _name(pid: int) -> str:
    return f"{_place()}|{pid}|{_mark(birth(pid))}"


if hasattr(os, "register_at_fork"):  # a number that an ancestor had may be given again
    os.register_at_fork(after_in_child=_name.cache_clear)


def is_dead(owner: str) -> bool:
    """Whether an owner on this machine has surely ended; of one elsewhere nothing is known, so it lives."""
    place, _, rest = owner.partition("|")
    number, _, mark = rest.partition("|")
    if place != _place() or not number.isdecimal():
        return False
    born = birth(int(number))
    return _is_gone(int(number)) if born is None else _mark(born) != mark


def _is_gone(pid: int) -> bool:
    """Whether there is surely no such process: one that cannot be looked at, as others' may be, may live."""
    try:
        if sys.platform == "linux" and _start_ticks(pid) is None:
            return True
    except (FileNotFoundError, ProcessLookupError):
        pass
    except OSError:
        return False
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def new_token() -> str:
    """A name for one request, never given twice, which also says whose it is."""
    return f"{this_owner()}|{token_hex(_TOKEN_BYTES)}"


def tokens_of_dead(tokens: Iterable[str]) -> list[str]:
    """Of these names of requests, those whose process is known to be dead."""
    return [token for token in tokens if is_dead(token.rpartition("|")[0])]


@cache
def _place() -> str:
    """The machine, or the container in it: process numbers mean something only inside."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = "host"
    return f"{socket.gethostname()[:20]}/{space}"


def _mark(birth: str | None) -> str:
    """The process's start without the machine's: a row leased before a reboot is also told by it."""
    boot, _, ticks = (birth or "").partition(" ")
    return f"{boot[:8]}.{ticks}"
