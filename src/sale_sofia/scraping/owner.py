"""Who leases rows: a process, named so that others on its machine can see whether it still lives."""

import os
import socket
from functools import cache
from pathlib import Path

from sale_sofia.services.processes import born

_PID_NAMESPACE = Path("/proc/self/ns/pid")
_MOST_CHARACTERS = 80


def this_owner() -> str:
    """The name of this process, different from every other's, also after a restart of the machine."""
    pid = os.getpid()
    return f"{_place()}|{pid}|{_mark(born(pid))}"


def is_dead(owner: str) -> bool:
    """Whether an owner on this machine has ended; of one elsewhere nothing is known, so it lives."""
    place, _, rest = owner.partition("|")
    pid, _, mark = rest.partition("|")
    return place == _place() and pid.isdecimal() and _mark(born(int(pid))) != mark


@cache
def _place() -> str:
    """The machine, or the container in it: process numbers mean something only inside."""
    try:
        space = str(_PID_NAMESPACE.readlink())
    except OSError:
        space = "host"
    return f"{socket.gethostname()[: _MOST_CHARACTERS // 4]}/{space}"


def _mark(birth: str | None) -> str:
    """The process's start without the machine's: a row leased before a reboot is also told by it."""
    boot, _, ticks = (birth or "").partition(" ")
    return f"{boot[:8]}.{ticks}"
