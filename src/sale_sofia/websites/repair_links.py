"""Where a text may stand on a page: every place that a link of the same kind as the old ones could name."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from selectolax.lexbor import LexborNode

from sale_sofia.config.reading import REPAIR_MOST_PLACES
from sale_sofia.config.site_links import CARD, Link, RowsTable
from sale_sofia.websites.document import Document
from sale_sofia.websites.json_data import find_first, keys_of, scalar_text
from sale_sofia.websites.markup import node_text, node_value, row_label

_NAME = re.compile(r"-?[A-Za-z_][\w-]*")
_PLAIN_VALUE = re.compile(r'[^"\\\n]+')
_SILENT = frozenset({"html", "head", "body", "script", "style", "noscript"})
_ATTRIBUTES = ("content", "value", "data-price", "data-value", "title")
_ANCHORS = 3
"""So many elements above one may be what tells it from others."""


class Place(NamedTuple):
    """A link, and the set of labelled rows it reads where that is another one too."""

    link: Link
    rows: RowsTable | None = None

    @property
    def cost(self) -> tuple[int, str]:
        """The shorter, the better: what says less about the page breaks less often."""
        text = repr(self.link) + repr(self.rows or "")
        return len(text), text


Fits = Callable[[str], bool]


def places(document: Document, links: Sequence[Link], fits: Fits) -> Iterator[Place]:
    """Every place for one of the links, each once, within a bound; of elements, those whose text fits."""
    seen: set[Place] = set()
    for link in links:
        for place in _places(document, link, fits):
            if place not in seen and len(seen) < REPAIR_MOST_PLACES:
                seen.add(place)
                yield place


def _places(document: Document, link: Link, fits: Fits) -> Iterator[Place]:
    if link.row is not None:
        yield from _row_places(document, link)
    elif link.json_ is not None and link.json_ != CARD:
        yield from _json_places(document, link)
    elif link.css is not None:
        yield from _css_places(document, link, fits)


def _css_places(document: Document, link: Link, fits: Fits) -> Iterator[Place]:
    """Any element whose text fits, by its class, its id, or those of what it stands in."""
    for node in document.tree.css("body *, meta"):
        for read in _readings(node, link):
            if any(map(fits, document.matched([node_value(node, read)], read))):
                yield from (Place(read.model_copy(update={"css": css})) for css in _selectors(node))


def _readings(node: LexborNode, link: Link) -> Iterator[Link]:
    """What a link may read of an element: its text, or one of its attributes."""
    if node.tag in _SILENT:
        return
    yield link.model_copy(update={"attr": None, "all": False})
    for name in _ATTRIBUTES:
        if name in node.attributes:
            yield link.model_copy(update={"attr": name, "all": False})


def _selectors(node: LexborNode) -> Iterator[str]:
    """Ways to name an element: by itself, and below the nearest elements that have a name."""
    own = _names(node)
    yield from own
    above, steps = node.parent, 0
    while above is not None and steps < _ANCHORS:
        for anchor in _names(above)[:2]:
            yield from (f"{anchor} {name}" for name in own or [_tag(node) or "*"])
            steps += 1
        above = above.parent


def _tag(node: LexborNode) -> str:
    """The element's tag; empty where a selector cannot name it, like Word's `o:p`."""
    return node.tag if node.tag and _NAME.fullmatch(node.tag) else ""


def _names(node: LexborNode) -> list[str]:
    attributes, tag = node.attributes, _tag(node)
    own = attributes.get("id") or ""
    names = [f"#{own}"] if _NAME.fullmatch(own) else []
    classes = [one for one in (attributes.get("class") or "").split() if _NAME.fullmatch(one)]
    names += [f"{tag}.{one}" for one in classes]
    for key in ("itemprop", "property", "name"):
        value = attributes.get(key) or ""
        if _PLAIN_VALUE.fullmatch(value):
            names.append(f'{tag}[{key}="{value}"]')
    return names


def _json_places(document: Document, link: Link) -> Iterator[Place]:
    """The same link with one of its paths put elsewhere: a path of several keeps its neighbours."""
    data = document.json(link.json_ or "")
    scalars = [".".join(keys) for keys in _scalars(data, ())]
    for number, path in enumerate(link.path):
        if "*" in keys_of(path) or scalar_text(find_first(data, keys_of(path))):
            continue  # nothing is wrong with it
        for other in scalars:
            moved = (*link.path[:number], other, *link.path[number + 1 :])
            yield Place(link.model_copy(update={"path": moved}))


def _scalars(thing: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - any JSON
    if isinstance(thing, dict):
        for key, value in thing.items():
            if "." not in key:
                yield from _scalars(value, (*keys, key))
    elif thing is not None and not isinstance(thing, list):
        yield keys


def _row_places(document: Document, link: Link) -> Iterator[Place]:
    """The row under another label; then the same label in rows that are found another way."""
    table = document.rows_table(link.rows)
    for label in document.rows(link.rows):
        yield Place(link.model_copy(update={"row": label}))
    others = _json_rows(document, table) if table.json_ is not None else _html_rows(document, table, link)
    for rows in others:
        yield Place(link, rows)


def _json_rows(document: Document, table: RowsTable) -> Iterator[RowsTable]:
    """Any list of objects, with the same keys or others of the same objects."""
    for path, elements in _lists(document.json(table.json_ or ""), ()):
        keys = sorted({key for element in elements for key in element})
        moved = table.model_copy(update={"path": ".".join(path)})
        yield moved
        yield from (moved.model_copy(update={"value": key}) for key in keys)
        yield from (moved.model_copy(update={"label": key}) for key in keys)


def _lists(thing: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[dict[str, Any]]]]:  # noqa: ANN401
    if isinstance(thing, dict):
        for key, value in thing.items():
            yield from _lists(value, (*keys, key))
    elif isinstance(thing, list) and thing and all(isinstance(one, dict) for one in thing):
        yield keys, thing


def _html_rows(document: Document, table: RowsTable, link: Link) -> Iterator[RowsTable]:
    """What encloses the label now."""
    wanted = row_label(link.row or "")
    for node in document.tree.css(table.label or "body *"):
        if row_label(node_text(node).partition(":")[0]) != wanted:
            continue
        for row in _enclosing(node, table.value):
            yield from (table.model_copy(update={"css": css}) for css in _row_selectors(row))


def _enclosing(node: LexborNode, value: str | None) -> Iterable[LexborNode]:
    """The element itself where its text is the row; else what stands around it and holds a value too."""
    if value is None:
        return [node]
    above = node.parent
    while above is not None and above.css_first(value) is None:
        above = above.parent
    return [] if above is None else [above]


def _row_selectors(row: LexborNode) -> Iterator[str]:
    yield from _names(row)
    if row.parent is not None:
        yield from (f"{name} > {_tag(row) or '*'}" for name in _names(row.parent))
