"""Upgrades killed before any of their statements, two at once, and a crawl that begins in the middle."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from crawls import FAST, crawl_arguments, differences, end_of, in_background, stored, truth
from forked_simulators import start_forked
from killed_upgrades import (
    STOP,
    every_kill,
    killed,
    make_database_of,
    opened,
    revisions,
    state,
    statements_of_an_upgrade,
    upgrade_apart,
    upgraded_after_kill,
    wait_for,
    wait_until_stopped,
)
from postgres_servers import PostgresServer
from release_1_0 import losses, make_release_database
from sale_sofia.storage.migrate import HEAD, current_revision
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SEED = 22
SITE = "imot.bg"
MIDDLE = 66
"""Half of the statements of an upgrade from release 1.0.0."""


def test_a_killed_upgrade_is_done_by_the_next_one(tmp_path: Path) -> None:
    """Once in the middle, for real; `crash/test_upgrade.py` goes through every point."""
    assert len(list(every_kill(tmp_path, revisions()[0], lambda _count: [MIDDLE]))) == 1


def test_a_killed_upgrade_of_a_server_is_done_by_the_next_one(postgres_server: PostgresServer) -> None:
    """From nothing: a server's first database is of today's version."""
    whole = postgres_server.new_database()
    count = statements_of_an_upgrade(whole)
    url = postgres_server.new_database()
    assert upgraded_after_kill(url, count, revision_of) == state(whole), "killed before the commit"


def revision_of(url: str) -> str | None:
    database = opened(url)
    try:
        return current_revision(database)
    finally:
        database.dispose()


def test_two_upgrades_at_once(tmp_path: Path) -> None:
    file = tmp_path / "sale_sofia.db"
    before = make_release_database(file)
    first = upgrade_apart(f"sqlite:///{file}", MIDDLE, STOP)
    wait_until_stopped(first)
    second = in_background(tmp_path, "db", "upgrade")
    wait_for(lambda: waits(second.pid, file))
    os.kill(first, signal.SIGCONT)
    assert not killed(first)
    told = end_of(second)
    assert (told.returncode, HEAD in told.stdout) == (0, True), told.stderr
    assert losses(before, file) == []


def waits(pid: int, file: Path) -> bool:
    """Whether the process stands before the lock of the database."""
    with suppress(FileNotFoundError):  # what it has open changes while we look
        return Path(f"{file}.lock") in {link.readlink() for link in Path(f"/proc/{pid}/fd").iterdir()}
    return False


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    log = tmp_path / "log"
    log.touch()
    config = SimulatorConfig(
        sites=(SITE,), properties=4, seed=SEED, port=0, log=log, truth=tmp_path / "truth"
    )
    with start_forked(config) as running:
        yield running


def test_a_crawl_that_begins_in_the_middle_and_has_to_do_it_itself(
    tmp_path: Path, simulator: RunningSimulator
) -> None:
    data = tmp_path / "data"
    file = data / "sale_sofia.db"
    data.mkdir()
    make_database_of(revisions()[0], file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for table in ("scrape_history", "listing_changes", "price_points", "listings", "frontier", "jobs"):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
    upgrade = upgrade_apart(f"sqlite:///{file}", MIDDLE, STOP)
    wait_until_stopped(upgrade)
    crawl = in_background(data, *crawl_arguments(simulator, SITE), **FAST)
    wait_for(lambda: waits(crawl.pid, file))
    os.kill(upgrade, signal.SIGKILL)
    assert killed(upgrade)
    told = end_of(crawl)
    assert told.returncode == 0, told.stderr
    assert differences(stored(data), truth(simulator)) == {}
