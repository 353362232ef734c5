"""Whatever bytes come, an adapter answers with a named error, at once."""

import random

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import PageError
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper

LISTING_URLS = {
    "imot.bg": "https://www.imot.bg/obiava-1b177634821891002-prodava-dvustaen-apartament-grad-sofiya-borovo",
    "bazar.bg": "https://bazar.bg/obiava-54108077/prodawa-2-staen-gr-sofiia-borowo",
}
SEARCH_URLS = {
    "imot.bg": "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya",
    "bazar.bg": "https://bazar.bg/obiavi/prodazhba-apartamenti/sofia",
}


def html(body: str) -> bytes:
    return f"<html><head><title>Обява</title></head><body>{body}</body></html>".encode()


HOSTILE = {
    "empty": (b"", "empty_page"),
    "white": (b" \r\n\t ", "empty_page"),
    "binary": (random.Random(7).randbytes(200_000), "undecodable_page"),
    "png": (b"\x89PNG\r\n\x1a\n" + bytes(5000), "undecodable_page"),
    "50 MB": (html("а" * 25_000_000), "page_too_large"),
    "100 000 options": (html("<select>" + "<option>а" * 100_000 + "</select>"), "hostile_page"),
    "20 000 nested": (html("<div>" * 20_000 + "а"), "hostile_page"),
    "20 000 nested and closed": (html("<div>" * 20_000 + "а" + "</div>" * 20_000), "hostile_page"),
    "NUL": (html("цена\0"), "undecodable_page"),
    "mixed": (html("цена") + "цена".encode("cp1251") + b"</html>", "undecodable_page"),
    "no end": ("<html><body>Обява".encode(), "truncated_page"),
    "nothing we know": (html("<p>Здравейте</p>"), "layout_changed"),
    "plain text": ("Здравейте </html>".encode(), "layout_changed"),
    "foreign": (html('<link rel="canonical" href="https://example.com/obiava-54108077/x">'), "foreign_page"),
}


@pytest.mark.parametrize("site", AVAILABLE_SITES)
@pytest.mark.parametrize("urls", [LISTING_URLS, SEARCH_URLS], ids=["listing", "search"])
@pytest.mark.parametrize(("body", "code"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_is_a_named_error(site: str, urls: dict[str, str], body: bytes, code: str) -> None:
    answer = read_page(get_scraper(site), Page(urls[site], body))
    assert answer["kind"] == "error"
    assert answer["error"]["type"] == code
    assert answer["error"]["message"]
    assert answer["url"] == urls[site]


def test_as_many_options_as_are_allowed_are_parsed_at_once() -> None:
    page = html("<select>" + "<option>а</option>" * 3_900 + "</select>")
    with pytest.raises(PageError, match="does not give its advert's id"):
        get_scraper("imot.bg").listing(Page(LISTING_URLS["imot.bg"], page))
