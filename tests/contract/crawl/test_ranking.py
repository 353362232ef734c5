"""Which page is asked for next: what may fit first, the rest spread, and nobody waits for ever."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlalchemy import Connection, select

from contract.storage.helpers import advert
from sale_sofia.buyer.searches import save_search
from sale_sofia.crawl import tables
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.ranking import current_wishes, keep_ranked, rank_adverts
from sale_sofia.crawl.runners.site_crawl import SiteCrawl
from sale_sofia.crawl.settings import FAIR_TURN
from sale_sofia.crawl.urls import Target
from sale_sofia.crawl.visit.outcomes import Gone, Later, Outcome
from sale_sofia.crawl.visit.writer import Ledger, write_batch
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database

NOW = 1_780_000_000.0
DAY = 86_400.0
PATIENCE_SECONDS = 60.0
SITE = "imot.bg"
FLAT: dict[str, Any] = {
    "deal": "sale", "property_type": "apartment", "rooms": 2, "price_eur": 150_000.0, "area_sqm": 70.0,
    "city": "София", "neighbourhood": "Борово",
}  # fmt: skip
PROFILE = """
budget_eur: 180000
neighbourhoods: {best: [Борово], others: poor}
must: {rooms_least: 2}
"""


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the buyer's profiles."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    get_settings.cache_clear()
    (tmp_path / "profiles").mkdir()
    yield tmp_path / "profiles"
    get_settings.cache_clear()


def seen(connection: Connection, number: int, *, at: float = NOW, card: bool = True, **other: Any) -> None:  # noqa: ANN401
    save_listings(connection, [Sighting(advert(number=number, **{**FLAT, **other}), at, card=card)])


def target(number: int) -> Target:
    return Target("listing", f"https://imot.bg/{number}", f"listing:id{number}")


def order(connection: Connection, *numbers: int) -> list[int]:
    ranks = rank_adverts(
        connection, "job", SITE, [f"id{number}" for number in numbers], current_wishes(connection), now=NOW
    )
    return sorted(numbers, key=lambda number: (ranks[f"id{number}"], number))


def test_what_may_fit_comes_first_the_newest_before_the_others(database: Database, profiles: Path) -> None:
    (profiles / "mine.yaml").write_text(PROFILE, "utf-8")
    with database.write() as connection:
        seen(connection, 1, price_eur=250_000.0)
        seen(connection, 2, neighbourhood="Лозенец")
        seen(connection, 3, rooms=1)
        seen(connection, 4, property_type="garage")
        seen(connection, 5, at=NOW - 9 * DAY)
        seen(connection, 6)
        seen(connection, 7, card=False)  # opened before: it changed, or is due
        seen(connection, 8, price_eur=None, rooms=None, neighbourhood=None, at=NOW - 2 * DAY)  # who knows
        found = order(connection, *range(1, 9))
    assert found[:4] == [7, 6, 8, 5]
    assert set(found[4:]) == {1, 2, 3, 4}


def test_a_saved_search_is_looked_for_too(database: Database, profiles: Path) -> None:
    assert profiles.exists()
    with database.write() as connection:
        seen(connection, 1)
        seen(connection, 2, rooms=7, price_eur=400_000.0, neighbourhood="Лозенец")
        query = {"rooms": [5], "price_max": 500_000, "neighbourhood": ["Лозенец"]}
        save_search(connection, "голям", query, now=NOW)
        assert order(connection, 1, 2) == [2, 1]


def test_rows_are_ranked_anew_when_a_profile_changes(database: Database, profiles: Path) -> None:
    with database.write() as connection:
        for number in range(6):
            seen(connection, number, price_eur=100_000.0 + 20_000 * number)
        frontier.add_targets(connection, "job", [target(number) for number in range(6)])
        for budget, fitting in ((145_000, 3), (165_000, 4), (110_000, 1)):
            (profiles / "mine.yaml").write_text(PROFILE.replace("180000", str(budget)), "utf-8")
            keep_ranked(connection, "job", SITE, now=NOW)
            ranks = connection.scalars(select(tables.frontier.c.rank).order_by(tables.frontier.c.id)).all()
            assert [rank < frontier.REST for rank in ranks] == [True] * fitting + [False] * (6 - fitting)
        (profiles / "mine.yaml").unlink()
        keep_ranked(connection, "job", SITE, now=NOW)
        assert min(connection.scalars(select(tables.frontier.c.rank))) >= frontier.REST


def crawl_of(database: Database) -> SiteCrawl:
    """One that only claims, a row at a time."""
    nothing = cast("Any", SimpleNamespace(ledger=SimpleNamespace(conditional=False)))
    return SiteCrawl(
        job_id="job", owner="me", database=database, visitor=nothing, writer=nothing, concurrency=1,
        lease_seconds=60.0, clock=lambda: NOW, stop=asyncio.Event(), progress=lambda _claim: None,
    )  # fmt: skip


def test_a_row_of_low_rank_is_claimed_within_a_bound(database: Database, profiles: Path) -> None:
    """With N older rows before it, after at most (N + 1) * FAIR_TURN claims, whatever comes in meanwhile."""
    assert profiles.exists()
    older, fitting = 3, {}
    with database.write() as connection:
        frontier.add_targets(connection, "job", [target(number) for number in range(older + 1)])
    crawl, claimed = crawl_of(database), []
    for turn in range((older + 1) * FAIR_TURN):
        new = [target(1000 + 2 * turn), target(1001 + 2 * turn)]  # more than are claimed
        fitting = {one.key: 1_000_000 for one in new}
        with database.write() as connection:
            frontier.add_targets(connection, "job", new, ranks=fitting)
            claimed += [claim.url for claim in crawl.lease(connection)]
    assert target(older).url in claimed
    # And no more than their share goes to the rest.
    assert sum(url in {target(number).url for number in range(older + 1)} for url in claimed) == older + 1


def test_each_process_begins_with_the_oldest(database: Database, profiles: Path) -> None:
    """However often crawls are killed, what waits longest is asked for."""
    assert profiles.exists()
    with database.write() as connection:
        frontier.add_targets(connection, "job", [target(0), target(1)])
        fitting = [target(2), target(3)]
        frontier.add_targets(connection, "job", fitting, ranks={one.key: 1_000_000 for one in fitting})
        firsts = [crawl_of(database).lease(connection)[0].url for _ in range(2)]
    assert firsts == [target(0).url, target(1).url]


SIZES = {"Люлин 1": 90, "Младост 1": 60, "Център": 30, "Борово": 20, "Бояна": 15, "Изток": 15}


def test_a_crawl_that_is_cut_short_has_opened_as_many_of_each_neighbourhood(
    database: Database, profiles: Path
) -> None:
    """Shown one neighbourhood after the other, and cut after 80 of 230."""
    assert profiles.exists()
    where: dict[str, str] = {}
    with database.write() as connection:
        for place, size in SIZES.items():
            some = range(len(where), len(where) + size)
            for number in some:
                seen(connection, number, neighbourhood=place)
                where[target(number).url] = place
            for first in range(some.start, some.stop, 40):  # a page of results at a time
                names = [f"id{number}" for number in range(first, min(first + 40, some.stop))]
                ranked = rank_adverts(connection, "job", SITE, names, (), now=NOW)
                ranks = {f"listing:{name}": rank for name, rank in ranked.items()}
                targets = [target(int(name.removeprefix("id"))) for name in names]
                frontier.add_targets(connection, "job", targets, ranks=ranks)
        crawl = crawl_of(database)
        opened = [where[crawl.lease(connection)[0].url] for _ in range(80)]
    counts = [opened.count(place) for place in SIZES]
    assert max(counts) - min(counts) <= 2, counts


def test_ranked_anew_what_has_its_turn_keeps_it(database: Database, profiles: Path) -> None:
    with database.write() as connection:
        for number in range(8):
            seen(connection, number, neighbourhood="Борово" if number % 2 else "Лозенец")
        names = [f"id{number}" for number in range(8)]
        ranks = rank_adverts(connection, "job", SITE, names, (), now=NOW)
        assert [ranks[name] - frontier.REST for name in names] == [1, 1, 2, 2, 3, 3, 4, 4]
        keys = {f"listing:{name}": rank for name, rank in ranks.items()}
        frontier.add_targets(connection, "job", [target(number) for number in range(8)], ranks=keys)

        def turns() -> list[int]:
            keep_ranked(connection, "job", SITE, now=NOW)
            own = connection.scalars(select(tables.frontier.c.rank).order_by(tables.frontier.c.id))
            return [rank - frontier.REST for rank in own]

        (profiles / "mine.yaml").write_text(PROFILE, "utf-8")  # Борово alone may fit
        assert [turn for turn in turns() if turn > 0] == [1, 2, 3, 4]
        (profiles / "mine.yaml").unlink()
        assert turns() == [1, 5, 2, 6, 3, 7, 4, 8]


def crawl_with(
    database: Database,
    visit: Callable[[Claim], Awaitable[Outcome]],
    *,
    adverts: int,
    **more: Any,  # noqa: ANN401 - whatever a crawl is made of
) -> SiteCrawl:
    """One of so many adverts, whose pages come to what `visit` says and are written one by one."""
    ledger = Ledger("job", SITE)

    async def write(outcome: Outcome) -> None:
        await database.run_write_async(partial(write_batch, ledger=ledger, outcomes=[outcome], now=NOW))

    with database.write() as connection:
        frontier.add_targets(connection, "job", [target(number) for number in range(adverts)])
    usual: dict[str, Any] = {"lease_seconds": 60.0, "clock": lambda: NOW, "stop": asyncio.Event()}
    return SiteCrawl(
        job_id="job", owner="me", database=database, progress=lambda _claim: None,
        visitor=cast("Any", SimpleNamespace(visit=visit, conditions={})),
        writer=cast("Any", SimpleNamespace(ledger=ledger, write=write, has_open_chunk=False)),
        **usual | more,
    )  # fmt: skip


def test_a_row_that_is_due_again_at_once_may_be_anothers_before_its_visitor_goes_on(
    database: Database, profiles: Path
) -> None:
    """Its first visitor has written that it is to be tried again, and is held up; a second one takes it."""
    assert profiles.exists()
    visits, taken_again = [], asyncio.Event()

    async def visit(claim: Claim) -> Outcome:
        visits.append(claim.fence)
        if len(visits) == 1:
            return Later(claim, 0.0, "Timeout")
        taken_again.set()
        await asyncio.sleep(0)  # the first one goes on before this one ends
        return Gone(claim, "removed")

    crawl = crawl_with(
        database, visit, adverts=1, concurrency=2, metrics=cast("Any", SimpleNamespace(tick=taken_again.wait))
    )
    assert asyncio.run(asyncio.wait_for(crawl.run(), PATIENCE_SECONDS))
    assert len(set(visits)) == 2
    with database.read() as connection:
        assert connection.scalars(select(tables.frontier.c.state)).all() == ["done"]


def test_a_page_that_takes_longer_than_its_lease_stays_in_its_visitors_hands(
    database: Database, profiles: Path
) -> None:
    assert profiles.exists()
    visits: list[int] = []

    def lease_until(connection: Connection) -> float:
        return cast("float", connection.scalar(select(tables.frontier.c.lease_until)))

    async def visit(claim: Claim) -> Outcome:
        visits.append(claim.fence)
        first = await database.run_read_async(lease_until)
        while await database.run_read_async(lease_until) < first + 2 * crawl.lease_seconds:  # noqa: ASYNC110 - the database says so
            await asyncio.sleep(crawl.lease_seconds / 10)
        return Gone(claim, "removed")

    crawl = crawl_with(database, visit, adverts=1, concurrency=1, lease_seconds=0.2, clock=time.time)
    assert asyncio.run(asyncio.wait_for(crawl.run(), PATIENCE_SECONDS))
    assert len(visits) == 1


@pytest.mark.parametrize("why", ["told to stop", "a visitor broke"])
def test_a_crawl_that_ends_early_waits_for_each_visitor_before_it_hands_all_back(
    database: Database, profiles: Path, why: str
) -> None:
    """One that cannot hear at once that it is called off still writes its page, and claims none after it."""
    assert profiles.exists()
    stop, deaf, visits = asyncio.Event(), asyncio.Event(), []

    async def visit(claim: Claim) -> Outcome:
        visits.append(claim.url)
        if len(visits) == 1:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            await deaf.wait()
        elif len(visits) == 2 and why == "told to stop":
            stop.set()
            await asyncio.Event().wait()
        elif len(visits) == 2:
            raise ZeroDivisionError
        return Later(claim, 0.0, "Timeout") if len(visits) == 2 else Gone(claim, "removed")

    async def run() -> None:
        before = asyncio.all_tasks()
        running = asyncio.create_task(crawl.run())
        await asyncio.wait({running}, timeout=0.2)  # as long as it would take to hand back without waiting
        deaf.set()
        with suppress(ZeroDivisionError):
            await running
        await asyncio.gather(*asyncio.all_tasks() - before, return_exceptions=True)

    crawl = crawl_with(database, visit, adverts=4, concurrency=2, lease_seconds=1.0, stop=stop)
    asyncio.run(asyncio.wait_for(run(), PATIENCE_SECONDS))
    assert len(visits) == 2
    with database.read() as connection:
        assert connection.scalars(select(tables.frontier.c.state)).all() == ["pending"] * 4


def test_a_batch_leases_what_its_visitors_ask_for_next(database: Database, profiles: Path) -> None:
    """In its own transaction, in a file; nothing where it is not kept, nor while there is enough in hand."""
    assert profiles.exists()
    with database.write() as connection:
        frontier.add_targets(connection, "job", [target(number) for number in range(3)])

    def leased() -> int:
        with database.read() as connection:
            return frontier.count_rows(connection, "job").leased

    over, crawl = crawl_of(database), crawl_of(database)
    over.end_shift()
    with database.write() as connection:
        over.lease_alongside(connection, pages=1)
    assert leased() == 0
    with suppress(ZeroDivisionError), database.write() as connection:
        crawl.lease_alongside(connection, pages=1)
        raise ZeroDivisionError
    for _ in range(2):  # the second time it has what it took the first time
        with database.write() as connection:
            committed = crawl.lease_alongside(connection, pages=1)
        committed()
        assert leased() == (database.url.get_backend_name() == "sqlite")


def test_visitors_who_wait_together_ask_once_for_rows_that_are_not_there(
    database: Database, profiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert profiles.exists()
    asked, lease = [], SiteCrawl.lease

    def counted(crawl: SiteCrawl, connection: Connection) -> list[Claim]:
        asked.append(crawl.job_id)
        return lease(crawl, connection)

    monkeypatch.setattr(SiteCrawl, "lease", counted)
    crawl = crawl_of(database)
    crawl.concurrency, crawl.writer = 8, cast("Any", SimpleNamespace(has_open_chunk=False))
    assert asyncio.run(asyncio.wait_for(crawl.run(), PATIENCE_SECONDS))
    assert asked == ["job"]
