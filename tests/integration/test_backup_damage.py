"""Pages that were cut, emptied, swapped or lost, and backups that were cut or grew: told, nothing lost."""

import io
import json
import random
import tarfile
from pathlib import Path

import pytest
import zstandard
from sqlalchemy import update

from backup_worlds import database_in, filled, order, page_path, plain, put_pages, quiet, write_backup
from crawls import run
from sale_sofia.history.pages import PageRecord, record_pages
from sale_sofia.history.tables import pages
from sale_sofia.operations.backup.making import make_backup
from sale_sofia.operations.backup.reading import BackupError, unpack
from sale_sofia.storage.database import Database

FETCHED = 1_700_000_000.0


def world(data: Path) -> list[str]:
    """A data folder with six archived pages that its database names."""
    db = filled(data, pages=0)
    digests = put_pages(data, random.Random(4), 6)
    _name(db, digests)
    db.dispose()
    return digests


def _name(db: Database, digests: list[str]) -> None:
    rows = [PageRecord("imot.bg", f"https://x/{one}", "listing", one, None, FETCHED) for one in digests]
    db.run_write(lambda connection: record_pages(connection, rows))


def name_of(digest: str) -> str:
    return f"archive/{digest[:2]}/{digest[2:]}.zst"


def harm(data: Path, digests: list[str]) -> list[str]:
    """Cut one page, empty one, put one in the place of another, remove one; the names of the four."""
    cut, emptied, swapped, removed, whole, _ = (page_path(data, digest) for digest in digests)
    cut.write_bytes(cut.read_bytes()[:-20])
    emptied.write_bytes(b"")
    swapped.write_bytes(whole.read_bytes())
    removed.unlink()
    return sorted(map(name_of, digests[:4]))


def test_damaged_pages_are_named_left_out_and_cost_no_older_backup(tmp_path: Path) -> None:
    data, to = tmp_path / "data", tmp_path / "to"
    digests = world(data)
    sound = run(data, "backup", "--to", to, "--json")
    assert sound.returncode == 0, sound.stderr
    bad = harm(data, digests)
    told = run(data, "backup", "--to", to, "--keep", "1", "--json")
    assert told.returncode == 1
    made = json.loads(told.stdout)
    assert (sorted(made["lacking"]), made["removed"]) == (bad, [])
    assert "4 archived pages are damaged or gone" in told.stderr
    assert all(name in told.stderr for name in bad)

    checked = run(data, "backup", "verify", made["file"], "--json")
    assert (checked.returncode, json.loads(checked.stdout)["sound"]) == (1, False)
    assert sorted(json.loads(checked.stdout)["lacking"]) == bad
    assert run(data, "backup", "verify", json.loads(sound.stdout)["file"]).returncode == 0

    new = tmp_path / "new"
    restored = run(data, "restore", made["file"], "--into", new)
    assert restored.returncode == 1
    assert "all else was restored" in restored.stderr
    assert [page_path(new, digest).exists() for digest in digests] == [False] * 4 + [True] * 2

    forgotten = run(data, "prune", "--lost")
    assert forgotten.stderr == "3 damaged pages removed, 4 records of archived pages forgotten\n"
    again = run(data, "backup", "--to", to, "--keep", "1", "--json")
    assert (again.returncode, len(json.loads(again.stdout)["removed"])) == (0, 2), again.stderr


def test_pruned_pages_are_no_lost_ones(tmp_path: Path) -> None:
    data = tmp_path / "data"
    digests = world(data)
    with database_in(data).write() as connection:
        connection.execute(update(pages).where(pages.c.digest == digests[0]).values(fetched_at=900))
    page_path(data, digests[0]).unlink()
    told = run(data, "backup")
    assert told.returncode == 0, told.stderr


def test_a_backup_that_packed_a_damaged_page_still_restores(tmp_path: Path) -> None:
    """As programs made them that did not look at pages."""
    data = tmp_path / "data"
    db = filled(data)
    made = make_backup(db, order(data, tmp_path / "to"), quiet)
    db.dispose()
    database, name = (data / "sale_sofia.db").read_bytes(), name_of("ab" * 32)
    members = [(plain("sale_sofia.db", len(database)), database), (plain(name, 3), b"bad")]
    old = write_backup(tmp_path / "old.tar.zst", members, made.about)
    checked = run(data, "backup", "verify", old)
    assert checked.returncode == 1
    assert name in checked.stderr
    new = tmp_path / "new"
    told = run(data, "restore", old, "--into", new)
    assert (told.returncode, (new / "sale_sofia.db").exists(), (new / name).exists()) == (1, True, False)


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a sound one."""
    data = tmp_path_factory.mktemp("made") / "data"
    world(data)
    told = run(data, "backup", "--json")
    assert told.returncode == 0, told.stderr
    return Path(json.loads(told.stdout)["file"]).read_bytes()


def grown_inside(backup: bytes) -> bytes:
    """The same tar with two bytes more within the compression."""
    return zstandard.compress(zstandard.decompress(backup, 1 << 27) + b"\0\1")


def with_a_member_more(backup: bytes) -> bytes:
    """A file after the list of checksums."""
    tar = io.BytesIO(zstandard.decompress(backup, 1 << 27))
    with tarfile.open(fileobj=tar, mode="a") as more:
        more.addfile(plain("alerts.yaml", 1), io.BytesIO(b"x"))
    return zstandard.compress(tar.getvalue())


HARMS = {
    "two bytes more": lambda backup: backup + b"\0\0",
    "one byte more": lambda backup: backup + b"(",
    "another frame after it": lambda backup: backup + zstandard.compress(b""),
    "its last byte less": lambda backup: backup[:-1],
    "half of it": lambda backup: backup[: len(backup) // 2],
    "bytes more in the tar": grown_inside,
    "a member more": with_a_member_more,
}


def test_a_backup_is_read_to_its_last_byte(tmp_path: Path, backup: bytes) -> None:
    file = tmp_path / "sale-sofia-20260101T000000Z.tar.zst"
    for name, harmed in HARMS.items():
        file.write_bytes(harmed(backup))
        with pytest.raises(BackupError):
            unpack(file, tmp_path / name, lambda _name: False, quiet)
    file.write_bytes(backup + b"\0\0")
    checked = run(tmp_path, "backup", "verify", file, "--json")
    assert (checked.returncode, json.loads(checked.stdout)["sound"]) == (1, False)
    told = run(tmp_path, "restore", file, "--into", tmp_path / "new")
    assert told.returncode == 2
    assert "2 bytes follow its end" in told.stderr
    assert not (tmp_path / "new").exists()
