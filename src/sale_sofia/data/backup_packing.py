"""Files into one: a tar within zstd, with what it is at its head and the checksums of all at its end."""

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import zstandard

from sale_sofia.config.backup import COMPRESSION_LEVEL, LONGEST_NAME
from sale_sofia.data.backup_errors import BackupRefused
from sale_sofia.data.backup_manifest import About, sums_text
from sale_sofia.data.backup_names import ABOUT, LACKING, SUMS, is_page, page_digest
from sale_sofia.data.backup_parts import Part
from sale_sofia.data.backup_snapshot import Progress
from sale_sofia.data.backup_tar import forget_members
from sale_sofia.data.page_bytes import is_page_of

_OWNERS_ALONE = 0o600


class Files(NamedTuple):
    """What goes into a backup."""

    database: Part
    parts: Iterable[Part]
    lost: Sequence[str]
    """Names of pages that should be among them and are gone."""


def pack(path: Path, about: About, files: Files, progress: Progress) -> None:
    """Write the file, which only its owner can read: it may hold passwords of proxies and channels.

    A part that went away meanwhile, as a pruned page does, is left out. So is a page that is not what its
    name says; it is named in the file, with those that are lost.
    """
    with (
        os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS_ALONE), "wb") as file,
        _compressor().stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT, encoding="utf-8") as tar,
    ):
        writer = _Writer(tar, about.room, progress)
        writer.add_bytes(ABOUT, about.as_json(), int(about.made_at))
        writer.add_large(files.database)
        for part in files.parts:
            writer.add_small(part)
        if lacking := [*files.lost, *writer.damaged]:
            writer.add_bytes(LACKING, "".join(f"{name}\n" for name in lacking).encode(), int(about.made_at))
        writer.add_bytes(SUMS, sums_text(writer.sums), int(about.made_at))


def _compressor() -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(COMPRESSION_LEVEL, write_checksum=True)


class _Writer:
    def __init__(self, tar: tarfile.TarFile, total: int, progress: Progress) -> None:
        self.sums: dict[str, str] = {}
        self.damaged: list[str] = []
        self._tar, self._total, self._progress = tar, total, progress
        self._done = 0

    def add_large(self, part: Part) -> None:
        """A file of ours that nobody changes, piece by piece."""
        with part.path.open("rb") as file:
            self._add(part.name, file, os.fstat(file.fileno()))

    def add_small(self, part: Part) -> None:
        """A file of others, read at once: it may be replaced at any moment."""
        try:
            with part.path.open("rb") as file:
                content, stat = file.read(), os.fstat(file.fileno())
        except FileNotFoundError:
            return
        if is_page(part.name) and not is_page_of(page_digest(part.name), io.BytesIO(content)):
            self.damaged.append(part.name)
            return
        self.add_bytes(part.name, content, int(stat.st_mtime))

    def add_bytes(self, name: str, content: bytes, moment: int) -> None:
        self._put(_member(name, len(content), moment), io.BytesIO(content))

    def _add(self, name: str, file: BinaryIO, stat: os.stat_result) -> None:
        self._put(_member(name, stat.st_size, int(stat.st_mtime)), file)

    def _put(self, member: tarfile.TarInfo, content: BinaryIO) -> None:
        hashed = _Hashed(content, self._told)
        self._tar.addfile(member, hashed)
        self.sums[member.name] = hashed.digest.hexdigest()
        forget_members(self._tar)

    def _told(self, more: int) -> None:
        self._done += more
        self._progress("packing", min(self._done, self._total), self._total)


class _Hashed(io.RawIOBase):
    """A file that is hashed while it is read."""

    def __init__(self, file: BinaryIO, told: Callable[[int], None]) -> None:
        self.digest = hashlib.sha256()
        self._file, self._told = file, told

    def read(self, size: int = -1, /) -> bytes:
        content = self._file.read(size)
        self.digest.update(content)
        self._told(len(content))
        return content


def _member(name: str, size: int, moment: int) -> tarfile.TarInfo:
    if len(name.encode()) > LONGEST_NAME:
        raise BackupRefused(f"{name} has too long a name for a backup: {LONGEST_NAME} bytes are allowed.")
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size, max(0, moment), _OWNERS_ALONE
    return member
