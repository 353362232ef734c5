"""Sitemaps: a portal's lists of addresses for machines, with or without an index."""

import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape

from sale_sofia.listings.page import LayoutChanged, Page, PageLimits, PageTooLarge, TruncatedPage, decode_json
from sale_sofia.websites.addresses import absolute, refuse_long_address, refuse_long_id
from sale_sofia.websites.base import CardReading, SearchCard, SearchPage
from sale_sofia.websites.patterns import compiled
from sale_sofia.websites.site_file import SitemapTable

SECTION = "sitemap"
_GZIP = b"\x1f\x8b"
_TAIL_CHARACTERS = 4096  # a comment may follow the closing tag
_GZIP_WINDOW = 31  # zlib: the largest window, behind a gzip header
_TAG = re.compile(r"<(?P<closes>/?)(?P<kind>url|sitemap)\b[^<>]*>")
_ADDRESS = re.compile(r"<loc>(?:\s*<!\[CDATA\[)?([^<\]]+)(?:\]\]>\s*)?</loc>")
_CHANGED = re.compile(r"<lastmod>([^<]+)</lastmod>")
_END = re.compile(r"</(?:urlset|sitemapindex)\s*>$")

IdOf = Callable[[str], str | None]


def read_sitemap(site: str, page: Page, table: SitemapTable, limits: PageLimits, id_of: IdOf) -> SearchPage:
    """Return the adverts of a sitemap, or the sitemaps of an index.

    A `lastmod` is a fact of the card: when it changes, the advert may have changed. One whose
    adverts do not count is empty: an index leads to sitemaps of rents and of other towns too. One listed
    twice is one card, and two of the total.

    Raises:
        PageError: it is no whole sitemap, or has no address of an advert.
    """
    text = decode_json(_decompress(page.body, limits.max_bytes), page.content_type)
    if not _END.search(_without_comments(text[-_TAIL_CHARACTERS:])):
        raise TruncatedPage("the sitemap does not end: </urlset> or </sitemapindex> is missing")
    follow, adverts = compiled(table.follow or ""), compiled(table.adverts or "")
    further: list[str] = []
    cards: dict[str, SearchCard] = {}
    count, listed, has_adverts = 0, 0, False
    for kind, entry in _entries(text):
        count += 1
        address = _ADDRESS.search(entry)
        url = absolute(page.url, unescape(address[1].strip())) if address else ""
        if kind == "sitemap" and url and follow.search(url):
            further.append(refuse_long_address(url))
        elif kind == "url" and url and (own := id_of(url)):
            has_adverts = True
            if not adverts.search(url):
                continue
            refuse_long_id(own)
            listed += 1
            changed = _CHANGED.search(entry)
            facts = {"lastmod": changed[1].strip()} if changed else {}
            cards[own] = SearchCard(own, refuse_long_address(url), partial(CardReading, facts))
    if not further and not has_adverts:
        raise LayoutChanged(f"none of the {count} addresses of the sitemap is one of {site}'s adverts")
    return SearchPage(
        site=site,
        url=page.url,
        cards=tuple(cards.values()),
        next_url=None,
        total=None if further else listed,
        capped=False,
        verified_empty=not further and not cards,
        section=SECTION,
        exact=not further,
        further=tuple(further),
    )


def _without_comments(tail: str) -> str:
    """Remove the comments after the end of a sitemap."""
    tail = tail.rstrip()
    while tail.endswith("-->"):
        tail = tail.rpartition("<!--")[0].rstrip()
    return tail


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind of each entry, and its content up to the first closing tag."""
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag["closes"]:
            opened = opened or tag
        elif opened and tag["kind"] == opened["kind"]:
            yield tag["kind"], text[opened.end() : tag.start()]
            opened = None


def _decompress(body: bytes, most: int) -> bytes:
    if not body.startswith(_GZIP):
        return body
    packer = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = packer.decompress(body, most + 1)
    except zlib.error:
        raise TruncatedPage("the packed sitemap is damaged") from None
    if len(unpacked) > most:
        raise PageTooLarge(f"the sitemap unpacks to more than the {most} bytes that are read of a page")
    if not packer.eof:
        raise TruncatedPage("the packed sitemap breaks off")
    return unpacked
