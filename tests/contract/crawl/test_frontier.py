"""Rows of the frontier: claimed once, fenced, never lost."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Connection, select

from sale_sofia.crawl import tables
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim, Counts, PutOff
from sale_sofia.crawl.urls import Target
from sale_sofia.storage.database import Database

SEARCH = Target("search", "https://x/obiavi", "search:x/obiavi")
ADVERTS = [Target("listing", f"https://x/{number}", f"listing:{number}") for number in range(5)]


def add(database: Database, targets: list[Target]) -> int:
    return database.run_write(lambda connection: frontier.add_targets(connection, "job", targets))


def claim(database: Database, count: int, now: float = 100.0, owner: str = "me") -> list[Claim]:
    return database.run_write(
        lambda connection: frontier.claim(
            connection, "job", owner=owner, count=count, now=now, lease_seconds=30
        )
    )


def counts(database: Database, kind: str | None = None) -> Counts:
    return database.run_read(lambda connection: frontier.count_rows(connection, "job", kind))


def test_an_address_is_there_once(database: Database) -> None:
    assert add(database, ADVERTS) == 5
    assert add(database, [*ADVERTS, SEARCH, SEARCH]) == 1
    assert add(database, []) == 0
    assert (counts(database).total, counts(database, "listing").total) == (6, 5)


def test_searches_come_first_then_the_order_of_discovery(database: Database) -> None:
    add(database, [*ADVERTS, SEARCH])
    claims = claim(database, 3)
    assert {one.url for one in claims} == {"https://x/obiavi", "https://x/0", "https://x/1"}
    assert {(one.attempts, one.fence) for one in claims} == {(1, 1)}
    assert counts(database) == Counts(pending=3, leased=3, next_due=0.0)


def test_no_row_is_claimed_twice_at_once(database: Database) -> None:
    add(database, [Target("listing", f"https://x/{number}", f"listing:{number}") for number in range(200)])
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda number: claim(database, 10, owner=f"owner{number}"), range(20)))
    ids = [one.id for batch in batches for one in batch]
    assert len(ids) == len(set(ids)) == 200


def test_a_postponed_row_waits_and_a_refund_gives_the_attempt_back(database: Database) -> None:
    add(database, ADVERTS[:2])
    first, second = claim(database, 2)
    with database.write() as connection:
        waits = [PutOff(first, 50.0, "busy", refund=True), PutOff(second, 60.0, "timeout")]
        frontier.postpone(connection, waits, now=100.0)
    assert counts(database) == Counts(pending=2, next_due=150.0)
    assert claim(database, 2, now=149.9) == []
    again = {one.id: one.attempts for one in claim(database, 2, now=160.0)}
    assert again == {first.id: 1, second.id: 2}


def test_a_row_remembers_what_its_tries_ended_in(database: Database) -> None:
    add(database, ADVERTS[:1])
    now = 100.0
    for ended_as, refund in (
        ("LeftAlone", True),
        (None, True),
        ("HttpRateLimit", False),
        ("HttpBlocked", False),
    ):
        [one] = claim(database, 1, now=now)
        with database.write() as connection:
            frontier.postpone(connection, [PutOff(one, 1.0, "why", "", refund, ended_as)], now=now)
        now += 1.0
    [one] = claim(database, 1, now=now)
    assert (one.tried, one.attempts) == ("LeftAlone HttpRateLimit HttpBlocked", 3)


def test_while_the_domain_is_shut_no_row_is_handed_out_and_then_searches_first(database: Database) -> None:
    add(database, ADVERTS[:1])
    [failed] = claim(database, 1)
    add(database, [*ADVERTS[:3], SEARCH])
    with database.write() as connection:
        frontier.postpone(connection, [PutOff(failed, 800.0, "timeout")], now=100.0)
        frontier.shut(connection, "job", seconds=400.0, now=100.0)
    assert claim(database, 9, now=499.9) == []
    assert counts(database) == Counts(pending=4, next_due=500.0)
    [first] = claim(database, 1, now=501.0)
    assert (first.url, first.attempts) == ("https://x/obiavi", 1)
    assert {one.url for one in claim(database, 9, now=501.0)} == {"https://x/1", "https://x/2"}


def test_a_shut_job_waits_by_one_row_of_its_own_however_many_pages_it_has(database: Database) -> None:
    add(database, [Target("listing", f"https://x/{n}", f"listing:{n}") for n in range(2000)])
    rows = select(tables.frontier).order_by(tables.frontier.c.id)
    with database.read() as connection:
        before = connection.execute(rows).all()
    with database.write() as connection:
        frontier.shut(connection, "job", seconds=400.0, now=100.0)
        frontier.shut(connection, "job", seconds=1.0, now=100.0)
    with database.read() as connection:
        assert connection.execute(rows).all() == before
    assert (claim(database, 9, now=499.0), len(claim(database, 9, now=500.0))) == ([], 9)


def test_a_page_that_waits_for_its_portal_keeps_its_turn(database: Database) -> None:
    add(database, [SEARCH, *ADVERTS])
    [search] = claim(database, 1, now=100.0)
    with database.write() as connection:
        shut = PutOff(search, 50.0, "circuit_open", refund=True, in_its_place=True)
        frontier.postpone(connection, [shut], now=100.0)
        frontier.shut(connection, "job", seconds=50.0, now=100.0)
    [again] = claim(database, 1, now=150.0)
    assert (again.id, again.attempts) == (search.id, 1)


def test_a_search_that_waited_for_a_try_of_its_own_comes_first_when_its_portal_was_shut(
    database: Database,
) -> None:
    add(database, [SEARCH, *ADVERTS])
    [search] = claim(database, 1, now=100.0)
    with database.write() as connection:
        frontier.postpone(connection, [PutOff(search, 30.0, "HttpServer")], now=100.0)
        frontier.shut(connection, "job", seconds=20.0, now=100.0)
    assert search.id not in {one.id for one in claim(database, 1, now=129.0)}
    with database.write() as connection:
        frontier.shut(connection, "job", seconds=10.0, now=130.0)
    assert [one.id for one in claim(database, 1, now=140.0)] == [search.id]


def test_a_late_owner_changes_nothing(database: Database) -> None:
    add(database, ADVERTS[:1])
    (lost,) = claim(database, 1, now=100.0)
    with database.write() as connection:
        assert frontier.reclaim_expired(connection, "job", now=129.0, most_deaths=5) == 0
        assert frontier.reclaim_expired(connection, "job", now=131.0, most_deaths=5) == 1
    (ours,) = claim(database, 1, now=131.0, owner="other")
    assert (ours.id, ours.fence) == (lost.id, lost.fence + 1)
    with database.write() as connection:
        assert frontier.still_ours(connection, [lost]) == set()
        assert frontier.still_ours(connection, [ours]) == {ours.id}
        frontier.finish(connection, [(lost, "failed", "late", None)])
    assert counts(database).leased == 1
    with database.write() as connection:
        frontier.finish(connection, [(ours, "done", None, None)])
    assert counts(database) == Counts(done=1)


def test_whoever_holds_the_lock_gets_all_rows_back_at_once(database: Database) -> None:
    add(database, ADVERTS)
    claim(database, 3)
    assert database.run_write(lambda connection: frontier.release_all(connection, "job", most_deaths=5)) == 3
    assert counts(database).pending == 5


@pytest.mark.parametrize("state", ["done", "failed"])
def test_an_end_is_an_end(database: Database, state: str) -> None:
    add(database, ADVERTS[:1])
    with database.write() as connection:
        frontier.finish(connection, [(claim_inside(connection), state, "why", None)])
    assert claim(database, 5) == []
    assert (counts(database).open, counts(database).total) == (0, 1)


def claim_inside(connection: Connection) -> Claim:
    (one,) = frontier.claim(connection, "job", owner="me", count=1, now=1.0, lease_seconds=9)
    return one
