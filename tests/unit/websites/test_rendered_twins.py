"""Over a hundred adverts of each portal beside imot.bg and bazar.bg are read as exactly what they are."""

from collections import Counter
from functools import cache

import pytest

from rendered import ReadPage, differences
from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia_simulator.render import TWIN_PORTALS, render_twin
from sale_sofia_simulator.world import make_world
from tables import each_row

ADVERTS = 120
SEED = 86
PLACED = 50


@cache
def read(site: str) -> list[ReadPage]:
    return [
        ReadPage(page, read_page(get_scraper(site), Page(page.url, page.body)))
        for page in render_twin(make_world(ADVERTS, SEED), site)
    ]


def test_every_portal_has_a_simulated_twin() -> None:
    assert set(AVAILABLE_SITES) == {"imot.bg", "bazar.bg", *TWIN_PORTALS}


@pytest.mark.slow
@pytest.mark.parametrize("site", TWIN_PORTALS)
def test_every_field_of_every_page_is_its_truth(site: str) -> None:
    assert {result.page.path: result.differences for result in differences(read(site))} == {}
    kinds = Counter(result.answer["kind"] for result in read(site))
    assert kinds["listing"] == ADVERTS
    assert kinds["search"] > ADVERTS // 50


@pytest.mark.slow
@each_row("site", TWIN_PORTALS)
def test_rents_plots_offices_and_shops_are_what_they_are(site: str) -> None:
    listings = [result.answer for result in read(site) if result.answer["kind"] == "listing"]
    types = {answer["property_type"] for answer in listings}
    assert types == {
        result.page.truth["property_type"] for result in read(site) if result.page.truth["kind"] == "listing"
    }
    assert {"apartment", "maisonette", "office", "plot", "shop", "garage", "house", "land"} <= types
    if site != "alo.bg":  # whose adverts do not say it; their cards do
        assert {answer["deal"] for answer in listings} == {"sale", "rent"}
    deals = {card.get("deal") for result in read(site) for card in result.answer.get("cards", ())}
    assert deals == {"sale", "rent"}


@pytest.mark.slow
@each_row("site", TWIN_PORTALS)
def test_only_what_is_misfiled_is_flagged(site: str) -> None:
    """A flat of Търговище under София keeps the portal's city and says that it tells of another."""
    flags = Counter(flag for result in read(site) for flag in result.answer.get("flags", ()))
    misfiled = [result.answer for result in read(site) if "place_conflict" in result.answer.get("flags", ())]
    assert set(flags) == ({"place_conflict"} if site == "olx.bg" else set())
    assert {(result["city"], "Търговище" in result["title"]) for result in misfiled} <= {("София", True)}
    assert len(misfiled) == (flags["place_conflict"] if site == "olx.bg" else 0)


@pytest.mark.slow
def test_the_first_link_of_a_chain_is_the_one_that_matches() -> None:
    """What falls to a later link tells of a changed layout, so the rendered layouts must not."""
    for site in ("homes.bg", "olx.bg", "imoti.net"):
        pages = [result.page for result in read(site) if result.answer["kind"] == "listing"][:PLACED]
        raws = [get_scraper(site).listing(Page(page.url, page.body)) for page in pages]
        places = Counter(raw.fields["place"].link for raw in raws)
        assert places == {0: PLACED}, site
