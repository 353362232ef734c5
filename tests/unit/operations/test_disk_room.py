import errno
import os
from pathlib import Path

import pytest

from sale_sofia.operations.services.ownership import DiskRoom, is_full
from sale_sofia.settings.errors import RedisNotStarted
from tables import each_row

FULL = OSError(errno.ENOSPC, "No space left on device")


def caused_by(cause: Exception) -> RedisNotStarted:
    error = RedisNotStarted("Redis cannot be started")
    error.__cause__ = cause
    return error


@each_row(
    ("error", "full"),
    [
        (FULL, True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (caused_by(FULL), True),
        (caused_by(PermissionError(errno.EACCES, "Permission denied")), False),
        (RedisNotStarted("Redis cannot be started"), False),
    ],
)
def test_a_full_disk_is_known_by_its_error_or_the_cause_of_that(error: Exception, *, full: bool) -> None:
    assert is_full(error) is full


def test_a_full_disk_is_told_once_a_minute_and_its_end_once(tmp_path: Path) -> None:
    told: list[tuple[int, str]] = []
    now = 0
    room = DiskRoom(tmp_path, lambda said: told.append((now, said)), lambda: now)
    room.tell_found()
    for now in range(0, 130, 10):  # noqa: B007 - the clock
        room.tell_missing(FULL)
    room.tell_found()
    room.tell_found()
    full = f"There is no room in {tmp_path}. Waiting for room; then all goes on."
    assert told == [(0, full), (60, full), (120, full), (120, "There is room again; going on.")]


def test_once_it_was_full_only_a_write_says_that_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quota: the figures of the disk speak of room."""
    room = DiskRoom(tmp_path, lambda _: None)
    room.tell_missing(FULL)
    room.check()
    assert list(tmp_path.iterdir()) == []

    def refuse(_: int) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="quota"):
        room.check()
    assert list(tmp_path.iterdir()) == []
    room.tell_found()
    room.check()


def test_a_program_waits_for_room_before_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    tries = iter([FULL, FULL, None])

    def attempt(_: int) -> None:
        if error := next(tries):
            raise error

    monkeypatch.setattr(os, "fsync", attempt)
    room = DiskRoom(tmp_path, told.append)
    room.tell_missing(FULL)
    waited: list[float] = []
    room.wait(waited.append)
    assert waited == [1.0, 1.0]
    assert told[1:] == ["There is room again; going on."]
    monkeypatch.setattr(os, "fsync", lambda _: 1 / 0)
    room.wait()  # with room by the figures nothing is written


def test_another_fault_than_a_full_disk_is_not_waited_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "fsync", refuse)
    room = DiskRoom(tmp_path, lambda _: None)
    room.tell_missing(FULL)
    with pytest.raises(PermissionError):
        room.wait()
