"""What follows from each page of a search, by values: its next page, its parts, or its end."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from contract.storage.helpers import database
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.searches import SearchSteps, begin_searches
from sale_sofia.crawl.frontier.sweeping import Coverage
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import Target, target
from sale_sofia.crawl.visit.outcomes import Failed, Found, Gone
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.jobs import create_job
from sale_sofia.history.sweeps import Ended, Search, searches_of
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper

HOMES = "https://www.homes.bg/api/offers?typeId=ApartmentSell&startIndex=0&stopIndex=99"
NARROW = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya/lozenets/dvustaen"
JOB = "job"


class World:
    """One job of one portal, whose pages a test answers by hand."""

    def __init__(self, db: Database, site: str, start: str) -> None:
        self.db = db
        self.site = get_scraper(site)
        with db.write() as connection:
            create_job(connection, job_id=JOB, site=site, start_urls=[start], listing_limit=None, now=1.0)
            begin_searches(connection, JOB, [target(self.site, start)])

    def claim(self) -> Claim:
        with self.db.write() as connection:
            return frontier.claim(connection, JOB, owner="me", count=1, now=9.0, lease_seconds=60)[0]

    def page(self, first: int, count: int, **said: Any) -> Found:  # noqa: ANN401 - any field
        """The next page, with these adverts."""
        adverts = tuple(
            (SeenCard(f"a{one}", "hash"), Target("listing", f"https://x/{one}", f"listing:a{one}"))
            for one in range(first, first + count)
        )
        if isinstance(following := said.pop("following", None), str):
            said["following"] = target(self.site, following)
        return Found(self.claim(), adverts, **said)

    def read(self, page: Found) -> None:
        with self.db.write() as connection:
            SearchSteps(connection, JOB, self.site, 9.0).read(page)
            frontier.finish(connection, [(page.claim, "done", None, None)])

    def lost(self, outcome: Gone | Failed) -> None:
        with self.db.write() as connection:
            SearchSteps(connection, JOB, self.site, 9.0).unanswered(outcome)
            frontier.finish(connection, [(outcome.claim, "done", None, None)])

    @property
    def searches(self) -> list[Search]:
        with self.db.read() as connection:
            return searches_of(connection, JOB)

    @property
    def open(self) -> list[str]:
        """The pages that wait to be read."""
        waiting = (
            select(rows.c.url).where(rows.c.job_id == JOB, rows.c.state == "pending").order_by(rows.c.id)
        )
        with self.db.read() as connection:
            return list(connection.execute(waiting).scalars())


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


def test_a_search_is_followed_to_its_end(db: Database) -> None:
    world = World(db, "imot.bg", NARROW)
    world.read(world.page(0, 40, total=60, following=f"{NARROW}/p-2"))
    assert world.open == [f"{NARROW}/p-2"]
    world.read(world.page(40, 20, total=60))
    (search,) = world.searches
    assert (search.ended, search.announced, search.pages, search.shown) == (Ended.READ, 60, 2, 60)
    assert world.open == []


@pytest.mark.parametrize(("shown", "ended"), [(59, Ended.READ), (58, Ended.READ), (57, Ended.SHORT)])
def test_two_adverts_may_be_missing_of_a_small_search(db: Database, shown: int, ended: Ended) -> None:
    world = World(db, "imot.bg", NARROW)
    world.read(world.page(0, shown, total=60))
    assert world.searches[0].ended is ended


def test_the_same_page_again_ends_a_search(db: Database) -> None:
    world = World(db, "imot.bg", NARROW)
    world.read(world.page(0, 40, total=4000, following=f"{NARROW}/p-2"))
    world.read(world.page(40, 40, total=4000, following=f"{NARROW}/p-3"))
    world.read(world.page(40, 40, total=4000, following=f"{NARROW}/p-4"))
    (search,) = world.searches
    assert (search.ended, search.pages, search.shown) == (Ended.SHORT, 2, 80)
    assert world.open == []


def test_a_bound_is_no_total(db: Database) -> None:
    world = World(db, "imot.bg", NARROW)
    world.read(world.page(0, 1000, total=1000, exact=False, capped=True))
    assert world.searches[0].ended is Ended.CAPPED


def test_no_page_is_asked_for_that_the_portal_does_not_answer(db: Database) -> None:
    world = World(db, "imot.bg", NARROW)
    said = {"last_page": 40, "most_pages": 2, "following": f"{NARROW}/p-2"}
    world.read(world.page(0, 300, **said))
    world.read(world.page(300, 300, **{**said, "following": f"{NARROW}/p-3"}))
    (search,) = world.searches
    assert (search.ended, search.announced, search.exact) == (Ended.CAPPED, 12_000, False)
    assert world.open == []


def test_a_search_waits_for_the_ids_of_its_parts(db: Database) -> None:
    world = World(db, "homes.bg", HOMES)
    world.read(world.page(0, 100, total=2000, capped=True, most=1000, following=f"{HOMES}&x=2"))
    assert world.searches[0].ended is Ended.WAITING
    assert [url.partition("?")[0] for url in world.open] == ["https://www.homes.bg/api/neighbourhoods"]
    world.read(world.page(0, 0, section="ids", ids={"neighbourhoods[]": ("1", "2", "3")}))
    assert [one.ended for one in world.searches] == [Ended.SPLIT, None, None, None]
    assert [url.rpartition("=")[2] for url in world.open] == ["1", "2", "3"]


@pytest.mark.parametrize("how", ["gone", "failed"])
def test_without_the_ids_it_is_read_on(db: Database, how: str) -> None:
    world = World(db, "homes.bg", HOMES)
    world.read(world.page(0, 100, total=2000, capped=True, most=1000, following=f"{HOMES}&x=2"))
    claim = world.claim()
    world.lost(Gone(claim, "removed") if how == "gone" else Failed(claim, "HttpServer", "503"))
    assert (world.searches[0].ended, world.open) == (None, [f"{HOMES}&x=2"])


def parts_world(db: Database) -> World:
    """A search of 2000 adverts that is cut into three parts."""
    world = World(db, "homes.bg", HOMES)
    world.read(world.page(0, 100, total=2000, capped=True, most=1000, following=f"{HOMES}&x=2"))
    world.read(world.page(0, 0, section="ids", ids={"neighbourhoods[]": ("1", "2", "3")}))
    return world


def test_two_parts_with_all_of_the_whole_show_that_a_filter_is_ignored(db: Database) -> None:
    world = parts_world(db)
    world.read(world.page(0, 100, total=2000, capped=True, most=1000))
    assert world.searches[1].ended is not Ended.USELESS, "one alone may really have all"
    world.read(world.page(0, 100, total=2000, capped=True, most=1000))
    assert [one.ended for one in world.searches] == [None, *[Ended.USELESS] * 3]
    assert world.open == [f"{HOMES}&x=2"], "the whole is read on, its third part is left alone"


def test_a_total_that_is_the_wholes_is_not_believed(db: Database) -> None:
    world = parts_world(db)
    for first in (0, 500, 900):
        world.read(world.page(first, 90, total=2000, capped=True, most=1000, following=f"{HOMES}&p={first}"))
    assert [one.announced for one in world.searches] == [2000, None, None, None]


def test_a_part_that_is_not_there_is_no_part(db: Database) -> None:
    world = parts_world(db)
    world.lost(Gone(world.claim(), "removed"))
    world.read(world.page(0, 90, total=2000, moved=True))
    assert [one.ended for one in world.searches] == [Ended.SPLIT, Ended.ABSENT, Ended.ABSENT, None]


def test_a_page_that_is_not_there_ends_its_search(db: Database) -> None:
    world = World(db, "imot.bg", NARROW)
    world.read(world.page(0, 40, total=41, following=f"{NARROW}/p-2"))
    world.lost(Gone(world.claim(), "removed"))
    assert world.searches[0].ended is Ended.READ


def test_a_sitemap_that_lists_adverts_twice_is_no_cap_and_not_complete(db: Database) -> None:
    world = World(db, "imoti.net", "https://www.imoti.net/sitemap/sitemap3.xml")
    world.read(world.page(0, 900, total=1000, section="sitemap"))
    [search] = world.searches
    assert (search.ended, search.shown, search.announced) == (Ended.READ, 900, 1000)
    assert Coverage([search]).shortfall(900) == Said("sweep.sitemap", unique=900, listed=1000)
    assert Coverage([search]).shortfall(950) is None


def test_an_index_is_cut_into_its_sitemaps(db: Database) -> None:
    start = "https://www.imoti.net/sitemap/sitemapindex.xml"
    world = World(db, "imoti.net", start)
    shards = tuple(target(world.site, f"https://www.imoti.net/sitemap/sitemap{n}.xml") for n in (3, 4))
    world.read(world.page(0, 0, sitemaps=shards, exact=False, section="sitemap"))
    world.read(world.page(0, 7, total=7, section="sitemap"))
    assert [(one.ended, one.announced) for one in world.searches] == [
        (Ended.SPLIT, None),
        (Ended.READ, 7),
        (None, None),
    ]
