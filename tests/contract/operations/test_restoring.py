"""A backup in its place: only one that is all right, and in one step."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from contextlib import closing
from pathlib import Path

import pytest

from backup_worlds import (
    KEPT,
    about,
    contents,
    database_in,
    files_in,
    filled,
    order,
    plain,
    quiet,
    write_backup,
)
from release_1_0 import losses, make_release_database
from sale_sofia.operations.backup.making import make_backup
from sale_sofia.operations.backup.reading import BackupDamaged, BackupError, BackupRefused, unpack
from sale_sofia.operations.backup.restoring import check_target, exchange, replace_folder, restore
from sale_sofia.storage.migrate import HEAD, check, current_revision
from seeds import SEED


def all_of(_name: str) -> bool:
    return True


def of_kind(kind: bytes, name: str = "profiles/x", link: str = "") -> tarfile.TarInfo:
    member = plain(name)
    member.type, member.linkname = kind, link
    return member


HOSTILE: dict[str, tarfile.TarInfo] = {
    "above": plain("../x"),
    "far above": plain("profiles/../../x"),
    "absolute": plain("/etc/x"),
    "backslashes": plain("profiles\\..\\x"),
    "a dot": plain("profiles/.x"),
    "nothing": plain("profiles/"),
    "deeper": plain("profiles/a/b"),
    "not ours": plain("run/orchestrator.lock"),
    "a password": plain("database_password"),
    "no page": plain("archive/ab/" + "z" * 62 + ".zst"),
    "a second head": plain("backup.json"),
    "symbolic link": of_kind(tarfile.SYMTYPE, link="/etc"),
    "hard link": of_kind(tarfile.LNKTYPE, link="sale_sofia.db"),
    "device": of_kind(tarfile.CHRTYPE),
    "pipe": of_kind(tarfile.FIFOTYPE),
    "folder": of_kind(tarfile.DIRTYPE),
    "sparse": of_kind(tarfile.GNUTYPE_SPARSE),
    "long name": plain("profiles/" + "x" * 200),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_not_belong_is_refused(tmp_path: Path, name: str) -> None:
    backup = write_backup(tmp_path / "x.tar.zst", [(HOSTILE[name], b"")])
    (tmp_path / "out").mkdir()
    with pytest.raises(BackupRefused, match=r"is no backup of ours: it (holds|goes)"):
        unpack(backup, tmp_path / "out", all_of, quiet)
    assert files_in(tmp_path).keys() == {"x.tar.zst"}


def test_heads_that_announce_others_are_refused(tmp_path: Path) -> None:
    member = plain("profiles/x.yaml")
    member.pax_headers = {"comment": "y" * 2000}
    backup = write_backup(tmp_path / "x.tar.zst", [(member, b"")], form=tarfile.PAX_FORMAT)
    with pytest.raises(BackupRefused, match="no plain file"):
        unpack(backup, tmp_path, all_of, quiet)


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    twice = [(plain("alerts.yaml", 1), b"a"), (plain("alerts.yaml", 1), b"b")]
    (tmp_path / "out").mkdir()
    with pytest.raises(BackupRefused, match=r"'alerts.yaml', which does not belong"):
        unpack(write_backup(tmp_path / "x.tar.zst", twice), tmp_path / "out", all_of, quiet)


def test_a_file_that_would_fill_the_disk_is_refused_before_it_does(tmp_path: Path) -> None:
    zeros = 120_000_000
    backup = write_backup(tmp_path / "x.tar.zst", [(plain("sale_sofia.db", zeros), bytes(zeros))])
    (tmp_path / "out").mkdir()
    with pytest.raises(BackupRefused, match="far more than a backup of its size"):
        unpack(backup, tmp_path / "out", all_of, quiet)
    assert files_in(tmp_path / "out") == {}


@pytest.mark.parametrize(
    ("members", "said", "complaint"),
    [
        ([], about(format=2), "in a form that this program does not know; update"),
        ([], about(revision="0012_doubts"), "which is no release since 1.0.0; restore it with that program"),
        ([], about(revision="0999_later"), f"revision 0999_later.*no newer one than {HEAD}; update"),
        ([], about(room=10**18), "free some space"),
        ([], about(), "there is no database in it"),
        ([(plain("sale_sofia.db", 5), b"hello")], about(), "not sound|not a sound"),
    ],
)
def test_what_cannot_be_restored_changes_nothing(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]], said: object, complaint: str
) -> None:
    backup = write_backup(tmp_path / "x.tar.zst", members, said)  # type: ignore[arg-type]
    with pytest.raises(BackupError, match=complaint):
        restore(backup, tmp_path / "data", quiet)
    assert files_in(tmp_path).keys() == {"x.tar.zst"}
    assert not (tmp_path / ".data.restoring").exists()


def database_bytes(tmp_path: Path, harm: str) -> bytes:
    """The database of a backup, changed by hand after it was made."""
    file = tmp_path / "harmed" / "sale_sofia.db"
    filled(file.parent, rows=1).dispose()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(harm)
        connection.commit()
    return file.read_bytes()


@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM listings; END", "has a trigger t"),
        ("DELETE FROM saved_searches", "holds another database than it says"),
    ],
)
def test_a_database_that_is_not_as_it_should_be_is_refused(tmp_path: Path, harm: str, complaint: str) -> None:
    body = database_bytes(tmp_path, harm)
    shutil.rmtree(tmp_path / "harmed")
    backup = write_backup(tmp_path / "x.tar.zst", [(plain("sale_sofia.db", len(body)), body)])
    with pytest.raises(BackupError, match=complaint):
        restore(backup, tmp_path / "data", quiet)
    assert files_in(tmp_path).keys() == {"x.tar.zst"}


def test_no_backup_at_all_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.tar.zst").write_bytes(b"anything")
    with pytest.raises(BackupDamaged, match=r"damaged, cut off or no backup of ours\.$"):
        restore(tmp_path / "x.tar.zst", tmp_path / "data", quiet)


def test_a_folder_is_restored_and_the_old_one_stays_beside(tmp_path: Path) -> None:
    data = tmp_path / "data"
    db = filled(data)
    wanted = contents(db)
    made = make_backup(db, order(data, data / "backups"), quiet)
    with db.write() as connection:
        connection.exec_driver_sql("DELETE FROM saved_searches")
    db.dispose()
    (data / "alerts.yaml").write_text("changed")
    check_target(data, replace=True)
    done = restore(made.path, data, quiet)
    assert done.before is not None
    assert done.before.name.startswith("data.before-restore-")
    assert (done.before / "alerts.yaml").read_text() == "changed"
    assert (done.before / "database_password").exists()
    new = database_in(data)
    assert contents(new) == wanted
    assert check(new) == []
    new.dispose()
    assert {name: (data / name).read_text("utf-8") for name in KEPT} == KEPT
    assert (data / "backups" / made.path.name).samefile(done.before / "backups" / made.path.name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", done.before.name]
    assert not (data / ".restoring").exists()


def test_an_empty_folder_takes_it_and_others_are_refused(tmp_path: Path) -> None:
    db = filled(tmp_path / "data")
    made = make_backup(db, order(tmp_path / "data", tmp_path / "to"), quiet)
    db.dispose()
    (tmp_path / "empty").mkdir()
    check_target(tmp_path / "empty", replace=False)
    assert restore(made.path, tmp_path / "empty", quiet).before is None
    with pytest.raises(BackupRefused, match="is not empty; with --replace"):
        check_target(tmp_path / "empty", replace=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").touch()
    with pytest.raises(BackupRefused, match="is no DATA_DIR of ours"):
        check_target(tmp_path / "home", replace=True)
    with pytest.raises(BackupRefused, match="is no folder"):
        check_target(made.path, replace=True)
    with pytest.raises(BackupRefused, match="is a mount point"):
        check_target(Path("/proc"), replace=True)


@pytest.mark.slow
def test_an_older_schema_is_brought_up(tmp_path: Path) -> None:
    data = tmp_path / "data"
    before = make_release_database(data / "sale_sofia.db")
    db = database_in(data)
    made = make_backup(db, order(data, tmp_path / "to"), quiet)
    db.dispose()
    assert made.about.revision == "0013_pruned"
    restore(made.path, tmp_path / "new", quiet)
    new = database_in(tmp_path / "new")
    assert current_revision(new) == HEAD
    assert check(new) == []
    new.dispose()
    assert losses(before, tmp_path / "new" / "sale_sofia.db") == []
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"sale_sofia.db"}


def test_what_a_killed_restore_left_is_told_apart(tmp_path: Path) -> None:
    db = filled(tmp_path / "data")
    made = make_backup(db, order(tmp_path / "data", tmp_path / "to"), quiet)
    db.dispose()
    left = tmp_path / ".new.restoring"
    left.mkdir()
    (left / ".restoring").touch()
    (left / "alerts.yaml").write_text("half")
    restore(made.path, tmp_path / "new", quiet)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "new", "to"]
    left.mkdir()
    (left / "alerts.yaml").write_text("what had been replaced when the kill came")
    restore(made.path, tmp_path / "new", quiet)
    asides = sorted(tmp_path.glob("new.before-restore-*/alerts.yaml"))
    assert {path.read_text() for path in asides} == {
        "what had been replaced when the kill came",
        KEPT["alerts.yaml"],
    }


SWAPPING = """
import sys
from pathlib import Path
from sale_sofia.operations.backup.restoring import exchange
place, other = map(Path, sys.argv[1:])
print(exchange(place, other), flush=True)
while True:
    exchange(place, other)
"""


@pytest.mark.slow
def test_a_kill_while_folders_are_exchanged_leaves_one_of_them_whole(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    place, other = tmp_path / "place", tmp_path / "other"
    for number, folder in enumerate((place, other)):
        folder.mkdir()
        for name in "abc":
            (folder / name).write_text(str(number))
    for _ in range(2):
        swapping = subprocess.Popen(
            [sys.executable, "-c", SWAPPING, place, other], stdout=subprocess.PIPE, text=True
        )
        assert swapping.stdout is not None
        if swapping.stdout.readline() == "False\n":
            swapping.kill()
            swapping.communicate()
            pytest.skip("this system cannot exchange folders")
        for _look in range(50):
            assert (place / "a").exists(), f"seed {SEED}"
        time.sleep(rng.uniform(0, 0.05))
        swapping.send_signal(signal.SIGKILL)
        swapping.communicate()
        found = {"".join((folder / name).read_text() for name in "abc") for folder in (place, other)}
        assert found == {"000", "111"}, f"seed {SEED}"


def test_without_exchange_two_renamings_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.backup.restoring.exchange", lambda _one, _other: False)
    for name in ("new", "place"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    replace_folder(tmp_path / "new", tmp_path / "place", tmp_path / "aside")
    assert (tmp_path / "place" / "new").exists()
    assert (tmp_path / "aside" / "place").exists()
    with pytest.raises(FileNotFoundError):
        replace_folder(tmp_path / "none", tmp_path / "place", tmp_path / "aside2")
    assert (tmp_path / "place" / "new").exists()


def test_folders_that_cannot_be_exchanged_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "none")
