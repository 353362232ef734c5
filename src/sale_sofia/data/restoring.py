"""A backup back into a data folder: unpacked and checked beside it, then put in its place in one step.

Whenever the process is killed, the folder is as it was, or it is the restored one. What was there before is
never deleted: it stays beside, under a name that says so.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sale_sofia.config.settings import DATABASE_FILE
from sale_sofia.data.backup_errors import BackupDamaged, BackupRefused
from sale_sofia.data.backup_folder import folder_held
from sale_sofia.data.backup_manifest import About
from sale_sofia.data.backup_reading import Contents, about, unpack
from sale_sofia.data.backup_snapshot import Progress, examined, open_file
from sale_sofia.data.migrate import HEAD, initialize_database
from sale_sofia.data.restore_place import MARK, aside_of, is_filled, put_in_place

_MB: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put in place, and where that is which was there before."""

    about: About
    folder: Path
    before: Path | None
    lacking: tuple[str, ...]
    """Names of pages that the backup should hold and does not."""


@contextmanager
def unpacked(backup: Path, target: Path, progress: Progress) -> Iterator[tuple[Contents, Path]]:
    """The backup in a folder beside the target: every checksum right, its database sound and current.

    Raises:
        BackupError: it is not all right, or of a newer program, or there is no room.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with folder_held(target.parent) as held:
        if not held:
            raise BackupRefused(f"Another restore is going on in {target.parent}; wait for it.")
        folder = target.parent / f".{target.name}.restoring"
        _clear(folder, target)
        _check(about(backup), backup, target.parent)
        folder.mkdir(mode=0o700)
        try:
            (folder / MARK).touch()
            found = unpack(backup, folder, lambda _name: True, progress)
            _bring_up(folder / DATABASE_FILE, found.about, backup)
            yield found, folder
        finally:
            if (folder / MARK).exists():
                _remove(folder)


def _clear(folder: Path, target: Path) -> None:
    """What a killed restore left: unpacked files go, what had been replaced gets the name it should have."""
    if is_filled(folder) and not (folder / MARK).exists():
        folder.rename(aside_of(target))
    elif folder.exists():
        _remove(folder)


def _remove(folder: Path) -> None:
    """The mark goes last: whatever is left by a kill is still known to be unpacked."""
    for path in folder.iterdir():
        if path.name != MARK:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(folder)


def _check(said: About, backup: Path, parent: Path) -> None:
    from sale_sofia.data.migrations import runner  # noqa: PLC0415 - Alembic is slow to import

    if not runner.is_known(said.revision):
        raise BackupRefused(
            f"{backup} has revision {said.revision} of the database, by sale-sofia {said.program}, and this "
            f"program knows no newer one than {HEAD}; update the program."
        )
    if (free := shutil.disk_usage(parent).free) < said.room:
        raise BackupRefused(
            f"{parent} has {free // _MB} MB free, and {backup} unpacks to {said.room // _MB + 1} MB: "
            "free some space."
        )


def _bring_up(file: Path, said: About, backup: Path) -> None:
    """Look at the database as it was packed, then do the steps that are missing."""
    found = examined(file, str(backup))
    if (found.revision, found.rows) != (said.revision, dict(said.rows)):
        raise BackupDamaged(f"{backup} holds another database than it says.")
    database = open_file(file)
    try:
        initialize_database(database)
    finally:
        database.dispose()
    Path(f"{file}.lock").unlink(missing_ok=True)


Frame = Callable[[Path], AbstractContextManager[None]]
"""Entered with what was unpacked, before it is put in its place, and left after that."""


def restore(
    backup: Path, target: Path, progress: Progress, frame: Frame = lambda _folder: nullcontext()
) -> Restored:
    """Put a backup in the place of a folder.

    Raises:
        BackupError: nothing was changed.
    """
    with unpacked(backup, target, progress) as (found, folder), frame(folder):
        before = put_in_place(folder, target)
    return Restored(found.about, target, before, found.lacking)
