"""Names of lease holders: each names a process, so that others on its machine can see whether it still lives.

Only its own machine can tell that a process is dead: no process has its number and start time, or it is a
zombie. A process on another machine or in another container counts as alive; what it holds is freed when its
lease ends. Connections prove nothing: a short network failure ends them too, and a live process must keep
what it holds.
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
"""Indexes of fields in /proc/PID/stat, counted after the program's name."""
_DEAD: Final = frozenset("ZX")
_TOKEN_BYTES: Final = 16


def birth(pid: int) -> str | None:
    """The start time of the process with this number, as text for comparison; None when there is none."""
    if sys.platform != "linux":
        return birth_by_ps(pid)
    try:
        ticks = _start_ticks(pid)
        # Ticks count from the boot: after the next boot another process could have the same.
        boot = _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return None
    return ticks and f"{boot} {ticks}"


def _start_ticks(pid: int) -> str | None:
    """The start time in ticks, from /proc; None for a zombie."""
    fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
    # A killed process keeps its ports and files until its last thread has ended, not only its first.
    ended = fields[_STATE] in _DEAD and int(fields[_THREADS]) <= 1
    return None if ended else fields[_START_TICKS]


def birth_by_ps(pid: int) -> str | None:
    """As `birth`, where there is no /proc."""
    process = subprocess.run(  # noqa: S603 - a fixed command and a number
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],  # noqa: S607 - its path differs by system
        capture_output=True,
        text=True,
        check=False,
    )
    state, _, start = process.stdout.strip().partition(" ")
    return start.strip() if state and state[0] not in _DEAD else None


def this_owner() -> str:
    """The name of this process, different from every other's, also after a restart of the machine."""
    return _name(os.getpid())


@cache
def _name(pid: int) -> str:
    return f"{_place()}|{pid}|{_mark(birth(pid))}"


if hasattr(os, "register_at_fork"):  # a child may get the number of an ended ancestor
    os.register_at_fork(after_in_child=_name.cache_clear)


def is_dead(owner: str) -> bool:
    """Whether an owner on this machine has surely ended; one elsewhere counts as alive."""
    place, _, rest = owner.partition("|")
    number, _, mark = rest.partition("|")
    if place != _place() or not number.isdecimal():
        return False
    born = birth(int(number))
    return _is_gone(int(number)) if born is None else _mark(born) != mark


def _is_gone(pid: int) -> bool:
    """Whether there is surely no such process; one that we may not inspect counts as alive."""
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
    """A unique token for one request, which also names its owner."""
    return f"{this_owner()}|{token_hex(_TOKEN_BYTES)}"


def tokens_of_dead(tokens: Iterable[str]) -> list[str]:
    """Those of the tokens whose process is known to be dead."""
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
    """A short form of the start time; it holds part of the boot's id, so it differs after a reboot."""
    boot, _, ticks = (birth or "").partition(" ")
    return f"{boot[:8]}.{ticks}"
