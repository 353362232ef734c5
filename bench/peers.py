"""The same fields from the same pages with lxml, parsel and BeautifulSoup, each in its usual way.

A peer finds texts with the same CSS selectors as the site files and gives them to the same parsers, so what
differs is the library alone.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import lxml.html
import parsel
from bs4 import BeautifulSoup, NavigableString
from lxml.cssselect import CSSSelector

from crawler import FIELDS
from sale_sofia.listings.page import decode
from sale_sofia.listings.parsers import PARSERS
from sale_sofia_simulator.render import RenderedPage

Reader = Callable[[RenderedPage], dict[str, Any]]


class Peer(Protocol):
    """A parsed page in another library."""

    def text(self, css: str, *, own: bool = False) -> str:
        """The first element's text, pieces on lines of their own; empty when there is none."""

    def texts(self, css: str) -> list[str]:
        """Every element's text."""

    def attributes(self, css: str, name: str) -> list[str]:
        """The attribute of every element."""


def _joined(pieces: list[str]) -> str:
    return "\n".join(squeezed for piece in pieces if (squeezed := " ".join(piece.split())))


@cache
def _compiled(css: str) -> CSSSelector:
    return CSSSelector(css)


class Lxml:
    """lxml.html with compiled selectors."""

    def __init__(self, html: str) -> None:
        self._root = lxml.html.document_fromstring(html)

    def text(self, css: str, *, own: bool = False) -> str:
        """See `Peer`."""
        found = _compiled(css)(self._root)
        return _joined(found[0].xpath("./text()" if own else ".//text()")) if found else ""

    def texts(self, css: str) -> list[str]:
        """See `Peer`."""
        return [_joined(node.xpath(".//text()")) for node in _compiled(css)(self._root)]

    def attributes(self, css: str, name: str) -> list[str]:
        """See `Peer`."""
        return [node.get(name, "") for node in _compiled(css)(self._root)]


class Parsel:
    """parsel, the selectors of Scrapy and Crawlee; they hand over a page that is already parsed."""

    def __init__(self, page: str | parsel.Selector) -> None:
        self._root = parsel.Selector(page) if isinstance(page, str) else page

    def text(self, css: str, *, own: bool = False) -> str:
        """See `Peer`."""
        found = self._root.css(css)
        return _joined(found[0].xpath("./text()" if own else ".//text()").getall()) if found else ""

    def texts(self, css: str) -> list[str]:
        """See `Peer`."""
        return [_joined(node.xpath(".//text()").getall()) for node in self._root.css(css)]

    def attributes(self, css: str, name: str) -> list[str]:
        """See `Peer`."""
        return [node.attrib.get(name, "") for node in self._root.css(css)]


class Soup:
    """BeautifulSoup over lxml."""

    def __init__(self, html: str) -> None:
        self._root = BeautifulSoup(html, "lxml")

    def text(self, css: str, *, own: bool = False) -> str:
        """See `Peer`."""
        found = self._root.select_one(css)
        if found is None:
            return ""
        own_pieces = [str(piece) for piece in found.children if type(piece) is NavigableString]
        return _joined(own_pieces if own else list(found.strings))

    def texts(self, css: str) -> list[str]:
        """See `Peer`."""
        return [_joined(list(node.strings)) for node in self._root.select(css)]

    def attributes(self, css: str, name: str) -> list[str]:
        """See `Peer`."""
        return [str(node.get(name, "")) for node in self._root.select(css)]


def read_imot(peer: Peer) -> dict[str, Any]:
    """The fields of an advert of imot.bg that its page has; see `only_fields` for the others."""
    rows = dict(_row(text) for text in peer.texts(".adParams > div"))
    return {
        "external_id": peer.attributes("link[rel=canonical]", "href")[0].split("/obiava-")[1].split("-")[0],
        "title": peer.text(".advHeader .title"),
        **_facts("price", peer.text(".adPrice .cena")),
        **_facts("vat", peer.text(".contactsBox .PriceInfo")),
        "area_sqm": _facts("area", rows.get("Площ", ""))["field"],
        **_facts("place", peer.text(".advHeader .location", own=True)),
        "views": _number(peer.text(".adPrice .info > span")),
        "photo_urls": _urls(peer.attributes("img.carouselimg", "data-src")),
    }


def _read_bazar(peer: Peer) -> dict[str, Any]:
    labels, values = peer.texts(".productInfo .span4"), peer.texts(".productInfo .span8")
    rows = dict(zip(labels, values, strict=True))
    return {
        "external_id": peer.attributes("link[rel=canonical]", "href")[0].split("/obiava-")[1].split("/")[0],
        "title": peer.text(".adName"),
        **_facts("price", peer.text(".adPrice .current-price", own=True)),
        **_facts("vat", peer.text(".adPrice .price-vat-type-content")),
        "area_sqm": _facts("area", rows.get("Квадратура", ""))["field"],
        **_facts("place", peer.text("#see_on_map")),
        "views": _number(peer.text(".bObiavaItem .row-fluid > span > strong")),
        "photo_urls": _urls(peer.attributes(".gallery-element img", "src")),
    }


def only_fields(read: Mapping[str, Any]) -> dict[str, Any]:
    """Every compared field, None where the page has nothing."""
    return {field: read.get(field) for field in FIELDS}


def _row(text: str) -> tuple[str, str]:
    label, _, value = text.partition(":")
    return label, value.strip()


def _facts(parser: str, text: str) -> dict[str, Any]:
    return PARSERS[parser]("field", (text,))


def _urls(found: list[str]) -> tuple[str, ...]:
    urls: tuple[str, ...] = PARSERS["urls"]("field", tuple(found))["field"]
    return urls


def _number(text: str) -> int:
    return int(text.replace(" ", ""))


_PORTALS: Mapping[str, Callable[[Peer], dict[str, Any]]] = {"imot.bg": read_imot, "bazar.bg": _read_bazar}


def _reader(library: Callable[[str], Peer]) -> Reader:
    def read(page: RenderedPage) -> dict[str, Any]:
        return only_fields(_PORTALS[page.site](library(decode(page.body))))

    return read


READERS: Mapping[str, Reader] = {
    "lxml": _reader(Lxml),
    "parsel": _reader(Parsel),
    "BeautifulSoup": _reader(Soup),
}
