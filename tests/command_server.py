"""`sale-sofia` without its slow start: one process has imported all commands, and forks for each one begun.

Run as a program it is that process: it reads one request a line and answers with one line, on its standard
input or, as the server of a whole run, on a socket. A command begun so
is a process of its own, with its own environment, folder, output and exit code. Other programs of ours, which
are a module with a function `main`, can be begun in the same way.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Any, NoReturn, Self

from celery_server import obey_variables
from forked_programs import (
    learn_loopback,
    learn_own_portals,
    wait_for_end,
    warm_up,
    warm_up_pages,
    warm_up_simulator,
)
from run_servers import kept_server, remove, tell_ready

PATIENCE_SECONDS = 300.0
_PR_SET_PDEATHSIG = 1
_OFTEN = (
    "aiohttp.web", "alembic.command", "curl_cffi.requests", "email.policy", "httpx", "numpy.ma",
    "phonenumbers", "protego", "psycopg", "pydantic_settings", "redis.asyncio", "rich.live", "rich.progress",
    "rich.table", "selectolax.lexbor", "simplemma", "sklearn.ensemble", "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite", "sqlite3", "stamina", "structlog", "typer.rich_utils", "yaml", "zstandard",
)  # fmt: skip
"""What most commands import."""
_LOOK_SECONDS = 0.02
_DOOR = "door"
COLUMNS = "120"
"""How wide the terminal of most commands is."""
COMMAND = Path(sys.prefix) / "bin" / "sale-sofia"
_CLI = "sale_sofia.cli.main"
_COMMANDS = "sale_sofia.cli"
DASHBOARD = "sale_sofia.app"
EVERYTHING = (*_OFTEN, _CLI, "sale_sofia.telemetry.log_lines", "sale_sofia_simulator.server", _COMMANDS)
"""All commands, and what most of them import."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A command that runs, or has run."""

    pid: int
    output: Path
    errors: Path

    def told(self) -> str:
        """All it has printed so far, first on its output, then on its error stream."""
        return "".join(path.read_text("utf-8", errors="replace") for path in (self.output, self.errors))


class CommandServer:
    """The process with everything imported, for the time of a `with` block.

    By a name it is one for the whole run, shared by all its test processes.
    """

    def __init__(
        self,
        imported: Sequence[str] = EVERYTHING,
        environ: Mapping[str, str] | None = None,
        shared_as: str = "",
    ) -> None:
        self._folder = TemporaryDirectory(prefix="commands-")
        self._asking = threading.Lock()
        self._open = ExitStack()
        # Of whatever test has it started, nothing may be known to the commands of others.
        variables = {**os.environ, "SITES_DIR": "", **(environ or {})}
        self._requests, self._answers = (
            self._connect(kept_server(shared_as, "command_server", imported, variables))
            if shared_as
            else self._start(imported, variables)
        )

    def _connect(self, folder: Path) -> tuple[IO[str], IO[str]]:
        server = self._open.enter_context(socket.socket(socket.AF_UNIX))
        server.connect(str(folder / _DOOR))
        stream = self._open.enter_context(server.makefile("rw", encoding="utf-8"))
        return stream, stream

    def _start(self, imported: Sequence[str], environ: Mapping[str, str]) -> tuple[IO[str], IO[str]]:
        process = self._open.enter_context(
            subprocess.Popen(
                [sys.executable, __file__, "", "", *imported],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environ,
            )
        )
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline(), "the server of commands has ended"  # else it is ready
        return process.stdin, process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """What it runs for us ends, and so does it, if it is our own."""
        self._open.close()
        self._folder.cleanup()

    def run(
        self, arguments: Sequence[str], environ: Mapping[str, str], folder: Path, seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """One command to its end; killed when that does not come in time."""
        begun = self.begin(arguments, environ, folder)
        code = self.ended(begun, seconds)
        if code is None:
            os.killpg(begun.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired([COMMAND, *arguments], seconds, begun.told())
        out, err = (path.read_text("utf-8") for path in (begun.output, begun.errors))
        for path in (begun.output, begun.errors):
            path.unlink()
        return subprocess.CompletedProcess([COMMAND, *arguments], code, out, err)

    def begin(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        said: str | Path = "",
        module: str = _CLI,
    ) -> Begun:
        """Start a command, or another module of ours, in a folder; with this on its standard input."""
        number = time.monotonic_ns()
        places = {
            name: Path(self._folder.name) / f"{number}.{name}" for name in ("input", "output", "errors")
        }
        for path in places.values():
            path.write_text(said if path == places["input"] and isinstance(said, str) else "", "utf-8")
        if isinstance(said, Path):
            places["input"] = said
        request = {
            "module": module,
            "arguments": list(arguments),
            "environ": dict(environ),
            "folder": str(folder),
            "umask": _umask(),
        }
        pid = int(self._ask({**request, "streams": list(map(str, places.values()))})["pid"])
        return Begun(pid, places["output"], places["errors"])

    def ended(self, begun: Begun, seconds: float = PATIENCE_SECONDS) -> int | None:
        """The exit code; None when it still runs after so long. A signal's number is negative."""
        wait_for_end(begun.pid, seconds)
        code = self._ask({"look": begun.pid})["code"]
        return None if code is None else int(code)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._asking:
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
            line = self._answers.readline()
        assert line, "the server of commands has ended"
        return dict(json.loads(line))


class ForkedProcess:
    """A command of the server as if it were a program that we had started: to be killed, or waited for."""

    def __init__(self, server: CommandServer, begun: Begun) -> None:
        self._server, self.begun = server, begun
        self.pid = begun.pid
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wait()

    @cached_property
    def stderr(self) -> "Growing":
        """What it says there, line by line, as a pipe would give it."""
        return Growing(self)

    def send_signal(self, sig: int) -> None:
        """Tell it something, unless it is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        """Tell it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it by force."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """The exit code; None when it still runs."""
        if self.returncode is None:
            self.returncode = self._server.ended(self.begun, 0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended."""
        if self.returncode is None:
            patience = PATIENCE_SECONDS if timeout is None else timeout
            self.returncode = self._server.ended(self.begun, patience)
            if self.returncode is None:
                raise subprocess.TimeoutExpired("sale-sofia", patience, self.begun.told())
        return self.returncode

    def communicate(self, *, timeout: float | None = None) -> tuple[str, str]:
        """All it has said, once it has ended."""
        self.wait(timeout)
        return self.begun.output.read_text("utf-8"), self.begun.errors.read_text("utf-8")


class Growing:
    """The error stream of a command that runs: a line is waited for until it comes or the command ends."""

    def __init__(self, process: ForkedProcess) -> None:
        self._process = process
        self._read = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")

    def readline(self) -> str:
        """The next line; nothing when the command has ended and all was read."""
        while True:
            ended = self._process.poll() is not None
            line, end, _ = self._rest().partition(b"\n")
            if end or ended:
                self._read += len(line + end)
                return (line + end).decode()
            time.sleep(_LOOK_SECONDS)

    def _rest(self) -> bytes:
        return self._process.begun.errors.read_bytes()[self._read :]


def _umask() -> int:
    """Ours, which a program that we start would have; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


@cache
def shared_commands() -> CommandServer:
    """The server of this run; what it does for this process ends with it."""
    server = CommandServer(environ={"COLUMNS": COLUMNS}, shared_as="commands")
    close_at_exit(server)
    return server


def close_at_exit(server: CommandServer) -> None:
    """Of this process alone: a forked child has our notes, but not our server."""
    atexit.register(_close, server, os.getpid())


def _close(server: CommandServer, owner: int) -> None:
    if os.getpid() == owner:
        server.close()


@dataclass(eq=False, slots=True)
class _Caller:
    """A process that has commands begun."""

    requests: IO[str]
    answers: IO[str]
    begun: set[int] = field(default_factory=set)

    def serve(self, request: Mapping[str, Any]) -> None:
        """Fork, or look at what was forked; returns never in a child, which then is the command."""
        if "look" in request:
            code = _code_of(request["look"])
            if code is not None:
                self.begun.discard(request["look"])
            self.say({"code": code})
        elif pid := os.fork():
            self.begun.add(pid)
            self.say({"pid": pid})
        else:
            _become(request)

    def say(self, answer: Mapping[str, Any]) -> None:
        with suppress(BrokenPipeError):  # it has gone meanwhile
            self.answers.write(json.dumps(answer) + "\n")
            self.answers.flush()

    def leave(self) -> None:
        """What still runs for it ends."""
        for pid in self.begun:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


def _serve_one() -> None:
    """The one that has started us, until it is gone."""
    caller = _Caller(sys.stdin, sys.stdout)
    caller.say({"ready": True})
    for line in sys.stdin:
        caller.serve(json.loads(line))


def _serve_run(folder: Path, run: int) -> None:
    """All that come to our door, until the run of tests is over."""
    over, callers = os.pidfd_open(run), dict[socket.socket, _Caller]()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / _DOOR))
        door.listen()
        tell_ready(folder)
        waiting: list[Any] = [over, door]
        while over not in (ready := select.select([*waiting, *callers], [], [])[0]):
            if door in ready:
                caller, _ = door.accept()
                stream = caller.makefile("rw", encoding="utf-8")
                callers[caller] = _Caller(stream, stream)
            for one in [one for one in ready if one in callers]:
                if line := callers[one].requests.readline():
                    callers[one].serve(json.loads(line))
                else:
                    callers.pop(one).leave()
                    one.close()
    remove(folder)


def _code_of(pid: int) -> int | None:
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _become(request: Mapping[str, Any]) -> NoReturn:
    """The command: all that a process has is as if it were started by a shell."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)  # what runs on ends with the test
    _set_streams(request["streams"])
    os.chdir(request["folder"])
    os.umask(request["umask"])
    wide_as_ours = request["environ"].get("COLUMNS") == os.environ.get("COLUMNS")
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = [str(COMMAND), *request["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    obey_variables()
    learn_loopback()
    told_otherwise = learn_own_portals() and "--help" in request["arguments"]
    if told_otherwise or not (wide_as_ours or _widened()):
        _forget_ours()
    try:
        code = importlib.import_module(request["module"]).main()
    except SystemExit as end:
        code = end.code
    if code is None or isinstance(code, int):
        _codes.append(code or 0)
    sys.exit(code)


_codes: list[int] = []
"""With which a command ends, once it is known."""


def _leave() -> None:
    """At the very end of a command: to take apart all libraries would last longer than most commands.

    What was covered would not be written any more, so that then there is no hurry.
    """
    if _codes and "coverage" not in sys.modules:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_codes[0] & 0xFF)


def _widened() -> bool:
    """Whether the consoles, which look at the width once, could be given another one."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        console = importlib.import_module("sale_sofia.cli.console")
        console.out.width = console.log.width = int(columns)
    return columns.isdigit()


def _forget_ours() -> None:
    """Have all of ours imported anew: what help says, and how wide, is known from the import on."""
    for name in [name for name in sys.modules if name.startswith("sale_sofia")]:
        del sys.modules[name]


def _set_streams(paths: Sequence[str]) -> None:
    for number, path in enumerate(paths):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)


def _modules(name: str) -> Iterator[str]:
    """It and, for a package of ours, all that is in it but what Streamlit runs itself."""
    yield name
    if name in (_COMMANDS, DASHBOARD):
        package = importlib.import_module(name)
        found = (module.name for module in pkgutil.iter_modules(package.__path__))
        yield from (f"{name}.{one}" for one in found if one != "main")


def _import_all(names: Sequence[str]) -> None:
    """The libraries and all of ours: but for two things none looks at its environment then."""
    for module in (one for name in names for one in _modules(name)):
        with suppress(ImportError):  # one that is not installed is missed by the command that needs it
            importlib.import_module(module)
    if _COMMANDS in names:
        warm_up()
        warm_up_simulator()
    if DASHBOARD in names:
        warm_up_pages()
    assert threading.active_count() == 1, "a thread would be lost by a fork"
    gc.freeze()  # children look at nothing that was there before them, so that no page of memory is copied


if __name__ == "__main__":
    atexit.register(_leave)  # before all others: what is registered first is called last
    _import_all(sys.argv[3:])
    if sys.argv[1]:
        _serve_run(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        _serve_one()
