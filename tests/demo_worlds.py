"""The world of `sale-sofia demo`: days of two portals, crawled once for all tests, copied for each."""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from command_server import COMMAND
from crawls import environment

ADVERTS = 48
SEED = 4
"""A city in which pairs wait for review and flats are cheaper elsewhere, though it is small."""
DAYS = 8
_PATIENCE = 600
_DONE = "done"


def demo_data(factory: pytest.TempPathFactory) -> Path:
    """The DATA_DIR of the demo; never written to. Made by the first test process that asks."""
    base = factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demo-world"
    root.mkdir(exist_ok=True)
    with (root / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / _DONE).exists():
            _crawl(root)
            (root / _DONE).touch()
    return root / "demo"


def _crawl(root: Path) -> None:
    told = subprocess.run(
        [COMMAND, "demo", "--properties", str(ADVERTS), "--seed", str(SEED), "--days", str(DAYS)],
        env=environment(root, {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    assert told.returncode == 0, told.stderr


def copied(data: Path, target: Path) -> Path:
    """A DATA_DIR of a test's own with the same adverts.

    Files beside the database come and go with those who read it; everything is in the database itself, as
    nobody writes to it any more.
    """
    passing = shutil.ignore_patterns("locks", "logs", "*.db-wal", "*.db-shm")
    return Path(shutil.copytree(data, target, ignore=passing))
