"""A backup of a whole installation: made while it works, and checked before it gets its name."""

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import zstandard
from sqlalchemy import Connection, delete, select

from sale_sofia.crawl.fetch.archive import is_page_of
from sale_sofia.history.settings import ROWS_PRUNED_AT_ONCE
from sale_sofia.history.tables import pages
from sale_sofia.operations.backup.folder import Kept, backup_lock, remove_parts
from sale_sofia.operations.backup.format import (
    ABOUT,
    COMPRESSION_LEVEL,
    FORMAT,
    KEPT_FILES,
    KEPT_FOLDERS,
    LACKING,
    LONGEST_NAME,
    PAGE_CLOCK_SECONDS,
    PAGES_FOLDER,
    PART_PREFIX,
    PART_SUFFIX,
    SITES_FOLDER,
    SUMS,
    About,
    BackupRefused,
    belongs,
    free_path,
    is_page,
    page_digest,
    page_name,
    sums_text,
)
from sale_sofia.operations.backup.reading import forget_members, unpack
from sale_sofia.operations.backup.snapshot import Content, Progress, check_source, size_of, take_snapshot
from sale_sofia.settings.files import whole_or_not_at_all
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.storage.database import Database
from sale_sofia.storage.settings import PAGES_STREAMED_AT_ONCE

# Which files of an installation a backup holds: those that are named, and nothing beside them.


class Part(NamedTuple):
    """A file, and what it is called in a backup."""

    name: str
    path: Path


def operator_parts(data_dir: Path, sites_dir: Path | None) -> list[Part]:
    """What people wrote, and what only this installation knows."""
    singles = [Part(name, data_dir / name) for name in KEPT_FILES if (data_dir / name).is_file()]
    folders = [part for name in KEPT_FOLDERS for part in _files(name, data_dir / name)]
    sites = _files(SITES_FOLDER, sites_dir, "*.yaml") if sites_dir else ()
    return [*singles, *folders, *sites]


def page_parts(data_dir: Path) -> Iterator[Part]:
    """The archived pages, by their names; one that is just being written has another name."""
    for folder in sorted((data_dir / PAGES_FOLDER).glob("??")):
        found = (Part(f"{PAGES_FOLDER}/{folder.name}/{path.name}", path) for path in folder.glob("*"))
        yield from sorted(part for part in found if is_page(part.name))


def _files(name: str, folder: Path, pattern: str = "*") -> Iterator[Part]:
    for path in sorted(folder.glob(pattern)):
        if path.is_file() and belongs(f"{name}/{path.name}"):
            yield Part(f"{name}/{path.name}", path)


# Files into one: a tar within zstd, with what it is at its head and the checksums of all at its end.

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


# Archived pages that the database names and that are not there, though nobody pruned them.


def lost_pages(db: Database, data_dir: Path) -> list[str]:
    """Their digests.

    The longest unseen are pruned first: what was seen after the oldest page that is there was never pruned.
    With a server's database none is told, as each machine has the pages that it fetched itself.
    """
    if db.url.get_backend_name() != "sqlite":
        return []
    since = _oldest(data_dir) + PAGE_CLOCK_SECONDS
    return sorted(set(db.run_read(lambda connection: list(_missing(connection, data_dir, since)))))


def forget_pages(db: Database, digests: Sequence[str]) -> int:
    """Let the database name these no longer; how many records that were."""
    parts = (digests[at : at + ROWS_PRUNED_AT_ONCE] for at in range(0, len(digests), ROWS_PRUNED_AT_ONCE))
    return sum(db.run_write(partial(_forget, digests=part)) for part in parts)


def _oldest(data_dir: Path) -> float:
    """When the page was seen that is unseen longest; where there is none, every page is lost."""
    return min(_times(data_dir / PAGES_FOLDER), default=-PAGE_CLOCK_SECONDS)


def _times(folder: Path) -> Iterator[float]:
    for path in folder.glob("??/*.zst"):
        with suppress(FileNotFoundError):  # another process may prune at the same time
            yield path.stat().st_mtime


def _missing(connection: Connection, data_dir: Path, since: float) -> Iterator[str]:
    named = select(pages.c.digest).where(pages.c.fetched_at > since)
    rows = connection.execution_options(yield_per=PAGES_STREAMED_AT_ONCE).execute(named)
    for (digest,) in rows:
        name = page_name(digest)
        if is_page(name) and not (data_dir / name).exists():
            yield digest


def _forget(connection: Connection, *, digests: Sequence[str]) -> int:
    these = delete(pages).where(pages.c.digest.in_(digests))
    return connection.execute(these, execution_options={"preserve_rowcount": True}).rowcount


_MB: Final = 1_000_000


class Order(NamedTuple):
    """What is to be backed up beside the database, and where to."""

    data_dir: Path
    sites_dir: Path | None
    folder: Path
    pages: bool


def make_backup(source: Database, order: Order, progress: Progress) -> Kept:
    """A new file in the folder, found to be what it should be.

    The database is of one moment; the pages are read after it, so every page that it speaks of is among them.
    Pages that are damaged or lost do not stop it: it is made without them, and says which they are.

    Raises:
        BackupRefused: there is no room, or another backup is being made there.
        DatabaseError: the database cannot be read.
    """
    check_source(source)
    order.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with backup_lock(order.folder):
        remove_parts(order.folder)
        _check_room(source, order)
        with tempfile.TemporaryDirectory(PART_SUFFIX, PART_PREFIX, order.folder) as work:
            database = Part(DATABASE_FILE, Path(work) / DATABASE_FILE)
            made_at = time.time()
            content = take_snapshot(source, database.path, progress)
            room = _size(database.path) + _room(order)
            about = _about(source.name, made_at, content, pages=order.pages, room=room)
            files = Files(database, _parts(order), _lost(source, order))
            path, lacking = _written(order.folder, about, files, progress)
    return Kept(path, about, path.stat().st_size, lacking)


def _parts(order: Order) -> Iterator[Part]:
    yield from operator_parts(order.data_dir, order.sites_dir)
    if order.pages:
        yield from page_parts(order.data_dir)


def _room(order: Order) -> int:
    return sum(_size(part.path) for part in _parts(order))


def _lost(source: Database, order: Order) -> list[str]:
    return list(map(page_name, lost_pages(source, order.data_dir))) if order.pages else []


def _about(name: str, made_at: float, content: Content, *, pages: bool, room: int) -> About:
    return About(
        format=FORMAT,
        program=version("sale-sofia"),
        revision=content.revision,
        made_at=made_at,
        database=name,
        rows=content.rows,
        pages=pages,
        room=room,
    )


def _written(folder: Path, about: About, files: Files, progress: Progress) -> tuple[Path, tuple[str, ...]]:
    path = free_path(folder, about.made_at)
    with whole_or_not_at_all(path) as unfinished:
        pack(unfinished, about, files, progress)
        found = unpack(unfinished, folder, lambda _name: False, progress)  # what the disk kept
    return path, found.lacking


def _check_room(source: Database, order: Order) -> None:
    """The copy of the database is on the disk beside the file that it goes into."""
    needed, free = 2 * size_of(source) + _room(order), shutil.disk_usage(order.folder).free
    if free < needed:
        raise BackupRefused(
            f"{order.folder} has {free // _MB} MB free, and a backup may need {needed // _MB + 1} MB: "
            "free some space, name another folder with --to, or leave out the pages with --no-pages."
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
