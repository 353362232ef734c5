"""Celery's workers and beats without their slow start: one process has imported all, and forks for each.

Run as a program it is that process, one for a whole run of tests, and answers requests on a socket, each of a
line. What is begun so has its own environment, session and output, and dies with the run however that ends.
"""

import ctypes
import gc
import importlib
import json
import mmap
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

from forked_programs import learn_loopback, learn_own_portals, wait_for_end, warm_up
from run_servers import kept_server, remove, tell_ready
from sale_sofia.operations.services import processes
from sale_sofia.operations.services.processes import Process, born, spawn
from sale_sofia.settings.programs import own_program

_PROGRAM = "sale_sofia.celery_program"
_PR_SET_PDEATHSIG = 1
_LOOK_SECONDS = 0.02
_ROOM = "." * 20_000
"""Where a forked program writes what it would have been started with."""
_SHOWN = slice(45, 49)
"""Places in /proc/PID/stat, counted from behind the program's name: where arguments and environment are."""
_OF_THE_APP = (
    "sale_sofia.celery_app", "sale_sofia.proxies.tasks", "sale_sofia.alerts.tasks",
    "sale_sofia.descriptions.tasks", "sale_sofia.crawl.runners.tasks",
)  # fmt: skip
"""With the tasks, which are those of whoever imports them first."""
_LIBRARIES = (
    "celery.apps.beat", "celery.apps.worker", "celery.bin.celery", "celery.concurrency.prefork",
    "billiard.popen_fork", "billiard.sharedctypes", "celery.app.routes", "celery.backends.asynchronous",
    "celery.worker.consumer", "celery.worker.strategy", "cffi.cparser", "kombu.transport.redis", "numpy.ma",
    "sale_sofia.flats.runs",
)  # fmt: skip

_SETTINGS = ("crawl.settings", "crawl.resilience.settings", "operations.settings")
"""Where the fixed numbers are."""
_SLICES = (
    "settings", "storage", "telemetry", "listings", "websites", "history", "descriptions",
    "crawl", "crawl.resilience", "crawl.fetch", "crawl.frontier", "crawl.visit", "crawl.runners",
    "operations.services",
)  # fmt: skip


Numbers = Mapping[str, float]
"""Fixed numbers of the settings, where they are to be other ones."""
Request = Mapping[str, Any]
SERVER = "CELERY_SERVER"
"""The variable with which a forked command has its Celery programs forked: the socket of the server."""
NUMBERS = "OTHER_NUMBERS"
"""The one that has the fixed numbers they are to have."""


@cache
def _door() -> str:
    """Of the server of this run, which all its test processes share."""
    ours = {name: value for name, value in os.environ.items() if name != "DATA_DIR"}  # it is of no folder
    environ = {**ours, "SITES_DIR": "", "ROOM": _ROOM}
    return str(kept_server("celery", "celery_server", [_ROOM], environ) / "door")


def server_variables(numbers: Numbers) -> dict[str, str]:
    """With these a forked command has its Celery programs forked, each with these fixed numbers."""
    return {SERVER: _door(), NUMBERS: json.dumps(dict(numbers))}


def obey_variables() -> None:
    """In a command that was just forked: see `server_variables`."""
    if door := os.environ.pop(SERVER, ""):
        numbers = json.loads(os.environ[NUMBERS])
        vars(processes)["spawn"] = partial(spawn_forked, numbers, door=door)


def _ask(door: str, request: Request) -> int | None:
    """The number of a new process, or the exit code of one that ended."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(door)
        with server.makefile("rw", encoding="utf-8") as stream:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            line = stream.readline()
    assert line, "the server of Celery's programs has ended"
    told: int | None = json.loads(line)
    return told


def _request(arguments: Sequence[str], environ: Mapping[str, str], log: Path, numbers: Numbers) -> Request:
    return {
        "arguments": list(arguments),
        "environ": dict(environ),
        "log": str(log),
        "numbers": dict(numbers),
    }


def spawn_forked(
    numbers: Numbers,
    command: Sequence[str],
    log: Path,
    held: int | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    door: str = "",
) -> Process:
    """In place of `spawn`, which starts what is no program of Celery; by `door` in another process."""
    if _PROGRAM not in command or environ is None:
        return spawn(command, log, held, environ)
    arguments = command[command.index(_PROGRAM) + 1 :]
    log.write_bytes(b"")
    pid = _ask(door or _door(), _request(arguments, environ, log.absolute(), numbers))
    assert pid
    return Process(pid, born(pid) or "")


class Forked(subprocess.Popen[bytes]):
    """A worker or a beat that another process started for us."""

    _child_created = False  # for Python, which would wait for it

    def __init__(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        log: Path,
        numbers: Numbers | None = None,
    ) -> None:
        """With these fixed numbers of the settings, where they are to be other ones."""
        log.touch()
        self.args = list(arguments)
        self.returncode = None
        pid = _ask(_door(), _request(arguments, environ, log, numbers or {}))
        assert pid
        self.pid = pid

    def poll(self) -> int | None:
        """The exit code, when it has ended."""
        if self.returncode is None:
            self.returncode = _ask(_door(), {"look": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended in time."""
        wait_for_end(self.pid, timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code


def _serve(door: socket.socket, run: int) -> None:
    """Fork for each request until the run of tests is over; a child becomes the program."""
    over = os.pidfd_open(run)
    waiting: list[Any] = [over, door]
    while over not in select.select(waiting, [], [])[0]:
        caller, _ = door.accept()
        with caller, caller.makefile("rw", encoding="utf-8") as stream:
            request = json.loads(stream.readline())
            answer = _code_of(request["look"]) if "look" in request else _begin(request, door, caller)
            stream.write(json.dumps(answer) + "\n")


def _begin(request: Request, *ours: socket.socket) -> int:
    """The number of a new process, in which nothing of ours stays open."""
    pid = os.fork()
    if not pid:
        for one in ours:
            os.close(one.detach())
        _become(request)
    return pid


def _code_of(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _become(request: Request) -> NoReturn:
    """The program: all that a process has is as if it were started anew."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _set_streams(request["log"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["celery", *request["arguments"]]
    _show(own_program(_PROGRAM, *request["arguments"]), request["environ"])
    learn_loopback()
    learn_own_portals()
    _set_numbers(request["numbers"])
    # One byte that it shares with its own children, and with nobody else who was forked here.
    vars(importlib.import_module("sale_sofia.crawl.runners.lane"))["_going"] = mmap.mmap(-1, 1)
    sys.exit(importlib.import_module("celery.__main__").main())


def _show(command: Sequence[str], environ: Mapping[str, str]) -> None:
    """What /proc tells of this process, and of those that it forks, is as if it had been started so."""
    told = Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()[_SHOWN]
    arguments, arguments_end, variables, variables_end = map(int, told)
    _overwrite(arguments, arguments_end, command)
    _overwrite(variables, variables_end, [f"{name}={value}" for name, value in environ.items()])


def _overwrite(start: int, end: int, texts: Sequence[str]) -> None:
    words = b"".join(os.fsencode(text) + b"\0" for text in texts)
    assert len(words) <= end - start, "there is not room enough"
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, words, len(words))


def _set_numbers(numbers: Numbers) -> None:
    """In the settings, for what is imported later, and wherever they are known already."""
    configs = [importlib.import_module(f"sale_sofia.{name}") for name in _SETTINGS]
    for name, value in numbers.items():
        assert any(name in vars(config) for config in configs), name
        for module in [one for key, one in sys.modules.items() if key.partition(".")[0] == "sale_sofia"]:
            if name in vars(module):
                setattr(module, name, value)


def _set_streams(log: str) -> None:
    nothing, said = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number, opened in enumerate((nothing, said, said)):
        os.dup2(opened, number)


def _ours() -> Iterator[str]:
    """What the tasks import, but not they themselves."""
    for name in _SLICES:
        package = importlib.import_module(f"sale_sofia.{name}")
        yield from (f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__))


def _import_all() -> None:
    for name in (*_LIBRARIES, *_ours()):
        if name not in _OF_THE_APP:
            with suppress(ImportError):
                importlib.import_module(name)
    warm_up()
    assert not [name for name in _OF_THE_APP if name in sys.modules], "a task was imported too early"
    assert threading.active_count() == 1, "a thread would be lost by a fork"
    gc.freeze()  # children look at nothing that was there before them, so that no page of memory is copied


if __name__ == "__main__":
    place = Path(sys.argv[1])
    _import_all()
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(place / "door"))
        opened.listen()
        tell_ready(place)
        _serve(opened, int(sys.argv[2]))
    remove(place)
