"""The pages as they came, compressed and named by their content, so that they can be read again offline."""

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

    It is read piece by piece, however large it is.
    """
    found, size = hashlib.sha256(), 0
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, closefd=False) as page:
            while (piece := page.read(ARCHIVED_READ_BYTES)) and size <= ARCHIVED_MOST_BYTES:
                found.update(piece)
                size += len(piece)
    except (zstandard.ZstdError, MemoryError):
        return False
    return size <= ARCHIVED_MOST_BYTES and found.hexdigest() == digest


LEVEL: Final = 3
DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


class ArchiveDamaged(Exception):
    """A stored page is not what its name says: it must be fetched anew."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed."""

    files: int
    bytes: int


class PageArchive:
    """Keeps each body once, under its SHA-256. Several processes may share a folder.

    A page is there whole or not at all, and what was put stays when the power goes: the database names it
    afterwards. Nothing is removed except by `prune`.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._total: int | None = None

    def put(self, body: bytes) -> str:
        """Store a body; its digest. A body that is there already, and whole, only counts as seen again."""
        digest, packed = hashlib.sha256(body).hexdigest(), zstandard.compress(body, LEVEL)
        path = self._path(digest)
        with suppress(FileNotFoundError):
            os.utime(path)
            # One that was cut off when the machine lost its power is written anew.
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
        """Bytes on disk, of all processes; looks at every file."""
        self._total = sum(stat.st_size for _, stat in self._files())
        return self._total

    @property
    def full(self) -> bool:
        """Whether it is time to prune. Cheap: knows what the last look found and our own pages since."""
        total = self.size() if self._total is None else self._total
        return total > self._max_bytes

    def prune(self, max_bytes: int | None = None) -> Pruned:
        """Remove the pages that were seen longest ago until the rest is within the limit."""
        limit = self._max_bytes if max_bytes is None else max_bytes
        # Temporary files of a process that died are among them and go when their turn comes.
        files = sorted(self._files(), key=lambda file: file[1].st_mtime_ns)
        total = sum(stat.st_size for _, stat in files)
        too_much, removed = total - limit, []
        for path, stat in files:
            if too_much <= 0:
                break
            too_much -= stat.st_size
            with suppress(FileNotFoundError):
                # One that a crawl has met again since it was looked at stays.
                if path.stat().st_mtime_ns == stat.st_mtime_ns:
                    path.unlink()
                    removed.append(stat.st_size)
        self._total = total - sum(removed)
        return Pruned(len(removed), sum(removed))

    def remove_damaged(self) -> Iterator[str]:
        """Remove the pages that are not what their names say; the digests of each."""
        for path, _ in self._files():
            digest = f"{path.parent.name}{path.stem}"
            if not DIGEST.fullmatch(digest):
                continue
            with suppress(FileNotFoundError):  # one that is pruned meanwhile is nobody's to judge
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
