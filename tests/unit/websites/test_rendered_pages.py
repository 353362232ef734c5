"""A hundred adverts of each portal are read as exactly what they are."""

from collections import Counter

import pytest

from rendered import ReadPage, differences, read_world
from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper

ADVERTS = 100
SEED = 20261115


@pytest.fixture(scope="module")
def read() -> list[ReadPage]:
    return read_world(ADVERTS, SEED)


@pytest.mark.slow
def test_every_field_of_every_page_is_its_truth(read: list[ReadPage]) -> None:
    wrong = {result.page.path: result.differences for result in differences(read)}
    assert wrong == {}


def test_every_kind_of_page_is_among_them(read: list[ReadPage]) -> None:
    kinds = Counter((result.page.site, result.answer["kind"]) for result in read)
    assert kinds["imot.bg", "listing"] == kinds["bazar.bg", "listing"] == ADVERTS
    assert (kinds["imot.bg", "project"], kinds["imot.bg", "removed"], kinds["bazar.bg", "removed"]) == (
        1,
        1,
        1,
    )
    assert all(kinds[site, "search"] > ADVERTS // 100 for site in ("imot.bg", "bazar.bg"))


def test_no_page_is_flagged(read: list[ReadPage]) -> None:
    assert Counter(flag for result in read for flag in result.answer.get("flags", ())) == {}


@pytest.mark.slow
def test_the_first_selector_of_a_chain_is_the_one_that_matches(read: list[ReadPage]) -> None:
    """What falls to a later link tells of a changed layout, so the rendered layouts must not."""
    links = Counter(
        (result.page.site, name, field.link)
        for result in read
        if result.answer["kind"] == "listing"
        for name, field in get_scraper(result.page.site)
        .listing(Page(result.page.url, result.page.body))
        .fields.items()
    )
    assert links["imot.bg", "price", 0] == ADVERTS
    assert links["bazar.bg", "price", 0] == ADVERTS
    assert links["imot.bg", "seller_name", 1] > 0  # a developer's name stands in the second place


def test_a_page_of_one_portal_is_foreign_to_the_other(read: list[ReadPage]) -> None:
    other = {"imot.bg": get_scraper("bazar.bg"), "bazar.bg": get_scraper("imot.bg")}
    answers = [
        read_page(other[result.page.site], Page(result.page.url, result.page.body))
        for result in read[:: ADVERTS // 10]
    ]
    assert len(answers) > 10
    assert {answer["kind"] for answer in answers} == {"error"}
