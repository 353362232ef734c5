"""A folder of backups: one is made at a time, old ones go, and nothing that is not ours is touched."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sale_sofia.operations.backup.format import About, BackupError, BackupRefused, backups_in, parts_in
from sale_sofia.operations.backup.reading import about


@dataclass(frozen=True, slots=True)
class Kept:
    """A backup in its folder."""

    path: Path
    about: About
    bytes: int
    lacking: tuple[str, ...] = ()
    """Names of pages that should be in it and are not; known once all of it was read."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The backups of a folder, the oldest first, and what has the name of one but is none."""

    kept: list[Kept]
    damaged: dict[Path, str]


def list_backups(folder: Path) -> Listed:
    """What the folder holds, by the heads of the files."""
    listed = Listed([], {})
    for path in backups_in(folder):
        try:
            listed.kept.append(Kept(path, about(path), path.stat().st_size))
        except (BackupError, OSError) as error:
            listed.damaged[path] = str(error)
    listed.kept.sort(key=lambda one: (one.about.made_at, one.path.name))
    return listed


def remove_old(folder: Path, newest: Kept, keep: int) -> list[Path]:
    """Remove the oldest backups of the same database until `keep` are left; the newest always stays.

    What cannot be read is nobody's to judge: it stays, and is not counted.
    """
    with backup_lock(folder):
        others = [
            one.path
            for one in list_backups(folder).kept
            if one.about.database == newest.about.database and one.path != newest.path
        ]
        surplus = others[: max(0, len(others) + 1 - keep)]
        for path in surplus:
            path.unlink(missing_ok=True)
    return surplus


@contextmanager
def backup_lock(folder: Path) -> Iterator[None]:
    """One process at a time writes to the folder, others get BackupRefused; the lock ends with it."""
    with folder_held(folder) as held:
        if not held:
            raise BackupRefused(f"Another backup is being made in {folder}; wait for it.")
        yield


@contextmanager
def folder_held(folder: Path) -> Iterator[bool]:
    """Whether the folder itself is locked for us: nothing is written into it for that."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            held = False
        yield held
    finally:
        os.close(descriptor)


def remove_parts(folder: Path) -> None:
    """Clear away what killed backups left; only under the lock is it certain that they are dead."""
    for path in parts_in(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
