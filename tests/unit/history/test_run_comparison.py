from collections.abc import Iterator

import pytest

from contract.storage.helpers import database
from sale_sofia.history.jobs import JobState
from sale_sofia.history.runs.facts import RunComparison, compare, read_run
from sale_sofia.storage.database import Database
from unit.telemetry.monitoring_workers import make_run


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def compared(db: Database, job_id: str = "now") -> RunComparison | None:
    return db.run_read(lambda c: compare(c, read_run(c, job_id, now=1e6)))


def test_the_first_run_has_nothing_to_be_compared_with(db: Database) -> None:
    make_run(db, "now", adverts=3)
    make_run(db, "later", adverts=3, began=2000.0)
    assert compared(db) is None


def test_medians_of_the_last_seven(db: Database) -> None:
    # The two oldest would move every median.
    adverts = (90, 90, 10, 12, 14, 16, 18, 20, 22)
    for number, count in enumerate(adverts):
        failures = ["NetworkTimeout: x"] * number
        make_run(db, f"j{number}", adverts=count, failures=failures, began=100.0 * number, requests=count * 2)
    make_run(db, "now", adverts=8, began=5000.0, requests=40)
    # The median run is the sixth: its 16 adverts and one search were read, and 5 pages failed.
    assert compared(db) == RunComparison(7, 32, 16, 5 / 22, 40 / 32, 8 / 16)


def test_only_completed_runs_of_the_same_search_count(db: Database) -> None:
    make_run(db, "good", adverts=10, requests=11)
    make_run(db, "failed", state=JobState.FAILED, began=1001.0)
    make_run(db, "empty", state=JobState.EMPTY, began=1002.0)
    make_run(db, "cancelled", adverts=1, state=JobState.CANCELLED, began=1003.0)
    make_run(db, "going", adverts=1, state=None, began=1004.0)
    make_run(db, "limited", adverts=1, listing_limit=1, began=1005.0)
    make_run(db, "elsewhere", adverts=1, start_urls=["https://imot.bg/other"], began=1006.0)
    make_run(db, "neighbour", adverts=1, site="bazar.bg", began=1007.0)
    make_run(db, "now", adverts=5, requests=11, began=2000.0)
    assert compared(db) == RunComparison(1, 11, 10, 0.0, 1.0, 0.5)


def test_a_share_of_nothing_is_unknown_and_no_collapse(db: Database) -> None:
    make_run(db, "before", adverts=0)
    make_run(db, "now", adverts=5, began=2000.0)
    found = compared(db)
    assert found == RunComparison(1, 0, 0, 0.0, None, None)
    assert not found.collapsed(1.0)


@pytest.mark.parametrize(
    ("ratio", "least", "collapsed"), [(0.5, 0.5, False), (0.49, 0.5, True), (0, 0.1, True)]
)
def test_a_collapse_is_less_than_the_share(ratio: float, least: float, collapsed: bool) -> None:  # noqa: FBT001
    assert RunComparison(7, 1, 100, 0.0, 1.0, ratio).collapsed(least) is collapsed


def test_few_adverts_do_not_collapse() -> None:
    assert RunComparison(7, 1, 10, 0.0, 1.0, 0.25).collapsed(0.5)
    assert not RunComparison(7, 1, 9.5, 0.0, 1.0, 0.25).collapsed(0.5)
