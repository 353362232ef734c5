"""A parsed page, and the texts a link of a selector chain finds in it."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from sale_sofia.config.site_config import Link, RowsTable
from sale_sofia.listings.text import match_key

Texts = tuple[str, ...]
Rows = Mapping[str, str]

_AMBIGUOUS = ""


class Document:
    """One page, read many times: rows and JSON-LD are found once."""

    def __init__(self, text: str, *, url: str, rows: Mapping[str, RowsTable]) -> None:
        self.tree = LexborHTMLParser(text)
        self.url = url
        self.id = ""
        self._rows_tables = rows
        self._rows: dict[str, Rows] = {}
        self._jsonld: tuple[Mapping[str, Any], ...] | None = None

    def texts(self, link: Link, scope: LexborNode | None = None) -> Texts:
        """What the link finds in the whole page or in one element of it; nothing found is empty."""
        if link.css is not None:
            found = _css_texts(scope or self.tree, link)
        else:
            found = iter((self._lone_text(link),))
        return _matching(found, link)

    def _lone_text(self, link: Link) -> str:
        if link.row is not None:
            return self.rows(link.rows).get(_label(link.row), "")
        if link.jsonld is not None:
            return self._jsonld_text(link.jsonld, link.path)
        return self.id if link.page == "id" else self.url

    def rows(self, name: str) -> Rows:
        """Label → value of a set of rows. A label that stands twice with two values says nothing."""
        if name not in self._rows:
            self._rows[name] = _read_rows(self.tree, self._rows_tables[name])
        return self._rows[name]

    def _jsonld_text(self, kind: str, paths: Texts) -> str:
        for thing in self.jsonld():
            if thing.get("@type") == kind:
                values = [_follow(thing, path) for path in paths]
                return "" if None in values else " ".join(map(str, values))
        return ""

    def jsonld(self) -> tuple[Mapping[str, Any], ...]:
        """The page's JSON-LD objects; a broken one is left out."""
        if self._jsonld is None:
            scripts = self.tree.css('script[type="application/ld+json"]')
            self._jsonld = tuple(
                thing for script in scripts if isinstance(thing := _json(script.text()), dict)
            )
        return self._jsonld


def node_text(node: LexborNode, *, own: bool = False, glue: bool = False) -> str:
    """An element's text: white space squeezed, a line for each piece between tags."""
    pieces = node.text(deep=not own, separator="" if glue else "\n").split("\n")
    return "\n".join(squeezed for piece in pieces if (squeezed := " ".join(piece.split())))


def _css_texts(scope: LexborHTMLParser | LexborNode, link: Link) -> Iterator[str]:
    css = link.css or ""
    if link.all:
        nodes = scope.css(css)
    else:
        first = scope.css_first(css)  # several times cheaper than finding them all
        nodes = [] if first is None else [first]
    for node in nodes:
        if link.attr is None:
            yield node_text(node, own=link.own_text, glue=link.glue)
        else:
            yield (node.attributes.get(link.attr) or "").strip()


def _matching(found: Iterator[str], link: Link) -> Texts:
    if link.match is not None:
        pattern = _compiled(link.match)
        found = (match[1].strip() for text in found if (match := pattern.search(text)))
    return tuple(text for text in found if text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def _read_rows(tree: LexborHTMLParser, table: RowsTable) -> Rows:
    rows: dict[str, str] = {}
    for node in tree.css(table.css):
        label, value = _row(node, table)
        key = _label(label)
        rows[key] = value if rows.get(key, value) == value else _AMBIGUOUS
    return rows


def _row(node: LexborNode, table: RowsTable) -> tuple[str, str]:
    if table.label is None or table.value is None:
        label, _, value = node_text(node).partition(":")
        return label, value.strip()
    label_node, value_node = node.css_first(table.label), node.css_first(table.value)
    if label_node is None or value_node is None:
        return "", ""
    return node_text(label_node), node_text(value_node)


@cache
def _label(text: str) -> str:
    return match_key(text).rstrip(": ")


def _json(text: str) -> Any:  # noqa: ANN401 - whatever the page holds
    try:
        return json.loads(text, strict=False)
    except ValueError:
        return None


def _follow(thing: Any, path: str) -> Any:  # noqa: ANN401 - whatever the page holds
    for key in path.split("."):
        if not isinstance(thing, dict) or key not in thing:
            return None
        thing = thing[key]
    return thing
