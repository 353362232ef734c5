"""Data folders with everything that a backup must hold, and everything that it must not."""

import atexit
import hashlib
import io
import os
import random
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import zstandard

from any_rows import fill
from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.operations.backup.making import BackupRequest
from sale_sofia.operations.backup.reading import FORMAT, About, sums_text
from sale_sofia.operations.copying import TableDigest, all_tables, batches, digest_batches
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import HEAD, initialize_database

SECRET = "geheim-und-mehr"  # noqa: S105 - looked for where it must not be
KEPT = {
    "schedule.yaml": "crawls: []\n",
    "alerts.yaml": "channels: {}\n",
    "channels.yaml": "channels: {}\nbots: {}\n",
    "phone_secret": "k" * 32,
    "profiles/семейство.yaml": "title: дом\n",
    "proxies/sources.json": "[]",
    "reports/job.json": "{}",
}
LEFT_OUT = (
    "database_password", "run/orchestrator.lock", "logs/worker.log", "redis/server.json", "locks/x.lock",
    "errors.jsonl", "errors.jsonl.1", "lanes/imot.bg.json", "fair_price.npz", "profiles/.draft",
    "profiles/folder/x.yaml", "archive/ab/rest.tmp", "archive/other",
)  # fmt: skip


def quiet(_what: str, _done: int, _total: int) -> None:
    """A progress that nobody looks at."""


def opened(url: str) -> Database:
    return Database(url, busy_timeout_seconds=30, busy_retries=3)


def database_in(data: Path) -> Database:
    return opened(f"sqlite:///{data / 'sale_sofia.db'}")


def filled(data: Path, *, rows: int = 30, pages: int = 5) -> Database:
    """A data folder with all that there can be in one."""
    rng = random.Random(rows)
    data.mkdir(parents=True)
    shutil.copy(_template(rows), data / DATABASE_FILE)
    for name, text in {**KEPT, **dict.fromkeys(LEFT_OUT, SECRET)}.items():
        path = data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    put_pages(data, rng, pages)
    return database_in(data)


@cache
def _template(rows: int) -> Path:
    """A database with so many rows in every table; made once, as its making takes long."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    db = database_in(folder)
    initialize_database(db)
    db.run_write(lambda connection: fill(connection, random.Random(rows), rows))
    db.dispose()
    return folder / DATABASE_FILE


def put_pages(data: Path, rng: random.Random, count: int) -> list[str]:
    """Pages in the archive, each last seen at another time."""
    archive = PageArchive(data / "archive", 1 << 30)
    digests = [archive.put(rng.randbytes(500)) for _ in range(count)]
    for number, digest in enumerate(digests):
        os.utime(page_path(data, digest), (1000 + number, 1000 + number))
    return digests


def page_path(data: Path, digest: str) -> Path:
    return data / "archive" / digest[:2] / f"{digest[2:]}.zst"


def order(data: Path, folder: Path, *, pages: bool = True) -> BackupRequest:
    return BackupRequest(data, None, folder, pages=pages)


def contents(db: Database) -> dict[str, TableDigest]:
    """All rows of all tables, as digests."""
    with db.read() as connection:
        return {table.name: digest_batches(batches(connection, table)) for table in all_tables()}


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def about(**more: object) -> About:
    values = {
        "format": FORMAT, "program": "1.2.3", "revision": HEAD, "made_at": 5.0, "database": "x",
        "rows": {}, "pages": True, "room": 1000,
    }  # fmt: skip
    return About.model_validate({**values, **more})


def plain(name: str, size: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def write_backup(
    path: Path,
    members: Iterable[tuple[tarfile.TarInfo, bytes]],
    said: About | None = None,
    *,
    form: int = tarfile.GNU_FORMAT,
) -> Path:
    """A file like a backup, with whatever is given between its head and its checksums, which are right."""
    head = (said or about()).as_json()
    given = [(plain("backup.json", len(head)), head), *members]
    sums = sums_text({member.name: hashlib.sha256(body).hexdigest() for member, body in given})
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
        for member, body in [*given, (plain("SHA256SUMS", len(sums)), sums)]:
            tar.addfile(member, io.BytesIO(body))
    path.write_bytes(zstandard.compress(packed.getvalue()))
    return path
