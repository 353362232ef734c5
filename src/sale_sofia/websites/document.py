"""A parsed page, and the texts a link of a selector chain finds in it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from sale_sofia.config.reading import PATTERN_MOST_CHARACTERS
from sale_sofia.config.site_links import CARD, JsonTable, Link, RowsTable
from sale_sofia.config.site_patterns import compiled
from sale_sofia.listings.weighing import PageLimits, refuse_hostile
from sale_sofia.websites.json_data import (
    Elements,
    joined,
    json_texts,
    opened_texts,
    read_json,
    read_whole,
    squeezed_lines,
)
from sale_sofia.websites.markup import (
    Rows,
    attribute,
    markup_text,
    node_value,
    read_json_rows,
    read_rows,
    row_label,
)

Texts = tuple[str, ...]
RowsTables = Mapping[str, RowsTable]

_JSON = json.JSONDecoder(strict=False)
_NOTHING = "<html></html>"


@dataclass(slots=True)
class Card:
    """One element of a page of results: a piece of markup, or of JSON. Links may read it alone."""

    rows_tables: RowsTables
    node: LexborNode | None = None
    data: Any = None
    rows: dict[str, Rows] = field(default_factory=dict)


class Document:
    """One page, read many times: the tree, rows and JSON are made when first needed, and once."""

    def __init__(
        self,
        text: str,
        *,
        url: str,
        rows: RowsTables,
        limits: PageLimits,
        sources: Mapping[str, JsonTable] | None = None,
    ) -> None:
        self.text = text
        self.url = url
        self.id = ""
        self.is_json = text.startswith(("{", "["))
        self._page = Card(rows)
        self._limits = limits
        self._sources = sources or {}
        self._json: dict[str, Any] = {}
        self._elements: dict[str, Elements] = {}
        self._streams: dict[str, str] = {}
        self._firsts: dict[str, LexborNode | None] = {}
        self._jsonld: tuple[Mapping[str, Any], ...] | None = None

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The markup; a page that is JSON has none."""
        return LexborHTMLParser(_NOTHING if self.is_json else self.text)

    def texts(self, link: Link, card: Card | None = None) -> Texts:
        """What the link finds in the whole page or in one card of it; nothing found is empty."""
        return self.matched(self._found(link, card), link)

    def unmatched(self, link: Link, card: Card | None = None) -> Texts:
        """What the link finds and its `match` does not let count: for a person who writes the pattern."""
        if link.match is None or link.page == "source" or self.texts(link, card):
            return ()
        return tuple(filter(None, self._found(link, card)))

    def _found(self, link: Link, card: Card | None) -> list[str]:
        if link.css is not None:
            values = self._css_texts(link, link.css, card)
            return opened_texts(values, link) if link.path else values
        if link.json_ is not None:
            return self._json_texts(link, card)
        if link.jsonld is not None:
            return self._jsonld_texts(link)
        return [self._lone_text(link, card or self._page)]

    @staticmethod
    def matched(found: list[str], link: Link) -> Texts:
        """Of the texts found, what the link lets count."""
        if link.match is not None:
            seen = found if link.page == "source" else [text[:PATTERN_MOST_CHARACTERS] for text in found]
            return _matching(seen, compiled(link.match), every=link.all)
        return tuple(filter(None, found))

    def _css_texts(self, link: Link, css: str, card: Card | None) -> list[str]:
        if card is not None and card.node is None:
            return []
        scope = card.node if card else None
        if link.all:
            return [node_value(node, link) for node in (scope or self.tree).css(css)]
        node = scope.css_first(css) if scope else self._first(css)  # several times cheaper than all
        return [] if node is None else [node_value(node, link)]

    def _first(self, css: str) -> LexborNode | None:
        """The first element; several fields are read from the same one."""
        if css not in self._firsts:
            self._firsts[css] = self.tree.css_first(css)
        return self._firsts[css]

    def _json_texts(self, link: Link, card: Card | None) -> list[str]:
        data = (card and card.data) if link.json_ == CARD else self.json(link.json_ or "")
        read = self._markup_text if link.markup else squeezed_lines
        if data is None:
            return []
        known = {} if link.json_ == CARD else self._elements.setdefault(link.json_ or "", {})
        return [read(text) for text in json_texts(data, link, known)]

    def _markup_text(self, html: str) -> str:
        """What stands in JSON was not weighed with the page: it may spell its tags as escapes."""
        refuse_hostile(html.encode(), self._limits)
        return markup_text(html)

    def json(self, name: str) -> Any:  # noqa: ANN401 - whatever the page holds
        """The JSON of this name; None where the page has none."""
        if name not in self._json:
            table = self._sources[name]
            self._json[name] = self._read_json(table) if table.body == self.is_json else None
        return self._json[name]

    def _read_json(self, table: JsonTable) -> Any:  # noqa: ANN401 - whatever the page holds
        if table.css is not None:
            node = self._first(table.css)
            return None if node is None else read_whole(_json_text(node, table.attr), table.path)
        return read_json(self._stream(table.pieces) if table.pieces else self.text, table)

    def _stream(self, pieces: str) -> str:
        """What a page sends in pieces, joined; several JSON may stand in it."""
        if pieces not in self._streams:
            self._streams[pieces] = joined(self.text, pieces)
        return self._streams[pieces]

    def _lone_text(self, link: Link, card: Card) -> str:
        if link.row is not None:
            return self.rows(link.rows, card).get(row_label(link.row), "")
        return {"id": self.id, "url": self.url, "source": self.text}[link.page or "url"]

    def rows_table(self, name: str) -> RowsTable:
        """How a set of rows of the page is found."""
        return self._page.rows_tables[name]

    def texts_with(self, link: Link, table: RowsTable | None) -> Texts:
        """As `texts`, with the link's set of rows found as this table says."""
        return self.texts(link, Card({link.rows: table}) if table else None)

    def rows(self, name: str, card: Card | None = None) -> Rows:
        """Label → value of a set of rows, of the page or of one card."""
        card = card or self._page
        if name not in card.rows:
            card.rows[name] = self._read_rows(card.rows_tables[name], card)
        return card.rows[name]

    def _read_rows(self, table: RowsTable, card: Card) -> Rows:
        if table.json_ is None:
            return read_rows(card.node or self.tree, table)
        return read_json_rows(card.data if table.json_ == CARD else self.json(table.json_), table)

    def _jsonld_texts(self, link: Link) -> list[str]:
        things = (thing for thing in self.jsonld() if link.jsonld in _types(thing))
        thing = next(things, None)
        return [] if thing is None else json_texts(thing, link)

    def jsonld(self) -> tuple[Mapping[str, Any], ...]:
        """The page's JSON-LD objects, also those in lists and in a `@graph`; a broken one is left out."""
        if self._jsonld is None:
            scripts = self.tree.css('script[type="application/ld+json"]')
            self._jsonld = tuple(thing for script in scripts for thing in _things(_json(script.text())))
        return self._jsonld


def _things(value: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - whatever the page holds
    waiting = [value]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, list):
            waiting += reversed(thing)
        elif isinstance(thing, dict):
            yield thing
            waiting.append(thing.get("@graph"))


def _types(thing: Mapping[str, Any]) -> Sequence[Any]:
    given = thing.get("@type")
    return given if isinstance(given, list) else (given,)


def _json_text(node: LexborNode, attr: str | None) -> str:
    return node.text() if attr is None else attribute(node, attr)


def _matching(found: list[str], pattern: re.Pattern[str], *, every: bool) -> Texts:
    """The first group of each text's first match, or of every match in it."""
    hits = (hit for text in found for hit in _hits(pattern, text, every=every))
    return tuple(group for hit in hits if hit[1] and (group := hit[1].strip()))


def _hits(pattern: re.Pattern[str], text: str, *, every: bool) -> Iterable[re.Match[str]]:
    if every:
        return pattern.finditer(text)
    hit = pattern.search(text)
    return () if hit is None else (hit,)


def _json(text: str) -> Any:  # noqa: ANN401 - whatever the page holds
    try:
        return _JSON.decode(text)
    except (ValueError, RecursionError):
        return None
