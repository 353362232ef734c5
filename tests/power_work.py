"""Work whose writes are watched, what was told to be done, and whether a disk without power still has it."""

import random
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from command_server import CommandServer
from crawls import FAST, PATIENCE_SECONDS, crawl_arguments
from crawls import environment as command_environment
from power_disk import VARIANTS, Disk, Note, Variant, environment, make, mark, points, read_notes
from sale_sofia.crawl.fetch.archive import is_page_of
from sale_sofia.operations.backup.reading import backups_in, list_backups, unpack
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import current_revision
from sale_sofia_simulator.running import RunningSimulator

SITE = "imot.bg"
FILES = (
    "data/alerts.yaml",
    "data/phone_secret",
    "data/profiles/mine.yaml",
    "data/proxies/sources.json",
    "out/adverts.csv",
)
"""What is there whole, or not at all; once it was told to be there, it is."""
ROWS = {
    "listings": "SELECT external_id FROM listings",
    "notes": "SELECT text FROM property_notes",
    "pages": "SELECT lower(hex(digest)) FROM pages",
    "jobs": "SELECT id FROM jobs WHERE state = 'COMPLETE'",
}
"""What never goes again once it was told to be there."""


class Told(NamedTuple):
    """What there was when a command had ended."""

    files: dict[str, bytes | None]
    rows: dict[str, set[Any]]
    backups: set[str]


class Work(NamedTuple):
    """All that was done, and what was told on the way."""

    root: int
    notes: list[Note]
    told: list[Told]
    crawl_middle: int
    """The note in the middle of those of the crawl."""


def commands(simulator: RunningSimulator, root: Path, *, quick: bool) -> list[list[str]]:
    """One after the other; the crawl is the third."""
    csv, backups = str(root / "out" / "adverts.csv"), str(root / "backups")
    first = [
        ["alerts", "init"],
        ["profiles", "new", "mine"],
        crawl_arguments(simulator, SITE),
        ["profiles", "edit", "mine", "must.rooms_least=3"],
        ["proxies", "add", "203.0.113.7:3128"],
        ["export", csv],
        ["backup", "--to", backups],
    ]
    more = [
        ["note", "1", "seen"],
        ["proxies", "add", "203.0.113.8:3128"],
        ["export", csv],
        ["backup", "--to", backups, "--keep", "1"],
    ]
    return first if quick else [*first, *more]


def watched(folder: Path, simulator: RunningSimulator, *, quick: bool = False) -> Work:
    """Do it all, and write down how."""
    root, notes = folder / "world", folder / "notes"
    (root / "out").mkdir(parents=True)
    begun = root.stat().st_ino
    told = [_told(root)]
    # The folder was there before: it is on the disk.
    with CommandServer(environ=environment(root, notes)) as server:
        mark(notes, (root / "out").stat().st_ino)
        for number, arguments in enumerate(commands(simulator, root, quick=quick), 1):
            wanted = command_environment(root / "data", {**FAST, "PRIVATE_PHONES_KEPT": "false"})
            done = server.run([str(one) for one in arguments], wanted, folder, PATIENCE_SECONDS)
            assert done.returncode == 0, f"{arguments}: {done.stderr}"
            told.append(_told(root))
            mark(notes, number)
    found = read_notes(notes)
    first = Note("folder", begun, found[0].one, 0, 0, "out", b"")
    found = [first, Note("sync", begun, 0, 0, 0, "", b""), *found[1:]]
    marks = [at for at, note in enumerate(found) if note.kind == "mark"]
    return Work(begun, found, told, (marks[1] + marks[2]) // 2)


def _told(root: Path) -> Told:
    return Told({name: _read(root / name) for name in FILES}, _rows(root), _backups(root))


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _backups(root: Path) -> set[str]:
    return {path.name for path in backups_in(root / "backups")}


def _rows(root: Path) -> dict[str, set[Any]]:
    file = root / "data" / "sale_sofia.db"
    if not file.exists() or not file.stat().st_size:
        return {name: set() for name in ROWS}
    # In a copy: whoever closes a database last writes to it, and here nobody watches.
    with TemporaryDirectory() as folder:
        for path in file.parent.glob(f"{file.name}*"):
            shutil.copy(path, folder)
        return _asked(Path(folder) / file.name)


def _asked(file: Path) -> dict[str, set[Any]]:
    with closing(sqlite3.connect(file)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchall():
            return {name: set() for name in ROWS}
        return {name: {row[0] for row in connection.execute(asked)} for name, asked in ROWS.items()}


def states(work: Work, rng: random.Random, count: int) -> Iterator[tuple[str, int, Disk, Variant]]:
    """Disks that lost their power at so many moments, one way each; a sentence, and the marks before it."""
    for at in points(work.notes, rng, count):
        disk = Disk(work.root)
        disk.replay(work.notes[:at])
        marks = sum(note.kind == "mark" for note in work.notes[:at])
        variant = rng.choice(VARIANTS)
        yield f"note {at} of {len(work.notes)}, after {marks} commands, {variant}", marks, disk, variant


def losses(work: Work, folder: Path, rng: random.Random, count: int) -> Iterator[str]:
    """Every promise that a disk without power broke."""
    for sentence, marks, disk, variant in states(work, rng, count):
        make(disk.left(variant, rng), folder)
        for broken in broken_promises(folder, work.told, marks):
            yield f"{sentence}: {broken}"


def broken_promises(root: Path, told: Sequence[Told], marks: int) -> Iterator[str]:
    """What was told to be done and is not there, and what is there and is not whole."""
    for name in FILES:
        allowed = {one.files[name] for one in told[marks:]}
        if (found := _read(root / name)) not in allowed:
            yield f"{name} is {'gone' if found is None else f'{len(found)} bytes that nobody wrote'}"
    yield from _broken_database(root, told[marks])
    yield from _broken_pages(root)
    yield from _broken_backups(root, told, marks)


def _broken_database(root: Path, told: Told) -> Iterator[str]:
    file = root / "data" / "sale_sofia.db"
    database = Database(f"sqlite:///{file}", busy_timeout_seconds=30, busy_retries=0)
    try:
        if current_revision(database) is not None:
            yield from (f"the database: {fault}" for fault in database.faults())
    finally:
        database.dispose()
    rows = _rows(root)
    for name, before in told.rows.items():
        if lost := before - rows[name]:
            yield f"{len(lost)} of {len(before)} {name} are gone"


def _broken_pages(root: Path) -> Iterator[str]:
    archive = root / "data" / "archive"
    for digest in _rows(root)["pages"]:
        if not (archive / digest[:2] / f"{digest[2:]}.zst").exists():
            yield f"page {digest} is named and not there"
    for path in archive.glob("??/*.zst"):
        with path.open("rb") as file:
            if not is_page_of(f"{path.parent.name}{path.stem}", file):
                yield f"page {path.name} is not what its name says"


def _broken_backups(root: Path, told: Sequence[Told], marks: int) -> Iterator[str]:
    there = _backups(root)
    later = set.intersection(*(one.backups for one in told[marks:]))
    yield from (f"backup {name} is gone" for name in (told[marks].backups & later) - there)
    listed = list_backups(root / "backups")
    yield from (f"backup: {error}" for error in listed.damaged.values())
    for one in listed.backups:
        unpack(one.path, root, lambda _name: False, lambda *_: None)
