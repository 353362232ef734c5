"""Log files that are put aside: nothing is lost, torn or written twice, and there is an end to them."""

import errno
import os
import shutil
from pathlib import Path
from typing import IO

import pytest

from contract.storage.helpers import at_once
from sale_sofia.telemetry.logs import rotate_log, rotated_path
from sale_sofia.telemetry.settings import ROTATED_LOGS
from unit.telemetry.log_writers import LINES, line, write_lines


@pytest.mark.slow
def test_three_processes_at_once_lose_nothing_when_the_file_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    at_once(write_lines, [(path, writer) for writer in range(3)])
    kept = [path, *(rotated_path(path, number) for number in range(1, ROTATED_LOGS + 1))]
    found = [text for file in kept if file.exists() for text in file.read_bytes().splitlines(keepends=True)]
    assert rotated_path(path, 1).exists()
    assert not rotated_path(path, ROTATED_LOGS).exists()  # else some would be gone by right
    assert sorted(found) == sorted(line(writer, number) for writer in range(3) for number in range(LINES))


def test_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "up.log"
    for number in range(ROTATED_LOGS + 3):
        path.write_text(f"log {number}\n", "ascii")
        rotate_log(path, beyond=3)
        assert path.read_text("ascii") == ""
    kept = {file.name: file.read_text("ascii") for file in tmp_path.iterdir() if file != path}
    newest = ROTATED_LOGS + 2
    assert kept == {f"up.log.{age}": f"log {newest + 1 - age}\n" for age in range(1, ROTATED_LOGS + 1)}


def test_on_a_full_disk_all_logs_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "up.log"
    for number in range(ROTATED_LOGS):
        path.write_text(f"log {number}\n", "ascii")
        rotate_log(path, beyond=3)
    path.write_text("the last one\n", "ascii")
    before = {file.name: file.read_text("ascii") for file in tmp_path.iterdir()}

    def refuse(_source: object, copy: IO[bytes]) -> None:
        copy.write(b"the la")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", refuse)
    rotate_log(path, beyond=3)
    assert {file.name: file.read_text("ascii") for file in tmp_path.iterdir()} == before


def test_a_small_log_stays_and_a_missing_one_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "up.log"
    rotate_log(path, beyond=3)
    assert not path.exists()
    path.write_text("abc", "ascii")
    rotate_log(path, beyond=3)
    assert path.read_text("ascii") == "abc"
    assert not rotated_path(path, 1).exists()


def test_what_was_private_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "up.log"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    path.write_text("abc", "ascii")
    rotate_log(path, beyond=0)
    assert rotated_path(path, 1).stat().st_mode & 0o777 == 0o600
