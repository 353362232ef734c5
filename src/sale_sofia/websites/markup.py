"""HTML elements as texts and labelled rows."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from sale_sofia.config.reading import REMEMBERED_LABELS
from sale_sofia.config.site_links import Link, RowsTable
from sale_sofia.listings.text import match_key
from sale_sofia.websites.json_data import find_at, find_first, keys_of, scalar_text, squeezed_lines

Rows = Mapping[str, str]

_AMBIGUOUS = ""
_BETWEEN = frozenset({"-text", "-comment", "br"})
"""What may stand between a label and the element that is its value, by the parser's names."""


def node_text(node: LexborNode, *, own: bool = False, glue: bool = False) -> str:
    """An element's text: white space squeezed, a line for each piece between tags."""
    return squeezed_lines(node.text(deep=not own, separator="" if glue else "\n"))


def node_value(node: LexborNode, link: Link) -> str:
    """What a link reads of an element: its text, or one of its attributes."""
    if link.attr is not None:
        return attribute(node, link.attr)
    shown = node if link.without is None else _without(node, link.without)
    return node_text(shown, own=link.own_text, glue=link.glue)


def _without(node: LexborNode, css: str) -> LexborNode:
    """A copy of the element in which these inner ones do not stand."""
    copy = LexborHTMLParser(node.html or "")
    for inner in copy.css(css):
        inner.decompose()
    return copy.body or node


def attribute(node: LexborNode, name: str) -> str:
    """An attribute's text, empty where there is none."""
    return (node.attributes.get(name) or "").strip()


def markup_text(html: str) -> str:
    """The text of a piece of HTML."""
    if "<" not in html and "&" not in html:
        return squeezed_lines(html)
    body = LexborHTMLParser(html).body
    return "" if body is None else node_text(body)


def read_rows(root: LexborHTMLParser | LexborNode, table: RowsTable) -> Rows:
    """Label → value. A label that stands twice with two values says nothing."""
    nodes: Iterable[LexborNode] = root.css(table.css or "")
    if table.before is not None:
        strange = {node.mem_id for node in root.css(table.before)}
        both = root.css(f"{table.css}, {table.before}")
        nodes = takewhile(lambda node: node.mem_id not in strange, both)
    return _joined(_row(node, table) for node in nodes)


def read_json_rows(thing: Any, table: RowsTable) -> Rows:  # noqa: ANN401 - whatever the page holds
    """The same from the elements of a JSON list."""
    elements = (one for found in find_at(thing, table.path) if isinstance(found, list) for one in found)
    return _joined(
        (_value(element, table.label), squeezed_lines(_value(element, table.value))) for element in elements
    )


@lru_cache(REMEMBERED_LABELS)
def row_label(text: str) -> str:
    """The key under which a row is found."""
    return match_key(text).rstrip(": ")


def _joined(pairs: Iterable[tuple[str, str]]) -> Rows:
    rows: dict[str, str] = {}
    for label, value in pairs:
        key = row_label(label)
        rows[key] = value if rows.get(key, value) == value else _AMBIGUOUS
    return rows


def _row(node: LexborNode, table: RowsTable) -> tuple[str, str]:
    if table.beside:
        return node_text(node), _text_beside(node)
    if table.label is None or table.value is None:
        label, _, value = node_text(node).partition(":")
        return label, value.strip()
    label_node, value_node = node.css_first(table.label), node.css_first(table.value)
    if label_node is None or value_node is None:
        return "", ""
    return node_text(label_node), _row_value(value_node, table.attr)


def _row_value(node: LexborNode, attr: str | None) -> str:
    return node_text(node) if attr is None else attribute(node, attr)


def _text_beside(node: LexborNode) -> str:
    beside = node.next
    while beside is not None and beside.tag in _BETWEEN:
        beside = beside.next
    return "" if beside is None else node_text(beside)


def _value(element: Any, key: str | None) -> str:  # noqa: ANN401 - whatever the page holds
    return scalar_text(find_first(element, keys_of(key or "")))
