import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from sale_sofia.crawl.resilience.owners import is_dead, this_owner

TELL = "from sale_sofia.crawl.resilience.owners import this_owner; print(this_owner(), flush=True); input()"


def test_a_process_is_seen_to_live_and_to_have_died() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    name = child.stdout.readline().strip()
    assert name.split("|")[1] == str(child.pid)
    assert not is_dead(name)
    child.kill()
    child.communicate()
    assert is_dead(name)


def test_a_number_given_again_is_another_process() -> None:
    place, pid, mark = this_owner().split("|")
    assert pid == str(os.getpid())
    assert not is_dead(f"{place}|{pid}|{mark}")
    assert is_dead(f"{place}|{pid}|{mark}0")


def test_a_process_that_cannot_be_looked_at_may_live(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, "Too many open files")

    def hidden(*_: object) -> NoReturn:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    name = this_owner()
    for refused in (full, hidden):
        monkeypatch.setattr(Path, "read_bytes", refused)
        assert not is_dead(name)
    monkeypatch.undo()
    assert is_dead(name + "0")


def test_of_another_machine_nothing_is_known() -> None:
    assert not is_dead("elsewhere|1|x")
    assert not is_dead("")


def test_the_name_fits_its_column() -> None:
    assert len(this_owner()) <= 80
