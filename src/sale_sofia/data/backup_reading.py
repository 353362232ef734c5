"""A backup out of its file: nothing in it is trusted before its name, its kind and its checksum are right."""

import hashlib
import io
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
from sale_sofia.data.backup_names import ABOUT, LACKING, SUMS, belongs, is_page, page_digest
from sale_sofia.data.backup_snapshot import Progress
from sale_sofia.data.backup_tar import NotOurs, check_rest, forget_members, opened_tar, whole_member
from sale_sofia.data.page_bytes import is_page_of

Wanted = Callable[[str], bool]


class Contents(NamedTuple):
    """What a backup says of itself, and the pages that it should hold and does not."""

    about: About
    lacking: tuple[str, ...]
    """Names of those that were gone or damaged when it was made, and of those in it that are no such page."""


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


def unpack(path: Path, folder: Path, wanted: Wanted, progress: Progress) -> Contents:
    """Read the whole backup and write the members that are wanted into the folder, which must be empty.

    Every member was checked against its checksum, wanted or not, when this returns, and the file was read to
    its last byte. A page that never was what its name says is not written: it is among what is lacking.

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
    return Contents(said, tuple(reader.lacking))


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
        self.lacking: list[str] = []
        self.told: Callable[[int], None] = lambda _done: None
        self._tar, self._limits = tar, limits
        self._bytes = 0

    def read(self) -> bytes:
        """All members; the content of the last, which has the checksums."""
        while member := self._tar.next():
            self._check(member)
            if member.name == SUMS:
                return self._last(member)
            if member.name == LACKING:
                self._read_lacking(member)
            else:
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
        content = self._small(member)
        check_rest(self._tar)
        return content

    def _read_lacking(self, member: tarfile.TarInfo) -> None:
        content = self._small(member)
        self.sums[member.name] = hashlib.sha256(content).hexdigest()
        names = content.decode("utf-8", "replace").split("\n")[:-1]
        if not all(map(is_page, names)):
            raise NotOurs(f"its {LACKING} names what is no page")
        self.lacking += names

    def _small(self, member: tarfile.TarInfo) -> bytes:
        if member.size > SUMS_MOST_BYTES:
            raise NotOurs(f"its {member.name} is too long")
        return whole_member(self._tar, member)

    def _take(self, member: tarfile.TarInfo) -> None:
        path = self._limits.folder / member.name
        with ExitStack() as stack:
            file = stack.enter_context(_made(path)) if self._limits.wanted(member.name) else None
            copied = _Copied(cast("IO[bytes]", self._tar.extractfile(member)), file)  # a plain file has one
            sound = not is_page(member.name) or is_page_of(
                page_digest(member.name), cast("IO[bytes]", copied)
            )
            self.sums[member.name] = copied.rest()
        if not sound:
            self.lacking.append(member.name)
            path.unlink(missing_ok=True)
        elif file:
            moment = min(max(0, int(member.mtime)), NEWEST_MOMENT)
            os.utime(path, (moment, moment))


def _made(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS_ALONE), "wb")


class _Copied(io.RawIOBase):
    """A member that is hashed, and written where it is wanted, while it is read."""

    def __init__(self, source: IO[bytes], target: BinaryIO | None) -> None:
        self._source, self._target = source, target
        self._digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        piece = self._source.read(size)
        self._digest.update(piece)
        if self._target:
            self._target.write(piece)
        return piece

    def rest(self) -> str:
        """Read what is left; the checksum of all of it."""
        while self.read(READ_BYTES):
            pass
        return self._digest.hexdigest()


def _compare(found: Mapping[str, str], wanted: Mapping[str, str], path: Path) -> None:
    if DATABASE_FILE not in found:
        raise BackupDamaged(f"{path} is no backup of ours: there is no database in it.")
    wrong = [name for name in (*wanted, *found) if found.get(name) != wanted.get(name)]
    if wrong:
        raise BackupDamaged(f"{path} is damaged: {wrong[0]} is not what was written.")
