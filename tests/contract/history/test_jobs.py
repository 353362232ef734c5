from collections.abc import Iterator
from dataclasses import replace

import pytest

from contract.storage.helpers import database
from sale_sofia.crawl.frontier.jobs import new_job_id
from sale_sofia.crawl.runners.dispatching import check_job_id
from sale_sofia.history.jobs import (
    Job,
    JobState,
    UnknownJob,
    add_job_counts,
    create_job,
    get_job,
    jobs_since_unfinished,
    latest_unfinished_job,
    list_jobs,
    set_job_state,
)
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def make(db: Database, job_id: str, *, site: str = "imot.bg", now: float = 1.0) -> Job:
    with db.write() as connection:
        return create_job(
            connection, job_id=job_id, site=site, start_urls=["u1", "u2"], listing_limit=7, now=now
        )


def move(db: Database, job_id: str, state: JobState, now: float, error: Said | None = None) -> bool:
    with db.write() as connection:
        return set_job_state(connection, job_id, state, now=now, error=error)


def stored(db: Database, job_id: str) -> Job | None:
    return db.run_read(lambda connection: get_job(connection, job_id))


NEW = Job("a", "imot.bg", JobState.DISPATCHED, ("u1", "u2"), 7, 1.0, None, None, None, 0, 0, 0, 0.0)


def test_a_new_job(db: Database) -> None:
    assert make(db, "a") == NEW == stored(db, "a")
    assert stored(db, "b") is None


def test_the_name_of_a_portal_may_be_long(db: Database) -> None:
    made = make(db, new_job_id("imoti-v-tsyala-bulgaria.example"), site="imoti-v-tsyala-bulgaria.example")
    assert made == stored(db, check_job_id(made.id))
    assert made.id.startswith("imoti-v-tsyala-bu-20")
    assert new_job_id("imot.bg").startswith("imot.bg-20")


def test_making_a_job_again_leaves_it_as_it_is(db: Database) -> None:
    make(db, "a")
    move(db, "a", JobState.COLLECTING, 2.0)
    assert make(db, "a", now=9.0) == replace(NEW, state=JobState.COLLECTING, started_at=2.0)


def test_the_way_of_a_job(db: Database) -> None:
    make(db, "a")
    for now, state in enumerate((JobState.COLLECTING, JobState.PROCESSING, JobState.AGGREGATING), start=2):
        assert move(db, "a", state, float(now))
    assert not move(db, "a", JobState.PROCESSING, 8.0)  # its pages are at their end
    assert stored(db, "a") == replace(NEW, state=JobState.AGGREGATING, started_at=2.0)
    why = Said("job.none_read", adverts=2, first=Said("job.page", url="u1", why="ParseSelector"))
    assert move(db, "a", JobState.FAILED, 9.0, why)
    failed = replace(NEW, state=JobState.FAILED, started_at=2.0, finished_at=9.0, error=why)
    assert stored(db, "a") == failed


@pytest.mark.parametrize("end", [state for state in JobState if state.finished])
def test_a_finished_job_stays_finished(db: Database, end: JobState) -> None:
    make(db, "a")
    move(db, "a", end, 2.0)
    before = stored(db, "a")
    assert [move(db, "a", state, 3.0, Said.of("late")) for state in JobState] == [False] * len(JobState)
    assert stored(db, "a") == before


def test_the_states_that_are_for_ever() -> None:
    assert {state.value for state in JobState if state.finished} == {
        "COMPLETE",
        "PARTIAL",
        "EMPTY",
        "FAILED",
        "CANCELLED",
    }
    assert len(JobState) == 9


def test_counts_add_up(db: Database) -> None:
    make(db, "a")
    with db.write() as connection:
        add_job_counts(connection, "a", requests=2, new=1, changed=3, seconds=0.5)
        add_job_counts(connection, "a", requests=1, seconds=0.25)
    assert stored(db, "a") == replace(NEW, requests=3, new_listings=1, changed_listings=3, seconds=0.75)


def test_a_job_that_is_not_there(db: Database) -> None:
    with pytest.raises(UnknownJob, match="no job x"):
        move(db, "x", JobState.COMPLETE, 1.0)
    with pytest.raises(UnknownJob, match="no job x"), db.write() as connection:
        add_job_counts(connection, "x", requests=1)


def test_the_newest_jobs_come_first(db: Database) -> None:
    for job_id, now in (("a", 2.0), ("b", 3.0), ("c", 1.0)):
        make(db, job_id, now=now)
    with db.read() as connection:
        assert [job.id for job in list_jobs(connection, 2)] == ["b", "a"]


def test_the_latest_job_that_could_go_on(db: Database) -> None:
    for job_id, site, now in (
        ("a", "imot.bg", 1.0),
        ("b", "imot.bg", 2.0),
        ("c", "imot.bg", 3.0),
        ("d", "x", 4.0),
    ):
        make(db, job_id, site=site, now=now)
    move(db, "c", JobState.COMPLETE, 5.0)
    with db.read() as connection:
        found = latest_unfinished_job(connection, "imot.bg")
        assert found is not None
        assert found.id == "b"
        assert latest_unfinished_job(connection, "bazar.bg") is None


def test_the_jobs_since_the_first_that_could_go_on(db: Database) -> None:
    for now, (job_id, site) in enumerate((("a", "imot.bg"), ("b", "imot.bg"), ("c", "x"), ("d", "imot.bg"))):
        make(db, job_id, site=site, now=float(now))
    for job_id in ("a", "d"):
        move(db, job_id, JobState.COMPLETE, 5.0)
    with db.read() as connection:
        assert [job.id for job in jobs_since_unfinished(connection, "imot.bg")] == ["d", "b"]
        assert jobs_since_unfinished(connection, "bazar.bg") == []
