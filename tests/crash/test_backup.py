"""Backups and restores killed at every point: a backup is whole or not there, a folder the old or the new."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from backup_worlds import database_in, files_in, filled, order, quiet
from crash_points import Enumeration, count_points
from sale_sofia.operations.backup.making import make_backup
from sale_sofia.operations.backup.reading import list_backups, parts_in, unpack
from sale_sofia.operations.backup.restoring import restore

Holdings = tuple[list[str], dict[str, bytes], str]
ROWS = 6
PAGES = 4


@pytest.fixture(autouse=True)
def nothing_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel has is safe from a kill; the disk is slow, and asked by bench/power_loss.py."""
    monkeypatch.setattr(os, "sync", lambda: None)
    monkeypatch.setattr(os, "fsync", lambda _file: None)


def world(root: Path) -> Path:
    """A folder to work in, with a data folder in it."""
    filled(root / "data", rows=ROWS, pages=PAGES).dispose()
    (root / "to").mkdir()
    return root


def back_up(root: Path) -> Path:
    database = database_in(root / "data")
    try:
        return make_backup(database, order(root / "data", root / "to"), quiet).path
    finally:
        database.dispose()


def holdings(data: Path) -> Holdings:
    """All tables with their rows, all pages, and a file of the operator's."""
    with closing(sqlite3.connect(data / "sale_sofia.db")) as connection:
        rows = list(connection.iterdump())
    return rows, files_in(data / "archive"), (data / "alerts.yaml").read_text()


def unpacked(backup: Path, folder: Path) -> Holdings:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    unpack(backup, folder, lambda _name: True, quiet)
    return holdings(folder)


def kept(data: Path) -> Holdings:
    """What a backup must hold of a data folder: pages, but nothing else that lies in the archive."""
    rows, pages, rules = holdings(data)
    return rows, {name: page for name, page in pages.items() if name.endswith(".zst")}, rules


def test_a_backup_killed_at_every_point_is_whole_or_not_there(tmp_path: Path) -> None:
    alone, root = world(tmp_path / "alone"), world(tmp_path / "root")
    counted = count_points(alone, lambda: back_up(alone))
    crash = Enumeration(root, tmp_path / "states", lambda: None)
    crash.run(lambda: back_up(root))
    wanted, wrong = kept(root / "data"), {}
    for state in crash.recovered(root):
        left = list_backups(root / "to")
        found = [one.path for one in left.backups]
        made = back_up(root)
        unlike = [path.name for path in (*found, made) if unpacked(path, tmp_path / "out") != wanted]
        if left.damaged or unlike or parts_in(root / "to"):
            wrong[str(state)] = left.damaged, unlike, parts_in(root / "to")
    assert wrong == {}
    crash.check_complete(counted, least=85)


def old_and_backup(root: Path) -> Path:
    """A backup, and a data folder that is another one since."""
    world(root)
    backup = back_up(root)
    (root / "data" / "alerts.yaml").write_text("old")
    shutil.rmtree(root / "data" / "archive")
    database = database_in(root / "data")
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM saved_searches")
    database.dispose()
    return backup


def test_a_restore_killed_at_every_point_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    root, alone = tmp_path / "root", tmp_path / "alone"
    backup = old_and_backup(root)
    new, old = unpacked(backup, tmp_path / "out"), holdings(root / "data")
    shutil.copytree(root, alone)
    counted = count_points(alone, lambda: restore(alone / "to" / backup.name, alone / "data", quiet))
    crash = Enumeration(root, tmp_path / "states", lambda: None)
    crash.run(lambda: restore(backup, root / "data", quiet))
    wrong = {}
    for state in crash.recovered(root):
        left = holdings(root / "data")
        restore(backup, root / "data", quiet)
        olds = [path for path in root.glob("data.before-restore-*") if holdings(path) == old]
        rest = (root / ".data.restoring").exists()
        if left not in (old, new) or holdings(root / "data") != new or len(olds) != 1 or rest:
            wrong[str(state)] = left in (old, new), [path.name for path in olds], rest
    assert wrong == {}
    crash.check_complete(counted, least=100)
