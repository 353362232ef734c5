"""A portal read by its table of fields: the engine behind every site file."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborNode

from sale_sofia.config.site_config import FieldTable, Link, SiteConfig, SiteConfigError
from sale_sofia.listings.normalise import read_facts
from sale_sofia.listings.page import Page, PageLimits
from sale_sofia.listings.page_errors import (
    ForeignPage,
    LayoutChanged,
    ProjectPage,
    RemovedListing,
    WrongListing,
)
from sale_sofia.listings.parsers import PARSERS
from sale_sofia.listings.raw import RawField, RawListing
from sale_sofia.websites.base import Card, PageKind, SearchPage
from sale_sofia.websites.document import Document, Texts, node_text

_OWN_ADDRESS = (
    Link(css='link[rel="canonical"]', attr="href"),
    Link(css='meta[property="og:url"]', attr="content"),
)


class TableSite:
    """A portal whose site file says it all."""

    def __init__(self, config: SiteConfig, limits: PageLimits) -> None:
        _refuse_unknown_parsers(config)
        self.config = config
        self.name = config.site
        self._limits = limits
        self._patterns = _patterns(config)
        self._skipped = tuple((first.encode(), last.encode()) for first, last in config.listing.skip)

    def kind_of(self, url: str) -> PageKind | None:
        """What an address leads to, by its path alone: the portal may be served from any host."""
        path = urlsplit(url).path
        return next((kind for kind, pattern in self._patterns.items() if pattern.search(path)), None)

    def split(self, url: str) -> tuple[str, ...]:  # noqa: ARG002 - a portal without a cap needs no cutting
        """Empty: this portal has no cap."""
        return ()

    def listing(self, page: Page) -> RawListing:
        """The advert at the page's address, in its own words."""
        document = self._open(page)
        document.id = self._own_id(document, asked=self.listing_id(page.url))
        fields = _read_fields(document, self.config.listing.fields)
        return RawListing(self.name, page.url, document.id, fields)

    def _open(self, page: Page) -> Document:
        text = page.text(self._limits, self._skipped)
        document = Document(text, url=page.url, rows=self.config.listing.rows)
        if address := _first(document, _OWN_ADDRESS):
            self._refuse_foreign(urlsplit(urljoin(page.url, address)).hostname, page)
        return document

    def _refuse_foreign(self, host: str | None, page: Page) -> None:
        if host not in {*self.config.hosts, urlsplit(page.url).hostname}:
            raise ForeignPage(f"the page says it is of {host}, not of {self.name}")

    def listing_id(self, url: str) -> str | None:
        """The id of the advert an address names."""
        found = self._patterns["listing"].search(urlsplit(url).path)
        return found["id"] if found else None

    def _own_id(self, document: Document, asked: str | None) -> str:
        """The one id the page gives itself; a page with none is named for what it is."""
        ids = {text for link in self.config.listing.ids for text in document.texts(link)}
        if not ids:
            self._say_what_it_is(document)
        if len(ids) > 1:
            raise LayoutChanged(f"the page gives itself {len(ids)} ids: {', '.join(sorted(ids))}")
        own = ids.pop()
        if asked and own != asked:
            raise WrongListing(f"advert {asked} was asked for, the page is advert {own}")
        return own

    def _say_what_it_is(self, document: Document) -> None:
        kind = self.kind_of(_first(document, _OWN_ADDRESS) or document.url)
        if kind == "project":
            raise ProjectPage("the page is a new building, not an advert")
        if kind == "search" or document.tree.css_first(self.config.search.cards):
            raise RemovedListing("the portal shows a page of results in place of the advert")
        raise LayoutChanged("the page does not give its advert's id where it should stand")

    def search(self, page: Page) -> SearchPage:
        """The results on one page."""
        document = self._open(page)
        cards = self._cards(document)
        verified_empty = not cards and self._says_empty(document)
        if not cards and not verified_empty:
            raise LayoutChanged("the page has no cards and does not say that nothing was found")
        table = self.config.search
        return SearchPage(
            site=self.name,
            url=page.url,
            cards=cards,
            next_url=self._next_url(document),
            total=0 if verified_empty else _whole_number(_first(document, table.total)),
            capped=bool(table.capped and document.texts(table.capped)),
            verified_empty=verified_empty,
        )

    def _cards(self, document: Document) -> tuple[Card, ...]:
        """Each advert once, in the portal's order: promoted ones stand twice."""
        css = self.config.search.cards
        hidden = self._hidden(document)
        cards: dict[str, Card] = {}
        for node in document.tree.css(css):
            if len(node.css(css)) > 1:
                raise LayoutChanged("one card of the results stands inside another")
            if node.mem_id not in hidden and (card := self._card(document, node)):
                cards.setdefault(card.external_id, card)
        return tuple(cards.values())

    def _hidden(self, document: Document) -> frozenset[int]:
        """Cards that nobody sees: templates, and what stands inside hidden boxes."""
        if self.config.search.hidden is None:
            return frozenset()
        boxes = document.tree.css(self.config.search.hidden)
        return frozenset(node.mem_id for box in boxes for node in box.css(self.config.search.cards))

    def _card(self, document: Document, node: LexborNode) -> Card | None:
        table = self.config.search
        own, address = document.texts(table.card_id, node), document.texts(table.card_url, node)
        if not own or not address:
            return None
        url = _absolute(document.url, address[0])
        if self.listing_id(url) != own[0]:
            raise LayoutChanged(f"the card of advert {own[0]} leads to {url}")
        return Card(own[0], url, partial(_card_facts, document, table.fields, node))

    def _says_empty(self, document: Document) -> bool:
        body = document.tree.body
        text = node_text(body) if body is not None else ""
        return any(words in text for words in self.config.search.empty)

    def _next_url(self, document: Document) -> str | None:
        address = _first(document, self.config.search.next)
        url = _absolute(document.url, address) if address else None
        return url if url and url != document.url and self.kind_of(url) == "search" else None


def _patterns(config: SiteConfig) -> Mapping[PageKind, re.Pattern[str]]:
    kinds: tuple[tuple[PageKind, str | None], ...] = (
        ("listing", config.urls.listing),
        ("project", config.urls.project),
        ("search", config.urls.search),
    )
    return {kind: re.compile(pattern) for kind, pattern in kinds if pattern}


def _read_fields(
    document: Document, tables: Mapping[str, FieldTable], scope: LexborNode | None = None
) -> dict[str, RawField]:
    fields: dict[str, RawField] = {}
    for name, table in tables.items():
        if field := _read_field(document, table, scope):
            fields[name] = field
    return fields


def _card_facts(document: Document, tables: Mapping[str, FieldTable], node: LexborNode) -> dict[str, Any]:
    facts = read_facts(_read_fields(document, tables, node))
    return {name: value for name, value in facts.items() if value is not None}


def _read_field(document: Document, table: FieldTable, scope: LexborNode | None) -> RawField | None:
    for number, link in enumerate(table.links):
        if texts := document.texts(link, scope):
            return RawField(texts, number, *table.parser, _confirmations(document, table, scope))
    return None


def _confirmations(document: Document, table: FieldTable, scope: LexborNode | None) -> tuple[Texts, ...]:
    if not table.agree:
        return ()
    return tuple(filter(None, (document.texts(other, scope) for other in table.agree)))


def _first(document: Document, links: tuple[Link, ...]) -> str | None:
    return next((texts[0] for link in links if (texts := document.texts(link))), None)


def _whole_number(text: str | None) -> int | None:
    digits = (text or "").replace(" ", "")
    return int(digits) if digits.isdecimal() else None


def _absolute(base: str, address: str) -> str:
    """An address as a browser would follow it; a portal that leaves out the scheme means https."""
    return f"https:{address}" if address.startswith("//") else urljoin(base, address)


def _refuse_unknown_parsers(config: SiteConfig) -> None:
    tables: dict[str, Any] = {"listing": config.listing.fields, "search": config.search.fields}
    for section, fields in tables.items():
        for name, table in fields.items():
            if table.parser[0] not in PARSERS:
                allowed = ", ".join(sorted(PARSERS))
                key = f"{section}.fields.{name}.parse"
                raise SiteConfigError(
                    f"{config.site}.yaml: {key}: no parser {table.parser[0]}; allowed: {allowed}"
                )
