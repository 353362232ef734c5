"""The dashboard until the test ends: as a person starts it, or its server alone, forked and there at once."""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import Empty, Queue

import httpx

from command_server import COMMAND, DASHBOARD, CommandServer, close_at_exit
from listening import NO_TLS, free_port
from ready_files import put_ready_file
from sale_sofia.operations.services import dashboard as dashboard_server
from sale_sofia.operations.settings import DASHBOARD_ENVIRONMENT, DASHBOARD_HOST

PATIENCE = 180.0
_WIDTH = {"COLUMNS": "200"}
_LIBRARIES = ("jinja2", "starlette.applications", "uvicorn")
_ADDRESS = re.compile(r"dashboard: (http://\S+)")


class Dashboard:
    """A running `sale-sofia dashboard`."""

    def __init__(self, data: Path, *arguments: str, **more: str) -> None:
        words = ("dashboard", "--no-open", *(arguments or ("--port", "0")))
        self.process = subprocess.Popen(
            [COMMAND, *words],
            env=surroundings(data, more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: Queue[str | None] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.said: list[str] = []
        self.url = self._address()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _address(self) -> str:
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE)
            except Empty:
                line = None
            if line is None:
                self.stop()
                raise AssertionError(f"the dashboard did not start: {''.join(self.said)}")
            self.said.append(line)
            if found := _ADDRESS.search(line):
                return found[1]

    def stop(self) -> int:
        """Asked to end as by `kill`; its exit code."""
        self.process.terminate()
        return self.end()

    def end(self) -> int:
        """Waits for its end; its exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join()
        if self.process.stdout:
            self.process.stdout.close()
        return code


def surroundings(data: Path, more: Mapping[str, str]) -> dict[str, str]:
    """Our environment without a person's own dashboard and database."""
    ours = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "DISPLAY")}
    return {**ours, "DATA_DIR": str(data), **_WIDTH, **more}


@contextmanager
def commanded_dashboard(data: Path, **more: str) -> Iterator[Dashboard]:
    """The command on any free port, of this machine alone; it ends when it is asked to."""
    dashboard = Dashboard(data, **more)
    try:
        yield dashboard
    finally:
        code = dashboard.stop()
    assert code == 0


@dataclass(frozen=True, slots=True)
class Served:
    """The dashboard's server without the command in front of it."""

    url: str
    pid: int
    told: Callable[[], str] = str
    """All it has printed so far."""


@contextmanager
def running_dashboard(data: Path, **more: str) -> Iterator[Served]:
    """The server that the command starts, in a fork that has its libraries already; gone afterwards.

    It listens where the command lets it listen, in the folder and with the environment that it gives it.
    """
    put_ready_file(data / "sale_sofia.db")
    port = free_port()
    url = f"http://{DASHBOARD_HOST}:{port}"
    environ = {**surroundings(data, more), **DASHBOARD_ENVIRONMENT}
    with _lifeline() as line:
        begun = _shared().begin(
            (DASHBOARD_HOST, str(port)), environ, _FOLDER, said=line, module=f"{DASHBOARD}.server"
        )
        try:
            end = time.monotonic() + PATIENCE
            while not _answers(url):
                waits = _shared().ended(begun, 0.05) is None and time.monotonic() < end
                assert waits, f"the dashboard did not start: {begun.told()}"
            yield Served(url, begun.pid, begun.told)
        finally:
            os.kill(begun.pid, signal.SIGTERM)
            assert _shared().ended(begun, PATIENCE) is not None, "the dashboard does not end"


_FOLDER = Path(dashboard_server.__file__).parent
"""Where the command has it started."""


@contextmanager
def _lifeline() -> Iterator[Path]:
    """A standard input that ends when we do, and the server with it."""
    with tempfile.TemporaryDirectory(prefix="dashboard-") as folder:
        path = Path(folder) / "lifeline"
        os.mkfifo(path)
        held = os.open(path, os.O_RDWR)
        try:
            yield path
        finally:
            os.close(held)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=PATIENCE, trust_env=False, verify=NO_TLS).is_success
    except httpx.HTTPError:
        return False


@cache
def _shared() -> CommandServer:
    """The process that all dashboards of this run are forked from; those of this process end with it."""
    environ = {**_WIDTH, **DASHBOARD_ENVIRONMENT}
    server = CommandServer((*_LIBRARIES, DASHBOARD), environ, shared_as="dashboards")
    close_at_exit(server)
    return server
