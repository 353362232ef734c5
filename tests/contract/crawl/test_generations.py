"""When lanes are sent out: once for each reason, again when they were lost, never for a job that ended."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import Connection

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.jobs import end_job, known_job, report
from sale_sofia.crawl.resilience.owners import this_owner
from sale_sofia.crawl.runners import dispatching
from sale_sofia.crawl.runners.dispatching import JobStep, Next
from sale_sofia.crawl.settings import CONCLUSION_GRACE_SECONDS, DISPATCH_GRACE_SECONDS, MOST_DEATHS
from sale_sofia.crawl.urls import Target
from sale_sofia.history.jobs import JobState, add_job_counts, get_job, set_job_state, unfinished_jobs
from sale_sofia.storage.database import Database

ADVERTS = [Target("listing", f"https://x/{number}", f"listing:{number}") for number in range(3)]
SENT = 100.0
LATE = SENT + DISPATCH_GRACE_SECONDS


@pytest.fixture(autouse=True)
def rows(database: Database) -> None:
    database.run_write(lambda connection: frontier.add_targets(connection, "job", ADVERTS))


def begin(database: Database, now: float = SENT) -> JobStep:
    return database.run_write(partial(dispatching.begin, job_id="job", now=now))


def after_lanes(database: Database, now: float = SENT, generation: int | None = None) -> JobStep:
    return database.run_write(partial(dispatching.after_lanes, job_id="job", now=now, generation=generation))


def repair(database: Database, now: float) -> JobStep:
    return database.run_write(partial(dispatching.repair, job_id="job", now=now))


def claim(connection: Connection, owner: str, now: float = SENT, count: int = 9) -> list[frontier.Claim]:
    return frontier.claim(connection, "job", owner=owner, count=count, now=now, lease_seconds=30)


def state(database: Database) -> str:
    job = database.run_read(lambda connection: get_job(connection, "job"))
    assert job is not None
    return job.state.value


def seconds(database: Database) -> float:
    return database.run_read(lambda connection: report(connection, known_job(connection, "job")).seconds)


def test_a_job_is_dispatched_once(database: Database) -> None:
    assert begin(database) == JobStep(Next.LANES, 1)
    assert begin(database) == JobStep(Next.NOTHING)
    assert state(database) == "COLLECTING"


def test_of_many_dispatchers_one_sends_lanes(database: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        steps = list(pool.map(lambda _: begin(database).kind, range(16)))
    assert sorted(step.name for step in steps) == ["LANES"] + ["NOTHING"] * 15


def test_lanes_that_left_work_are_followed_by_others(database: Database) -> None:
    begin(database)
    assert after_lanes(database) == JobStep(Next.LANES, 2)


def test_lanes_whose_successors_were_sent_a_moment_ago_are_followed_by_nobody(database: Database) -> None:
    begin(database)
    assert repair(database, LATE) == JobStep(Next.LANES, 2)  # the first had let go, and had not come back yet
    assert after_lanes(database, LATE + 1, generation=1) == JobStep(Next.NOTHING)
    assert after_lanes(database, LATE + DISPATCH_GRACE_SECONDS, generation=1) == JobStep(Next.LANES, 3)
    assert after_lanes(database, LATE + DISPATCH_GRACE_SECONDS, generation=3) == JobStep(Next.LANES, 4)


def test_lanes_side_by_side_work_no_longer_than_their_job_lasts(database: Database) -> None:
    begin(database)
    with database.write() as connection:
        frontier.finish(connection, [(one, "done", None, None) for one in claim(connection, this_owner())])
        add_job_counts(connection, "job", seconds=30.0)
        add_job_counts(connection, "job", seconds=25.0)
    assert seconds(database) == 55.0
    assert after_lanes(database) == JobStep(Next.OVER)
    with database.write() as connection:
        end_job(connection, known_job(connection, "job"), now=SENT + 40)
    assert seconds(database) == 40.0


def test_rows_in_somebodys_hands_need_no_lanes(database: Database) -> None:
    begin(database)
    database.run_write(lambda connection: claim(connection, "elsewhere|1|x", count=1))
    assert after_lanes(database) == JobStep(Next.NOTHING)


def test_waiting_rows_are_woken_when_they_are_due(database: Database) -> None:
    begin(database)
    with database.write() as connection:
        claims = claim(connection, this_owner())
        frontier.postpone(
            connection, [frontier.PutOff(one, 50, "circuit_open", refund=True) for one in claims], now=SENT
        )
    assert after_lanes(database) == JobStep(Next.NOTHING)
    assert repair(database, SENT + 49) == JobStep(Next.NOTHING)
    assert repair(database, SENT + 50) == JobStep(Next.LANES, 2)


def test_a_job_whose_rows_are_all_at_their_end_ends(database: Database) -> None:
    begin(database)
    with database.write() as connection:
        frontier.finish(connection, [(one, "done", None, None) for one in claim(connection, this_owner())])
    assert after_lanes(database) == JobStep(Next.OVER)
    assert state(database) == "AGGREGATING"
    assert after_lanes(database) == JobStep(Next.OVER)  # a message that came again, as its first reader died
    assert begin(database) == JobStep(Next.NOTHING)
    overdue = SENT + CONCLUSION_GRACE_SECONDS
    assert repair(database, overdue - 0.1) == JobStep(Next.NOTHING)
    assert repair(database, overdue) == JobStep(Next.OVERDUE)
    database.run_write(partial(dispatching.keep_awake, job_id="job", now=overdue))  # photos come one by one
    assert repair(database, overdue + CONCLUSION_GRACE_SECONDS - 0.1) == JobStep(Next.NOTHING)
    assert repair(database, overdue + CONCLUSION_GRACE_SECONDS) == JobStep(Next.OVERDUE)
    assert state(database) == "AGGREGATING"
    for now in (200.0, 300.0):
        with database.write() as connection:
            end_job(connection, known_job(connection, "job"), now=now)
    ended = database.run_read(partial(known_job, job_id="job"))
    assert (ended.state.value, ended.finished_at) == ("COMPLETE", 200.0)
    assert after_lanes(database) == JobStep(Next.OVER)
    assert repair(database, LATE) == JobStep(Next.OVER)
    assert begin(database) == JobStep(Next.OVER)
    assert database.run_read(unfinished_jobs) == []


def test_a_cancelled_job_gets_no_lanes(database: Database) -> None:
    begin(database)
    database.run_write(lambda connection: set_job_state(connection, "job", JobState.CANCELLED, now=SENT))
    assert after_lanes(database) == JobStep(Next.OVER)
    assert repair(database, LATE) == JobStep(Next.OVER)
    assert state(database) == "CANCELLED"


def test_a_lost_wake_up_is_sent_again_but_not_at_once(database: Database) -> None:
    begin(database)
    assert repair(database, LATE - 0.1) == JobStep(Next.NOTHING)
    assert repair(database, LATE) == JobStep(Next.LANES, 2)
    assert repair(database, LATE) == JobStep(Next.NOTHING)


def test_a_job_whose_first_message_was_lost_is_dispatched(database: Database) -> None:
    assert repair(database, LATE) == JobStep(Next.LANES, 1)


def test_the_rows_of_a_dead_process_come_back_before_their_lease_ends(database: Database) -> None:
    begin(database)
    place = this_owner().partition("|")[0]
    database.run_write(lambda connection: claim(connection, f"{place}|999999999|gone", now=LATE))
    assert repair(database, LATE) == JobStep(Next.LANES, 2)
    assert len(database.run_write(lambda connection: claim(connection, "next", now=LATE))) == 3


def test_the_rows_of_the_living_and_of_other_machines_stay_theirs(database: Database) -> None:
    begin(database)
    database.run_write(lambda connection: claim(connection, this_owner(), now=LATE, count=1))
    database.run_write(lambda connection: claim(connection, "elsewhere|1|x", now=LATE, count=2))
    assert repair(database, LATE + 29) == JobStep(Next.NOTHING)
    assert repair(database, LATE + 31) == JobStep(Next.LANES, 2)


def test_a_page_under_which_workers_die_is_read_alone_and_given_up(database: Database) -> None:
    together = []
    for death in range(MOST_DEATHS + 3):
        now = 1000.0 * death
        with database.write() as connection:
            claims = claim(connection, "x", now=now, count=2)
            together.append([(one.url[-1], one.attempts) for one in claims])  # a death is not the page's try
            # The first of all kills whoever has it; nobody else is at an end by then.
            if claims and claims[0].url != "https://x/0":
                frontier.finish(connection, [(one, "done", None, None) for one in claims])
        repair(database, now + 31)
    both, alone = [("0", 1), ("1", 1)], [("0", 1)]
    assert together == [both, both, [("2", 1)], alone, alone, alone, [("1", 1)], []]
    counts = database.run_read(lambda connection: frontier.count_rows(connection, "job"))
    assert (counts.failed, counts.done) == (1, 2)


def test_a_suspected_page_is_only_for_empty_hands(database: Database) -> None:
    with database.write() as connection:
        for moment in (100.0, 200.0):
            claim(connection, "x", now=moment, count=2)
            frontier.reclaim_expired(connection, "job", now=moment + 50, most_deaths=9)
        assert [one.url[-1] for one in claim(connection, "x", now=300.0, count=2)] == ["2"]
        assert claim(connection, "x", now=300.0, count=2) == []
        assert [one.url[-1] for one in claim(connection, "y", now=300.0, count=2)] == ["0"]
        assert [one.url[-1] for one in claim(connection, "z", now=300.0, count=2)] == ["1"]


def test_what_is_handed_back_is_as_if_it_had_not_been_claimed(database: Database) -> None:
    with database.write() as connection:
        claims = claim(connection, "x")
        frontier.finish(connection, [(claims[0], "done", None, None)])
        frontier.release(connection, "job", "x")
    counts = database.run_read(lambda connection: frontier.count_rows(connection, "job"))
    assert (counts.done, counts.pending) == (1, 2)
    again = database.run_write(lambda connection: claim(connection, "y"))
    assert [(one.attempts, one.fence) for one in again] == [(1, 2), (1, 2)]


def test_a_renewed_lease_holds_and_a_lost_one_stays_lost(database: Database) -> None:
    with database.write() as connection:
        first, *_ = claim(connection, "x")
        frontier.renew(connection, [first], until=500.0)
        assert frontier.reclaim_expired(connection, "job", now=400.0, most_deaths=9) == 2
        assert frontier.reclaim_expired(connection, "job", now=501.0, most_deaths=9) == 1
        frontier.renew(connection, [first], until=9e9)
        assert len(claim(connection, "y", now=502.0)) == 3
