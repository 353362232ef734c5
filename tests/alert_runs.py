"""Real `sale-sofia alerts run` processes, some of them killed while they work."""

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from alert_servers import PATIENCE, AlertServers
from command_server import ForkedProcess
from crawls import fork, run
from sale_sofia.alerts.outbox import SENT, count_messages
from sale_sofia.storage.database import Database


def start_run(folder: Path, **settings: str) -> ForkedProcess:
    """One round in a process of its own."""
    return fork(folder, "alerts", "run", **settings)


def unsent(database: Database) -> int:
    counts = database.run_read(count_messages)
    return sum(counts.values()) - counts[SENT]


def kill_while_sending(
    run: ForkedProcess,
    servers: AlertServers,
    chance: random.Random,
    victims: Callable[[int], list[int]] = lambda pid: [pid],
) -> bool:
    """Kill it a moment after some more messages have come; `False` if it had ended by itself."""
    wanted = len(servers.came) + chance.randint(0, 3)
    wait_for(lambda: len(servers.came) >= wanted or run.poll() is not None)
    time.sleep(chance.uniform(0, 2 * servers.answer_seconds))
    killed = victims(run.pid) if run.poll() is None else []
    for pid in killed:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with run:
        run.communicate(timeout=2 * PATIENCE)
    return bool(killed)


def send_all(folder: Path, database: Database, **settings: str) -> None:
    """Round after round, until nothing waits; messages in the hand of a dead sender are waited for."""
    end = time.monotonic() + 2 * PATIENCE
    while unsent(database) and time.monotonic() < end:
        with start_run(folder, **settings) as run:
            said, complaint = run.communicate(timeout=PATIENCE)
        assert "Traceback" not in complaint, (said, complaint)
    assert unsent(database) == 0


def send_rest(folder: Path, database: Database) -> None:
    """The same, by rounds that are forked from a process that has all it needs."""
    end = time.monotonic() + 2 * PATIENCE
    while unsent(database) and time.monotonic() < end:
        told = run(folder, "alerts", "run")
        assert "Traceback" not in told.stderr, told
    assert unsent(database) == 0


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.005)


def settled(database: Database) -> bool:
    """Nobody has a message in hand."""
    return database.run_read(partial(count_messages))["sending"] == 0
