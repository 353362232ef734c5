"""What a broken, full or forbidden disk does: one sentence, and nothing half-written."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.storage.filling import BATCH, counts, fill, fill_to_limit, save_batch
from contract.storage.helpers import at_once, database, ready_database, without_rights
from sale_sofia.storage.errors import DamagedDatabase, DatabaseError, DatabaseReadOnly, DiskFull
from sale_sofia.storage.migrate import check, current_revision, initialize_database


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike the ones pytest makes."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_file_that_may_not_be_written(open_folder: Path) -> None:
    db = ready_database(open_folder / "x.db")
    save_batch(db, 0)
    db.dispose()
    for path in open_folder.iterdir():
        path.chmod(0o444)
    open_folder.chmod(0o555)
    with without_rights(), pytest.raises(DatabaseReadOnly) as refused:
        save_batch(db, 1)
    assert str(refused.value) == (
        f"The database {db.name} may only be read here; let this user write to the file and its folder."
    )
    db.dispose()
    open_folder.chmod(0o755)


def test_a_folder_in_which_no_database_may_be_made(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    db = database(open_folder / "inside" / "x.db")
    with without_rights(), pytest.raises(DatabaseReadOnly, match="may only be read here"):
        initialize_database(db)
    open_folder.chmod(0o755)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError, match=r"cannot be made: .*/file is a file, not a folder\.$"):
        initialize_database(database(tmp_path / "file" / "x.db"))


def test_a_folder_where_the_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "x.db").mkdir()
    with pytest.raises(DatabaseError, match="is it a file"):
        initialize_database(database(tmp_path / "x.db"))


@pytest.mark.parametrize("use", [initialize_database, current_revision, lambda db: save_batch(db, 0)])
def test_a_text_file_is_no_database_and_stays_as_it_is(tmp_path: Path, use: object) -> None:
    path = tmp_path / "x.db"
    path.write_text("София " * 500)
    assert callable(use)
    with pytest.raises(DamagedDatabase, match=r"x\.db is not a sound SQLite database; restore a copy"):
        use(database(path))
    assert path.read_text() == "София " * 500
    assert len(check(database(path))) == 1


def test_a_damaged_page_is_found(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db")
    for number in range(10):
        save_batch(db, number)
    db.dispose()
    size = Path(db.name).stat().st_size
    with Path(db.name).open("r+b") as file:
        file.seek(size // 2)
        file.write(os.urandom(size // 4))
    assert check(db) != []


@pytest.mark.slow
def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    [(saved, stored, problems, later)] = at_once(fill_to_limit, [(tmp_path / "x.db",)])
    assert saved > 0
    assert stored == (saved * BATCH, saved * BATCH, 0)
    assert problems == []
    assert later == (saved + 1) * BATCH


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("only root can make a small disk")
    made = subprocess.run([mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path], check=False)
    if made.returncode:
        pytest.skip("no disk can be mounted here")
    yield tmp_path
    subprocess.run([umount, "--lazy", tmp_path], check=True)  # also if a failed test left a file open


def test_a_full_disk(small_disk: Path) -> None:
    db = ready_database(small_disk / "x.db")
    saved = fill(db, 0)
    assert saved > 0
    assert counts(db) == (saved * BATCH, saved * BATCH, 0)
    assert check(db) == []
    mount = shutil.which("mount")
    assert mount is not None
    subprocess.run([mount, "-o", "remount,size=8m", small_disk], check=True)
    save_batch(db, saved)
    assert counts(db)[0] == (saved + 1) * BATCH
    db.dispose()


@pytest.mark.slow
def test_a_disk_without_room_for_a_database(small_disk: Path) -> None:
    room = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(b"x" * room.f_bavail * room.f_bsize)
    db = database(small_disk / "x.db")
    with pytest.raises(DiskFull):
        initialize_database(db)
    (small_disk / "ballast").unlink()
    initialize_database(db)
    assert check(db) == []
    db.dispose()
