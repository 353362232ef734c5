from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError

from contract.storage.helpers import database
from sale_sofia.history.jobs import create_job
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.metrics import DomainMetrics, add_counters, read_metrics
from sale_sofia.telemetry.tables import run_metrics


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    make_job(made, "job")
    make_job(made, "other")
    yield made
    made.dispose()


def make_job(db: Database, job_id: str) -> None:
    with db.write() as connection:
        create_job(connection, job_id=job_id, site="s", start_urls=["u"], listing_limit=None, now=1.0)


def counted(n: int) -> DomainMetrics:
    return DomainMetrics(retries=n)


def add(db: Database, *deltas: tuple[str, int, str, int], job_id: str = "job", now: float = 5.0) -> None:
    def work(connection: Connection) -> None:
        for writer, number, domain, n in deltas:
            add_counters(connection, job_id, writer, number, {domain: counted(n)}, now=now)

    db.run_write(work)


def stored(db: Database, job_id: str = "job") -> dict[str, DomainMetrics]:
    return db.run_read(lambda connection: read_metrics(connection, job_id))


def test_deltas_of_writers_are_added_by_run_and_domain(db: Database) -> None:
    add(db, ("a", 1, "imot.bg", 1), ("a", 1, "bazar.bg", 10))
    add(db, ("b", 1, "imot.bg", 2))
    add(db, ("a", 2, "imot.bg", 4))
    add(db, ("a", 1, "imot.bg", 100), job_id="other")
    assert stored(db) == {"bazar.bg": counted(10), "imot.bg": counted(7)}
    assert stored(db, "other") == {"imot.bg": counted(100)}
    assert stored(db, "none") == {}


def test_a_delta_that_is_there_already_adds_nothing_and_is_no_news(db: Database) -> None:
    add(db, ("a", 1, "imot.bg", 1), now=5.0)
    add(db, ("a", 2, "imot.bg", 2), now=6.0)
    add(db, ("a", 2, "imot.bg", 2), now=7.0)
    add(db, ("a", 1, "imot.bg", 1), now=8.0)
    with db.read() as connection:
        [row] = connection.execute(select(run_metrics)).all()
    assert row == ("job", "imot.bg", counted(3).to_dict(), {"a": 2}, 6.0)


def test_a_run_that_is_no_job_is_refused(db: Database) -> None:
    with pytest.raises(IntegrityError, match=r"(?i)foreign key"):
        add(db, ("a", 1, "imot.bg", 1), job_id="none")
