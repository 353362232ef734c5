"""Searches without an end: where each of them ends, and what is said of it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func, select

from contract.crawl.test_searches import HOMES, JOB, NARROW, World
from contract.storage.helpers import database
from sale_sofia.crawl.frontier.searches import begin_searches
from sale_sofia.crawl.frontier.sweeping import Coverage
from sale_sofia.crawl.urls import Target, target
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.sweeps import Ended
from sale_sofia.history.tables import shown_adverts
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database

PAGES = 40
"""More than any of these searches may have."""


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    yield made
    made.dispose()


@pytest.fixture
def world(db: Database) -> World:
    return World(db, "imot.bg", NARROW)


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SEARCH_MAX_PAGES", "10")
    monkeypatch.setenv("SEARCH_MAX_PARTS", "10")
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def read_on(world: World, adverts: list[tuple[int, int]], **said: Any) -> int:  # noqa: ANN401 - any field
    """Read pages with these adverts, each with another after it, while they are asked for; how many were."""
    for number, (first, count) in enumerate(adverts):
        if not world.open:
            return number
        world.read(world.page(first, count, following=f"{NARROW}/p-{number + 2}", **said))
    return len(adverts)


def remembered(db: Database) -> int:
    with db.read() as connection:
        return int(connection.execute(select(func.count()).select_from(shown_adverts)).scalar_one())


def told(world: World, seen: int) -> str | None:
    return Coverage(world.searches).shortfall(seen)


def test_pages_that_bring_nothing_new_end_it_however_they_are_mixed(db: Database, world: World) -> None:
    mixed = [(0, 40), *((number % 20, 20) for number in range(PAGES))]
    assert read_on(world, mixed, total=900) == 6
    (search,) = world.searches
    assert (search.ended, search.shown, search.stale) == (Ended.SHORT, 40, 5)
    said = f"40 of 900 seen, {NARROW} ended after 40 of 900: its last 5 pages brought nothing new"
    assert (told(world, 40), remembered(db)) == (said, 0)


def test_one_that_has_shown_all_it_announced_was_read(world: World) -> None:
    assert read_on(world, [(0, 40), *((number % 20, 20) for number in range(PAGES))], total=41) == 6
    assert (world.searches[0].ended, told(world, 40)) == (Ended.READ, None)


def test_without_a_total_it_is_never_called_whole(world: World) -> None:
    read_on(world, [(0, 40), *((number % 20, 20) for number in range(PAGES))])
    said = f"40 seen of an unknown number, {NARROW} ended after 40: its last 5 pages brought nothing new"
    assert told(world, 40) == said


def test_a_site_file_may_say_after_how_many_pages(world: World) -> None:
    mixed = [(0, 40), *((number % 20, 20) for number in range(PAGES))]
    assert read_on(world, mixed, total=900, stale_pages=2) == 3


def test_adverts_that_stand_on_every_page_are_as_usual(world: World) -> None:
    for number in range(PAGES):
        page = world.page(1000 + number * 15, 15, total=605, following=f"{NARROW}/p-{number + 2}")
        world.read(replace(page, adverts=promoted_cards(5) + page.adverts))
    assert (len(world.open), world.searches[0].different, world.searches[0].stale) == (1, 605, 0)


def promoted_cards(count: int) -> tuple[tuple[SeenCard, Target], ...]:
    return tuple(
        (SeenCard(f"vip{one}", "hash"), Target("listing", f"https://x/vip{one}", f"listing:vip{one}"))
        for one in range(count)
    )


def test_what_another_search_has_shown_is_new_to_this_one(db: Database, world: World) -> None:
    pages = [(number * 40, 40) for number in range(9)]
    read_on(world, pages, total=400)
    world.read(world.page(360, 40, total=400))
    other = NARROW.replace("dvustaen", "tristaen")
    with db.write() as connection:
        begin_searches(connection, JOB, [target(world.site, other)])
    for number, (first, count) in enumerate(pages):
        world.read(world.page(first, count, total=400, following=f"{other}/p-{number + 2}"))
    assert [one.ended for one in world.searches] == [Ended.READ, None]
    assert world.open == [f"{other}/p-10"]


def test_far_more_than_was_announced_ends_it(db: Database, world: World) -> None:
    assert read_on(world, [(number * 20, 20) for number in range(PAGES)], total=40) == 6
    (search,) = world.searches
    said = (
        f"120 seen of an unknown number, {NARROW} went on without an end after 120 adverts on 6 pages, "
        "where it announced 40"
    )
    assert (search.ended, told(world, 120), remembered(db)) == (Ended.EXCEEDED, said, 0)


@pytest.mark.usefixtures("small_bounds")
def test_ever_new_adverts_end_at_the_bound(world: World) -> None:
    assert read_on(world, [(number * 20, 20) for number in range(PAGES)]) == 10
    said = f"200 seen of an unknown number, {NARROW} went on without an end after 200 adverts on 10 pages"
    assert (world.searches[0].ended, told(world, 200)) == (Ended.ENDLESS, said)


def test_pages_that_lead_in_a_circle_end_it(world: World) -> None:
    world.read(world.page(0, 20, total=900, following=f"{NARROW}/p-2"))
    world.read(world.page(20, 20, total=900, following=NARROW))
    assert (world.open, world.searches[0].ended) == ([], Ended.SHORT)


def test_indexes_of_sitemaps_below_each_other_end(world: World) -> None:
    for number in range(PAGES):
        if not world.open:
            break
        deeper = target(world.site, f"https://www.imot.bg/sitemap/{number}.xml")
        world.read(world.page(0, 0, sitemaps=(deeper,)))
    ends = [one.ended for one in world.searches]
    assert ends == [Ended.SPLIT] * 3 + [Ended.ENDLESS]
    assert (
        told(world, 0)
        == "0 seen of an unknown number, https://www.imot.bg/sitemap/2.xml leads to sitemaps without an end"
    )


@pytest.mark.usefixtures("small_bounds")
def test_a_search_is_not_cut_into_more_parts_than_the_bound(db: Database) -> None:
    world = World(db, "homes.bg", HOMES)
    more = HOMES.replace("=0&", "=100&").replace("99", "199")
    ids = {"neighbourhoodIds": tuple(str(one) for one in range(300))}
    world.read(world.page(0, 100, total=90_000, capped=True, ids=ids, following=more))
    assert len(world.searches) == 1
