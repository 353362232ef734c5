"""The tar of a backup, read without trust: plain files alone, and one sentence for whatever is wrong."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import zstandard

from sale_sofia.config.backup import READ_BYTES, WINDOW_MOST_BYTES
from sale_sofia.data.backup_errors import BackupDamaged, BackupRefused
from sale_sofia.data.backup_frame import check_frame


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
