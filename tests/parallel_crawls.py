"""The parallel mode as a person runs it: whole commands, real services, and what is left of them."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from celery_server import server_variables
from command_server import ForkedProcess
from crawls import fork, start
from parallel_world import HURRIED
from sale_sofia.operations.services.processes import born, processes_of, read_child
from sale_sofia.operations.services.redis import read_record

QUICK = {
    "DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 6000, "bazar.bg": 6000}),
    "WORKER_PROCESSES": "2",
    "ARCHIVE_ENABLED": "false",
    "RETRY_BASE_DELAY": "0.05",
    "RETRY_MAX_DELAY": "0.1",
}
PATIENCE_SECONDS = 120.0


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that must come."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.05)


def running_in(data: Path) -> dict[int, str]:
    """Every process that works on this data folder, by its environment or our records, with its command."""
    wanted = f"DATA_DIR={data.absolute()}".encode()
    found = {pid for pid in _pids() if wanted in _read(pid, "environ").split(b"\0")}
    found.discard(os.getpid())
    for record in map(read_child, (data / "run").glob("*.json")):
        found |= {process.pid for process in processes_of(record)} if record else set()
    # Redis gives itself another name, over what it found in its environment.
    server = read_record(data / "redis")
    found |= {server.pid} if server and server.pid and born(server.pid) == server.born else set()
    commands = {pid: _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace") for pid in found}
    return {pid: told for pid, told in commands.items() if told and "sale_sofia_simulator" not in told}


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def kill_everything(data: Path) -> int:
    """`kill -9` for every process of the data folder at once; how many there were."""
    victims = list(running_in(data))
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    return len(victims)


Command = subprocess.Popen[str] | ForkedProcess


def wait_until_running(process: Command) -> list[str]:
    """Until `sale-sofia up` says that all are at work; what it said before."""
    return wait_until_said(process, "running: Redis, worker")


def wait_until_said(process: Command, words: str) -> list[str]:
    """Until it says a line that begins so, which must come in time; what it said before."""
    assert process.stderr is not None
    end = threading.Timer(PATIENCE_SECONDS, process.kill)
    end.start()
    said: list[str] = []
    try:
        for line in process.stderr:
            if line.startswith(words):
                return said
            said.append(line)
    finally:
        end.cancel()
    raise AssertionError(f"it ended without {words!r}: {said}")


@contextmanager
def services_up(data: Path, **more: str) -> Iterator[None]:
    """`sale-sofia up`, ready to work: all of it started as a person does."""
    with _at_work(start(data, "up", **{**QUICK, **more})):
        yield


@contextmanager
def services_forked(
    data: Path, numbers: Mapping[str, float] = HURRIED, /, **more: str
) -> Iterator[ForkedProcess]:
    """The same without the start of interpreters; its Celery programs have these fixed numbers."""
    process = fork(data, "up", **{**QUICK, **more, **server_variables(numbers)})
    with _at_work(process):
        yield process


@contextmanager
def _at_work(process: Command) -> Iterator[None]:
    try:
        wait_until_running(process)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)
