"""Whatever bytes come, an adapter answers with a named error, at once."""

import random

import pytest

from sale_sofia.listings.page import Page, PageError
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from tables import each_row

LISTING_URLS = {
    "alo.bg": "https://www.alo.bg/prodava-apartament-10218634",
    "bazar.bg": "https://bazar.bg/obiava-54108077/prodawa-2-staen-gr-sofiia-borowo",
    "homes.bg": "https://www.homes.bg/offer/apartament-za-prodazhba/dvustaen-68m2/as1645471",
    "imot.bg": "https://www.imot.bg/obiava-1b177634821891002-prodava-dvustaen-apartament-grad-sofiya-borovo",
    "imoti.com": "https://www.imoti.com/obiava/68500450/prodava-2-staen-grad-sofiya-belite-brezi",
    "imoti.net": "https://www.imoti.net/bg/obiava/prodava/sofia/oborishte/garaj/6196041/",
    "luximmo.bg": "https://www.luximmo.bg/bulgaria/oblast-sofia/sofiya/a/luksozen-imot-45320-b.html",
    "olx.bg": "https://www.olx.bg/d/ad/dvustaen-apartament-CID368-ID9TEbg.html",
    "suprimmo.bg": "https://www.suprimmo.bg/imot-132801-tristaen-apartament/",
}
SEARCH_URLS = {
    "alo.bg": "https://www.alo.bg/obiavi/imoti-prodajbi/apartamenti-stai/?region_id=22&location_ids=4342",
    "bazar.bg": "https://bazar.bg/obiavi/prodazhba-apartamenti/sofia",
    "homes.bg": "https://www.homes.bg/api/offers?typeId=ApartmentSell",
    "imot.bg": "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya",
    "imoti.com": "https://www.imoti.com/prodazhbi/grad-sofiya/dvustaini",
    "imoti.net": "https://www.imoti.net/bg/obiavi/r/prodava/sofia/",
    "luximmo.bg": "https://www.luximmo.bg/prodajba/bulgaria/oblast-sofiya/sofiya-luksozni-imoti/index.html",
    "olx.bg": "https://www.olx.bg/api/v1/offers/?offset=0&limit=40&category_id=524",
    "suprimmo.bg": "https://www.suprimmo.bg/prodajba/bulgaria/oblast-sofiya/sofiya-imoti/",
}
STATES = {
    "homes.bg": "<script>window.__PRELOADED_STATE__ = {}</script>",
    "imoti.com": '<script id="ng-state" type="application/json">{}</script>',
    "olx.bg": "<script>window.__PRERENDERED_STATE__= {}</script>",
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


@pytest.mark.slow
@each_row("site", AVAILABLE_SITES)
@each_row("urls", [LISTING_URLS, SEARCH_URLS])
@each_row(("body", "code"), HOSTILE.values())
def test_a_hostile_page_is_a_named_error(site: str, urls: dict[str, str], body: bytes, code: str) -> None:
    answer = read_page(get_scraper(site), Page(urls[site], body))
    assert answer["kind"] == "error"
    assert answer["error"]["type"] == code
    assert answer["error"]["message"]
    assert answer["url"] == urls[site]


def test_as_many_options_as_are_allowed_are_parsed_at_once() -> None:
    page = html("<select>" + "<option>а</option>" * 3_900 + "</select>")
    with pytest.raises(PageError, match="none of the marks of imot"):
        get_scraper("imot.bg").listing(Page(LISTING_URLS["imot.bg"], page))


HOSTILE_JSON = {
    "breaks off": ('{"result": [{"id": "1"', "truncated_page"),
    "damaged": ('{"result": [}', "truncated_page"),
    "nested": ("[" * 100_000 + "]" * 100_000, "hostile_page"),
    "not the answer": ('{"error": "не"}', "layout_changed"),
    "a number of 10 000 digits": ('{"offersCount": ' + "9" * 10_000 + "}", "truncated_page"),
    "lost letters": ('{"result": [{"id": "1\\ud800", "type": "as", "viewHref": "x"}]}', "undecodable_page"),
    "nothing but nulls": ('{"result": [null, [], {}], "data": null, "offersCount": null}', "layout_changed"),
}


@each_row(("body", "code"), HOSTILE_JSON.values())
def test_a_hostile_answer_in_json_is_a_named_error(body: str, code: str) -> None:
    answer = read_page(get_scraper("homes.bg"), Page(SEARCH_URLS["homes.bg"], body.encode()))
    assert (answer["kind"], answer["error"]["type"]) == ("error", code)


@each_row("site", STATES)
@each_row(
    ("state", "code"),
    [
        ("", "layout_changed"),
        ('"{', "layout_changed"),
        ("{]", "layout_changed"),
        ('{"a": 1}', "layout_changed"),
        ("null", "layout_changed"),
        ('"' * 50, "layout_changed"),
    ],
)
def test_a_hostile_state_is_a_named_error(site: str, state: str, code: str) -> None:
    body = html("Обява " + STATES[site].format(state))
    for urls in (LISTING_URLS, SEARCH_URLS):
        answer = read_page(get_scraper(site), Page(urls[site], body))
        assert (answer["kind"], answer["error"]["type"]) == ("error", code)


NESTED = "[" * 100_000
DEEP = {"homes.bg": '{"data": {"offer": ' + NESTED, "imoti.com": NESTED, "olx.bg": '{"ad": ' + NESTED}


@pytest.mark.parametrize("site", STATES)
def test_a_state_nested_without_end_is_hostile(site: str) -> None:
    body = html("Обява " + STATES[site].format(DEEP[site]))
    answer = read_page(get_scraper(site), Page(LISTING_URLS[site], body))
    assert (answer["kind"], answer["error"]["type"]) == ("error", "hostile_page")


def test_json_beyond_the_cap_is_not_read() -> None:
    body = ('{"result": [' + "[]," * 1_400_000 + "[]]}").encode()
    answer = read_page(get_scraper("homes.bg"), Page(SEARCH_URLS["homes.bg"], body))
    assert answer["error"]["type"] == "page_too_large"


def test_the_facts_of_two_adverts_in_one_state_are_not_mixed() -> None:
    own = '"a": {"body": {"data": {"url": "/obiava/68500450/x", "price": "99 000 €"}}}'
    other = '"b": {"body": {"data": {"url": "/obiava/68500451/x", "floor": "3-ти ет. от 5"}}}'
    state = STATES["imoti.com"].format("{" + own + ", " + other + "}")
    answer = read_page(get_scraper("imoti.com"), Page(LISTING_URLS["imoti.com"], html("Обява " + state)))
    assert (answer["kind"], answer["error"]["type"]) == ("error", "layout_changed")
    assert "2 ids: 68500450, 68500451" in answer["error"]["message"]
