import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sale_sofia.crawl.fetch.archive import ArchiveDamaged, PageArchive, Pruned

BODY = "<html>Двустаен, Лозенец</html>".encode("cp1251") * 100
DIGEST = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def archive(tmp_path: Path) -> PageArchive:
    return PageArchive(tmp_path / "pages", 1_000_000)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_page_comes_back_as_it_was(archive: PageArchive, tmp_path: Path) -> None:
    assert archive.put(BODY) == DIGEST
    assert archive.get(DIGEST) == BODY
    assert files(tmp_path) == [tmp_path / "pages" / DIGEST[:2] / f"{DIGEST[2:]}.zst"]
    assert archive.size() == files(tmp_path)[0].stat().st_size < len(BODY) / 5


def test_the_same_page_is_kept_once(archive: PageArchive, tmp_path: Path) -> None:
    assert [archive.put(BODY), archive.put(BODY)] == [DIGEST, DIGEST]
    assert len(files(tmp_path)) == 1


def test_a_page_that_was_cut_off_is_stored_again(archive: PageArchive, tmp_path: Path) -> None:
    archive.put(BODY)
    files(tmp_path)[0].write_bytes(b"")
    assert archive.put(BODY) == DIGEST
    assert archive.get(DIGEST) == BODY


def test_an_empty_page_is_a_page(archive: PageArchive) -> None:
    assert archive.get(archive.put(b"")) == b""


def test_what_is_not_here_is_not_found(archive: PageArchive) -> None:
    with pytest.raises(FileNotFoundError):
        archive.get(DIGEST)
    assert archive.size() == 0


@pytest.mark.parametrize(
    "digest", ["", "../../etc/passwd", "ab" * 31, DIGEST.upper(), DIGEST + "\n", "/" + DIGEST[1:]]
)
def test_a_digest_is_no_path(archive: PageArchive, digest: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        archive.get(digest)


def damage(archive: PageArchive, folder: Path, packed: bytes | None) -> None:
    other = PageArchive(folder / "other", 1)
    other.put(b"another page")
    archive.put(BODY)
    foreign = files(folder / "other")[0].read_bytes()
    path = folder / "pages" / DIGEST[:2] / f"{DIGEST[2:]}.zst"
    path.write_bytes(foreign if packed is None else path.read_bytes()[:20] + packed)


@pytest.mark.parametrize("packed", [b"", b"\0" * 50, None], ids=["cut", "overwritten", "exchanged"])
def test_damage_is_noticed(archive: PageArchive, tmp_path: Path, packed: bytes | None) -> None:
    damage(archive, tmp_path, packed)
    with pytest.raises(ArchiveDamaged, match=DIGEST):
        archive.get(DIGEST)


def test_a_failed_write_leaves_nothing(
    archive: PageArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        archive.put(BODY)
    assert files(tmp_path) == []


def aged(archive: PageArchive, tmp_path: Path, count: int) -> list[str]:
    """Pages of one size, the first the oldest."""
    digests = [archive.put(os.urandom(1000)) for _ in range(count)]
    for age, digest in enumerate(digests):
        os.utime(tmp_path / "pages" / digest[:2] / f"{digest[2:]}.zst", (age, age))
    return digests


def kept(archive: PageArchive, digests: list[str]) -> list[bool]:
    def is_here(digest: str) -> bool:
        try:
            return bool(archive.get(digest))
        except FileNotFoundError:
            return False

    return [is_here(digest) for digest in digests]


def test_the_oldest_go_first(archive: PageArchive, tmp_path: Path) -> None:
    digests = aged(archive, tmp_path, 5)
    one = archive.size() // 5
    assert archive.prune(one * 3) == Pruned(2, one * 2)
    assert kept(archive, digests) == [False, False, True, True, True]
    assert archive.size() == one * 3
    assert archive.prune(one * 3) == Pruned(0, 0)


def test_a_page_seen_again_is_young_again(archive: PageArchive, tmp_path: Path) -> None:
    digests = aged(archive, tmp_path, 3)
    archive.put(archive.get(digests[0]))
    archive.prune(archive.size() - 1)
    assert kept(archive, digests) == [True, False, True]


def test_a_page_met_again_while_others_are_removed_stays(
    archive: PageArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests, look = aged(archive, tmp_path, 3), archive._files  # noqa: SLF001 - the moment between look and removal

    def meanwhile() -> list[tuple[Path, os.stat_result]]:
        found = list(look())
        archive.put(archive.get(digests[0]))
        return found

    monkeypatch.setattr(archive, "_files", meanwhile)
    assert archive.prune(1).files == 2
    assert kept(archive, digests) == [True, False, False]


def test_what_a_dead_process_left_is_removed_too(archive: PageArchive, tmp_path: Path) -> None:
    archive.put(BODY)
    left = tmp_path / "pages" / DIGEST[:2] / "half.tmp"
    left.write_bytes(b"half a page")
    os.utime(left, (1, 1))
    assert archive.prune(archive.size() - 1) == Pruned(1, 11)
    assert archive.get(DIGEST) == BODY


def test_the_limit_is_watched_but_only_pruned_on_demand(tmp_path: Path) -> None:
    archive = PageArchive(tmp_path / "pages", 2500)
    assert not archive.full
    aged(archive, tmp_path, 2)
    assert not archive.full
    aged(archive, tmp_path, 1)
    assert archive.full
    assert len(files(tmp_path)) == 3
    archive.stay_small()
    assert len(files(tmp_path)) == 2
    assert not archive.full
    archive.stay_small()
    assert len(files(tmp_path)) == 2


def test_a_put_looks_at_no_other_file(archive: PageArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not archive.full

    def walk(*_: object) -> None:
        raise AssertionError("a walk over all files")

    monkeypatch.setattr(Path, "glob", walk)
    archive.put(BODY)
    assert not archive.full


WRITER = """
import sys
from pathlib import Path
from sale_sofia.crawl.fetch.archive import PageArchive
archive = PageArchive(Path(sys.argv[1]), 1_000_000)
for number in range(100):
    print(archive.put(f"page {number}".encode() * 500))
"""


@pytest.mark.slow
def test_several_processes_may_write_the_same_pages(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    results = [writer.communicate()[0].split() for writer in writers]
    assert results == [results[0]] * 4
    assert len(files(tmp_path)) == len(set(results[0])) == 100
    assert all(PageArchive(tmp_path, 1).get(digest).startswith(b"page") for digest in results[0])
