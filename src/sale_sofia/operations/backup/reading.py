"""A backup out of its file: nothing in it is trusted before its name, its kind and its checksum are right."""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, NamedTuple, cast

import zstandard

from sale_sofia.crawl.fetch.archive import is_page_of
from sale_sofia.operations.backup.format import (
    ABOUT,
    ABOUT_MOST_BYTES,
    GROWTH_ALLOWED_BYTES,
    LACKING,
    MOST_GROWTH,
    NEWEST_MOMENT,
    READ_BYTES,
    SUMS,
    SUMS_MOST_BYTES,
    WINDOW_MOST_BYTES,
    About,
    BackupDamaged,
    BackupRefused,
    belongs,
    is_page,
    page_digest,
    read_about,
    read_sums,
)
from sale_sofia.operations.backup.snapshot import Progress
from sale_sofia.settings.model import DATABASE_FILE

# Where a compressed file ends, told by its own frame: whatever comes after that was never written by us.

_HEAD_MOST_BYTES: Final = 18
_BLOCK_HEAD_BYTES: Final = 3
_CHECKSUM_BYTES: Final = 4
_REPEATED: Final = 1
"""The kind of a block that is one byte, however long it unpacks to."""


def check_frame(file: BinaryIO, path: Path) -> None:
    """The file is one whole frame, from its first byte to its last; nothing is unpacked for that.

    Raises:
        BackupDamaged: it is cut off, or goes on.
        ZstdError: it does not begin like a frame.
    """
    end, size = _end_of_frame(file), file.seek(0, io.SEEK_END)
    file.seek(0)
    if end > size:
        raise BackupDamaged(f"{path} is cut off: {end - size} bytes or more are missing at its end.")
    if end < size:
        raise BackupDamaged(f"{path} is damaged: {size - end} bytes follow its end.")


def _end_of_frame(file: BinaryIO) -> int:
    head = file.read(_HEAD_MOST_BYTES)
    checksum = _CHECKSUM_BYTES if zstandard.get_frame_parameters(head).has_checksum else 0
    place, last = zstandard.frame_header_size(head), False
    while not last:
        file.seek(place)
        block = file.read(_BLOCK_HEAD_BYTES)
        size, last = _block(block)
        place += _BLOCK_HEAD_BYTES + size
    return place + checksum


def _block(head: bytes) -> tuple[int, bool]:
    """The bytes that follow the head of a block, and whether it is the last; where it is cut off, it is."""
    if len(head) < _BLOCK_HEAD_BYTES:
        return 0, True
    bits = int.from_bytes(head, "little")
    return 1 if bits >> 1 & 3 == _REPEATED else bits >> 3, bool(bits & 1)


# The tar of a backup, read without trust: plain files alone, and one sentence for whatever is wrong.


class NotOurs(Exception):
    """Something that no backup holds."""


class _PlainMember(tarfile.TarInfo):
    """The head of a plain file; links, devices, folders and heads that announce others are refused unread."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_PlainMember":
        """The head that these bytes are."""
        member = super().frombuf(buf, encoding, errors)
        if member.type != tarfile.REGTYPE or member.size < 0:
            raise NotOurs(f"it holds {member.name!r}, which is no plain file")
        return member


@contextmanager
def opened_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """The tar within the file; whatever is wrong with either is one sentence that names the file."""
    try:
        with path.open("rb") as file:
            check_frame(file, path)
            with (
                zstandard.ZstdDecompressor(max_window_size=WINDOW_MOST_BYTES).stream_reader(file) as unpacked,
                tarfile.open(fileobj=unpacked, mode="r|", tarinfo=_PlainMember, encoding="utf-8") as tar,
            ):
                yield tar
    except NotOurs as error:
        raise BackupRefused(f"{path} is no backup of ours: {error}.") from error
    except (zstandard.ZstdError, tarfile.TarError, EOFError, UnicodeError) as error:
        raise BackupDamaged(f"{path} is damaged, cut off or no backup of ours: {error}.") from error


def whole_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The content of a member that is known to be small."""
    file = tar.extractfile(member)
    return file.read() if file else b""


def check_rest(tar: tarfile.TarFile) -> None:
    """Whether nothing but the zeros of its end follows the member read last; the frame's own checksum too."""
    stream = cast("Any", tar).fileobj
    stream.seek(tar.offset)
    while piece := stream.read(READ_BYTES):
        if piece.strip(b"\0"):
            raise NotOurs("it goes on after its checksums")


def forget_members(tar: tarfile.TarFile) -> None:
    """Let a tar forget the members that it has done with: it would remember a million pages."""
    cast("Any", tar).members.clear()


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
