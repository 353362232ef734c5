"""A data folder in which nobody is at work."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from backup_worlds import filled
from sale_sofia.crawl.runners.runners import SiteBusy, site_lock
from sale_sofia.operations.backup.restoring import standstill
from sale_sofia.operations.services.ownership import Ownership, ServicesBusy


@pytest.fixture
def data(tmp_path: Path) -> Path:
    filled(tmp_path / "data", rows=1).dispose()
    return tmp_path / "data"


def test_services_are_named(data: Path) -> None:
    ownership = Ownership(data / "run")
    assert ownership.take(shared=True)
    with pytest.raises(ServicesBusy, match=r"run by process \d+; stop them with `sale-sofia down`"):
        standstill(data).__enter__()
    ownership.release()
    with standstill(data):
        assert not Ownership(data / "run").take(shared=True)
    assert Ownership(data / "run").take(shared=True)


def test_a_crawl_is_named(data: Path) -> None:
    db = filled(data.parent / "other", rows=1)
    busy = r"bazar.bg is being crawled by process \d+"
    with site_lock(db, data / "locks", "bazar.bg"), pytest.raises(SiteBusy, match=busy):
        standstill(data).__enter__()
    # Also one that was never crawled there.
    with standstill(data), pytest.raises(SiteBusy), site_lock(db, data / "locks", "alo.bg"):
        pass
    with standstill(data), pytest.raises(SiteBusy), site_lock(db, data / "locks", "bazar.bg"):
        pass
    db.dispose()


def test_whoever_has_the_database_open_is_noticed(data: Path) -> None:
    with closing(sqlite3.connect(data / "sale_sofia.db")) as reader:
        reader.execute("SELECT count(*) FROM jobs").fetchone()
        with pytest.raises(ServicesBusy, match=r"Somebody has .*sale_sofia.db open"):
            standstill(data).__enter__()
    with standstill(data):
        pass


def test_a_damaged_database_may_be_replaced(data: Path) -> None:
    (data / "sale_sofia.db").write_bytes(b"nothing that SQLite knows" * 100)
    with standstill(data):
        pass


def test_a_folder_without_a_database_may_be_replaced(data: Path) -> None:
    (data / "sale_sofia.db").unlink()
    with standstill(data):
        pass
