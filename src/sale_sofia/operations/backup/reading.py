"""Reads backups: no member is trusted before its name, its type and its checksum are right."""

import fcntl
import hashlib
import io
import os
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, Final, NamedTuple, cast

import zstandard
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from sale_sofia.alerts.settings import ALERTS_FILE, CHANNELS_FILE
from sale_sofia.buyer.settings import OWN_PHOTOS_FOLDER
from sale_sofia.crawl.fetch.archive import is_page_of
from sale_sofia.crawl.runners.schedule import SCHEDULE_FILE
from sale_sofia.flats.settings import SECRET_FILE
from sale_sofia.geography.settings import IMPORTED_FOLDER
from sale_sofia.proxies.settings import FOLDER as PROXIES_FOLDER
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.telemetry.settings import REPORTS_FOLDER

BackupProgress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is in all."""


class BackupError(ValueError):
    """A backup cannot be made, read or restored; nothing was changed."""


class BackupRefused(BackupError):
    """It would overwrite something, has no room, or holds what does not belong in a backup."""


class BackupDamaged(BackupError):
    """The file is incomplete, or was changed after it was written."""


# What a backup says of itself: `backup.json`, its first member, and `SHA256SUMS`, its last.

FORMAT: Final = 1
"""The version of the file format; newer ones are refused."""
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
"""Pages of SQLite copied between two reports of progress: 8 MB. No writer ever waits for it."""
COMPRESSION_LEVEL: Final = 3
"""zstd's default: a database shrinks to about a quarter, as fast as a disk writes."""
READ_BYTES: Final = 1 << 20
"""Bytes read, hashed and written in one go."""
LONGEST_NAME: Final = 100
"""Bytes of a file's name in a tar that needs no further headers; ours are shorter."""
ABOUT_MOST_BYTES: Final = 1_000_000
"""Largest `backup.json`; it takes some thousand bytes."""
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
"""Names of damaged or lost pages that are printed; JSON has all of them."""
NEWEST_MOMENT: Final = 1 << 33
"""Latest time of a file, in seconds since 1970: the year 2242."""


_LINE: Final = re.compile(r"([0-9a-f]{64})  (.+)", re.ASCII)


class About(BaseModel):
    """The database and the moment of a backup, and what is in it."""

    model_config = ConfigDict(frozen=True)

    format: int
    program: str
    """The version of the program that made it."""
    revision: str
    """The last step of the migrations that was done in the database."""
    made_at: Annotated[float, Field(ge=0, le=NEWEST_MOMENT)]
    """Seconds since 1970."""
    database: str
    """The database's name for people: where it is, without a password."""
    rows: Mapping[str, NonNegativeInt]
    """Rows of each table."""
    pages: bool
    """Whether the page archive is in it."""
    room: NonNegativeInt
    """About how many bytes it takes unpacked."""

    def as_json(self) -> bytes:
        """The JSON as it stands in the file."""
        return self.model_dump_json(indent=1).encode()


def read_about(content: bytes, backup: str) -> About:
    """Parse `backup.json`; raises BackupRefused or BackupDamaged."""
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
"""The list of pages that should be in it but were damaged or gone; only if there are any."""
SUMS: Final = "SHA256SUMS"
PART_PREFIX: Final = ".sale-sofia-"
PART_SUFFIX: Final = ".part"
"""How the name of an unfinished file begins and ends."""
_SUFFIX: Final = ".tar.zst"
_BACKUP: Final = re.compile(r"sale-sofia-\d{8}T\d{6}Z(-\d+)?\.tar\.zst", re.ASCII)
_SINGLE: Final = frozenset({ABOUT, LACKING, SUMS, DATABASE_FILE, *KEPT_FILES})
_FOLDERS: Final = "|".join(map(re.escape, (*KEPT_FOLDERS, SITES_FOLDER)))
_IN_FOLDER: Final = re.compile(rf"(?:{_FOLDERS})/[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*")
_PAGE: Final = re.compile(rf"{PAGES_FOLDER}/[0-9a-f]{{2}}/[0-9a-f]{{62}}\.zst", re.ASCII)


def belongs(name: str) -> bool:
    """Whether a backup may hold a file of this name; no such name leads out of the folder."""
    return name in _SINGLE or bool(_IN_FOLDER.fullmatch(name)) or is_page(name)


def is_page(name: str) -> bool:
    """Whether this is a page of the archive."""
    return bool(_PAGE.fullmatch(name))


def page_digest(name: str) -> str:
    """The digest in a page's name: the SHA-256 of what it unpacks to."""
    return "".join(name.split("/")[1:]).removesuffix(".zst")


def page_name(digest: str) -> str:
    """The name in a backup of the page with this digest."""
    return f"{PAGES_FOLDER}/{digest[:2]}/{digest[2:]}.zst"


def free_path(folder: Path, made_at: float) -> Path:
    """An unused path for a backup of this moment."""
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
    """Files that interrupted backups left behind."""
    return sorted(folder.glob(f"{PART_PREFIX}*{PART_SUFFIX}"))


_OWNERS_ALONE = 0o600
_HEAD_MOST_BYTES: Final = 18
_BLOCK_HEAD_BYTES: Final = 3
_CHECKSUM_BYTES: Final = 4
_REPEATED: Final = 1
"""The type of a block that holds one byte, however long it unpacks to."""


def check_frame(file: BinaryIO, path: Path) -> None:
    """Check, without unpacking, that the file is one whole zstd frame from its first byte to its last.

    The frame says where it ends: we never write anything after that. Raises BackupDamaged or ZstdError.
    """
    head = file.read(_HEAD_MOST_BYTES)
    checksum = _CHECKSUM_BYTES if zstandard.get_frame_parameters(head).has_checksum else 0
    end, last = zstandard.frame_header_size(head), False
    while not last:
        file.seek(end)
        block = file.read(_BLOCK_HEAD_BYTES)
        end += _BLOCK_HEAD_BYTES
        if len(block) < _BLOCK_HEAD_BYTES:  # cut off
            break
        bits = int.from_bytes(block, "little")
        end += 1 if bits >> 1 & 3 == _REPEATED else bits >> 3
        last = bool(bits & 1)
    end += checksum
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if end > size:
        raise BackupDamaged(f"{path} is cut off: {end - size} bytes or more are missing at its end.")
    if end < size:
        raise BackupDamaged(f"{path} is damaged: {size - end} bytes follow its end.")


class NotOurs(Exception):
    """The file holds something that no backup of ours does."""


class _PlainMember(tarfile.TarInfo):
    """The header of a plain file; links, devices, folders and extension headers are refused unread."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_PlainMember":
        """Parse a header; raises NotOurs unless it is of a plain file."""
        member = super().frombuf(buf, encoding, errors)
        if member.type != tarfile.REGTYPE or member.size < 0:
            raise NotOurs(f"it holds {member.name!r}, which is no plain file")
        return member


@contextmanager
def open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """Open the tar within the file; any fault of either raises BackupRefused or BackupDamaged."""
    try:
        with path.open("rb") as file:
            check_frame(file, path)
            with (
                zstandard.ZstdDecompressor(max_window_size=WINDOW_MOST_BYTES).stream_reader(file) as unpacked,
                tarfile.open(fileobj=unpacked, mode="r|", tarinfo=_PlainMember, encoding="utf-8") as tar,
            ):
                yield tar
    except NotOurs as error:
        raise BackupRefused(f"{path} is no backup of ours: {error}.") from error
    except (zstandard.ZstdError, tarfile.TarError, EOFError, UnicodeError) as error:
        raise BackupDamaged(f"{path} is damaged, cut off or no backup of ours.") from error


def read_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The content of a member that is known to be small."""
    file = tar.extractfile(member)
    return file.read() if file else b""


def forget_members(tar: tarfile.TarFile) -> None:
    """Clear the tar's list of members, which would grow with a million pages."""
    cast("Any", tar).members.clear()


MemberFilter = Callable[[str], bool]


class Contents(NamedTuple):
    """The head of a backup, and the pages that it should hold and does not."""

    about: About
    lacking: tuple[str, ...]
    """Names of pages that were gone or damaged when it was made, and of those in it that are damaged."""


def read_head(path: Path) -> About:
    """What the backup says of itself; reads only the first member. Raises BackupError."""
    with open_tar(path) as tar:
        return read_about(_first(tar, path), str(path))


def _first(tar: tarfile.TarFile, path: Path) -> bytes:
    member = tar.next()
    if member is None or member.name != ABOUT or member.size > ABOUT_MOST_BYTES:
        raise BackupDamaged(f"{path} is damaged or no backup of ours: it does not begin with {ABOUT}.")
    return read_member(tar, member)


def unpack(path: Path, folder: Path, is_wanted: MemberFilter, progress: BackupProgress) -> Contents:
    """Read the whole backup and write the wanted members into the folder, which must be empty.

    When this returns, the file was read to its last byte and every member, wanted or not, matches its
    checksum. A page that does not match its digest is not written, but listed as lacking.
    Raises BackupRefused or BackupDamaged.
    """
    with open_tar(path) as tar:
        head = _first(tar, path)
        about = read_about(head, str(path))
        reader = _Reader(tar, folder, is_wanted)
        most = path.stat().st_size * MOST_GROWTH + GROWTH_ALLOWED_BYTES
        content = reader.read(most, lambda done: progress("checking", min(done, about.room), about.room))
        sums = read_sums(content, str(path))
    found = {ABOUT: hashlib.sha256(head).hexdigest(), **reader.sums}
    if DATABASE_FILE not in found:
        raise BackupDamaged(f"{path} is no backup of ours: there is no database in it.")
    wrong = [name for name in (*sums, *found) if found.get(name) != sums.get(name)]
    if wrong:
        raise BackupDamaged(f"{path} is damaged: {wrong[0]} is not what was written.")
    return Contents(about, tuple(reader.lacking))


class _Reader:
    """Reads the members after the first and records their checksums."""

    def __init__(self, tar: tarfile.TarFile, folder: Path, is_wanted: MemberFilter) -> None:
        self.sums: dict[str, str] = {}
        self.lacking: list[str] = []
        self._tar, self._folder, self._is_wanted = tar, folder, is_wanted

    def read(self, most: int, report: Callable[[int], None]) -> bytes:
        """Read all members, at most `most` bytes; the content of the last, the checksums."""
        done = 0
        while member := self._tar.next():
            if not belongs(member.name) or member.name in self.sums or member.name == ABOUT:
                raise NotOurs(f"it holds {member.name!r}, which does not belong there")
            done += tarfile.BLOCKSIZE + member.size
            if done > most:
                raise NotOurs("it would unpack to far more than a backup of its size holds")
            report(done)
            if member.name == SUMS:
                # Only zeros may follow; reading them checks the frame's own checksum too.
                content = self._small(member)
                stream = cast("Any", self._tar).fileobj
                stream.seek(self._tar.offset)
                while piece := stream.read(READ_BYTES):
                    if piece.strip(b"\0"):
                        raise NotOurs("it goes on after its checksums")
                return content
            if member.name == LACKING:
                self._read_lacking(member)
            else:
                self._take(member)
            forget_members(self._tar)
        raise EOFError("its end is missing")

    def _read_lacking(self, member: tarfile.TarInfo) -> None:
        content = self._small(member)
        self.sums[member.name] = hashlib.sha256(content).hexdigest()
        names = content.decode("utf-8", "replace").split("\n")[:-1]
        if not all(map(is_page, names)):
            raise NotOurs(f"its {LACKING} names what is no page")
        self.lacking += names

    def _small(self, member: tarfile.TarInfo) -> bytes:
        if member.size > SUMS_MOST_BYTES:
            raise NotOurs(f"its {member.name} is too long")
        return read_member(self._tar, member)

    def _take(self, member: tarfile.TarInfo) -> None:
        path = self._folder / member.name
        with ExitStack() as stack:
            file: BinaryIO | None = None
            if self._is_wanted(member.name):
                path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS_ALONE)
                file = stack.enter_context(os.fdopen(descriptor, "wb"))
            content = cast("IO[bytes]", self._tar.extractfile(member))  # a plain file has one
            hashed = Hashed(content, file.write if file else len)
            sound = not is_page(member.name) or is_page_of(
                page_digest(member.name), cast("IO[bytes]", hashed)
            )
            while hashed.read(READ_BYTES):
                pass
            self.sums[member.name] = hashed.digest.hexdigest()
        if not sound:
            self.lacking.append(member.name)
            path.unlink(missing_ok=True)
        elif file:
            moment = min(max(0, int(member.mtime)), NEWEST_MOMENT)
            os.utime(path, (moment, moment))


class Hashed(io.RawIOBase):
    """A file that is hashed while it is read; each piece also goes to `take`."""

    def __init__(self, source: IO[bytes], take: Callable[[bytes], object]) -> None:
        self.digest = hashlib.sha256()
        self._source, self._take = source, take

    def read(self, size: int = -1, /) -> bytes:
        """The next piece."""
        piece = self._source.read(size)
        self.digest.update(piece)
        self._take(piece)
        return piece


# A folder of backups: one is made at a time, old ones are removed, other files are never touched.


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A backup in its folder."""

    path: Path
    about: About
    bytes: int
    lacking: tuple[str, ...] = ()
    """Names of pages that should be in it and are not; empty until all of it was read."""


@dataclass(frozen=True, slots=True)
class BackupList:
    """The backups of a folder, the oldest first, and files that have the name of one but are none."""

    backups: list[BackupFile]
    damaged: dict[Path, str]


def list_backups(folder: Path) -> BackupList:
    """List the folder; reads only the head of each file."""
    listed = BackupList([], {})
    for path in backups_in(folder):
        try:
            listed.backups.append(BackupFile(path, read_head(path), path.stat().st_size))
        except (BackupError, OSError) as error:
            listed.damaged[path] = str(error)
    listed.backups.sort(key=lambda backup: (backup.about.made_at, backup.path.name))
    return listed


def remove_old(folder: Path, newest: BackupFile, keep: int) -> list[Path]:
    """Remove the oldest backups of the same database until `keep` are left; the newest always stays.

    So does the newest that has the pages. Files that cannot be read stay, and are not counted.
    """
    with backup_lock(folder):
        others = [
            backup
            for backup in list_backups(folder).backups
            if backup.about.database == newest.about.database and backup.path != newest.path
        ]
        with_pages = [backup.path for backup in (*others, newest) if backup.about.pages]
        surplus = [
            backup.path
            for backup in others[: max(0, len(others) + 1 - keep)]
            if backup.path not in with_pages[-1:]
        ]
        for path in surplus:
            path.unlink(missing_ok=True)
    return surplus


@contextmanager
def backup_lock(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, which ends with the process; BackupRefused if another process holds it."""
    with try_lock_folder(folder) as held:
        if not held:
            raise BackupRefused(f"Another backup is being made in {folder}; wait for it.")
        yield


@contextmanager
def try_lock_folder(folder: Path) -> Iterator[bool]:
    """Try to lock the folder itself, writing nothing into it; yields whether it is ours."""
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
    """Remove what killed backups left; call it under the lock, which proves that they are dead."""
    for path in parts_in(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
