"""Pages of results, in whichever of the portal's layouts they come."""

from collections.abc import Callable, Iterator
from functools import partial

from sale_sofia.config.site_config import SearchTable
from sale_sofia.config.site_links import Link
from sale_sofia.listings.measures import parse_count
from sale_sofia.listings.page_errors import LayoutChanged
from sale_sofia.websites.addresses import absolute, following
from sale_sofia.websites.base import Card, SearchPage
from sale_sofia.websites.document import Card as CardElement
from sale_sofia.websites.document import Document
from sale_sofia.websites.fields import first_text, read_card
from sale_sofia.websites.json_data import find_at
from sale_sofia.websites.markup import node_text

_SHOWN = "body, body *:not(script):not(style):not(noscript):not(template)"
"""Elements whose text a reader sees: a script may hold the words for the day when they are needed."""

IdOf = Callable[[str], str | None]


class Results:
    """One layout of a portal's results. `id_of` says which advert an address names."""

    def __init__(
        self, section: str, table: SearchTable, id_of: IdOf, is_search: Callable[[str], bool]
    ) -> None:
        self.section = section
        self.table = table
        self._id_of = id_of
        self._is_search = is_search

    def cards(self, document: Document) -> tuple[Card, ...]:
        """Each advert once, in the portal's order: promoted ones stand twice."""
        cards: dict[str, Card] = {}
        for element in self.elements(document):
            if card := self._card(document, element):
                cards.setdefault(card.external_id, card)
        return tuple(cards.values())

    def has_cards(self, document: Document) -> bool:
        """Whether at least one advert is shown in this layout."""
        return any(self._card(document, element) for element in self.elements(document))

    def is_results(self, document: Document) -> bool:
        """Whether the page is one of results: it has cards, which others have too, and counts them."""
        if not self.has_cards(document):
            return False
        return not self.table.total or first_text(document, self.table.total) is not None

    def elements(self, document: Document) -> Iterator[CardElement]:
        """What may be cards of this layout, in the page's order."""
        table = self.table
        if table.json_ is not None:
            found = document.json(table.json_)
            return (CardElement(table.rows, data=one) for one in find_at(found, table.cards))
        return self._nodes(document)

    def _nodes(self, document: Document) -> Iterator[CardElement]:
        css, hidden = self.table.cards, self._hidden(document)
        for node in document.tree.css(css):
            if len(node.css(css)) > 1:
                raise LayoutChanged("one card of the results stands inside another")
            if node.mem_id not in hidden:
                yield CardElement(self.table.rows, node=node)

    def _hidden(self, document: Document) -> frozenset[int]:
        """Cards that nobody sees: templates, and what stands inside hidden boxes."""
        if self.table.hidden is None:
            return frozenset()
        boxes = document.tree.css(self.table.hidden)
        return frozenset(node.mem_id for box in boxes for node in box.css(self.table.cards))

    def _card(self, document: Document, element: CardElement) -> Card | None:
        table = self.table
        own, address = document.texts(table.card_id, element), document.texts(table.card_url, element)
        if not own or not address:
            return None
        url = absolute(document.url, address[0])
        if self._id_of(url) != own[0]:
            raise LayoutChanged(f"the card of advert {own[0]} leads to {url}")
        return Card(own[0], url, partial(read_card, document, table.fields, element))

    def says_empty(self, document: Document) -> bool:
        """Whether the portal itself says that nothing was found."""
        table = self.table
        if table.none_found is not None and document.texts(table.none_found):
            return True
        shown = (node_text(node, own=True) for node in document.tree.css(_SHOWN)) if table.empty else ()
        return any(words in text for text in shown for words in table.empty)

    def page(self, site: str, document: Document, cards: tuple[Card, ...]) -> SearchPage:
        """All there is to know of a page with these cards; none is a page that says so itself."""
        table = self.table
        total = _number(document, table.total) if cards else 0
        last_page = _number(document, table.last_page)
        bound = bool(table.capped and document.texts(table.capped))
        return SearchPage(
            site=site,
            url=document.url,
            cards=cards,
            next_url=self._next_url(document) if cards else None,
            total=total,
            capped=bound or _reaches(total, table.most) or _exceeds(last_page, table.most_pages),
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
        address = first_text(document, self.table.next)
        url = absolute(document.url, address) if address else self._following(document)
        return url if url and url != document.url and self._is_search(url) else None

    def _following(self, document: Document) -> str | None:
        paging = self.table.paging
        if paging is None:
            return None
        if paging.more is not None:
            return following(document.url, paging, None) if document.texts(paging.more) else None
        last = _number(document, (paging.last,) if paging.last else ())
        return following(document.url, paging, last) if last else None


def _number(document: Document, links: tuple[Link, ...]) -> int | None:
    return parse_count(first_text(document, links) or "")


def _reaches(number: int | None, most: int | None) -> bool:
    return number is not None and most is not None and number >= most


def _exceeds(number: int | None, most: int | None) -> bool:
    return number is not None and most is not None and number > most
