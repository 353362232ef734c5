"""Fetched pages, compressed and named by their digest, so that they can be parsed again offline."""

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import zstandard

from sale_sofia.crawl.fetch.settings import ARCHIVED_MOST_BYTES, ARCHIVED_READ_BYTES
from sale_sofia.settings.files import write_whole


def is_page_of(digest: str, packed: IO[bytes]) -> bool:
    """Whether these bytes are a zstd frame that unpacks to the page of this SHA-256 digest.

    Reads in pieces, so memory stays bounded whatever its size.
    """
    digester, size = hashlib.sha256(), 0
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, closefd=False) as page:
            while (piece := page.read(ARCHIVED_READ_BYTES)) and size <= ARCHIVED_MOST_BYTES:
                digester.update(piece)
                size += len(piece)
    except (zstandard.ZstdError, MemoryError):
        return False
    return size <= ARCHIVED_MOST_BYTES and digester.hexdigest() == digest


LEVEL: Final = 3
DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class ArchiveDamaged(Exception):
    """A stored page does not match its digest: it must be fetched again."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed."""

    files: int
    bytes: int


class PageArchive:
    """Stores each body once, under its SHA-256. Several processes may share a folder.

    Writes are atomic and durable: a page is there whole or not at all, and survives a power cut, because the
    database refers to it afterwards. Only `prune` and `remove_damaged` remove pages.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._total: int | None = None

    def put(self, body: bytes) -> str:
        """Store a body and return its digest. One that is stored whole already only gets a new time stamp."""
        digest, packed = hashlib.sha256(body).hexdigest(), zstandard.compress(body, LEVEL)
        path = self._path(digest)
        with suppress(FileNotFoundError):
            os.utime(path)
            # A file that a power cut left incomplete is written again.
            if path.stat().st_size == len(packed):
                return digest
        write_whole(path, packed)
        if self._total is not None:
            self._total += len(packed)
        return digest

    def get(self, digest: str) -> bytes:
        """The body with this digest.

        Raises:
            FileNotFoundError: it is not here.
            ArchiveDamaged: what is here is not it.
        """
        packed = self._path(digest).read_bytes()
        try:
            if zstandard.get_frame_parameters(packed).content_size > ARCHIVED_MOST_BYTES:
                raise ArchiveDamaged(f"{digest}: it would unpack to more than any page")
            body = zstandard.decompress(packed)
        except (zstandard.ZstdError, MemoryError) as error:
            raise ArchiveDamaged(f"{digest}: {error}") from error
        if hashlib.sha256(body).hexdigest() != digest:
            raise ArchiveDamaged(f"{digest}: the content is another one")
        return body

    def size(self) -> int:
        """Bytes on disk, written by all processes; stats every file."""
        self._total = sum(stat.st_size for _, stat in self._files())
        return self._total

    @property
    def full(self) -> bool:
        """Whether it is time to prune. Cheap: the last measured size plus what this process has added."""
        total = self.size() if self._total is None else self._total
        return total > self._max_bytes

    def stay_small(self) -> None:
        """Prune when it is time to, as every crawl does at its end; failing, it is left to the next."""
        with suppress(OSError):
            if self.full:
                self.prune()

    def prune(self, max_bytes: int | None = None) -> Pruned:
        """Remove the pages that were seen longest ago until the rest is within the limit."""
        limit = self._max_bytes if max_bytes is None else max_bytes
        # Temporary files of crashed processes are included and go when they are the oldest.
        files = sorted(self._files(), key=lambda file: file[1].st_mtime_ns)
        total = sum(stat.st_size for _, stat in files)
        excess, removed = total - limit, []
        for path, stat in files:
            if excess <= 0:
                break
            excess -= stat.st_size
            with suppress(FileNotFoundError):
                # Keep a page that a crawl has stored again since the listing.
                if path.stat().st_mtime_ns == stat.st_mtime_ns:
                    path.unlink()
                    removed.append(stat.st_size)
        self._total = total - sum(removed)
        return Pruned(len(removed), sum(removed))

    def remove_damaged(self) -> Iterator[str]:
        """Remove the pages whose content does not match their digest, and yield the digests."""
        for path, _ in self._files():
            digest = f"{path.parent.name}{path.stem}"
            if not DIGEST.fullmatch(digest):
                continue
            with suppress(FileNotFoundError):  # another process may prune it meanwhile
                with path.open("rb") as file:
                    is_whole = is_page_of(digest, file)
                if not is_whole:
                    path.unlink()
                    yield digest

    def _path(self, digest: str) -> Path:
        if not DIGEST.fullmatch(digest):
            raise ValueError(f"not a SHA-256 digest: {digest!r}")
        return self._folder / digest[:2] / f"{digest[2:]}.zst"

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self._folder.glob("??/*"):
            # Another process may prune at the same time.
            with suppress(FileNotFoundError):
                yield path, path.stat()
