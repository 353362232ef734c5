"""A backup back into a data folder: unpacked and checked beside it, then put in its place in one step.

Whenever the process is killed, the folder is as it was, or it is the restored one. What was there before is
never deleted: it stays beside, under a name that says so.
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
from sale_sofia.operations.backup.making import examined, open_file
from sale_sofia.operations.backup.reading import (
    BACKUPS_FOLDER,
    KEPT_FILES,
    KEPT_FOLDERS,
    PAGES_FOLDER,
    About,
    BackupDamaged,
    BackupRefused,
    Contents,
    Progress,
    about,
    backups_in,
    folder_held,
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

_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_NOT_HERE: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


def exchange(one: Path, other: Path) -> bool:
    """Let two folders of one disk change their names, in one step; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NOT_HERE:
        return False
    raise OSError(code, os.strerror(code), str(other))


def replace_folder(new: Path, place: Path, aside: Path) -> None:
    """Put the new folder in the place of the one that is there, which is afterwards at `aside`.

    Where the system cannot exchange names, there is a moment without either between two renamings.
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
"""In a folder that was unpacked and is not known to be in its place."""
_SIGNS: Final = (DATABASE_FILE, PAGES_FOLDER, RUN_FOLDER, *KEPT_FILES, *KEPT_FOLDERS)
"""By one of these a DATA_DIR is told from any other folder."""


def check_target(folder: Path, *, replace: bool) -> None:
    """Whether something may be restored into this folder; raises BackupRefused."""
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
    """The unpacked folder becomes the target, in one step; says where what was there is now."""
    before = aside_of(target) if is_filled(target) else None
    if before:
        _take_over(folder, target)
        (target / MARK).unlink(missing_ok=True)
    os.sync()  # all of it is on the disk before it has its name
    if before:
        replace_folder(folder, target, before)
    else:
        folder.rename(target)  # over an empty folder too
    (target / MARK).unlink(missing_ok=True)
    sync_parents(target)
    return before


def aside_of(target: Path) -> Path:
    """Where a folder goes that is replaced now."""
    now = datetime.now(UTC)
    return target.with_name(f"{target.name}.before-restore-{now:%Y%m%dT%H%M%S.%fZ}")


def _take_over(folder: Path, target: Path) -> None:
    """The new folder has the old one's owner, permissions and backups."""
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
    """What was put in place, and where that is which was there before."""

    about: About
    folder: Path
    before: Path | None
    lacking: tuple[str, ...]
    """Names of pages that the backup should hold and does not."""


@contextmanager
def unpacked(backup: Path, target: Path, progress: Progress) -> Iterator[tuple[Contents, Path]]:
    """The backup in a folder beside the target: every checksum right, its database sound and current."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with folder_held(target.parent) as held:
        if not held:
            raise BackupRefused(f"Another restore is going on in {target.parent}; wait for it.")
        folder = target.parent / f".{target.name}.restoring"
        # What a killed restore left: unpacked files go, what had been replaced gets the name it should have.
        if is_filled(folder) and not (folder / MARK).exists():
            folder.rename(aside_of(target))
        elif folder.exists():
            _remove(folder)
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


def _remove(folder: Path) -> None:
    """The mark goes last: whatever is left by a kill is still known to be unpacked."""
    for path in folder.iterdir():
        if path.name != MARK:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(folder)


def _check(said: About, backup: Path, parent: Path) -> None:
    from sale_sofia.storage.migrations import runner  # noqa: PLC0415 - Alembic is slow to import

    if not runner.is_known(said.revision):
        if said.revision < HEAD:
            raise BackupRefused(
                f"{backup} was made by sale-sofia {said.program}, which is no release since 1.0.0; "
                "restore it with that program, bring it up to a release, and make another."
            )
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
    """Put a backup in the place of a folder; raises BackupError."""
    with unpacked(backup, target, progress) as (found, folder), frame(folder):
        before = put_in_place(folder, target)
    return Restored(found.about, target, before, found.lacking)


# Nobody at work in a data folder: no services, no crawl, nobody who has its database open.


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
        for path in sorted((data_dir / "locks").glob("*.lock")):
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
