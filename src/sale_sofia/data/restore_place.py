"""The place of a data folder: whether a backup may be put there, and putting it there in one step."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sale_sofia.config.backup import BACKUPS_FOLDER, KEPT_FILES, KEPT_FOLDERS, PAGES_FOLDER
from sale_sofia.config.services import RUN_FOLDER
from sale_sofia.config.settings import DATABASE_FILE
from sale_sofia.config.whole_files import keep_name
from sale_sofia.data.backup_errors import BackupRefused
from sale_sofia.data.backup_names import backups_in
from sale_sofia.data.folder_swap import replace_folder

MARK: Final = ".restoring"
"""In a folder that was unpacked and is not known to be in its place."""
_SIGNS: Final = (DATABASE_FILE, PAGES_FOLDER, RUN_FOLDER, *KEPT_FILES, *KEPT_FOLDERS)
"""By one of these a DATA_DIR is told from any other folder."""


def check_target(folder: Path, *, replace: bool) -> None:
    """Whether something may be restored into this folder.

    Raises:
        BackupRefused: it holds something that nobody said may be replaced, or cannot be put aside.
    """
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
    keep_name(target)
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
        _link(path, folder / BACKUPS_FOLDER / path.name)
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _link(path: Path, other: Path) -> None:
    try:
        other.hardlink_to(path)  # one file in both folders: whichever is deleted, it stays
    except OSError:
        shutil.copy2(path, other)
