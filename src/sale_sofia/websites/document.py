"""A parsed page, and the texts a link of a selector chain finds in it."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from sale_sofia.config.site_config import Link, RowsTable
from sale_sofia.listings.text import match_key

Texts = tuple[str, ...]
Rows = Mapping[str, str]

_AMBIGUOUS = ""
_JSON = json.JSONDecoder(strict=False)


class Document:
    """One page, read many times: rows and JSON-LD are found once."""

    def __init__(self, text: str, *, url: str, rows: Mapping[str, RowsTable]) -> None:
        self.tree = LexborHTMLParser(text)
        self.url = url
        self.id = ""
        self._rows_tables = rows
        self._rows: dict[str, Rows] = {}
        self._firsts: dict[str, LexborNode | None] = {}
        self._jsonld: tuple[Mapping[str, Any], ...] | None = None

    def texts(self, link: Link, scope: LexborNode | None = None) -> Texts:
        """What the link finds in the whole page or in one element of it; nothing found is empty."""
        if link.css is None:
            found = [self._lone_text(link)]
        elif link.all:
            found = [_node_value(node, link) for node in (scope or self.tree).css(link.css)]
        else:  # the first alone is several times cheaper than all
            node = scope.css_first(link.css) if scope else self._first(link.css)
            found = [] if node is None else [_node_value(node, link)]
        if link.match is not None:
            return _matching(found, link.match)
        return tuple(filter(None, found))

    def _first(self, css: str) -> LexborNode | None:
        """The first element; several fields are read from the same one."""
        if css not in self._firsts:
            self._firsts[css] = self.tree.css_first(css)
        return self._firsts[css]

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


def _node_value(node: LexborNode, link: Link) -> str:
    if link.attr is None:
        return node_text(node, own=link.own_text, glue=link.glue)
    return (node.attributes.get(link.attr) or "").strip()


def _matching(found: list[str], match: str) -> Texts:
    pattern = _compiled(match)
    groups = (hit[1].strip() for text in found if (hit := pattern.search(text)))
    return tuple(filter(None, groups))


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
        return _JSON.decode(text)
    except ValueError:
        return None


def _follow(thing: Any, path: str) -> Any:  # noqa: ANN401 - whatever the page holds
    for key in path.split("."):
        if not isinstance(thing, dict) or key not in thing:
            return None
        thing = thing[key]
    return thing
