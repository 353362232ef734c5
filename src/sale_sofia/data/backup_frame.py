"""Where a compressed file ends, told by its own frame: whatever comes after that was never written by us."""

import io
from pathlib import Path
from typing import BinaryIO, Final

import zstandard

from sale_sofia.data.backup_errors import BackupDamaged

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
