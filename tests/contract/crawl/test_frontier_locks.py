"""Where rows are locked one by one: batches of a job wait for each other, claims pass each other by."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import Connection

from contract.storage.helpers import database as opened
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.runners import tasks
from sale_sofia.crawl.urls import Target
from sale_sofia.history.jobs import JobState, create_job, set_job_state
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseBusy

pytestmark = pytest.mark.slow


def targets(first: int, count: int, kind: str = "listing") -> list[Target]:
    return [Target(kind, f"https://x/{kind}/{n}", f"{kind}:{n}") for n in range(first, first + count)]


def claim(database: Database, count: int, owner: str = "me") -> list[Claim]:
    return database.run_write(
        lambda c: frontier.claim(c, "job", owner=owner, count=count, now=100.0, lease_seconds=30)
    )


def add(database: Database, added: list[Target]) -> int:
    return database.run_write(lambda connection: frontier.add_targets(connection, "job", added))


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    made = opened(postgres_url, timeout=0.2, retries=0)
    with made.write() as connection:
        create_job(connection, job_id="job", site="s", start_urls=["x"], listing_limit=None, now=1.0)
    yield made
    made.dispose()


def test_a_claim_passes_over_what_others_are_taking(database: Database) -> None:
    add(database, targets(0, 5))
    with database.write() as connection:
        first = frontier.claim(connection, "job", owner="a", count=3, now=100.0, lease_seconds=30)
        second = claim(database, 5, "b")
    assert len(first) == 3
    assert len(second) == 2
    assert not {one.id for one in first} & {one.id for one in second}


def test_what_is_ours_stays_ours_until_the_batch_is_written(database: Database) -> None:
    add(database, targets(0, 1))
    [mine] = claim(database, 1)
    with database.write() as connection:
        assert frontier.still_ours(connection, [mine]) == {mine.id}
        with pytest.raises(DatabaseBusy), database.write() as other:
            frontier.reclaim_expired(other, "job", now=999.0, most_deaths=5)
        frontier.finish(connection, [(mine, "done", None, None)])
    with database.write() as other:
        assert frontier.reclaim_expired(other, "job", now=999.0, most_deaths=5) == 0
        assert frontier.still_ours(other, [mine]) == set()


def test_batches_of_a_job_wait_for_each_other_and_those_of_others_do_not(database: Database) -> None:
    with database.write() as connection:
        create_job(connection, job_id="other", site="t", start_urls=["x"], listing_limit=None, now=1.0)
        frontier.add_targets(connection, "other", targets(0, 1))
        frontier.add_targets(connection, "job", targets(0, 2))
        away = frontier.claim(connection, "other", owner="a", count=1, now=100.0, lease_seconds=30)
    one, two = claim(database, 2)
    with database.write() as connection:
        frontier.still_ours(connection, [one])
        with pytest.raises(DatabaseBusy), database.write() as second:
            frontier.still_ours(second, [two])
        with database.write() as third:
            assert frontier.still_ours(third, away) == {away[0].id}


def write(connection: Connection, done: Claim, found: list[Target], limit: int) -> None:
    """What a batch with one search page does."""
    assert frontier.still_ours(connection, [done]) == {done.id}
    room = limit - frontier.count_rows(connection, "job", "listing").total
    frontier.add_targets(connection, "job", found[: max(0, room)])
    frontier.finish(connection, [(done, "done", None, None)])


@pytest.mark.parametrize("limit", [50, 1000])
def test_finds_at_once_are_there_once_and_a_limit_is_a_limit(
    postgres_url: str, database: Database, limit: int
) -> None:
    add(database, targets(0, 8, "search"))
    claims = claim(database, 8)
    meet = threading.Barrier(8)
    patient = opened(postgres_url)

    def find(number: int) -> None:
        overlapping = targets(10 * number, 40)[:: 1 if number % 2 else -1]
        meet.wait(30)
        patient.run_write(partial(write, done=claims[number], found=overlapping, limit=limit))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(find, range(8)))
    adverts = database.run_read(lambda connection: frontier.count_rows(connection, "job", "listing"))
    assert adverts.total == min(limit, 110)
    patient.dispose()


def test_an_address_longer_than_a_key_is_one_page(database: Database) -> None:
    long = [Target("search", "https://x/" + "я" * 700 + end, "search:" + "я" * 700 + end) for end in "ab"]
    assert add(database, [*long, *long]) == 2
    assert add(database, long) == 0


def test_a_job_that_is_cancelled_at_this_moment_gets_no_pages(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "https://www.imot.bg/obiava-1b177634821891002"
    monkeypatch.setattr(tasks, "database", lambda: database)
    with database.write() as connection:
        create_job(connection, job_id="old", site="imot.bg", start_urls=[page], listing_limit=None, now=1.0)
    with database.write() as connection:
        set_job_state(connection, "old", JobState.CANCELLED, now=2.0)
        with pytest.raises(DatabaseBusy):  # it waits for the end of that
            tasks._add_urls("old", "imot.bg", [page])  # noqa: SLF001 - without a Redis
    tasks._add_urls("old", "imot.bg", [page])  # noqa: SLF001
    counted = database.run_read(lambda connection: frontier.count_rows(connection, "old", "listing"))
    assert counted.total == 0
