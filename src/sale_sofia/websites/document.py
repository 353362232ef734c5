"""A parsed page, and the texts that the links of a selector chain find in it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import islice, takewhile
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from sale_sofia.listings.page import (
    HostilePage,
    PageLimits,
    PageTooLarge,
    TruncatedPage,
    UndecodablePage,
    refuse_hostile,
)
from sale_sofia.listings.settings import (
    JSON_MOST_CHARACTERS,
    JSON_MOST_ELEMENTS,
    JSON_MOST_STRINGS,
    PATTERN_MOST_CHARACTERS,
    REMEMBERED_LABELS,
)
from sale_sofia.listings.text import match_key, squeeze
from sale_sofia.websites.patterns import compiled
from sale_sofia.websites.site_file import CARD, JsonTable, Link, RowsTable

# JSON in a page: the part of a table, and the texts at a path.

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\n\r]*")
_LOST = re.compile("[\0\ud800-\udfff\ufffd]")
EVERY = "*"

Keys = tuple[str, ...]
Elements = dict[Keys, list[Any]]
"""The elements of a JSON at keys that end with `*`."""


def read_json(text: str, table: JsonTable) -> Any:  # noqa: ANN401 - whatever the page holds
    """Return the part of the JSON that the table names; None where the page has none.

    Raises:
        TruncatedPage: the body is no whole JSON.
        HostilePage, PageTooLarge: reading it would cost too much.
    """
    if len(text) > JSON_MOST_CHARACTERS:
        raise PageTooLarge(f"the JSON has {len(text)} characters; at most {JSON_MOST_CHARACTERS} are read")
    keys = keys_of(table.path)
    try:
        if table.body:
            return next(find(_DECODER.decode(text), keys), None)
        match = compiled(table.after or "").search(text)
        return _part(text, match.end(), keys) if match else None
    except RecursionError:
        raise HostilePage("the JSON is nested too deep") from None
    except ValueError:
        if table.body:
            raise TruncatedPage("the JSON breaks off or is damaged") from None
        return None


def read_whole(text: str, path: str = "") -> Any:  # noqa: ANN401 - whatever the page holds
    """Return the part of a text that is JSON alone; None where it is not, or lacks the part."""
    try:
        text, place = _opened(text, _past_space(text, 0))
        return next(find(_DECODER.decode(text[place:]), keys_of(path)), None)
    except (ValueError, RecursionError, TypeError):
        return None


def joined(text: str, pieces: str) -> str:
    """Join the strings right after every match of a pattern, up to the first broken one."""
    strings: list[str] = []
    with suppress(ValueError, RecursionError):
        for match in compiled(pieces).finditer(text):
            piece = _DECODER.raw_decode(text, _past_space(text, match.end()))[0]
            if isinstance(piece, str):
                strings.append(piece)
    return "".join(strings)


def _part(text: str, start: int, keys: Keys) -> Any:  # noqa: ANN401 - whatever the page holds
    """Return the value at these keys of the JSON that begins here; the rest is not read."""
    text, place = _opened(text, _past_space(text, start))
    for key in keys:
        place = _member(text, place, key)
    return _DECODER.raw_decode(text, place)[0]


def _opened(text: str, place: int) -> tuple[str, int]:
    """Return the JSON itself where it is inside strings."""
    for _ in range(JSON_MOST_STRINGS):
        if not text.startswith('"', place):
            break
        text = _DECODER.raw_decode(text, place)[0]
        place = _past_space(text, 0)
    return text, place


def _member(text: str, place: int, key: str) -> int:
    """Return where the value of a key begins in the object that begins here, skipping values before it."""
    sign = "{"
    for _ in range(JSON_MOST_ELEMENTS):
        if not text.startswith(sign, place):
            raise ValueError(f"there is no {key}")
        name, place = _DECODER.raw_decode(text, _past_space(text, place + 1))
        place = _past_space(text, _past_space(text, place) + 1)
        if name == key:
            return place
        place = _past_space(text, _DECODER.raw_decode(text, place)[1])
        sign = ","
    raise HostilePage(f"the JSON has more than {JSON_MOST_ELEMENTS} members before {key}")


def _past_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def find(thing: Any, keys: Keys) -> Iterator[Any]:  # noqa: ANN401 - whatever the page holds
    """Yield everything at these keys, in the page's order; `*` stands for every element."""
    if not keys:
        yield thing
    elif keys[0] == EVERY:
        children = thing.values() if isinstance(thing, dict) else thing if isinstance(thing, list) else ()
        for child in children:
            if len(keys) == 1:
                yield child
            elif isinstance(child, dict | list):
                yield from find(child, keys[1:])
    elif isinstance(thing, dict):
        if keys[0] in thing:
            yield from find(thing[keys[0]], keys[1:])
    elif isinstance(thing, list) and keys[0].isdecimal() and int(keys[0]) < len(thing):
        yield from find(thing[int(keys[0])], keys[1:])


def find_first(thing: Any, keys: Keys) -> Any:  # noqa: ANN401 - whatever the page holds
    """Return the first thing at these keys, or None."""
    for place, key in enumerate(keys):
        if key == EVERY or not isinstance(thing, dict):
            return next(find(thing, keys[place:]), None)
        thing = thing.get(key)
        if thing is None:
            return None
    return thing


def find_at(thing: Any, path: str) -> Iterator[Any]:  # noqa: ANN401 - whatever the page holds
    """`find` by a dotted path."""
    return find(thing, keys_of(path))


def json_texts(thing: Any, link: Link, elements_cache: Elements | None = None) -> list[str]:  # noqa: ANN401
    """Return the texts of a link's paths, joined for each element; one that lacks a value gives none.

    `elements_cache` keeps the elements of the same thing for other links.

    Raises:
        HostilePage: there are more elements than any page has.
    """
    shared, own = _plan(link.path)
    if not shared and len(own) == 1 and link.form is None:  # nearly every link
        text = scalar_text(find_first(thing, own[0]))
        return [text] if text else []
    texts = []
    for element in _elements(thing, shared, {} if elements_cache is None else elements_cache):
        values = [scalar_text(find_first(element, keys)) for keys in own]
        if all(values):
            texts.append(link.form.format(*values) if link.form else " ".join(values))
            if not link.all:
                break
    return texts


def _elements(thing: Any, keys: Keys, elements_cache: Elements) -> list[Any]:  # noqa: ANN401 - any JSON
    if keys not in elements_cache:
        elements_cache[keys] = list(islice(find(thing, keys), JSON_MOST_ELEMENTS + 1))
    if len(elements_cache[keys]) > JSON_MOST_ELEMENTS:
        raise HostilePage(f"the JSON has more than {JSON_MOST_ELEMENTS} elements at {'.'.join(keys)}")
    return elements_cache[keys]


@cache
def _plan(paths: Keys) -> tuple[Keys, tuple[Keys, ...]]:
    """Return the keys that all paths share (up to their last `*`), and each path from there."""
    split = [keys_of(path) for path in paths]
    heads = {keys[: len(keys) - keys[::-1].index(EVERY)] if EVERY in keys else () for keys in split}
    shared = heads.pop() if len(heads) == 1 else ()
    return shared, tuple(keys[len(shared) :] for keys in split)


def scalar_text(value: Any) -> str:  # noqa: ANN401 - whatever the page holds
    """Return a scalar as text, trimmed; an empty text for anything else."""
    if isinstance(value, str):
        if _LOST.search(value):
            raise UndecodablePage("the JSON holds letters that were lost before it was sent")
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else ""


@cache
def keys_of(path: str) -> Keys:
    """Return the keys of a dotted path."""
    return tuple(path.split(".")) if path else ()


def squeezed_lines(text: str) -> str:
    """Squeeze white space in each line, and drop empty lines."""
    text = text.strip()
    if "\n" not in text:
        return squeeze(text)
    return "\n".join([" ".join(words) for line in text.split("\n") if (words := line.split())])


# HTML elements as texts and labelled rows.

Rows = Mapping[str, str]

_AMBIGUOUS = ""
_BETWEEN = frozenset({"-text", "-comment", "br"})
"""What may stand between a label and the element that is its value, by the parser's names."""


def node_text(node: LexborNode, *, own: bool = False, glue: bool = False) -> str:
    """Return an element's text: white space squeezed, a line for each piece between tags."""
    return squeezed_lines(node.text(deep=not own, separator="" if glue else "\n"))


def node_value(node: LexborNode, link: Link) -> str:
    """Return what a link reads of an element: its text, or one of its attributes."""
    if link.attr is not None:
        return attribute(node, link.attr)
    if link.without is not None:
        copy = LexborHTMLParser(node.html or "")
        for inner in copy.css(link.without):
            inner.decompose()
        node = copy.body or node
    return node_text(node, own=link.own_text, glue=link.glue)


def attribute(node: LexborNode, name: str) -> str:
    """Return an attribute's text, empty where there is none."""
    return (node.attributes.get(name) or "").strip()


def markup_text(html: str) -> str:
    """Return the text of a piece of HTML."""
    if "<" not in html and "&" not in html:
        return squeezed_lines(html)
    body = LexborHTMLParser(html).body
    return "" if body is None else node_text(body)


def read_rows(root: LexborHTMLParser | LexborNode, table: RowsTable) -> Rows:
    """Return label → value. A label with two different values has none."""
    nodes: Iterable[LexborNode] = root.css(table.css or "")
    if table.before is not None:
        foreign = {node.mem_id for node in root.css(table.before)}
        both = root.css(f"{table.css}, {table.before}")
        nodes = takewhile(lambda node: node.mem_id not in foreign, both)
    return _joined(_row(node, table) for node in nodes)


def read_json_rows(thing: Any, table: RowsTable) -> Rows:  # noqa: ANN401 - whatever the page holds
    """As `read_rows`, from the elements of a JSON list."""
    label, value = keys_of(table.label or ""), keys_of(table.value or "")
    lists = find_at(thing, table.path)
    elements = (element for rows in lists if isinstance(rows, list) for element in rows)
    return _joined(
        (scalar_text(find_first(element, label)), squeezed_lines(scalar_text(find_first(element, value))))
        for element in elements
    )


@lru_cache(REMEMBERED_LABELS)
def row_label(text: str) -> str:
    """Return the key of a row."""
    return match_key(text).rstrip(": ")


def _joined(pairs: Iterable[tuple[str, str]]) -> Rows:
    rows: dict[str, str] = {}
    for label, value in pairs:
        key = row_label(label)
        rows[key] = value if rows.get(key, value) == value else _AMBIGUOUS
    return rows


def _row(node: LexborNode, table: RowsTable) -> tuple[str, str]:
    if table.beside:
        beside = node.next
        while beside is not None and beside.tag in _BETWEEN:
            beside = beside.next
        return node_text(node), "" if beside is None else node_text(beside)
    if table.label is None or table.value is None:
        label, _, value = node_text(node).partition(":")
        return label, value.strip()
    label_node, value_node = node.css_first(table.label), node.css_first(table.value)
    if label_node is None or value_node is None:
        return "", ""
    value = node_text(value_node) if table.attr is None else attribute(value_node, table.attr)
    return node_text(label_node), value


Texts = tuple[str, ...]
RowsTables = Mapping[str, RowsTable]

_NOTHING = "<html></html>"


@dataclass(slots=True)
class CardElement:
    """An element of a page of results: a piece of markup, or of JSON, which links may read alone."""

    rows_tables: RowsTables
    node: LexborNode | None = None
    data: Any = None
    rows: dict[str, Rows] = field(default_factory=dict)
    firsts: dict[str, LexborNode | None] = field(default_factory=dict)
    """The first element of each selector, as several fields read the same one."""


class Document:
    """One page, read many times: tree, rows and JSON are parsed on first use, and once."""

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
        self._page = CardElement(rows)
        self._limits = limits
        self._sources = sources or {}
        self._json: dict[str, Any] = {}
        self._elements: dict[str, Elements] = {}
        self._streams: dict[str, str] = {}
        self._jsonld: dict[str, Mapping[str, Any] | None] = {}

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The parsed markup; empty for a page that is JSON."""
        return LexborHTMLParser(_NOTHING if self.is_json else self.text)

    def texts(self, link: Link, card: CardElement | None = None) -> Texts:
        """Return what the link finds in the whole page or in one card of it."""
        found = self._find(link, card)
        return self.matched(found, link) if found else ()

    def unmatched(self, link: Link, card: CardElement | None = None) -> Texts:
        """Return what the link finds but its `match` rejects, for the person who writes the pattern."""
        if link.match is None or link.page == "source" or self.texts(link, card):
            return ()
        return tuple(filter(None, self._find(link, card)))

    def _find(self, link: Link, card: CardElement | None) -> list[str]:
        if link.css is not None:
            values = self._css_texts(link, link.css, card)
            if not link.path:
                return values
            things = map(read_whole, values)  # values that are JSON themselves
            return [text for thing in things if thing is not None for text in json_texts(thing, link)]
        if link.json_ is not None:
            return self._json_texts(link, card)
        if link.jsonld is not None:
            return self._jsonld_texts(link)
        return [self._lone_text(link, card or self._page)]

    @staticmethod
    def matched(found: list[str], link: Link) -> Texts:
        """Return what the `match` of the link accepts of these texts."""
        if link.match is None:
            return tuple(filter(None, found))
        pattern = compiled(link.match)
        groups: list[str] = []
        for text in found:
            seen = text if link.page == "source" else text[:PATTERN_MOST_CHARACTERS]
            hits = pattern.finditer(seen) if link.all else filter(None, (pattern.search(seen),))
            groups += [hit[1].strip() for hit in hits if hit[1]]
        return tuple(filter(None, groups))

    def _css_texts(self, link: Link, css: str, card: CardElement | None) -> list[str]:
        if card is not None and card.node is None:
            return []
        if link.all:
            return [node_value(node, link) for node in ((card and card.node) or self.tree).css(css)]
        node = self._first(css, card)  # several times cheaper than all
        return [] if node is None else [node_value(node, link)]

    def _first(self, css: str, card: CardElement | None = None) -> LexborNode | None:
        """Return the first element of the page or of one card."""
        element = card or self._page
        if css not in element.firsts:
            element.firsts[css] = (element.node or self.tree).css_first(css)
        return element.firsts[css]

    def _json_texts(self, link: Link, card: CardElement | None) -> list[str]:
        data = (card and card.data) if link.json_ == CARD else self.json(link.json_ or "")
        read = self._markup_text if link.markup else squeezed_lines
        if data is None:
            return []
        elements = {} if link.json_ == CARD else self._elements.setdefault(link.json_ or "", {})
        return [read(text) for text in json_texts(data, link, elements)]

    def _markup_text(self, html: str) -> str:
        """Check markup in JSON by itself, as its tags may be escaped in the page."""
        refuse_hostile(html.encode(), self._limits)
        return markup_text(html)

    def json(self, name: str) -> Any:  # noqa: ANN401 - whatever the page holds
        """Return the JSON of this name; None where the page has none."""
        if name not in self._json:
            table = self._sources[name]
            self._json[name] = self._read_json(table) if table.body == self.is_json else None
        return self._json[name]

    def _read_json(self, table: JsonTable) -> Any:  # noqa: ANN401 - whatever the page holds
        if table.css is not None:
            node = self._first(table.css)
            if node is None:
                return None
            return read_whole(node.text() if table.attr is None else attribute(node, table.attr), table.path)
        if table.pieces is None:
            return read_json(self.text, table)
        if table.pieces not in self._streams:  # several JSON may stand in it
            self._streams[table.pieces] = joined(self.text, table.pieces)
        return read_json(self._streams[table.pieces], table)

    def _lone_text(self, link: Link, card: CardElement) -> str:
        if link.row is not None:
            return self.rows(link.rows, card).get(row_label(link.row), "")
        return {"id": self.id, "url": self.url, "source": self.text}[link.page or "url"]

    def rows_table(self, name: str) -> RowsTable:
        """Return the table of a set of rows of the page."""
        return self._page.rows_tables[name]

    def texts_with(self, link: Link, table: RowsTable | None) -> Texts:
        """As `texts`, with this table for the link's set of rows."""
        return self.texts(link, CardElement({link.rows: table}) if table else None)

    def rows(self, name: str, card: CardElement | None = None) -> Rows:
        """Return label → value of a set of rows, of the page or of one card."""
        card = card or self._page
        if name not in card.rows:
            table = card.rows_tables[name]
            if table.json_ is None:
                card.rows[name] = read_rows(card.node or self.tree, table)
            else:
                data = card.data if table.json_ == CARD else self.json(table.json_)
                card.rows[name] = read_json_rows(data, table)
        return card.rows[name]

    def _jsonld_texts(self, link: Link) -> list[str]:
        thing = self.jsonld(link.jsonld or "")
        return [] if thing is None else json_texts(thing, link)

    def jsonld(self, kind: str) -> Mapping[str, Any] | None:
        """Return the first valid JSON-LD object of this type, also in lists and in a `@graph`.

        A script without the type's name is not parsed, unless it has escaped letters.
        """
        if kind not in self._jsonld:
            texts = (script.text() for script in self.tree.css('script[type="application/ld+json"]'))
            candidates = (text for text in texts if kind in text or "\\u" in text)
            things = (thing for text in candidates for thing in _things(_json(text)))
            self._jsonld[kind] = next((thing for thing in things if kind in _types(thing)), None)
        return self._jsonld[kind]


def _types(thing: Mapping[str, Any]) -> list[Any]:
    types = thing.get("@type")
    return types if isinstance(types, list) else [types]


def _things(value: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - whatever the page holds
    waiting = [value]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, list):
            waiting += reversed(thing)
        elif isinstance(thing, dict):
            yield thing
            waiting.append(thing.get("@graph"))


def _json(text: str) -> Any:  # noqa: ANN401 - whatever the page holds
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
