"""What a backup says of itself: `backup.json`, its first member, and `SHA256SUMS`, its last."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from sale_sofia.alerts.settings import ALERTS_FILE, CHANNELS_FILE
from sale_sofia.buyer.settings import OWN_PHOTOS_FOLDER
from sale_sofia.crawl.runners.schedule import SCHEDULE_FILE
from sale_sofia.flats.settings import SECRET_FILE
from sale_sofia.geography.settings import IMPORTED_FOLDER
from sale_sofia.proxies.settings import FOLDER as PROXIES_FOLDER
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.telemetry.settings import REPORTS_FOLDER

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much it is in all."""


class BackupError(ValueError):
    """A backup cannot be made, read or put in its place; nothing was changed."""


class BackupRefused(BackupError):
    """It would overwrite something, find no room, or holds what does not belong in a backup."""


class BackupDamaged(BackupError):
    """The file is not whole, or not what it was when it was written."""


FORMAT: Final = 1
"""The form of the file; a program refuses a form that it does not know."""
BACKUPS_FOLDER: Final = "backups"
"""Where backups go, in DATA_DIR, when BACKUP_DIR is not set."""
PAGES_FOLDER: Final = "archive"
"""The page archive, in DATA_DIR."""
SITES_FOLDER: Final = "sites"
"""Where site files of the user's own are in a backup, and in the DATA_DIR that is restored from it."""
KEPT_FILES: Final = (SCHEDULE_FILE, ALERTS_FILE, CHANNELS_FILE, SECRET_FILE)
"""Files of DATA_DIR that a backup holds. The key of hashed phones is one: they mean nothing without it."""
KEPT_FOLDERS: Final = ("profiles", IMPORTED_FOLDER, PROXIES_FOLDER, REPORTS_FOLDER, OWN_PHOTOS_FOLDER)
"""Folders of DATA_DIR whose files a backup holds. What is not named here is left out, passwords above all."""

SQLITE_PAGES_AT_ONCE: Final = 2_000
"""Pages of SQLite copied between two signs of progress: 8 MB. No writer ever waits for it."""
COMPRESSION_LEVEL: Final = 3
"""zstd's own choice: a database shrinks to about a quarter, as fast as a disk writes."""
READ_BYTES: Final = 1 << 20
"""Bytes read, hashed and written in one go."""
LONGEST_NAME: Final = 100
"""Bytes of a file's name in a tar that needs no further headers; ours are shorter."""
ABOUT_MOST_BYTES: Final = 1_000_000
"""Bytes of what a backup says of itself; it takes some thousand."""
SUMS_MOST_BYTES: Final = 1_000_000_000
"""Bytes of the list of checksums: 140 for each page, so seven million pages."""
WINDOW_MOST_BYTES: Final = 1 << 27
"""Memory that a compressed file may ask for: zstd's own limit for files of strangers."""
MOST_GROWTH: Final = 250
"""A file may unpack to so many times its size: databases reach 20. More is a trap to fill the disk."""
GROWTH_ALLOWED_BYTES: Final = 100_000_000
"""Bytes that a file may unpack to in any case: the emptiest of databases shrink the most."""
PAGE_CLOCK_SECONDS: Final = 60.0
"""A page's file may be so much older than the moment the database has for it: disks round times."""
SHOWN_PAGES: Final = 5
"""Names of damaged or lost pages that are told; JSON has all of them."""
NEWEST_MOMENT: Final = 1 << 33
"""Seconds since 1970 beyond which a file's time is no time: the year 2242."""


_LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)", re.ASCII)


class About(BaseModel):
    """Of which database and moment a backup is, and what is in it."""

    model_config = ConfigDict(frozen=True)

    format: int
    program: str
    """The version of the program that made it."""
    revision: str
    """The last step of the migrations that was done in the database."""
    made_at: Annotated[float, Field(ge=0, le=NEWEST_MOMENT)]
    """Seconds since 1970."""
    database: str
    """What the database is called before people: where it is, and no password."""
    rows: Mapping[str, NonNegativeInt]
    """Rows of each table."""
    pages: bool
    """Whether the page archive is in it."""
    room: NonNegativeInt
    """Bytes, about, that it takes when it is unpacked."""

    def as_json(self) -> bytes:
        """As it stands in the file."""
        return self.model_dump_json(indent=1).encode()


def read_about(content: bytes, backup: str) -> About:
    """What a backup says of itself; raises BackupRefused or BackupDamaged."""
    try:
        about = About.model_validate_json(content)
    except ValidationError:
        raise BackupDamaged(
            f"{backup} does not say what it is; it is damaged or no backup of ours."
        ) from None
    if about.format > FORMAT:
        raise BackupRefused(
            f"{backup} was made by sale-sofia {about.program} in a form that this program does not know; "
            "update the program."
        )
    return about


def sums_text(sums: Mapping[str, str]) -> bytes:
    """The checksums in the form that `sha256sum --check` reads."""
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()


def read_sums(content: bytes, backup: str) -> dict[str, str]:
    """The checksum of each member; raises BackupDamaged."""
    lines = [_LINE.fullmatch(line) for line in content.decode("utf-8", "replace").split("\n")[:-1]]
    sums = {line[2]: line[1] for line in lines if line}
    if len(sums) != len(lines):
        raise BackupDamaged(f"{backup} is damaged: its list of checksums cannot be read.")
    return sums


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
