"""`sale-sofia` without its slow start: one process has imported the libraries, and forks for each command.

Run as a program it is that process: it reads one request a line and answers with one line. A command begun so
is a process of its own, with its own environment, folder, output and exit code, and imports all that is ours.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

PATIENCE_SECONDS = 300.0
_PR_SET_PDEATHSIG = 1
_NAMES = """
import importlib, pkgutil, sys
import sale_sofia.cli, sale_sofia.commands
for one in pkgutil.iter_modules(sale_sofia.commands.__path__):
    importlib.import_module(f"sale_sofia.commands.{one.name}")
print(*(name for name in sys.modules if not name.startswith(("sale_sofia", "__main__"))))
"""
_LATE = ("apprise", "flower", "ollama", "pandas", "pyarrow.parquet", "sklearn.ensemble", "streamlit")
"""What commands import only when they need it."""
LOOPBACK_ONLY = str(Path(__file__).with_name("loopback_only"))
"""On the path of the commands and of all that they start: nothing leaves this machine."""
COMMAND = str(Path(sys.prefix) / "bin" / "sale-sofia")


@dataclass(frozen=True, slots=True)
class Begun:
    """A command that runs, or has run."""

    pid: int
    output: Path

    def told(self) -> str:
        """All it has printed so far, on both streams."""
        return self.output.read_text("utf-8", errors="replace")


class CommandServer:
    """The process with all libraries imported, for the time of a `with` block."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "160", "PYTHONPATH": LOOPBACK_ONLY},
        )
        self._answer()  # it is ready
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=PATIENCE_SECONDS)

    def begin(
        self, arguments: Sequence[str], environ: Mapping[str, str], folder: Path, said: str | None = None
    ) -> Begun:
        """Start a command in a folder, with this on its standard input."""
        output = folder / f".output-{time.monotonic_ns()}"
        output.touch()
        request = {"arguments": list(arguments), "environ": dict(environ), "folder": str(folder)}
        pid = int(self._ask({**request, "output": str(output), "said": said})["pid"])
        return Begun(pid, output)

    def ended(self, begun: Begun, seconds: float = PATIENCE_SECONDS) -> int | None:
        """The exit code; None when it still runs after so long. A signal's number is negative."""
        code = self._ask({"wait": begun.pid, "seconds": seconds})["code"]
        return None if code is None else int(code)

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the server of commands has ended"
        return dict(json.loads(line))


def _serve() -> None:
    """Fork for each request; returns in a child, which then is the command."""
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            _say({"code": _code_of(request["wait"], request["seconds"])})
        elif pid := os.fork():
            _say({"pid": pid})
        else:
            _become(request)
    sys.exit(0)


def _say(answer: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _code_of(pid: int, seconds: float) -> int | None:
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            return None
        time.sleep(0.01)


def _become(request: Mapping[str, Any]) -> NoReturn:
    """The command: all that a process has is as if it were started by a shell."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)  # what runs on ends with the test
    _set_streams(Path(request["output"]), request["said"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = [COMMAND, *request["arguments"]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(importlib.import_module("sale_sofia.cli").main())


def _set_streams(output: Path, said: str | None) -> None:
    words = output.with_suffix(".input")
    words.write_text(said or "", "utf-8")
    for number, path, flags in (
        (0, words, os.O_RDONLY),
        (1, output, os.O_WRONLY | os.O_APPEND),
        (2, output, os.O_WRONLY | os.O_APPEND),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)


def _import_others() -> None:
    """Import all that our commands import, and nothing of our own: that reads its settings when imported."""
    told = subprocess.run([sys.executable, "-c", _NAMES], capture_output=True, text=True, check=True)
    for name in (*told.stdout.split(), *_LATE):
        with suppress(ImportError):  # a part that cannot be imported by itself comes with its whole
            importlib.import_module(name)
    assert threading.active_count() == 1, "a thread would be lost by a fork"
    gc.freeze()  # children look at nothing that was there before them, so that no page of memory is copied


if __name__ == "__main__":
    _import_others()
    _say({"ready": True})
    _serve()
