from collections.abc import Iterator

import pytest
from sqlalchemy import update

from contract.storage.helpers import database
from sale_sofia.crawl.tables import frontier
from sale_sofia.history.jobs import JobState
from sale_sofia.history.runs.incidents import open_stuck_jobs, review_run
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher
from unit.telemetry.monitoring_workers import make_run


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def review(db: Database, job_id: str, now: float = 9000.0, **limits: float) -> None:
    db.run_write(lambda c: review_run(c, job_id, Settings.model_validate(limits), now=now))


def found(db: Database) -> list[tuple[str, str, str | None, str]]:
    return [(one.kind, one.site, one.job_id, one.message) for one in db.run_read(open_incidents)]


def test_an_empty_job_is_one_until_a_run_completes(db: Database) -> None:
    make_run(db, "empty", state=JobState.EMPTY)
    review(db, "empty")
    review(db, "empty")
    assert found(db) == [("empty_job", "imot.bg", "empty", "the portal showed no advert")]
    make_run(db, "good", adverts=3, began=2000.0)
    review(db, "good")
    assert found(db) == []


def test_a_failed_job_says_why(db: Database) -> None:
    make_run(db, "failed", state=JobState.FAILED, error="https://x/1: NetworkTimeout: 30 s")
    review(db, "failed")
    assert found(db) == [("failed_job", "imot.bg", "failed", "https://x/1: NetworkTimeout: 30 s")]
    make_run(db, "empty", state=JobState.EMPTY, began=2000.0)
    review(db, "empty")
    # That it shows nothing now does not mean that it can be read again.
    assert [kind for kind, *_ in found(db)] == ["failed_job", "empty_job"]


def test_a_collapse_is_over_when_there_is_as_much_as_usual(db: Database) -> None:
    make_run(db, "a", adverts=100)
    make_run(db, "b", adverts=100, began=2000.0)
    make_run(db, "c", adverts=49, began=3000.0)
    for job_id in "abc":
        review(db, job_id)
    assert found(db) == [("collapse", "imot.bg", "c", "49 adverts, where 100 are usual")]
    [before] = db.run_read(open_incidents)
    review(db, "c", now=9500.0)
    [again] = db.run_read(open_incidents)
    assert (again.id, again.opened_at, again.seen_at) == (before.id, 9000.0, 9500.0)
    # Another search says nothing of this one.
    make_run(db, "other", adverts=1, began=4000.0, start_urls=["https://imot.bg/other"])
    review(db, "other")
    assert [kind for kind, *_ in found(db)] == ["collapse"]
    make_run(db, "d", adverts=50, began=5000.0)
    review(db, "d")
    assert found(db) == []


def test_a_circuit_that_was_open_long_also_while_the_run_goes_on(db: Database) -> None:
    make_run(db, "going", state=None)
    now = [2000.0]
    flusher = MetricsFlusher(db, MetricsCollector("going", clock=lambda: now[0]))
    flusher.collector.circuit_open("imot.bg", 1000)
    for now[0], expected in ((2000.0, 0), (2599.0, 0), (2600.0, 1)):
        flusher.flush()
        review(db, "going", now=now[0], incident_circuit_seconds=600)
        assert len(found(db)) == expected
    assert found(db) == [("circuit_open_long", "imot.bg", "going", "the circuit was open for 600 seconds")]
    make_run(db, "good", adverts=3, began=3000.0)
    review(db, "good")
    assert found(db) == []


def test_an_older_run_is_not_heard(db: Database) -> None:
    make_run(db, "old", state=JobState.EMPTY)
    make_run(db, "new", adverts=3, began=2000.0)
    review(db, "old")
    assert found(db) == []


def test_the_details_are_numbers_of_the_run(db: Database) -> None:
    make_run(db, "failed", state=JobState.FAILED, failures=["X: y"] * 2, requests=7)
    review(db, "failed")
    [one] = db.run_read(open_incidents)
    assert one.details == {
        "adverts": 0,
        "failed_pages": 2,
        "requests": 7,
        "block_share": 0.0,
        "circuit_open_seconds": 0.0,
    }


def stuck(db: Database, now: float) -> list[tuple[str, str, str | None, str]]:
    db.run_write(lambda c: open_stuck_jobs(c, Settings(incident_stuck_seconds=600), now=now))
    return found(db)


STUCK = [(IncidentKind.STUCK_JOB.value, "imot.bg", "job", "nothing has moved for 600 seconds")]


def test_an_unfinished_job_that_never_moved(db: Database) -> None:
    make_run(db, "job", state=None, runner="celery")
    make_run(db, "done", adverts=1, site="bazar.bg")
    assert stuck(db, 1600.0) == []
    assert stuck(db, 1600.1) == STUCK


@pytest.mark.parametrize(
    "values", [{"state": "leased", "lease_until": 2000.0}, {"state": "pending", "not_before": 2000.0}]
)
def test_a_leased_or_waiting_page_is_movement(db: Database, values: dict[str, object]) -> None:
    make_run(db, "job", state=None, runner="celery")
    with db.write() as connection:
        connection.execute(update(frontier).values(**values))
    assert stuck(db, 2600.0) == []
    assert stuck(db, 2600.1) == STUCK


def test_counters_that_come_in_are_movement_and_close_it(db: Database) -> None:
    make_run(db, "job", state=None, runner="celery")
    assert stuck(db, 2000.0) == STUCK
    flusher = MetricsFlusher(db, MetricsCollector("job"), clock=lambda: 2001.0)
    flusher.collector.retried("imot.bg")
    flusher.flush()
    assert stuck(db, 2002.0) == []


def test_a_job_that_a_newer_one_followed_is_not_stuck(db: Database) -> None:
    make_run(db, "job", state=None, runner="celery")
    make_run(db, "newer", adverts=2, began=1500.0)
    assert stuck(db, 9000.0) == []


def test_a_job_that_was_stopped_is_not_stuck(db: Database) -> None:
    make_run(db, "job", state=None)
    assert stuck(db, 9000.0) == []
