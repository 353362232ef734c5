"""An advert and its row's end are written together, or not at all."""

import asyncio

import pytest
from sqlalchemy import Connection, select

from contract.storage.helpers import url_of
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import Target
from sale_sofia.crawl.visit.outcomes import Failed, Found, Gone, Kept, Later, Outcome, Read
from sale_sofia.crawl.visit.writer import BatchLimits, GroupWriter, Ledger, WorkTime, Written, write_batch
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.jobs import get_job
from sale_sofia.history.pages import latest_pages
from sale_sofia.history.tables import listings, scrape_history
from sale_sofia.listings.model import Listing
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident

LEDGER = Ledger("job", "imot.bg")
PATIENCE = BatchLimits(outcomes=10, seconds=0.5)


def advert(number: int) -> Listing:
    return Listing(
        site="imot.bg", url=f"https://x/{number}", external_id=str(number), price_eur=1000 + number
    )


def claims(database: Database, count: int) -> list[Claim]:
    targets = [Target("listing", f"https://x/{number}", f"listing:{number}") for number in range(count)]
    with database.write() as connection:
        frontier.add_targets(connection, "job", targets)
        return frontier.claim(connection, "job", owner="me", count=count, now=1.0, lease_seconds=9)


def write(database: Database, outcomes: list[Outcome], ledger: Ledger = LEDGER) -> Written:
    return database.run_write(lambda connection: write_batch(connection, ledger, outcomes, now=50.0))


def states(database: Database) -> list[tuple[str, str | None]]:
    with database.read() as connection:
        found = connection.execute(select(rows.c.state, rows.c.code).order_by(rows.c.id))
        return [(row.state, row.code) for row in found]


def stored(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(select(listings.c.external_id).order_by(listings.c.id)).scalars())


def test_every_outcome_ends_its_row(database: Database) -> None:
    one, two, three, four = claims(database, 4)
    outcomes: list[Outcome] = [
        Read(one, advert(0), requests=3),
        Gone(two, "removed"),
        Failed(three, "wrong_listing", requests=0),
        Later(four, 99.0, "timeout"),
    ]
    assert write(database, outcomes) == Written(new=1, failed=1)
    assert states(database) == [
        ("done", None),
        ("done", "removed"),
        ("failed", "wrong_listing"),
        ("pending", "timeout"),
    ]
    assert stored(database) == ["0"]
    with database.read() as connection:
        job = get_job(connection, "job")
    assert job is not None
    assert (job.requests, job.new_listings) == (5, 1)


@pytest.mark.parametrize(("site", "held"), [("imot.bg", True), ("bazar.bg", False)])
def test_while_a_portal_drifts_gaps_are_held_from_the_first_page_on(
    database: Database, site: str, *, held: bool
) -> None:
    drift = Trouble(IncidentKind.DRIFT_FILL, site, Said("job.empty"))
    database.run_write(lambda connection: open_incident(connection, drift, now=1.0))
    write(database, [Read(claims(database, 1)[0], advert(0))])
    with database.read() as connection:
        assert connection.scalars(select(scrape_history.c.held_gaps)).all() == [held]


def test_a_page_is_remembered_by_its_bytes_also_where_it_could_not_be_read(database: Database) -> None:
    read, later, failed, gone = claims(database, 4)
    outcomes: list[Outcome] = [
        Read(read, advert(0), kept=Kept("a" * 64, "text/html")),
        Later(later, 99.0, "ParseSelector", kept=Kept("b" * 64, None)),
        Failed(failed, "ParseSelector", kept=Kept("c" * 64, None)),
        Gone(gone, "removed"),
    ]
    write(database, outcomes)
    with database.read() as connection:
        pages = [(page.url, page.digest[0], page.kind) for page in latest_pages(connection)]
    assert pages == [(f"https://x/{number}", "abc"[number], "listing") for number in range(3)]


@pytest.mark.parametrize("all_pages", [True, False])
def test_a_domain_that_is_shut_is_shut_for_all_rows_of_the_job(
    database: Database, *, all_pages: bool
) -> None:
    [one] = claims(database, 1)
    others = [Target("listing", f"https://x/{number}", f"listing:{number}") for number in range(1, 9)]
    database.run_write(lambda connection: frontier.add_targets(connection, "job", others))
    write(database, [Later(one, 450.0, "circuit_open", refund=True, all_pages=all_pages)])
    with database.read() as connection:
        assert frontier.count_rows(connection, "job").next_due == (500.0 if all_pages else 0.0)


def test_a_lost_lease_writes_nothing_and_leaves_the_others_alone(database: Database) -> None:
    lost, ours = claims(database, 2)
    with database.write() as connection:
        frontier.reclaim_expired(connection, "job", now=100.0, most_deaths=5)
        frontier.claim(connection, "job", owner="other", count=2, now=100.0, lease_seconds=9)
    still = Claim(ours.id, ours.kind, ours.url, 2, ours.fence + 1)
    assert write(database, [Read(lost, advert(0)), Read(still, advert(1))]) == Written(new=1, lost=1)
    assert stored(database) == ["1"]
    assert states(database) == [("leased", None), ("done", None)]


def test_an_error_in_the_middle_leaves_nothing_behind(database: Database) -> None:
    one, _ = claims(database, 2)

    def work(connection: Connection) -> None:
        write_batch(connection, LEDGER, [Read(one, advert(0))], now=50.0)
        raise RuntimeError("the plug")

    with pytest.raises(RuntimeError, match="the plug"):
        database.run_write(work)
    assert stored(database) == []
    assert states(database) == [("leased", None), ("leased", None)]


def test_a_limit_counts_adverts_and_follows_no_search_beyond_it(database: Database) -> None:
    (page,) = claims(database, 1)
    found = tuple(
        (SeenCard(f"a{number}", "hash"), Target("listing", f"https://x/a{number}", f"listing:a{number}"))
        for number in range(9)
    )
    further = Target("search", "https://x/p-2", "search:x/p-2")
    assert write(database, [Found(page, found, further)], Ledger("job", "imot.bg", limit=4)).found == 3
    with database.read() as connection:
        assert frontier.count_rows(connection, "job", "listing").total == 4
        assert frontier.count_rows(connection, "job", "search").total == 0


def test_what_waits_is_committed_together(database: Database) -> None:
    commits: list[int] = []

    class Counting(Database):
        def run_write(self, work):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            commits.append(1)
            return super().run_write(work)

    async def all_at_once() -> None:
        writer = GroupWriter(counting, LEDGER, PATIENCE, lambda: 50.0)
        await asyncio.gather(*(writer.write(Read(one, advert(number))) for number, one in enumerate(taken)))
        assert writer.written == Written(new=20)

    taken = claims(database, 20)
    counting = Counting(url_of(database), busy_timeout_seconds=5, busy_retries=1)
    asyncio.run(all_at_once())
    counting.dispose()
    assert len(commits) <= 3
    assert len(stored(database)) == 20


@pytest.mark.slow
def test_each_commit_notes_the_seconds_worked_until_it(database: Database) -> None:
    """So that a run that is killed has told of all but those after its last commit; each counts once."""
    now = 100.0

    async def work() -> None:
        nonlocal now
        writer = GroupWriter(database, LEDGER, PATIENCE, lambda: 50.0)
        writer.work = WorkTime(lambda: now)
        for one, (moment, seconds) in zip(taken, ((103.0, 3.0), (110.0, 10.0)), strict=True):
            now = moment
            await writer.write(Read(one, advert(one.id)))
            with database.read() as connection:
                assert known_job(connection, "job").seconds == seconds
        now = 114.0
        assert (writer.work.total, writer.work.since_noted()) == (14.0, (4.0, 114.0))

    taken = claims(database, 2)
    asyncio.run(work())


def test_seconds_that_could_not_be_committed_are_noted_with_the_next(database: Database) -> None:
    gone = Database(f"{url_of(database)}_nowhere", busy_timeout_seconds=1, busy_retries=0)

    async def fail() -> WorkTime:
        writer = GroupWriter(gone, LEDGER, PATIENCE, lambda: 50.0)
        writer.work = WorkTime(iter([100.0, 103.0, 105.0]).__next__)
        with pytest.raises(Exception, match="nowhere"):
            await writer.write(Read(taken[0], advert(0)))
        return writer.work

    taken = claims(database, 1)
    assert asyncio.run(fail()).since_noted() == (5.0, 105.0)
    gone.dispose()


def test_whoever_waits_hears_that_the_database_failed(database: Database) -> None:
    taken = claims(database, 1)
    gone = Database(f"{url_of(database)}_nowhere", busy_timeout_seconds=1, busy_retries=0)

    async def fail() -> None:
        await GroupWriter(gone, LEDGER, PATIENCE, lambda: 50.0).write(Read(taken[0], advert(0)))

    with pytest.raises(Exception, match="nowhere"):
        asyncio.run(fail())
    gone.dispose()
