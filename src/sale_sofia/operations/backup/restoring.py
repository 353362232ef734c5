"""Restores a backup into a data folder: unpacked and checked beside it, then swapped in in one step.

Whenever the process is killed, the folder is the old one or the restored one, whole. The old folder is never
deleted: it stays beside, under a name that says so.
"""

import ctypes
import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sale_sofia.crawl.runners.runners import SiteBusy
from sale_sofia.operations.backup.making import examine, open_file
from sale_sofia.operations.backup.reading import (
    BACKUPS_FOLDER,
    KEPT_FILES,
    KEPT_FOLDERS,
    PAGES_FOLDER,
    About,
    BackupDamaged,
    BackupProgress,
    BackupRefused,
    Contents,
    backups_in,
    read_head,
    try_lock_folder,
    unpack,
)
from sale_sofia.operations.services.ownership import (
    ALONE,
    Ownership,
    ServicesBusy,
    StillLocked,
    lock_file,
    take,
)
from sale_sofia.operations.settings import RUN_FOLDER
from sale_sofia.settings.files import sync_parents
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.storage.migrate import HEAD, initialize_database
from sale_sofia.storage.sqlite import is_in_use
from sale_sofia.websites.registry import AVAILABLE_SITES

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def exchange(first: Path, second: Path) -> bool:
    """Swap the names of two folders of one disk atomically; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_HERE:
        return False
    raise OSError(code, os.strerror(code), str(second))


def replace_folder(new: Path, place: Path, aside: Path) -> None:
    """Put the new folder at `place`, and the one that was there at `aside`.

    Where the system cannot swap names, there is a moment between two renamings without either.
    """
    if exchange(new, place):
        new.rename(aside)
        return
    place.rename(aside)
    try:
        new.rename(place)
    except OSError:
        aside.rename(place)
        raise


_MB: Final = 1_000_000
MARK: Final = ".restoring"
"""The file that marks an unpacked folder until it is in its place."""
_SIGNS: Final = (DATABASE_FILE, PAGES_FOLDER, RUN_FOLDER, *KEPT_FILES, *KEPT_FOLDERS)
"""A folder with one of these is a DATA_DIR."""


def check_target(folder: Path, *, replace: bool) -> None:
    """Raise BackupRefused if nothing may be restored into this folder."""
    if folder.exists() and not folder.is_dir():
        raise BackupRefused(f"{folder} is no folder; name the folder that is to be DATA_DIR.")
    if folder.is_mount():
        raise BackupRefused(
            f"{folder} is a mount point, which cannot be exchanged as a whole: restore into a folder in it "
            f"(--into {folder / 'restored'}), and set DATA_DIR to that."
        )
    if not replace and is_filled(folder):
        raise BackupRefused(
            f"{folder} is not empty; with --replace the backup takes its place, "
            "and what is there stays beside."
        )
    if is_filled(folder) and not any((folder / name).exists() for name in _SIGNS):
        raise BackupRefused(f"{folder} is no DATA_DIR of ours, and is not replaced; name another folder.")


def is_filled(folder: Path) -> bool:
    """Whether there is anything in it."""
    return folder.is_dir() and any(folder.iterdir())


def put_in_place(folder: Path, target: Path) -> Path | None:
    """Make the unpacked folder the target in one step; returns where the old one is now."""
    before = aside_of(target) if is_filled(target) else None
    if before:
        _take_over(folder, target)
        (target / MARK).unlink(missing_ok=True)
    os.sync()  # everything is on the disk before it gets its name
    if before:
        replace_folder(folder, target, before)
    else:
        folder.rename(target)  # over an empty folder too
    (target / MARK).unlink(missing_ok=True)
    sync_parents(target)
    return before


def aside_of(target: Path) -> Path:
    """The path for a folder that is replaced now."""
    now = datetime.now(UTC)
    return target.with_name(f"{target.name}.before-restore-{now:%Y%m%dT%H%M%S.%fZ}")


def _take_over(folder: Path, target: Path) -> None:
    """Give the new folder the old one's owner, permissions and backups."""
    owner = target.stat()
    folder.chmod(owner.st_mode & 0o777)
    for path in backups_in(target / BACKUPS_FOLDER):
        (folder / BACKUPS_FOLDER).mkdir(mode=0o700, exist_ok=True)
        other = folder / BACKUPS_FOLDER / path.name
        try:
            other.hardlink_to(path)  # one file in both folders: whichever is deleted, it stays
        except OSError:
            shutil.copy2(path, other)
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, and where the old folder is now."""

    about: About
    folder: Path
    before: Path | None
    lacking: tuple[str, ...]
    """Names of pages that the backup should hold and does not."""


@contextmanager
def unpacked(backup: Path, target: Path, progress: BackupProgress) -> Iterator[tuple[Contents, Path]]:
    """Unpack the backup beside the target: every checksum right, its database sound and upgraded."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with try_lock_folder(target.parent) as held:
        if not held:
            raise BackupRefused(f"Another restore is going on in {target.parent}; wait for it.")
        folder = target.parent / f".{target.name}.restoring"
        # What a killed restore left: unpacked files are removed, a replaced folder gets its name.
        if is_filled(folder) and not (folder / MARK).exists():
            folder.rename(aside_of(target))
        elif folder.exists():
            _remove(folder)
        _check(read_head(backup), backup, target.parent)
        folder.mkdir(mode=0o700)
        try:
            (folder / MARK).touch()
            found = unpack(backup, folder, lambda _name: True, progress)
            _bring_up(folder / DATABASE_FILE, found.about, backup)
            yield found, folder
        finally:
            if (folder / MARK).exists():
                _remove(folder)


def _remove(folder: Path) -> None:
    """Remove the mark last, so that whatever a kill leaves is still known to be unpacked."""
    for path in folder.iterdir():
        if path.name != MARK:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(folder)


def _check(about: About, backup: Path, parent: Path) -> None:
    from sale_sofia.storage.migrations import runner  # noqa: PLC0415 - Alembic is slow to import

    if not runner.is_known(about.revision):
        if about.revision < HEAD:
            raise BackupRefused(
                f"{backup} was made by sale-sofia {about.program}, which is no release since 1.0.0; "
                "restore it with that program, bring it up to a release, and make another."
            )
        raise BackupRefused(
            f"{backup} has revision {about.revision} of the database, by sale-sofia {about.program}, and "
            f"this program knows no newer one than {HEAD}; update the program."
        )
    if (free := shutil.disk_usage(parent).free) < about.room:
        raise BackupRefused(
            f"{parent} has {free // _MB} MB free, and {backup} unpacks to {about.room // _MB + 1} MB: "
            "free some space."
        )


def _bring_up(file: Path, about: About, backup: Path) -> None:
    """Check the database as it was packed, then migrate it."""
    found = examine(file, str(backup))
    if (found.revision, found.rows) != (about.revision, dict(about.rows)):
        raise BackupDamaged(f"{backup} holds another database than it says.")
    with open_file(file) as database:
        initialize_database(database)
    Path(f"{file}.lock").unlink(missing_ok=True)


Frame = Callable[[Path], AbstractContextManager[None]]
"""A context entered with the unpacked folder before it is put in its place, and left afterwards."""


def restore(
    backup: Path, target: Path, progress: BackupProgress, frame: Frame = lambda _folder: nullcontext()
) -> Restored:
    """Replace a folder by a backup; raises BackupError."""
    with unpacked(backup, target, progress) as (found, folder), frame(folder):
        before = put_in_place(folder, target)
    return Restored(found.about, target, before, found.lacking)


# A data folder at rest: no services, no crawl, nobody who has its database open.


@contextmanager
def standstill(data_dir: Path) -> Iterator[None]:
    """Inside, nobody crawls or runs services in the folder; ServicesBusy or SiteBusy where one does."""
    with ExitStack() as stack:
        ownership = Ownership(data_dir / RUN_FOLDER)
        if not ownership.take(shared=False):
            holder = ownership.holder()
            who = f"process {holder.pid}" if holder else "another process"
            raise ServicesBusy(
                f"The services in {data_dir} are run by {who}; stop them with `sale-sofia down`, "
                "or the crawl where it runs."
            )
        stack.callback(ownership.release)
        locks = data_dir / "locks"
        locks.mkdir(exist_ok=True)
        # A portal that was never crawled here has no file yet, and could begin.
        for path in sorted({*locks.glob("*.lock"), *(locks / f"{site}.lock" for site in AVAILABLE_SITES)}):
            file = stack.enter_context(lock_file(path))
            try:
                take(file, ALONE)
            except StillLocked:
                who = path.read_text("ascii").strip() or "unknown"
                raise SiteBusy(
                    f"{path.stem} is being crawled by process {who}; wait for it or stop it"
                ) from None
        if is_in_use(data_dir / DATABASE_FILE):
            raise ServicesBusy(
                f"Somebody has {data_dir / DATABASE_FILE} open, a worker or a dashboard; stop it first."
            )
        yield
