"""Backups in the middle of crawls, restored and gone on with; kills of both: `crash/test_backup.py`."""

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from backup_worlds import KEPT, contents, database_in, filled, opened, order, page_path, quiet
from command_server import ForkedProcess
from commands_here import commands
from crawls import ALONE, FAST, crawl_arguments, differences, fork, run, stored, truth
from forked_simulators import start_forked
from postgres_servers import PASSWORD, PostgresServer
from sale_sofia.crawl.runners.runners import site_lock
from sale_sofia.operations.backup.making import copy_rows, make_backup
from sale_sofia.operations.backup.reading import KEPT_FILES, KEPT_FOLDERS, BackupFile, BackupProgress
from sale_sofia.operations.backup.restoring import restore
from sale_sofia.operations.copying import Copied
from sale_sofia.operations.services.ownership import Ownership
from sale_sofia.operations.settings import RUN_FOLDER
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import check
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SEED = 22
SITE = "imot.bg"
ADVERTS = 40
SLOW = {**ALONE, "DOMAIN_RATE_LIMITS": json.dumps({SITE: 240})}
"""At four requests a second a crawl takes ten seconds, however quick the machine is."""
DATABASE = {"sale_sofia.db", "sale_sofia.db-wal", "sale_sofia.db-shm", "sale_sofia.db.lock"}
LEFT_OUT = {*DATABASE, "archive", "locks", "logs", "run", "stored.jsonl"}
"""What else is in a DATA_DIR after a crawl, and a file of this test's own."""
PATIENCE = 120.0


def wait_for(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    log = tmp_path / "log"
    log.touch()
    config = SimulatorConfig(
        sites=(SITE,), properties=ADVERTS, seed=SEED, port=0, log=log, truth=tmp_path / "truth"
    )
    with start_forked(config) as running:
        yield running


def test_backups_in_the_middle_of_a_crawl_restore_and_go_on(
    tmp_path: Path, simulator: RunningSimulator
) -> None:
    data, rng = tmp_path / "data", random.Random(SEED)
    crawl = fork(data, *crawl_arguments(simulator, SITE), **SLOW)
    try:
        counts = sorted(rng.sample(range(1, 8), 3))
        made = [backup_after(crawl, data, tmp_path / "to", count) for count in counts]
    finally:
        crawl.send_signal(signal.SIGKILL)
        crawl.communicate()
    for number, one in enumerate(made):
        folder = tmp_path / f"restored{number}"
        restore(one.path, folder, quiet)
        assert consistent(folder, one) > 0 or number, f"seed {SEED}"  # the first is in the middle for certain
        if number == 1:
            continue  # two that go on are enough
        told = run(folder, "resume", "--json", **ALONE, **FAST)
        assert told.returncode == 0, f"seed {SEED}: {told.stderr}"
        assert json.loads(told.stdout)["jobs"][0]["state"] == "COMPLETE"
        assert differences(stored(folder), truth(simulator)) == {}, f"seed {SEED}"
        assert consistent(folder, one) == 0, f"seed {SEED}"
        unknown = {path.name for path in folder.iterdir()} - {*KEPT_FILES, *KEPT_FOLDERS, *LEFT_OUT}
        assert unknown == set(), "does a backup hold it, and should it?"


def backup_after(crawl: ForkedProcess, data: Path, folder: Path, adverts: int) -> BackupFile:
    """A backup when so many adverts were opened, at whatever moment of a page that is."""
    stored_now = "SELECT count(*) FROM listings WHERE opened_at IS NOT NULL"
    wait_for(lambda: asked(data, stored_now)[0][0] >= adverts or crawl.poll() is not None)
    assert crawl.poll() in (None, 0), crawl.communicate()
    db = database_in(data)
    try:
        return make_backup(db, order(data, folder), quiet)
    finally:
        db.dispose()


def asked(data: Path, question: str) -> list[Any]:
    """What a database says; one without tables yet says nothing."""
    try:
        with closing(sqlite3.connect(f"file:{data / 'sale_sofia.db'}?mode=ro", uri=True)) as connection:
            return connection.execute(question).fetchall()
    except sqlite3.OperationalError:
        return [(0,)]


def consistent(data: Path, made: BackupFile) -> int:
    """Everything that is done has its data, once, and nothing else has; how many rows are not done."""
    db = database_in(data)
    assert check(db) == []
    db.dispose()
    done = {row[0] for row in asked(data, "SELECT url_key FROM frontier WHERE state = 'done'")}
    adverts = {key for key in done if key.startswith("listing:")}
    # The others were seen on cards, and are not opened yet.
    seen = dict(asked(data, "SELECT external_id, opened_at FROM listings"))
    listed = [f"listing:{external_id}" for external_id, opened_at in seen.items() if opened_at is not None]
    assert sorted(listed) == sorted(adverts)
    assert len(seen) >= made.about.rows["listings"]
    visited = "SELECT coalesce(url_key, 'listing:' || external_id) FROM scrape_history AS visit "
    visited += "LEFT JOIN listings ON listings.id = listing_id WHERE verdict = 'ok'"
    assert {row[0] for row in asked(data, visited)} == done
    for table in ("price_points", "listing_changes"):
        lost = f"SELECT id FROM {table} WHERE visit_id NOT IN (SELECT id FROM scrape_history)"  # noqa: S608
        assert asked(data, lost) == []
    points, priced, *kinds = asked(
        data, "SELECT count(*), count(DISTINCT listing_id), min(kind), max(kind) FROM price_points"
    )[0]
    assert (points, kinds) == (priced, ["first", "first"])
    assert len(listed) <= priced <= len(seen)
    digests = [row[0] for row in asked(data, "SELECT lower(hex(digest)) FROM pages")]
    assert len(digests) == len(done)
    assert all(page_path(data, digest).exists() for digest in digests)
    [(open_rows,)] = asked(data, "SELECT count(*) FROM frontier WHERE state NOT IN ('done', 'failed')")
    return int(open_rows)


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    data = tmp_path / "data"
    filled(data).dispose()
    told = run(data, "backup", "--json")
    assert told.returncode == 0, told.stderr
    made = json.loads(told.stdout)
    assert Path(made["file"]).parent == data / "backups"
    assert made["about"]["rows"]["listings"] == 30
    lean = json.loads(run(data, "backup", "--keep", "1", "--no-pages", "--json").stdout)
    assert lean["removed"] == []  # no other has the pages
    again = json.loads(run(data, "backup", "--keep", "1", "--json").stdout)
    assert again["removed"] == [made["file"], lean["file"]]
    listed = run(data, "backup", "list", "--json")
    assert [one["file"] for one in json.loads(listed.stdout)["backups"]] == [again["file"]]
    assert json.loads(run(data, "backup", "verify", again["file"], "--json").stdout)["sound"] is True
    os.truncate(again["file"], 1000)
    broken = run(data, "backup", "verify", again["file"])
    assert broken.returncode == 1
    assert "is cut off" in broken.stderr
    db = database_in(data)
    with site_lock(db, data / "locks", SITE):
        busy = run(data, "restore", again["file"], "--replace")
    db.dispose()
    assert (busy.returncode, busy.stderr.count("\n")) == (2, 1)
    assert f"{SITE} is being crawled by process {os.getpid()}" in busy.stderr


def test_nobody_begins_in_the_folder_while_its_tables_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, begun = tmp_path / "data", []
    db = filled(data)
    made = make_backup(db, order(data, tmp_path / "to"), quiet)
    db.dispose()

    def copy(source: Database, target: Database, progress: BackupProgress) -> Copied:
        begun.append(Ownership(data / RUN_FOLDER).take(shared=True))
        return copy_rows(source, target, progress)

    monkeypatch.setattr("sale_sofia.cli.backup.copy_rows", copy)
    command, new = commands(data, monkeypatch, capsys), f"sqlite:///{tmp_path / 'new.db'}"
    told = command("restore", made.path, "--replace", "--database", new)
    assert (told.code, begun) == (0, [False]), told.err


def test_the_tables_go_into_a_server_when_one_is_named(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    data, new, url = tmp_path / "data", tmp_path / "new", postgres_server.new_database()
    db, server = filled(data), opened(url)
    made = make_backup(db, order(data, tmp_path / "to"), quiet)
    told = run(data, "restore", made.path, "--into", new, "--database", url)
    assert told.returncode == 0, told.stderr
    assert PASSWORD not in told.stderr + told.stdout
    assert contents(server) == contents(db)
    assert not (new / "sale_sofia.db").exists()
    assert (new / "alerts.yaml").read_text() == KEPT["alerts.yaml"]
    for one in (db, server):
        one.dispose()
