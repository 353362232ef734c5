"""Old rows that nothing needs go; all numbers and pages that anybody asks for are as before."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select, update

from contract.storage.helpers import at_once, database, ready_database
from contract.storage.workers import prune_one_by_one
from new_processes import FORKED
from sale_sofia.crawl.frontier.frontier import add_targets, claim, count_rows, finish, still_ours
from sale_sofia.crawl.frontier.jobs import known_job, report
from sale_sofia.crawl.runners.progress import read_progress
from sale_sofia.crawl.tables import frontier, frontier_pruned
from sale_sofia.crawl.urls import Target
from sale_sofia.history.jobs import JobState, create_job, set_job_state
from sale_sofia.history.pages import (
    PageKind,
    PageRecord,
    failed_pages,
    latest_pages,
    page_pairs,
    record_pages,
    sound_until,
)
from sale_sofia.history.pruning import prune_frontier, prune_page_records
from sale_sofia.history.runs.facts import count_pages
from sale_sofia.history.tables import drift_runs, pages
from sale_sofia.operations.portals import read_runs, site_statuses
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

PATIENCE = 60
OLD, LIMIT, NEW = 100.0, 200.0, 300.0
ENDED = {"old": JobState.COMPLETE, "stopped": JobState.CANCELLED, "new": JobState.COMPLETE}


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def target(kind: str, number: int) -> Target:
    return Target(kind, f"https://imot.bg/{kind}/{number}", f"{kind}:{number}")


def put_job(connection: Connection, job_id: str, adverts: int) -> None:
    """Two searches are done, one advert failed, one is leased, two wait, all others are done."""
    create_job(connection, job_id=job_id, site="imot.bg", start_urls=["u"], listing_limit=None, now=1.0)
    searches, listings = [[target(kind, one) for one in range(adverts)] for kind in ("search", "listing")]
    add_targets(connection, job_id, [*searches[:2], *listings])
    took = claim(connection, job_id, owner="me", count=adverts, now=2.0, lease_seconds=9)
    finish(connection, [(one, "failed" if one is took[2] else "done", None, None) for one in took[:-1]])


def end_job(connection: Connection, job_id: str, state: JobState, at: float) -> None:
    if state is JobState.COMPLETE:
        left = (frontier.c.job_id == job_id, frontier.c.state.in_(["pending", "leased"]))
        connection.execute(update(frontier).where(*left).values(state="done"))
    set_job_state(connection, job_id, state, now=at)


def put_jobs(connection: Connection) -> None:
    for job_id in ("old", "stopped", "new", "going"):
        put_job(connection, job_id, adverts=8)
    for job_id, state in ENDED.items():
        end_job(connection, job_id, state, NEW if job_id == "new" else OLD)


def what_is_said(connection: Connection, *job_ids: str) -> list[Any]:
    """All that is counted of jobs; when a waiting page is due says nothing once its job has ended."""
    counted = [
        (asdict(count_rows(connection, job_id, kind)) | {"next_due": None})
        for job_id in job_ids
        for kind in (None, "search", "listing")
    ]
    progress = [asdict(read_progress(connection, job_id)) | {"next_due": None} for job_id in job_ids]
    reports = [report(connection, known_job(connection, job_id)) for job_id in job_ids]
    runs = read_runs(connection)
    return [
        counted, progress, reports, runs, count_pages(connection, job_ids),
        site_statuses(connection, ["imot.bg"], Settings()), failed_pages(connection, limit=99),
    ]  # fmt: skip


def states_of(connection: Connection, job_id: str) -> dict[str, int]:
    found = select(frontier.c.state, func.count()).where(frontier.c.job_id == job_id)
    return {row[0]: row[1] for row in connection.execute(found.group_by(frontier.c.state))}


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 4, 1000])
def test_pages_of_jobs_that_ended_long_ago_become_numbers(db: Database, at_once: int) -> None:
    with db.write() as connection:
        put_jobs(connection)
        before = what_is_said(connection, "old", "stopped", "new", "going")
        assert states_of(connection, "stopped") == {"done": 6, "failed": 1, "leased": 1, "pending": 2}
    assert prune_frontier(db, before=LIMIT, at_once=at_once) == 9 + 9
    with db.read() as connection:
        assert what_is_said(connection, "old", "stopped", "new", "going") == before
        assert states_of(connection, "old") == states_of(connection, "stopped") == {"failed": 1}
        assert states_of(connection, "new") == {"done": 9, "failed": 1}
        assert states_of(connection, "going") == {"done": 6, "failed": 1, "leased": 1, "pending": 2}
        kept = {tuple(row) for row in connection.execute(select(frontier_pruned))}
    assert kept == {
        ("old", "search", "done", 2), ("old", "listing", "done", 7),
        ("stopped", "search", "done", 2), ("stopped", "listing", "done", 4),
        ("stopped", "listing", "leased", 1), ("stopped", "listing", "pending", 2),
    }  # fmt: skip
    assert prune_frontier(db, before=LIMIT, at_once=at_once) == 0


def test_a_late_result_of_a_page_that_was_pruned_changes_nothing(db: Database) -> None:
    with db.write() as connection:
        put_job(connection, "stopped", adverts=8)
        mine = claim(connection, "stopped", owner="late", count=9, now=3.0, lease_seconds=9)
        end_job(connection, "stopped", JobState.CANCELLED, OLD)
    prune_frontier(db, before=LIMIT)
    with db.write() as connection:
        put_job(connection, "next", adverts=8)
        before = count_rows(connection, "next")
        assert still_ours(connection, mine) == {mine[-1].id}  # the last row stays: no number is given twice
        finish(connection, [(one, "done", None, None) for one in mine])
        assert count_rows(connection, "next") == before


@pytest.mark.parametrize("job_ids", [("first", "second"), ("second", "first")])
def test_of_jobs_that_began_at_one_moment_the_same_is_the_newest(
    db: Database, job_ids: tuple[str, ...]
) -> None:
    with db.write() as connection:
        for job_id in job_ids:
            put_job(connection, job_id, adverts=8)
        [status] = site_statuses(connection, ["imot.bg"], Settings())
    assert status.job_id == "second"


def _put_old_job(db: Database, adverts: int) -> Any:  # noqa: ANN401 - what is said of it
    with db.write() as connection:
        put_job(connection, "old", adverts)
        end_job(connection, "old", JobState.COMPLETE, OLD)
        put_job(connection, "going", adverts=8)
        return what_is_said(connection, "old")


@pytest.mark.slow
def test_two_that_prune_at_once_count_every_page_once(db: Database, store_url: str) -> None:
    before = _put_old_job(db, adverts=200)
    assert sum(at_once(prune_one_by_one, [(store_url, LIMIT)] * 2)) == 201
    with db.read() as connection:
        assert what_is_said(connection, "old") == before
        assert states_of(connection, "old") == {"failed": 1}


@pytest.mark.slow
def test_a_kill_between_loses_no_number_and_the_next_goes_on(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db")
    before = _put_old_job(db, adverts=3000)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    pruning = FORKED.Process(target=prune_one_by_one, args=(url, LIMIT))
    pruning.start()
    _wait_for_less(db, 2900)  # of some 3000
    os.kill(pruning.pid or 0, signal.SIGKILL)
    pruning.join()
    with db.read() as connection:
        left = sum(states_of(connection, "old").values())
        assert what_is_said(connection, "old") == before
    assert prune_frontier(db, before=LIMIT) == left - 1
    with db.read() as connection:
        assert what_is_said(connection, "old") == before
    db.dispose()


def _wait_for_less(db: Database, rows: int) -> None:
    until = time.monotonic() + PATIENCE
    count = select(func.count(frontier.c.id))
    while db.run_read(lambda connection: connection.execute(count).scalar_one()) > rows:
        assert time.monotonic() < until
        time.sleep(0.01)


def page(url: str, fetched_at: float, *, site: str = "imot.bg", kind: PageKind = "listing") -> PageRecord:
    return PageRecord(site, url, kind, f"{round(fetched_at):064x}", "text/html", fetched_at)


def judged(connection: Connection, job_id: str, at: float, *, sound: bool) -> None:
    create_job(connection, job_id=job_id, site="imot.bg", start_urls=[], listing_limit=None, now=at)
    row = {"job_id": job_id, "site": "imot.bg", "counters": {}, "sound": sound, "judged_at": at}
    connection.execute(insert(drift_runs).values(row))


def stored(connection: Connection) -> list[tuple[str, float]]:
    return sorted((row.url, row.fetched_at) for row in connection.execute(select(pages)))


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_of_each_address_the_last_page_of_then_stays(db: Database, at_once: int) -> None:
    recorded = [
        page("a", 10), page("a", 20), page("a", 30), page("a", 210), page("a", 220),
        page("b", 10), page("c", 210),
        page("a", 15, kind="search"), page("a", 16, site="bazar.bg"),
    ]  # fmt: skip
    with db.write() as connection:
        record_pages(connection, recorded)
        before = list(latest_pages(connection))
    assert prune_page_records(db, before=LIMIT, at_once=at_once) == 2
    with db.read() as connection:
        assert list(latest_pages(connection)) == before
        kept = [("a", at) for at in (15, 16, 30, 210, 220)]
        assert stored(connection) == [*kept, ("b", 10), ("c", 210)]
    assert prune_page_records(db, before=LIMIT, at_once=at_once) == 0


def test_of_two_of_one_moment_the_one_recorded_last_stays(db: Database) -> None:
    with db.write() as connection:
        record_pages(connection, [page("a", 10), PageRecord("imot.bg", "a", "listing", "1a57", None, 10)])
    assert prune_page_records(db, before=LIMIT) == 1
    with db.read() as connection:
        assert [one.digest for one in latest_pages(connection)] == ["1a57"]


def test_pages_from_before_a_change_stay_beside_those_from_after_it(db: Database) -> None:
    with db.write() as connection:
        judged(connection, "usual", 50, sound=True)
        judged(connection, "drifted", 120, sound=False)
        record_pages(connection, [page("a", at) for at in (10, 40, 60, 90, 110)])
        since = sound_until(connection, "imot.bg", before=120)
        assert since == 50
        before = page_pairs(connection, "imot.bg", since, 9)
    assert prune_page_records(db, before=LIMIT) == 3
    with db.read() as connection:
        assert page_pairs(connection, "imot.bg", since, 9) == before
        assert stored(connection) == [("a", 40), ("a", 110)]
