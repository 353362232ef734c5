"""A page of one portal given to the adapter of another is refused, for every pair."""

from functools import cache
from itertools import permutations

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia_simulator.render import TWIN_PORTALS, render_twin, render_world
from sale_sofia_simulator.truth import REAL
from sale_sofia_simulator.world import make_world
from shared import needs_real_pages, real_pages
from tables import each_row

PAIRS = list(permutations(AVAILABLE_SITES, 2))
LOCAL = "http://127.0.0.1:8701"


@cache
def rendered(site: str) -> list[Page]:
    """One page of each kind."""
    world = make_world(12, 5)
    pages = render_twin(world, site) if site in TWIN_PORTALS else render_world(world)
    kinds = {page.path.partition("__")[0]: Page(page.url, page.body) for page in pages if page.site == site}
    return list(kinds.values())


@cache
def real(site: str) -> list[Page]:
    """One of the first set, one of the second."""
    pages = [Page(truth["url"], path.read_bytes()) for path, truth in real_pages(site)]
    return [pages[0], pages[-1]]


def addresses(page: Page, wanted: str) -> list[str]:
    """The page's own address, and each kind of address the other portal has: real, and of a local copy."""
    theirs = [other.url for other in rendered(wanted)]
    return [page.url, *theirs, *(url.replace(REAL[wanted], LOCAL) for url in theirs)]


@pytest.mark.slow
@pytest.mark.parametrize("pages", [rendered, pytest.param(real, marks=needs_real_pages)])
@each_row(("given", "wanted"), PAIRS)
def test_a_page_of_one_portal_is_none_of_another(pages: object, given: str, wanted: str) -> None:
    found = pages(given)  # type: ignore[operator]
    assert found
    answers = {
        (url, read_page(get_scraper(wanted), Page(url, page.body))["kind"])
        for page in found
        for url in addresses(page, wanted)
    }
    assert {kind for _, kind in answers} == {"error"}, answers
