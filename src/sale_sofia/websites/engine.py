"""The engine behind every site file: reads a portal by its table of fields."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from inspect import getfullargspec
from typing import NoReturn

from sale_sofia.listings.model import FACTS, RawField, RawListing
from sale_sofia.listings.normalise import read_seen
from sale_sofia.listings.numbers import parse_count
from sale_sofia.listings.page import (
    ForeignPage,
    LayoutChanged,
    Page,
    PageLimits,
    ProjectPage,
    RemovedListing,
    WrongListing,
)
from sale_sofia.listings.parsers import NAMED_BY_FIELD, PARSERS
from sale_sofia.websites.addresses import (
    absolute,
    following,
    host_of,
    is_of,
    path_of,
    refuse_long_address,
    refuse_long_id,
)
from sale_sofia.websites.base import CardReading, PageKind, SearchCard, SearchPage
from sale_sofia.websites.document import CardElement, Document, find_at, node_text
from sale_sofia.websites.patterns import compiled
from sale_sofia.websites.site_file import (
    FieldTable,
    IdSplit,
    Link,
    RowsTable,
    SearchTable,
    SiteConfig,
    SiteConfigError,
)
from sale_sofia.websites.sitemaps import read_sitemap
from sale_sofia.websites.splitting import Hints, Parts, split_search

# Fields of a table, from a page or from one card of it.


def read_fields(
    document: Document, tables: Mapping[str, FieldTable], card: CardElement | None = None
) -> dict[str, RawField]:
    """Return every field for which a link finds a text."""
    fields: dict[str, RawField] = {}
    for name, table in tables.items():
        for number, link in enumerate(table.links):
            if texts := document.texts(link, card):
                others = tuple(filter(None, (document.texts(other, card) for other in table.agree)))
                fields[name] = RawField(texts, number, *table.parser, others)
                break
    return fields


def read_card(document: Document, tables: Mapping[str, FieldTable], card: CardElement) -> CardReading:
    """Return the facts of a card, and how its fields were found."""
    facts, seen = read_seen(read_fields(document, tables, card))
    return CardReading({name: value for name, value in facts.items() if value is not None}, seen)


def first_text(document: Document, links: tuple[Link, ...]) -> str | None:
    """Return the first text of the first link that finds one."""
    return next((texts[0] for link in links if (texts := document.texts(link))), None)


# Pages of results, in each of the portal's layouts.

_VISIBLE = "body, body *:not(script):not(style):not(noscript):not(template)"
"""Elements whose text a reader sees: a script may hold words that are not shown."""

IdOf = Callable[[str], str | None]


class Results:
    """One layout of a portal's results. `id_of` returns the advert's id of an address."""

    def __init__(
        self, section: str, table: SearchTable, id_of: IdOf, is_search: Callable[[str], bool]
    ) -> None:
        self.section = section
        self.table = table
        self._id_of = id_of
        self._is_search = is_search

    def cards(self, document: Document) -> tuple[SearchCard, ...]:
        """Return each advert once, in the portal's order: promoted ones are listed twice."""
        cards: dict[str, SearchCard] = {}
        for element in self.elements(document):
            if card := self._card(document, element):
                cards.setdefault(card.external_id, card)
        return tuple(cards.values())

    def has_cards(self, document: Document) -> bool:
        """Whether the page has a card of this layout."""
        return any(self._card(document, element) for element in self.elements(document))

    def is_results(self, document: Document) -> bool:
        """Whether it is a page of results: it has cards, as other pages may, and a total."""
        if not self.has_cards(document):
            return False
        return not self.table.total or first_text(document, self.table.total) is not None

    def elements(self, document: Document) -> Iterator[CardElement]:
        """Yield possible cards of this layout, in the page's order."""
        table, css = self.table, self.table.cards
        if table.json_ is not None:
            for element in find_at(document.json(table.json_), css):
                yield CardElement(table.rows, data=element)
            return
        # Templates and the content of hidden boxes are not visible.
        boxes = document.tree.css(table.hidden) if table.hidden is not None else ()
        hidden = {node.mem_id for box in boxes for node in box.css(css)}
        if document.tree.css_first(f":is({css}) :is({css})") is not None:
            raise LayoutChanged("one card of the results stands inside another")
        for node in document.tree.css(css):
            if node.mem_id not in hidden:
                yield CardElement(table.rows, node=node)

    def _card(self, document: Document, element: CardElement) -> SearchCard | None:
        table = self.table
        own, address = document.texts(table.card_id, element), document.texts(table.card_url, element)
        if not own or not address:
            return None
        url = absolute(document.url, address[0])
        if self._id_of(url) != own[0]:
            raise LayoutChanged(f"the card of advert {own[0]} leads to {url}")
        refuse_long_id(own[0])
        return SearchCard(
            own[0], refuse_long_address(url), partial(read_card, document, table.fields, element)
        )

    def says_empty(self, document: Document) -> bool:
        """Whether the portal itself says that nothing was found."""
        table = self.table
        if table.none_found is not None and document.texts(table.none_found):
            return True
        texts = (node_text(node, own=True) for node in document.tree.css(_VISIBLE)) if table.empty else ()
        return any(words in text for text in texts for words in table.empty)

    def page(self, site: str, document: Document, cards: tuple[SearchCard, ...]) -> SearchPage:
        """Return the page with these cards; without any it is one that says so itself."""
        table = self.table
        total = _number(document, table.total) if cards else 0
        last_page = _number(document, table.last_page)
        bound = bool(table.capped and document.texts(table.capped))
        too_many = total is not None and table.most is not None and total >= table.most
        too_long = last_page is not None and table.most_pages is not None and last_page > table.most_pages
        return SearchPage(
            site=site,
            url=document.url,
            cards=cards,
            next_url=self._next_url(document) if cards else None,
            total=total,
            capped=bound or too_many or too_long,
            verified_empty=not cards,
            section=self.section,
            exact=total is not None and not bound and total != table.most,
            last_page=last_page,
            most=table.most,
            most_pages=table.most_pages,
            stale_pages=table.stale_pages,
            fills=table.fills,
        )

    def _next_url(self, document: Document) -> str | None:
        address, paging, url = first_text(document, self.table.next), self.table.paging, None
        if address:
            url = absolute(document.url, address)
        elif paging and paging.more is not None:
            url = following(document.url, paging, None) if document.texts(paging.more) else None
        elif paging and paging.last and (last := _number(document, (paging.last,))):
            url = following(document.url, paging, last)
        further = url and url != document.url and self._is_search(url)
        return refuse_long_address(url) if url and further else None


def _number(document: Document, links: tuple[Link, ...]) -> int | None:
    return parse_count(first_text(document, links) or "")


IDS = "ids"
"""The section name of pages that list the ids of a filter."""


class TableSite:
    """A portal defined by its site file alone."""

    def __init__(self, config: SiteConfig, limits: PageLimits) -> None:
        _refuse_unknown(config)
        self.config = config
        self.name, self.enabled = config.site, config.enabled
        self._limits = limits
        patterns: dict[PageKind, str | None] = {
            "listing": config.urls.listing,
            "project": config.urls.project,
            "search": config.urls.search,
        }
        self._patterns = {kind: compiled(pattern) for kind, pattern in patterns.items() if pattern}
        self._skipped = tuple((first.encode(), last.encode()) for first, last in config.listing.skip)
        self._proof = tuple(mark.decode("ascii") for mark in config.proof)
        self._answers_json = any(table.body for table in config.json_.values())
        self._id_pages = {path_of(way.ids.page): way.ids for way in config.split if way.ids and way.ids.page}
        self.layouts = tuple(
            Results(section, table, self.listing_id, self._is_search)
            for section, table in config.searches.items()
        )

    def kind_of(self, url: str) -> PageKind | None:
        """Return the kind of page by the path alone: a portal may be served from any host.

        Sitemaps, and pages that list the ids of a filter, are searches: they lead to more addresses.
        """
        path = path_of(url)
        if self._is_sitemap(path) or path in self._id_pages:
            return "search"
        return next((kind for kind, pattern in self._patterns.items() if pattern.search(path)), None)

    def _is_sitemap(self, path: str) -> bool:
        return self.config.sitemap is not None and bool(compiled(self.config.sitemap.path).search(path))

    def _is_search(self, url: str) -> bool:
        return self.kind_of(url) == "search"

    def parts(self, url: str, hints: Hints) -> Parts:
        """Return smaller searches that together cover this one, or the page that must be read first.

        Empty when it cannot be cut, or need not be.
        """
        paging = self.config.search.paging if self.config.search else None
        mark = (paging.path or "").strip("/") if paging else "p-"
        return split_search(url, self.config.split, hints, mark)

    def listing(self, page: Page) -> RawListing:
        """Return the advert at the page's address, unparsed."""
        document = self.open(page)
        document.id = self._own_id(document, requested=self.listing_id(page.url))
        fields = read_fields(document, self.config.listing.fields)
        return RawListing(self.name, page.url, document.id, fields)

    def open(self, page: Page) -> Document:
        """Decode a page for reading; one of another website is refused."""
        self._refuse_foreign(host_of(page.url))
        as_json = self._answers_json and page.is_json
        text = page.json_text(self._limits) if as_json else page.text(self._limits, self._skipped)
        rows, sources = self.config.listing.rows, self.config.json_
        document = Document(text, url=page.url, rows=rows, sources=sources, limits=self._limits)
        if address := first_text(document, self.config.address):
            self._refuse_foreign(host_of(absolute(page.url, address)))
        return document

    def _refuse_foreign(self, host: str) -> None:
        if not is_of(host, self.config.hosts, self.name):
            raise ForeignPage(f"the page is of {host}, not of {self.name}")

    def _refuse_unproven(self, document: Document) -> None:
        """Raise `LayoutChanged` unless the page has a mark of this portal.

        Only such a page may say that an advert is gone, or that none were found.
        """
        if self._proof and not self.proof_on(document):
            raise LayoutChanged(f"the page has none of the marks of {self.name}, no cards and no advert's id")

    def proof_on(self, document: Document) -> tuple[str, ...]:
        """Return the portal's own marks on the page."""
        return tuple(mark for mark in self._proof if mark in document.text)

    def listing_id(self, url: str) -> str | None:
        """Return the id of the advert of an address."""
        match, digits = self._patterns["listing"].search(path_of(url)), self.config.urls.digits
        if not match or digits is None:
            return match["id"] if match else None
        number = 0
        for sign in match["id"]:
            if sign not in digits:
                return None
            number = number * len(digits) + digits.index(sign)
        return str(number)

    def _own_id(self, document: Document, requested: str | None) -> str:
        """Return the only id on the page; without one, raise what the page is instead."""
        ids = {text for link in self.config.listing.ids for text in document.texts(link)}
        if not ids:
            self._raise_other_kind(document)
        if len(ids) > 1:
            raise LayoutChanged(f"the page gives itself {len(ids)} ids: {', '.join(sorted(ids))}")
        own = ids.pop()
        refuse_long_id(own)
        if requested and own != requested:
            raise WrongListing(f"advert {requested} was asked for, the page is advert {own}")
        if words := first_text(document, self.config.listing.gone):
            raise RemovedListing(f"the portal says of the advert: {words}")
        return own

    def _raise_other_kind(self, document: Document) -> NoReturn:
        self._refuse_unproven(document)
        kind = self.kind_of(first_text(document, self.config.address) or document.url)
        if kind == "project":
            raise ProjectPage("the page is a new building, not an advert")
        if kind == "search" or any(layout.is_results(document) for layout in self.layouts):
            raise RemovedListing("the portal shows a page of results in place of the advert")
        if words := first_text(document, self.config.listing.gone):
            raise RemovedListing(f"the portal says of the advert: {words}")
        raise LayoutChanged("the page does not give its advert's id where it should stand")

    def search(self, page: Page) -> SearchPage:
        """Return the results on one page, the adverts of a sitemap, or the ids that a page lists."""
        path = path_of(page.url)
        if self.config.sitemap is not None and self._is_sitemap(path):
            self._refuse_foreign(host_of(page.url))
            return read_sitemap(self.name, page, self.config.sitemap, self._limits, self.listing_id)
        document = self.open(page)
        if table := self._id_pages.get(path):
            ids = _ids(document, table)
            if not ids:
                raise LayoutChanged(f"the page lists no ids of {table.query}")
            return SearchPage(
                site=self.name, url=page.url, cards=(), next_url=None, total=None, capped=False,
                verified_empty=False, section=IDS, exact=False, ids={table.query: ids},
            )  # fmt: skip
        layout = self.layout_of(document)
        results = layout.page(self.name, document, layout.cards(document))
        # Some pages of results name the ids of filters themselves.
        tables = [way.ids for way in self.config.split if way.ids and way.ids.links and not way.ids.page]
        filters = {table.query: ids for table in tables if (ids := _ids(document, table))}
        return replace(results, ids=filters)

    def layout_of(self, document: Document) -> Results:
        """Return the layout of a page of results: the first with cards, else the first that is empty."""
        for layout in self.layouts:
            if layout.has_cards(document):
                return layout
        self._refuse_unproven(document)
        for layout in self.layouts:
            if layout.says_empty(document):
                return layout
        raise LayoutChanged("the page has no cards and does not say that nothing was found")


def _ids(document: Document, table: IdSplit) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for link in table.links for text in document.texts(link)))


def _refuse_unknown(config: SiteConfig) -> None:
    """Raise `SiteConfigError` for all unknown parsers, rows and facts at once."""
    wrong = []
    for section, fields in config.field_tables.items():
        for name, field in fields.items():
            sentences = _wrong_field(name, field, config.rows_tables[section])
            wrong += [f"{section}.fields.{name}{sentence}" for sentence in sentences]
    for section, table in config.searches.items():
        if unknown := [name for name in table.fills if name not in FACTS]:
            wrong.append(f"{section}.fills: no fact {', '.join(unknown)}; allowed: {', '.join(FACTS)}")
    if wrong:
        raise SiteConfigError("\n".join(f"{config.site}.yaml: {sentence}" for sentence in wrong))


def _wrong_field(name: str, field: FieldTable, rows: Mapping[str, RowsTable]) -> Iterator[str]:
    parser, arguments = field.parser
    if parser not in PARSERS:
        yield f".parse: no parser {parser}; allowed: {', '.join(sorted(PARSERS))}"
    else:
        spec = getfullargspec(PARSERS[parser])
        needed = set(spec.kwonlyargs) - (spec.kwonlydefaults or {}).keys()
        if not needed <= arguments.keys() <= set(spec.kwonlyargs):
            allowed, present = ", ".join(spec.kwonlyargs) or "no arguments", ", ".join(arguments) or "none"
            yield f".parse: {parser} takes {allowed}, not {present}"
    used = {link.rows for link in (*field.links, *field.agree) if link.row is not None}
    if unknown := sorted(used - rows.keys()):
        there_are = f"there are {', '.join(sorted(rows))}: name one with rows:" if rows else "there are none"
        yield f": no rows named {', '.join(unknown)}; {there_are}"
    if parser in NAMED_BY_FIELD and name not in FACTS:
        yield f": an advert has no such field; allowed: {', '.join(FACTS)}"
