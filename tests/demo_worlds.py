"""The world of `sale-sofia demo`: days of two portals, crawled once for all tests, copied for each.

Run as a program it makes that world, so that a run of tests need not begin with waiting for it.
"""

import fcntl
import hashlib
import shutil
import sqlite3
import subprocess
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import sale_sofia
from command_server import COMMAND
from crawls import environment

ADVERTS = 72
SEED = 54
"""A city in which pairs wait for review and flats are cheaper elsewhere, though it is small."""
DAYS = 8
KEPT = Path(__file__).parents[1] / ".pytest_cache" / "d" / "demo-worlds"
"""Where it is kept until the day or the program is another."""
EVERY_ADVERT_OPENED = {"COPY_CHECK_EVERY": "1"}
_PATIENCE = 600
_DONE = "done"


def demo_data() -> Path:
    """The DATA_DIR of the demo; never written to."""
    root = KEPT / _digest()
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / _DONE).exists():
            for old in KEPT.iterdir():
                if old.is_dir():
                    shutil.rmtree(old)
            _crawl(root)
            (root / _DONE).touch()
    return root / "demo"


def _digest() -> str:
    """Of all that the world is made of: the program, the command below, and the day, which is its last."""
    sources = sorted(path for path in Path(sale_sofia.__file__).parent.rglob("*") if path.is_file())
    found = hashlib.sha256(f"{ADVERTS} {SEED} {DAYS} {datetime.now(UTC).date()}".encode())
    for path in sources:
        if path.suffix != ".pyc":
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def _crawl(root: Path) -> None:
    root.mkdir()
    told = subprocess.run(
        [COMMAND, "demo", "--properties", str(ADVERTS), "--seed", str(SEED), "--days", str(DAYS)],
        env=environment(root, EVERY_ADVERT_OPENED),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    assert told.returncode == 0, told.stderr
    # What the last pages committed may still stand beside the database alone, and copies take the database.
    with closing(sqlite3.connect(root / "demo" / "sale_sofia.db")) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert not busy, "another process still reads the demo's database"


def copied(data: Path, target: Path) -> Path:
    """A DATA_DIR of a test's own with the same adverts.

    Files beside the database come and go with those who read it; everything is in the database itself, as
    nobody writes to it any more.
    """
    passing = shutil.ignore_patterns("locks", "logs", "*.db-wal", "*.db-shm")
    return Path(shutil.copytree(data, target, ignore=passing))


if __name__ == "__main__":
    demo_data()
