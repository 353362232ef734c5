"""The bytes of an archived page: a zstd frame that is called by the SHA-256 of what it unpacks to."""

import hashlib
from typing import IO

import zstandard

from sale_sofia.config.backup import READ_BYTES
from sale_sofia.config.fetching import ARCHIVED_MOST_BYTES


def is_page_of(digest: str, packed: IO[bytes]) -> bool:
    """Whether these bytes unpack to the page of this digest; read piece by piece, however large it is."""
    found, size = hashlib.sha256(), 0
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, closefd=False) as page:
            while (piece := page.read(READ_BYTES)) and size <= ARCHIVED_MOST_BYTES:
                found.update(piece)
                size += len(piece)
    except (zstandard.ZstdError, MemoryError):
        return False
    return size <= ARCHIVED_MOST_BYTES and found.hexdigest() == digest
