"""A backup out of its file: nothing in it is trusted before its name, its kind and its checksum are right."""

import hashlib
import os
import tarfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, cast

from sale_sofia.config.backup import (
    ABOUT_MOST_BYTES,
    GROWTH_ALLOWED_BYTES,
    MOST_GROWTH,
    NEWEST_MOMENT,
    READ_BYTES,
    SUMS_MOST_BYTES,
)
from sale_sofia.config.settings import DATABASE_FILE
from sale_sofia.data.backup_errors import BackupDamaged
from sale_sofia.data.backup_manifest import About, read_about, read_sums
from sale_sofia.data.backup_names import ABOUT, SUMS, belongs
from sale_sofia.data.backup_snapshot import Progress
from sale_sofia.data.backup_tar import NotOurs, forget_members, opened_tar, whole_member

Wanted = Callable[[str], bool]
_OWNERS_ALONE = 0o600


def about(path: Path) -> About:
    """What the backup says of itself; only its head is read.

    Raises:
        BackupError: it is none, or one of a newer program.
    """
    with opened_tar(path) as tar:
        return read_about(_first(tar, path), str(path))


def _first(tar: tarfile.TarFile, path: Path) -> bytes:
    member = tar.next()
    if member is None or member.name != ABOUT or member.size > ABOUT_MOST_BYTES:
        raise BackupDamaged(f"{path} is damaged or no backup of ours: it does not begin with {ABOUT}.")
    return whole_member(tar, member)


def unpack(path: Path, folder: Path, wanted: Wanted, progress: Progress) -> About:
    """Read the whole backup and write the members that are wanted into the folder, which must be empty.

    Every member was checked against its checksum, wanted or not, when this returns.

    Raises:
        BackupRefused: it holds what does not belong in one, or would unpack to far more than it should.
        BackupDamaged: it is not whole, or not what it was.
    """
    with opened_tar(path) as tar:
        head = _first(tar, path)
        said = read_about(head, str(path))
        reader = _Reader(tar, _Limits(folder, wanted, _most_bytes(path)))
        reader.told = lambda done: progress("checking", min(done, said.room), said.room)
        sums = read_sums(reader.read(), str(path))
    _compare({ABOUT: hashlib.sha256(head).hexdigest(), **reader.sums}, sums, path)
    return said


def _most_bytes(path: Path) -> int:
    return path.stat().st_size * MOST_GROWTH + GROWTH_ALLOWED_BYTES


class _Limits(NamedTuple):
    folder: Path
    wanted: Wanted
    most_bytes: int


class _Reader:
    """Goes through the members after the first, and keeps the checksum of each."""

    def __init__(self, tar: tarfile.TarFile, limits: _Limits) -> None:
        self.sums: dict[str, str] = {}
        self.told: Callable[[int], None] = lambda _done: None
        self._tar, self._limits = tar, limits
        self._bytes = 0

    def read(self) -> bytes:
        """All members; the content of the last, which has the checksums."""
        while member := self._tar.next():
            self._check(member)
            if member.name == SUMS:
                return self._last(member)
            self._take(member)
            forget_members(self._tar)
        raise EOFError("its end is missing")

    def _check(self, member: tarfile.TarInfo) -> None:
        if not belongs(member.name) or member.name in self.sums or member.name == ABOUT:
            raise NotOurs(f"it holds {member.name!r}, which does not belong there")
        self._bytes += tarfile.BLOCKSIZE + member.size
        if self._bytes > self._limits.most_bytes:
            raise NotOurs("it would unpack to far more than a backup of its size holds")
        self.told(self._bytes)

    def _last(self, member: tarfile.TarInfo) -> bytes:
        if member.size > SUMS_MOST_BYTES:
            raise NotOurs(f"its {SUMS} is too long")
        content = whole_member(self._tar, member)
        if self._tar.next() is not None:
            raise NotOurs(f"it goes on after {SUMS}")
        return content

    def _take(self, member: tarfile.TarInfo) -> None:
        with ExitStack() as stack:
            file = None
            if self._limits.wanted(member.name):
                file = stack.enter_context(_made(self._limits.folder / member.name))
            source = cast("IO[bytes]", self._tar.extractfile(member))  # a plain file has one
            self.sums[member.name] = _copied(source, file)
        if file:
            moment = min(max(0, int(member.mtime)), NEWEST_MOMENT)
            os.utime(self._limits.folder / member.name, (moment, moment))


def _made(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS_ALONE), "wb")


def _copied(source: IO[bytes], target: BinaryIO | None) -> str:
    digest = hashlib.sha256()
    while piece := source.read(READ_BYTES):
        digest.update(piece)
        if target:
            target.write(piece)
    return digest.hexdigest()


def _compare(found: Mapping[str, str], wanted: Mapping[str, str], path: Path) -> None:
    if DATABASE_FILE not in found:
        raise BackupDamaged(f"{path} is no backup of ours: there is no database in it.")
    wrong = [name for name in (*wanted, *found) if found.get(name) != wanted.get(name)]
    if wrong:
        raise BackupDamaged(f"{path} is damaged: {wrong[0]} is not what was written.")
