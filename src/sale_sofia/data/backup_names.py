"""How backups, and what is in them, may be called: whatever has another name is not ours."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sale_sofia.config.backup import KEPT_FILES, KEPT_FOLDERS, PAGES_FOLDER, SITES_FOLDER
from sale_sofia.config.settings import DATABASE_FILE

ABOUT: Final = "backup.json"
LACKING: Final = "LACKING"
"""Names of pages that belong in it and are not, as they were damaged or gone; only where there are any."""
SUMS: Final = "SHA256SUMS"
PART_PREFIX: Final = ".sale-sofia-"
PART_SUFFIX: Final = ".part"
"""What is being written begins and ends so, until it is whole."""
_SUFFIX: Final = ".tar.zst"
_BACKUP: Final = re.compile(r"sale-sofia-\d{8}T\d{6}Z(-\d+)?\.tar\.zst", re.ASCII)
_SINGLE: Final = frozenset({ABOUT, LACKING, SUMS, DATABASE_FILE, *KEPT_FILES})
_FOLDERS: Final = "|".join(map(re.escape, (*KEPT_FOLDERS, SITES_FOLDER)))
_IN_FOLDER: Final = re.compile(rf"(?:{_FOLDERS})/[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*")
_PAGE: Final = re.compile(rf"{PAGES_FOLDER}/[0-9a-f]{{2}}/[0-9a-f]{{62}}\.zst", re.ASCII)


def belongs(name: str) -> bool:
    """Whether a backup may hold a file of this name; none of them leads out of its folder."""
    return name in _SINGLE or bool(_IN_FOLDER.fullmatch(name)) or is_page(name)


def is_page(name: str) -> bool:
    """Whether this is a page of the archive."""
    return bool(_PAGE.fullmatch(name))


def page_digest(name: str) -> str:
    """By what a page of this name in a backup is called: the SHA-256 of what it unpacks to."""
    return "".join(name.split("/")[1:]).removesuffix(".zst")


def page_name(digest: str) -> str:
    """What the page of this digest is called in a backup."""
    return f"{PAGES_FOLDER}/{digest[:2]}/{digest[2:]}.zst"


def free_path(folder: Path, made_at: float) -> Path:
    """Where a backup of this moment goes: a name that no other has."""
    name = f"sale-sofia-{datetime.fromtimestamp(made_at, UTC):%Y%m%dT%H%M%SZ}"
    path, number = folder / f"{name}{_SUFFIX}", 1
    while path.exists():
        number += 1
        path = folder / f"{name}-{number}{_SUFFIX}"
    return path


def backups_in(folder: Path) -> list[Path]:
    """The files that are backups by their names."""
    return sorted(path for path in folder.glob(f"*{_SUFFIX}") if _BACKUP.fullmatch(path.name))


def parts_in(folder: Path) -> list[Path]:
    """What backups that never came to their end left behind."""
    return sorted(folder.glob(f"{PART_PREFIX}*{PART_SUFFIX}"))
