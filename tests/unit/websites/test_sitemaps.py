"""Sitemaps: what they list, packed or not, and what is no whole one."""

import gzip
from pathlib import Path

import pytest

from sale_sofia.listings.page import LayoutChanged, Page, PageError, PageLimits, PageTooLarge, TruncatedPage
from sale_sofia.websites.base import SearchPage
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import SitemapTable
from sale_sofia.websites.sitemaps import read_sitemap
from tables import each_row

LIMITS = PageLimits(100_000, 1000, 10)
URL = "https://www.imoti.net/sitemap/sitemap3.xml"
TABLE = SitemapTable(path="^/sitemap/", follow="sitemap", adverts="/bg/obiava/prodava[^/]*/sofia/")
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def entry(number: int, town: str = "sofia", changed: str = "") -> str:
    lastmod = f"<lastmod>{changed}</lastmod>" if changed else ""
    return (
        f"<url><loc>https://www.imoti.net/bg/obiava/prodava/{town}/x/dvustaen/{number}/</loc>{lastmod}</url>"
    )


def sitemap(*entries: str) -> bytes:
    return f"{HEAD}{''.join(entries)}</urlset>\n".encode()


def read(body: bytes, limits: PageLimits = LIMITS) -> SearchPage:
    site = get_scraper("imoti.net")
    return read_sitemap("imoti.net", Page(URL, body), TABLE, limits, site.listing_id)


def test_the_adverts_that_count_each_once() -> None:
    found = read(sitemap(entry(6100001), entry(6100002, "varna"), entry(6100003), entry(6100001)))
    assert [card.external_id for card in found.cards] == ["6100001", "6100003"]
    assert (found.total, found.exact, found.next_url, found.capped) == (3, True, None, False)


def test_one_of_other_adverts_alone_is_empty() -> None:
    found = read(sitemap(entry(6100001, "varna"), entry(6100002, "burgas")))
    assert (found.cards, found.total, found.exact, found.verified_empty) == ((), 0, True, True)


def test_a_packed_one_is_the_same() -> None:
    body = sitemap(entry(6100001), entry(6100003))
    assert read(gzip.compress(body)) == read(body)


def test_lastmod_is_what_a_card_says() -> None:
    first, second = read(sitemap(entry(6100001, changed="2026-11-01"), entry(6100003))).cards
    assert (first.facts, second.facts) == ({"lastmod": "2026-11-01"}, {})


def test_an_index_leads_to_sitemaps() -> None:
    places = ["https://www.imoti.net/sitemap/sitemap3.xml", "https://www.imoti.net/news/index.xml"]
    listed = "".join(f"<sitemap><loc>{place}</loc></sitemap>" for place in places)
    found = read(f"<sitemapindex>{listed}</sitemapindex>".encode())
    assert (found.further, found.cards, found.total) == ((places[0],), (), None)


def test_an_address_is_unescaped() -> None:
    listed = "<sitemap><loc><![CDATA[https://www.imoti.net/sitemap/a.xml?x=1&amp;y=2]]></loc></sitemap>"
    found = read(f"<sitemapindex>{listed}</sitemapindex>".encode())
    assert found.further == ("https://www.imoti.net/sitemap/a.xml?x=1&y=2",)


def test_an_id_that_not_every_database_stores_is_refused() -> None:
    page = Page(URL, sitemap(entry(6100001)))
    with pytest.raises(LayoutChanged, match="has 81 characters; at most 80 are stored"):
        read_sitemap("imoti.net", page, TABLE, LIMITS, lambda _: "a" * 81)


@each_row(
    ("body", "error"),
    [
        (sitemap(entry(6100001))[:-12], TruncatedPage),
        (gzip.compress(sitemap(entry(6100001)))[:-9], TruncatedPage),
        (b"\x1f\x8b" + b"damage" * 9, TruncatedPage),
        (sitemap("<url><loc>https://www.imoti.net/bg/novini/</loc></url>"), LayoutChanged),
        (sitemap(), LayoutChanged),
        (sitemap(entry(6100001, f"sofia/{'x' * 2000}")), LayoutChanged),
        (
            f"<sitemapindex><sitemap><loc>{URL}?{'x' * 2000}</loc></sitemap></sitemapindex>".encode(),
            LayoutChanged,
        ),
        (gzip.compress(sitemap(*(entry(6_100_000 + number) for number in range(2000)))), PageTooLarge),
    ],
)
def test_what_is_no_whole_sitemap_is_refused(body: bytes, error: type[PageError]) -> None:
    with pytest.raises(error):
        read(body)


def test_an_entity_of_its_own_stands_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(
        "https://www.imoti.net/bg/obiava/prodava/sofia/x/dvustaen/6100009/", "utf-8"
    )
    entity = f'<!DOCTYPE urlset [<!ENTITY own SYSTEM "file://{tmp_path}/secret">]>'
    found = read(entity.encode() + sitemap(entry(6100001), "<url><loc>&own;</loc></url>"))
    assert [card.external_id for card in found.cards] == ["6100001"]


def test_a_portal_knows_its_sitemaps() -> None:
    site = get_scraper("imoti.net")
    assert site.kind_of("https://www.imoti.net/sitemap/sitemapindex.xml") == "search"
    found = site.search(Page(URL, sitemap(entry(6100001))))
    assert (found.section, [card.external_id for card in found.cards]) == ("sitemap", ["6100001"])
