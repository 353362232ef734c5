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
    wrong = {one.page.path: one.differences for one in differences(read)}
    assert wrong == {}


def test_every_kind_of_page_is_among_them(read: list[ReadPage]) -> None:
    kinds = Counter((one.page.site, one.answer["kind"]) for one in read)
    assert kinds["imot.bg", "listing"] == kinds["bazar.bg", "listing"] == ADVERTS
    assert (kinds["imot.bg", "project"], kinds["imot.bg", "removed"], kinds["bazar.bg", "removed"]) == (
        1,
        1,
        1,
    )
    assert all(kinds[site, "search"] > ADVERTS // 100 for site in ("imot.bg", "bazar.bg"))


def test_no_page_is_flagged(read: list[ReadPage]) -> None:
    assert Counter(flag for one in read for flag in one.answer.get("flags", ())) == {}


@pytest.mark.slow
def test_the_first_selector_of_a_chain_is_the_one_that_matches(read: list[ReadPage]) -> None:
    """What falls to a later link tells of a changed layout, so the rendered layouts must not."""
    links = Counter(
        (one.page.site, name, field.link)
        for one in read
        if one.answer["kind"] == "listing"
        for name, field in get_scraper(one.page.site)
        .listing(Page(one.page.url, one.page.body))
        .fields.items()
    )
    assert links["imot.bg", "price", 0] == ADVERTS
    assert links["bazar.bg", "price", 0] == ADVERTS
    assert links["imot.bg", "seller_name", 1] > 0  # a developer's name stands in the second place


def test_a_page_of_one_portal_is_foreign_to_the_other(read: list[ReadPage]) -> None:
    other = {"imot.bg": get_scraper("bazar.bg"), "bazar.bg": get_scraper("imot.bg")}
    answers = [
        read_page(other[one.page.site], Page(one.page.url, one.page.body)) for one in read[:: ADVERTS // 10]
    ]
    assert len(answers) > 10
    assert {answer["kind"] for answer in answers} == {"error"}
