"""What is in a backup, what is not, and what becomes of the older ones."""

import os
import random
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

import pytest

from backup_worlds import (
    KEPT,
    SECRET,
    about,
    contents,
    database_in,
    files_in,
    filled,
    opened,
    order,
    page_path,
    put_pages,
    quiet,
    write_backup,
)
from sale_sofia.advice.scoring.settings import PROFILES_FOLDER as PROFILES
from sale_sofia.operations.backup import making
from sale_sofia.operations.backup import reading as limits
from sale_sofia.operations.backup.making import make_backup
from sale_sofia.operations.backup.reading import (
    BackupDamaged,
    BackupError,
    BackupFile,
    BackupRefused,
    backup_lock,
    list_backups,
    remove_old,
    unpack,
)
from sale_sofia.operations.copying import copy_database
from sale_sofia.operations.settings import RUN_FOLDER, BackupSettings
from sale_sofia.storage.errors import DatabaseMissing
from sale_sofia.storage.migrate import HEAD
from seeds import SEED


def unpacked(path: Path, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    unpack(path, folder, lambda _name: True, quiet)
    return files_in(folder)


@pytest.mark.slow
def test_it_holds_what_it_should_and_nothing_else(tmp_path: Path) -> None:
    data = tmp_path / "data"
    db = filled(data)
    made = make_backup(db, order(data, tmp_path / "to"), quiet)
    found = unpacked(made.path, tmp_path / "out")
    pages = {name for name in found if name.startswith("archive/")}
    assert len(pages) == 5
    assert found.keys() - pages == {*KEPT, "sale_sofia.db"}
    assert {name: found[name].decode() for name in KEPT} == KEPT
    assert {name: found[name] for name in pages} == {name: (data / name).read_bytes() for name in pages}
    assert not any(SECRET.encode() in content for content in found.values())
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "out" / "sale_sofia.db", tmp_path / "copy" / "sale_sofia.db")
    copy = database_in(tmp_path / "copy")
    assert contents(copy) == contents(db)
    assert made.about.rows["listings"] == 30
    assert made.about.revision == HEAD
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "to").iterdir()] == [made.path.name]
    for one in (db, copy):
        one.dispose()


def test_the_folders_are_those_of_their_rooms() -> None:
    assert PROFILES in limits.KEPT_FOLDERS
    assert RUN_FOLDER not in limits.KEPT_FOLDERS


def test_pages_keep_their_times_and_can_be_left_out(tmp_path: Path) -> None:
    data = tmp_path / "data"
    db = filled(data, pages=0)
    [page] = put_pages(data, random.Random(1), 1)
    unpacked(make_backup(db, order(data, tmp_path / "to"), quiet).path, tmp_path / "out")
    assert page_path(tmp_path / "out", page).stat().st_mtime == 1000
    without = make_backup(db, order(data, tmp_path / "to", pages=False), quiet)
    assert not any(name.startswith("archive") for name in unpacked(without.path, tmp_path / "less"))
    assert not without.about.pages
    db.dispose()


def test_site_files_of_the_users_own_are_in_it(tmp_path: Path) -> None:
    data, sites = tmp_path / "data", tmp_path / "mine"
    db = filled(data)
    sites.mkdir()
    (sites / "my.yaml").write_text("name: my\n")
    (sites / "password.txt").write_text(SECRET)
    made = make_backup(db, order(data, tmp_path / "to")._replace(sites_dir=sites), quiet)
    found = unpacked(made.path, tmp_path / "out")
    assert [name for name in found if name.startswith("sites/")] == ["sites/my.yaml"]
    db.dispose()


@pytest.mark.slow
def test_a_server_is_backed_up_too(tmp_path: Path, postgres_url: str) -> None:
    data, source = tmp_path / "data", filled(tmp_path / "data")
    server = opened(postgres_url)
    copy_database(source, server)
    made = make_backup(server, order(data, tmp_path / "to"), quiet)
    unpacked(made.path, tmp_path / "out")
    copy = database_in(tmp_path / "out")
    assert contents(copy) == contents(source)
    assert made.about.database == server.name
    for one in (source, server, copy):
        one.dispose()


def test_writers_neither_wait_nor_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "SQLITE_PAGES_AT_ONCE", 20)
    data = tmp_path / "data"
    db, writer, steps = filled(data), database_in(data), []
    wanted = contents(db)

    def meanwhile(_what: str, done: int, _total: int) -> None:
        steps.append(done)
        assert len(steps) < 1000, "begun anew again and again"
        with writer.write() as connection:  # in the copy's own thread: if it had to wait, it would for ever
            connection.exec_driver_sql("UPDATE listings SET title = 'later' || ?", (str(done),))

    making.take_snapshot(db, tmp_path / "copy.db", meanwhile)
    assert len(steps) > 3
    assert steps == sorted(set(steps)), "begun anew"
    copy = opened(f"sqlite:///{tmp_path / 'copy.db'}")
    assert contents(copy) == wanted != contents(db)
    for one in (db, writer, copy):
        one.dispose()


def test_nothing_to_back_up_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    db = database_in(tmp_path / "data")
    with pytest.raises(DatabaseMissing, match="nothing to back up"):
        make_backup(db, order(tmp_path / "data", tmp_path / "to"), quiet)
    assert not (tmp_path / "to").exists()


def test_a_damaged_database_is_not_passed_off_as_a_backup(tmp_path: Path) -> None:
    data = tmp_path / "data"
    db = filled(data)
    with db.write() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.exec_driver_sql("UPDATE price_points SET listing_id = 999999")
        connection.exec_driver_sql("BEGIN")
    with pytest.raises(BackupDamaged, match=r"is not sound: row .* of price_points points to"):
        make_backup(db, order(data, tmp_path / "to"), quiet)
    assert list((tmp_path / "to").iterdir()) == []
    db.dispose()


class _Disk(NamedTuple):
    total: int
    used: int
    free: int


def test_too_little_room_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    db = filled(data)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: _Disk(10**9, 0, 100_000))
    with pytest.raises(BackupRefused, match=r"has 0 MB free, and a backup may need \d+ MB"):
        make_backup(db, order(data, tmp_path / "to"), quiet)
    assert list((tmp_path / "to").iterdir()) == []
    db.dispose()


def test_one_at_a_time_and_what_dead_ones_left_is_cleared_away(tmp_path: Path) -> None:
    data, to = tmp_path / "data", tmp_path / "to"
    db = filled(data)
    (to / ".sale-sofia-dead.part").mkdir(parents=True)
    (to / ".sale-sofia-dead.part" / "sale_sofia.db").touch()
    (to / ".sale-sofia-20200101T000000Z.tar.zst.ab.part").touch()
    (to / ".other.part").touch()
    with backup_lock(to), pytest.raises(BackupRefused, match="Another backup is being made"):
        make_backup(db, order(data, to), quiet)
    first = make_backup(db, order(data, to), quiet)
    second = make_backup(db, order(data, to), quiet)
    assert {path.name for path in to.iterdir()} == {".other.part", first.path.name, second.path.name}
    db.dispose()


def backup_of(folder: Path, moment: int, **more: object) -> BackupFile:
    said = about(made_at=moment, **more)
    path = write_backup(folder / f"sale-sofia-202601{moment:02d}T000000Z.tar.zst", [], said)
    return BackupFile(path, said, path.stat().st_size)


def test_the_oldest_of_the_same_database_go(tmp_path: Path) -> None:
    kept = [backup_of(tmp_path, moment) for moment in (1, 2, 3, 4)]
    backup_of(tmp_path, 5, database="another")
    (tmp_path / "sale-sofia-20260106T000000Z.tar.zst").write_bytes(b"damaged")
    shutil.copy(kept[0].path, tmp_path / "mine.tar.zst")
    assert remove_old(tmp_path, kept[3], keep=2) == [kept[0].path, kept[1].path]
    assert {path.name for path in tmp_path.iterdir()} == {
        kept[2].path.name, kept[3].path.name, "sale-sofia-20260105T000000Z.tar.zst",
        "sale-sofia-20260106T000000Z.tar.zst", "mine.tar.zst",
    }  # fmt: skip
    listed = list_backups(tmp_path)
    assert [one.about.made_at for one in listed.backups] == [3, 4, 5]
    assert [path.name for path in listed.damaged] == ["sale-sofia-20260106T000000Z.tar.zst"]


def test_the_one_just_made_stays_though_the_clock_went_back(tmp_path: Path) -> None:
    later, now = backup_of(tmp_path, 9), backup_of(tmp_path, 2)
    assert remove_old(tmp_path, now, keep=1) == [later.path]
    assert now.path.exists()


def test_no_damage_goes_unnoticed(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    db = filled(tmp_path / "data")
    made = make_backup(db, order(tmp_path / "data", tmp_path / "to"), quiet)
    whole = made.path.read_bytes()
    wanted = unpacked(made.path, tmp_path / "out")
    bad = tmp_path / "bad"
    for number in range(60):
        place = rng.randrange(len(whole))
        cut = number % 2
        harmed = whole[:place] if cut else _flipped(whole, place, rng)
        bad.write_bytes(harmed)
        folder = tmp_path / f"bad{number}"
        try:
            found = unpacked(bad, folder)
        except BackupError:
            continue
        assert (found, cut) == (wanted, 0), f"seed {SEED}, byte {place}"  # a bit that means nothing
    db.dispose()


def _flipped(content: bytes, place: int, rng: random.Random) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]


def test_settings_have_their_defaults() -> None:
    settings = BackupSettings()
    assert (settings.backup_dir, settings.backup_keep) == (None, 7)
    assert os.fspath(limits.BACKUPS_FOLDER) == "backups"
