"""Makes a backup of a whole installation while it runs, and checks it before it gets its name."""

import io
import math
import os
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

import zstandard
from sqlalchemy import Connection, delete, select, text

from sale_sofia.crawl.fetch.archive import is_page_of
from sale_sofia.history.settings import ROWS_PRUNED_AT_ONCE
from sale_sofia.history.tables import pages
from sale_sofia.operations.backup import reading as form
from sale_sofia.operations.backup.reading import (
    SQLITE_PAGES_AT_ONCE,
    About,
    BackupDamaged,
    BackupFile,
    BackupProgress,
    BackupRefused,
    Hashed,
    backup_lock,
    forget_members,
    remove_parts,
    unpack,
)
from sale_sofia.operations.copying import Copied, copy_database, row_count
from sale_sofia.settings.files import atomic_write
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError, DatabaseMissing
from sale_sofia.storage.migrate import current_revision
from sale_sofia.storage.settings import PAGES_STREAMED_AT_ONCE
from sale_sofia.storage.sqlite import explain

_COPY_PASSES = 3
"""`copy_database` reads, writes and compares every row."""


@dataclass(frozen=True, slots=True)
class DatabaseContent:
    """The revision of a database, and the number of rows of each table."""

    revision: str
    rows: dict[str, int]


@contextmanager
def open_file(file: Path) -> Iterator[Database]:
    """A SQLite file that nobody else uses, closed at the end of the block."""
    database = Database(f"sqlite:///{file}", busy_timeout_seconds=0, busy_retries=0)
    try:
        yield database
    finally:
        database.dispose()


# SQLite's own online copy, within one read transaction: writers neither wait for it nor restart it. From a
# server the rows come by `copying.py`, read in one snapshot: a backup of either restores into either.


def take_snapshot(source: Database, file: Path, progress: BackupProgress) -> DatabaseContent:
    """Write the source as it is at one moment to the file, and check it; raises BackupDamaged."""
    if source.url.get_backend_name() == "sqlite":
        _copy_online(source, file, progress)
    else:
        with open_file(file) as target:
            copy_rows(source, target, progress)
    return examine(file, source.name)


def size_of(source: Database) -> int:
    """About how many bytes a snapshot has."""

    def read(connection: Connection) -> int:
        if connection.dialect.name == "sqlite":
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            return int(pages * connection.exec_driver_sql("PRAGMA page_size").scalar_one())
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    return source.run_read(read)


def _copy_online(source: Database, file: Path, progress: BackupProgress) -> None:
    def report(_status: int, left: int, total: int) -> None:
        progress("copying the database", total - left, total)

    with closing(sqlite3.connect(file)) as target, source.read() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()  # begins the snapshot
        reader = cast("sqlite3.Connection", connection.connection.driver_connection)
        try:
            reader.backup(target, pages=SQLITE_PAGES_AT_ONCE, progress=report)
        except sqlite3.Error as error:
            raise explain(error, file, 0) or error from error


def copy_rows(source: Database, target: Database, progress: BackupProgress) -> Copied:
    """`copy_database` with the progress of backups."""
    total = done = 0
    with suppress(DatabaseError):  # the copy itself reports it
        total = _COPY_PASSES * source.run_read(row_count)

    def report(_table: str, more: int) -> None:
        nonlocal done
        done += more
        progress("copying the database", min(done, total), total)

    return copy_database(source, target, report)


def examine(file: Path, name: str) -> DatabaseContent:
    """Check the whole database in the file; what it holds. Raises BackupDamaged or BackupRefused."""
    try:
        with open_file(file) as database:
            if faults := database.faults():
                raise BackupDamaged(f"The copy of {name} is not sound: {faults[0]}.")
            if odd := database.run_read(_active_objects):
                raise BackupRefused(f"{name} has {odd[0]}, which no database of ours has.")
            if (revision := current_revision(database)) is None:
                raise BackupDamaged(f"{name} has no tables of ours.")
            return DatabaseContent(revision, database.run_read(_count_rows))
    except DatabaseError as error:
        raise BackupDamaged(f"The copy of {name} is not sound: {error}") from error


def _active_objects(connection: Connection) -> list[str]:
    """Triggers and views: they would run code for whoever opens the file."""
    found = connection.execute(
        text("SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index')")
    )
    return [f"a {kind} {name}" for kind, name in found]


def _count_rows(connection: Connection) -> dict[str, int]:
    query = text(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    )
    tables = list(connection.execute(query).scalars())
    quoted = {name: connection.dialect.identifier_preparer.quote(name) for name in tables}
    return {
        name: connection.exec_driver_sql(f"SELECT count(*) FROM {quoted[name]}").scalar_one()  # noqa: S608 - quoted
        for name in tables
    }


_OWNERS_ALONE = 0o600
_MB: Final = 1_000_000


class BackupPart(NamedTuple):
    """A file, and its name in a backup."""

    name: str
    path: Path


class _Writer:
    """Writes files into a tar and records their checksums."""

    def __init__(self, tar: tarfile.TarFile, total: int, progress: BackupProgress) -> None:
        self.sums: dict[str, str] = {}
        self.damaged: list[str] = []
        self._tar, self._total, self._progress = tar, total, progress
        self._done = 0

    def add_part(self, part: BackupPart) -> None:
        """Add a file that may be replaced at any moment, so it is read at once; a missing one is skipped."""
        try:
            with part.path.open("rb") as file:
                content, stat = file.read(), os.fstat(file.fileno())
        except FileNotFoundError:
            return
        if form.is_page(part.name) and not is_page_of(form.page_digest(part.name), io.BytesIO(content)):
            self.damaged.append(part.name)
            return
        self.add(part.name, io.BytesIO(content), len(content), stat.st_mtime)

    def add_bytes(self, name: str, content: bytes, moment: float) -> None:
        self.add(name, io.BytesIO(content), len(content), moment)

    def add(self, name: str, content: BinaryIO, size: int, moment: float) -> None:
        """Add content that nobody changes, piece by piece."""
        if len(name.encode()) > form.LONGEST_NAME:
            raise BackupRefused(
                f"{name} has too long a name for a backup: {form.LONGEST_NAME} bytes are allowed."
            )
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = size, max(0, int(moment)), _OWNERS_ALONE
        hashed = Hashed(content, self._count)
        self._tar.addfile(member, hashed)
        self.sums[name] = hashed.digest.hexdigest()
        forget_members(self._tar)

    def _count(self, piece: bytes) -> None:
        self._done += len(piece)
        self._progress("packing", min(self._done, self._total), self._total)


# Archived pages that the database names and that are missing though nobody pruned them.


def lost_pages(db: Database, data_dir: Path) -> list[str]:
    """The digests of pages that were lost.

    Pruning takes the pages longest unseen: whatever was seen after the oldest page on disk was never pruned.
    Empty with a server's database, as each machine has only the pages that it fetched itself.
    """

    def read(connection: Connection) -> set[str]:
        query = select(pages.c.digest).where(pages.c.fetched_at > since)
        rows = connection.execution_options(yield_per=PAGES_STREAMED_AT_ONCE).execute(query)
        names = ((digest, form.page_name(digest)) for (digest,) in rows)
        return {digest for digest, name in names if form.is_page(name) and not (data_dir / name).exists()}

    if db.url.get_backend_name() != "sqlite":
        return []
    oldest = math.inf
    for path in (data_dir / form.PAGES_FOLDER).glob("??/*.zst"):
        with suppress(FileNotFoundError):  # another process may prune at the same time
            oldest = min(oldest, path.stat().st_mtime)
    # Where there is none, every page is lost.
    since = oldest + form.PAGE_CLOCK_SECONDS if oldest < math.inf else 0.0
    return sorted(db.run_read(read))


def forget_pages(db: Database, digests: Sequence[str]) -> int:
    """Remove the database's records of these pages; returns how many."""

    def forget(connection: Connection, batch: Sequence[str]) -> int:
        chosen = delete(pages).where(pages.c.digest.in_(batch))
        return connection.execute(chosen, execution_options={"preserve_rowcount": True}).rowcount

    parts = (digests[at : at + ROWS_PRUNED_AT_ONCE] for at in range(0, len(digests), ROWS_PRUNED_AT_ONCE))
    return sum(db.run_write(partial(forget, batch=part)) for part in parts)


class BackupRequest(NamedTuple):
    """What to back up beside the database, and where to."""

    data_dir: Path
    sites_dir: Path | None
    folder: Path
    pages: bool


def make_backup(source: Database, order: BackupRequest, progress: BackupProgress) -> BackupFile:
    """Make a new file in the folder and verify it.

    The database is of one moment; the pages are read after it, so every page that it names is among them.
    Damaged or lost pages do not stop it: it is made without them, and lists them.
    Raises BackupRefused or DatabaseError.
    """
    if current_revision(source) is None:
        raise DatabaseMissing(f"There is nothing to back up: {source.name} has no tables yet.")
    order.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with backup_lock(order.folder):
        remove_parts(order.folder)
        # The copy of the database needs room beside the file that it goes into.
        needed, free = 2 * size_of(source) + _bytes_needed(order), shutil.disk_usage(order.folder).free
        if free < needed:
            raise BackupRefused(
                f"{order.folder} has {free // _MB} MB free, and a backup may need {needed // _MB + 1} MB: "
                "free some space, name another folder with --to, or leave out the pages with --no-pages."
            )
        with tempfile.TemporaryDirectory(form.PART_SUFFIX, form.PART_PREFIX, order.folder) as work:
            database = Path(work) / DATABASE_FILE
            made_at = time.time()
            content = take_snapshot(source, database, progress)
            about = About(
                format=form.FORMAT,
                program=version("sale-sofia"),
                revision=content.revision,
                made_at=made_at,
                database=source.name,
                rows=content.rows,
                pages=order.pages,
                room=database.stat().st_size + _bytes_needed(order),
            )
            lost = list(map(form.page_name, lost_pages(source, order.data_dir))) if order.pages else []
            path = form.free_path(order.folder, made_at)
            with atomic_write(path) as unfinished:
                _pack(unfinished, about, database, order, lost, progress)
                found = unpack(unfinished, order.folder, lambda _name: False, progress)  # reads it back
    return BackupFile(path, about, path.stat().st_size, found.lacking)


def _bytes_needed(order: BackupRequest) -> int:
    room = 0
    for part in _parts(order):
        with suppress(FileNotFoundError):
            room += part.path.stat().st_size
    return room


def _parts(order: BackupRequest) -> Iterator[BackupPart]:
    """The files that people wrote, what only this installation knows, and the archived pages."""
    for name in form.KEPT_FILES:
        if (order.data_dir / name).is_file():
            yield BackupPart(name, order.data_dir / name)
    folders = [(name, order.data_dir / name, "*") for name in form.KEPT_FOLDERS]
    if order.sites_dir:
        folders.append((form.SITES_FOLDER, order.sites_dir, "*.yaml"))
    for name, folder, pattern in folders:
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and form.belongs(f"{name}/{path.name}"):
                yield BackupPart(f"{name}/{path.name}", path)
    if order.pages:
        for folder in sorted((order.data_dir / form.PAGES_FOLDER).glob("??")):
            found = (
                BackupPart(f"{form.PAGES_FOLDER}/{folder.name}/{path.name}", path)
                for path in folder.glob("*")
            )
            # A page that is still being written has another name.
            yield from sorted(part for part in found if form.is_page(part.name))


def _pack(
    path: Path,
    about: About,
    database: Path,
    order: BackupRequest,
    lost: Sequence[str],
    progress: BackupProgress,
) -> None:
    """Write the file, readable by its owner alone: it may hold passwords of proxies and channels.

    It is a tar within zstd that begins with `backup.json` and ends with the checksums. A page that does not
    match its digest is left out, and listed in the file with the lost ones.
    """
    compressor = zstandard.ZstdCompressor(form.COMPRESSION_LEVEL, write_checksum=True)
    with (
        os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS_ALONE), "wb") as file,
        compressor.stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.GNU_FORMAT, encoding="utf-8") as tar,
    ):
        writer = _Writer(tar, about.room, progress)
        writer.add_bytes(form.ABOUT, about.as_json(), about.made_at)
        with database.open("rb") as content:
            stat = os.fstat(content.fileno())
            writer.add(DATABASE_FILE, content, stat.st_size, stat.st_mtime)
        for part in _parts(order):
            writer.add_part(part)
        if lacking := [*lost, *writer.damaged]:
            writer.add_bytes(form.LACKING, "".join(f"{name}\n" for name in lacking).encode(), about.made_at)
        writer.add_bytes(form.SUMS, form.sums_text(writer.sums), about.made_at)
