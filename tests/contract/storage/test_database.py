import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import IntegrityError

from contract.storage.helpers import advert, database, ready_database, rows
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import add_job_counts, create_job, get_job
from sale_sofia.history.listings import save_listing
from sale_sofia.history.tables import listings
from sale_sofia.storage.connections import ServerOutage
from sale_sofia.storage.database import Database, retry_on_busy
from sale_sofia.storage.errors import (
    DatabaseBusy,
    DatabaseMissing,
    DatabaseReadOnly,
    DatabaseUnreachable,
    DatabaseUnsupported,
)


def add_job(connection: Connection, job_id: str = "j") -> None:
    create_job(connection, job_id=job_id, site="imot.bg", start_urls=[], listing_limit=None, now=1.0)


def requests(db: Database) -> int:
    job = db.run_read(lambda connection: get_job(connection, "j"))
    assert job is not None
    return job.requests


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def test_making_the_object_makes_nothing_else(tmp_path: Path) -> None:
    database(tmp_path / "folder" / "x.db")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_database_is_said_to_be_missing_and_not_made(tmp_path: Path) -> None:
    db = database(tmp_path / "x.db")
    with pytest.raises(DatabaseMissing, match=r"no initialised database at .*x\.db"), db.read() as connection:
        connection.execute(select(jobs))
    with pytest.raises(DatabaseMissing), db.write() as connection:
        add_job(connection)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://user:secret@host/x"])
def test_a_database_that_is_no_file_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(DatabaseUnsupported) as refused:
        Database(url, busy_timeout_seconds=1, busy_retries=0)
    assert "secret" not in str(refused.value)


def test_the_settings_of_a_connection(tmp_path: Path) -> None:
    with ready_database(tmp_path / "x.db", timeout=7).write() as connection:
        values = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "wal_autocheckpoint")
        }
    assert values == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "busy_timeout": 7000,
        "wal_autocheckpoint": 4000,
    }


def test_a_write_is_whole_or_not_at_all(db: Database) -> None:
    with pytest.raises(IntegrityError), db.write() as connection:  # noqa: PT012 - the second fails
        add_job(connection)
        connection.execute(text("INSERT INTO price_points (listing_id, seen_at) VALUES (99, 1)"))
    assert db.run_read(rows_of_jobs) == 0
    db.run_write(add_job)
    assert db.run_read(rows_of_jobs) == 1


def rows_of_jobs(connection: Connection) -> int:
    return len(connection.execute(select(jobs)).all())


def test_a_reader_may_not_write(db: Database) -> None:
    with pytest.raises(DatabaseReadOnly), db.read() as connection:
        add_job(connection)


def test_a_reader_sees_one_moment_while_a_writer_goes_on(db: Database) -> None:
    with db.read() as reader:
        assert rows_of_jobs(reader) == 0
        db.run_write(add_job)
        assert rows_of_jobs(reader) == 0
    assert db.run_read(rows_of_jobs) == 1


def test_the_second_writer_waits_before_it_reads(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db")
    db.run_write(add_job)

    def read_then_write(connection: Connection) -> None:
        job = get_job(connection, "j")
        assert job is not None
        connection.execute(jobs.update().values(requests=job.requests + 1))

    second = threading.Thread(target=db.run_write, args=(read_then_write,))
    with db.write() as first:
        second.start()
        second.join(0.3)
        assert second.is_alive()
        read_then_write(first)
    second.join(10)
    assert requests(db) == 2


def test_a_writer_holds_the_lock_from_its_first_moment(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db", timeout=0, retries=0)
    with db.write() as idle, pytest.raises(DatabaseBusy), db.write():
        idle.execute(select(jobs))


@pytest.mark.slow
def test_many_threads_share_one_database_object(db: Database) -> None:
    db.run_write(add_job)
    faults: list[BaseException] = []

    def count() -> None:
        try:
            for _ in range(20):
                db.run_write(lambda connection: add_job_counts(connection, "j", requests=1))
                requests(db)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the test's result
            faults.append(error)

    threads = [threading.Thread(target=count) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (faults, requests(db)) == ([], 240)


def test_a_forked_child_uses_no_connection_of_its_parent(db: Database) -> None:
    db.run_write(add_job)
    with db.write() as connection:
        parents = connection.connection.driver_connection
    child = os.fork()
    if child == 0:
        os._exit(_as_child(db, parents))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    db.run_write(lambda connection: add_job_counts(connection, "j", requests=1))
    assert requests(db) == 2


def _as_child(db: Database, parents: object) -> int:
    try:
        with db.write() as connection:
            add_job_counts(connection, "j", requests=1)
            return 1 if connection.connection.driver_connection is parents else 0
    except BaseException:  # noqa: BLE001 - nothing may leave the child but its number
        return 2


def test_busy_work_is_done_again_as_a_whole_and_not_for_ever() -> None:
    calls: list[float] = []

    def busy() -> None:
        calls.append(time.monotonic())
        raise DatabaseBusy

    with pytest.raises(DatabaseBusy):
        retry_on_busy(3, first_pause=0.001)(busy)()
    assert len(calls) == 4


def test_work_that_succeeds_after_being_busy_gives_its_result_once() -> None:
    left = iter([DatabaseBusy(), None])

    @retry_on_busy(5, first_pause=0)
    def work(result: str) -> str:
        if error := next(left):
            raise error
        return result

    assert work("done") == "done"


def test_another_error_is_not_tried_again() -> None:
    calls: list[int] = []

    @retry_on_busy(5, first_pause=0)
    def work() -> None:
        calls.append(1)
        raise DatabaseMissing

    with pytest.raises(DatabaseMissing):
        work()
    assert calls == [1]


def test_it_works_again_after_dispose(db: Database, tmp_path: Path) -> None:
    with db.write() as connection:
        save_listing(connection, advert(), seen_at=1.0, job_id=None, page_digest=None)
    db.dispose()
    assert not (tmp_path / "x.db-wal").exists()
    with db.read() as connection:
        assert rows(connection, listings, "external_id") == [("id1",)]


def test_a_server_is_waited_for_in_equal_pauses_however_often_it_was_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(threading.Event, "wait", lambda _, seconds: pauses.append(seconds))
    outage = ServerOutage(86_400)
    outage.over()
    for tries in (0, 5, 1100, 60_000):
        outage.endure(DatabaseUnreachable("away"), tries)
    first, *others = pauses
    assert 0.05 <= first <= 0.1
    assert all(1.0 <= pause <= 2.0 for pause in others)
