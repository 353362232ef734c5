"""`sale-sofia db copy` as a person runs it: from a file to a server and back, and killed on the way."""

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from any_rows import fill
from command_server import ForkedProcess
from crawls import ALONE, FAST, crawl_arguments, differences, fork, run, truth
from forked_simulators import start_forked
from parallel_crawls import until
from postgres_servers import PASSWORD, READY, PostgresServer
from ready_files import put_ready_file
from sale_sofia.history.export import export_listings
from sale_sofia.operations.copying import TableDigest, all_tables, batches, digest_batches
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import check
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SEED = 22
SITE = "bazar.bg"
MANY = 300
LATER_SECONDS = 3600.0
"""However slowly the command starts, the workers were woken a moment ago."""


def contents(url: str) -> dict[str, TableDigest]:
    with opened(url) as database, database.read() as connection:
        return {table.name: digest_batches(batches(connection, table)) for table in all_tables()}


@contextmanager
def opened(url: str) -> Iterator[Database]:
    database = Database(url, busy_timeout_seconds=10, busy_retries=3)
    try:
        yield database
    finally:
        database.dispose()


def exported(url: str, path: Path) -> list[str]:
    with opened(url) as database:
        export_listings(database, path)
    return path.read_text("utf-8").splitlines()


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    config = SimulatorConfig(sites=(SITE,), properties=24, seed=5, port=0, truth=tmp_path / "truth.jsonl")
    with start_forked(config) as running:
        yield running


def test_an_installation_moves_to_a_server_crawls_on_and_moves_back(
    tmp_path: Path, simulator: RunningSimulator, postgres_server: PostgresServer
) -> None:
    file, server = f"sqlite:///{tmp_path}/data/sale_sofia.db", postgres_server.new_database()
    half = [*crawl_arguments(simulator, SITE), "--limit", "12"]
    assert run(tmp_path / "data", *half, **ALONE, **FAST).returncode == 0

    told = run(tmp_path / "data", "db", "copy", "--from", file, "--to", server, "--json")
    assert told.returncode == 0, told.stderr
    summary = json.loads(told.stdout)
    assert summary["tables"]["listings"] == 12
    assert summary["rows"] == sum(summary["tables"].values())
    assert not summary["resumed"]
    assert exported(file, tmp_path / "file.jsonl") == exported(server, tmp_path / "server.jsonl")

    whole = [*crawl_arguments(simulator, SITE), "--fresh"]
    crawled = run(tmp_path / "data", *whole, **ALONE, **FAST, DATABASE_URL=server)
    assert crawled.returncode == 0, crawled.stderr
    back = f"sqlite:///{tmp_path}/back/sale_sofia.db"
    told = run(tmp_path / "data", "db", "copy", "--from", server, "--to", back)
    assert told.returncode == 0, told.stderr
    assert PASSWORD not in told.stderr + told.stdout
    lines = exported(back, tmp_path / "back.jsonl")
    assert lines == exported(server, tmp_path / "server.jsonl")
    assert differences([json.loads(line) for line in lines], truth(simulator)) == {}
    with opened(back) as database:
        assert check(database) == []


def test_a_killed_copy_loses_and_doubles_nothing(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """Once, for real; `crash/test_copy.py` goes through every point."""
    print(f"seed {SEED}")  # noqa: T201 - by which it can be repeated
    rng = random.Random(SEED)
    source, target = f"sqlite:///{tmp_path}/source.db", postgres_server.new_database(READY)
    put_ready_file(tmp_path / "source.db")
    with opened(source) as database:
        database.run_write(lambda connection: fill(connection, rng, MANY))
    command = ["db", "copy", "--from", source, "--to", target, "--json"]
    process = fork(tmp_path, *command)
    wait_until_at_work(postgres_server, target, process)
    time.sleep(rng.uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL, "it was killed in the middle"
    told = run(tmp_path, *command)
    assert told.returncode == 0, told.stderr
    assert contents(source) == contents(target)
    with opened(target) as database:
        assert check(database) == []


def wait_until_at_work(server: PostgresServer, target: str, process: ForkedProcess) -> None:
    """Until the copy is connected to its target, or has ended because nothing was left."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    with server.admin() as admin:
        until(
            lambda: (
                process.poll() is not None
                or admin.execute(asked, [target.rpartition("/")[2]]).fetchone() != (0,)
            ),
            "the copy at work",
        )


def made(folder: Path) -> str:
    put_ready_file(folder / "sale_sofia.db")
    return f"sqlite:///{folder}/sale_sofia.db"


def test_refusals_are_one_sentence(tmp_path: Path) -> None:
    file = made(tmp_path)
    same = run(tmp_path, "db", "copy", "--from", file, "--to", file)
    assert same.returncode == 2
    assert "are the same database" in same.stderr
    bad = run(tmp_path, "db", "copy", "--from", "mysql://u:geheim@h/d", "--to", file)
    assert bad.returncode == 2
    assert "sqlite:///path" in bad.stderr
    assert "geheim" not in bad.stderr
    none = run(tmp_path, "db", "copy", "--from", f"sqlite:///{tmp_path}/none.db", "--to", f"{file}2")
    assert (none.returncode, none.stderr.count("\n")) == (2, 1)
    assert "There is nothing to copy" in none.stderr
    assert not (tmp_path / "sale_sofia.db2").exists()


def test_a_source_that_is_being_crawled_is_refused(tmp_path: Path) -> None:
    source, target = made(tmp_path), f"sqlite:///{tmp_path}/two.db"
    with closing(sqlite3.connect(tmp_path / "sale_sofia.db")) as file, file:
        file.execute(
            "INSERT INTO jobs (id, site, state, start_urls, created_at, runner, woken_at) "
            "VALUES ('one', 'imot.bg', 'PROCESSING', '[]', 0, 'celery', ?)",
            (time.time() + LATER_SECONDS,),
        )
    told = run(tmp_path, "db", "copy", "--from", source, "--to", target)
    assert told.returncode == 2
    assert "is being written to by job one" in told.stderr
    assert "`sale-sofia cancel one`" in told.stderr
    assert not os.path.lexists(tmp_path / "two.db")
