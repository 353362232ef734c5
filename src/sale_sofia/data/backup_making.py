"""A backup of a whole installation: made while it works, and checked before it gets its name."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from sale_sofia.config.backup import FORMAT
from sale_sofia.config.settings import DATABASE_FILE
from sale_sofia.config.whole_files import whole_or_not_at_all
from sale_sofia.data.backup_errors import BackupRefused
from sale_sofia.data.backup_folder import Kept, backup_lock, remove_parts
from sale_sofia.data.backup_manifest import About
from sale_sofia.data.backup_names import PART_PREFIX, PART_SUFFIX, free_path, page_name
from sale_sofia.data.backup_packing import Files, pack
from sale_sofia.data.backup_parts import Part, operator_parts, page_parts
from sale_sofia.data.backup_reading import unpack
from sale_sofia.data.backup_snapshot import Content, Progress, check_source, size_of, take_snapshot
from sale_sofia.data.database import Database
from sale_sofia.data.lost_pages import lost_pages

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
