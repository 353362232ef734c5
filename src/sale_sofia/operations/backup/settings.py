"""Settings of backups: where they go, and how many stay."""

from pydantic import BaseModel, Field

from sale_sofia.settings.types import FOLDER_ALLOWED, Folder, notes, whole


class BackupSettings(BaseModel, defer_build=True):
    """Settings of backups: where they go, and how many stay."""

    backup_dir: Folder | None = Field(
        default=None,
        description="Folder of the backups, best on another disk; unset: `backups` in DATA_DIR.",
        json_schema_extra=notes(FOLDER_ALLOWED, "folder"),
    )
    backup_keep: int = whole(7, 1, 10_000, "backups", "Backups that stay when a new one was made.")
