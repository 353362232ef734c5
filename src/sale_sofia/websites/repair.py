"""Proposes a new selector for a field whose page changed, from where its stored values are now."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from selectolax.lexbor import LexborNode

from sale_sofia.listings.model import RawField
from sale_sofia.listings.normalise import read_facts
from sale_sofia.listings.page import Page, PageError
from sale_sofia.listings.settings import REPAIR_MOST_PLACES, REPAIR_SEARCHED_PAGES
from sale_sofia.websites.document import (
    Document,
    find_first,
    keys_of,
    node_text,
    node_value,
    row_label,
    scalar_text,
)
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.settings import REPAIR_LEAST_PAGES, REPAIR_PROPOSALS, REPAIR_RIGHT_FOR_WRONG
from sale_sofia.websites.site_file import CARD, Link, RowsTable

# Where a text may be on a page: every place that a link of the same kind as the old ones could name.

_NAME = re.compile(r"-?[A-Za-z_][\w-]*")
_PLAIN_VALUE = re.compile(r'[^"\\\n]+')
_SILENT = frozenset({"html", "head", "body", "script", "style", "noscript"})
_ATTRIBUTES = ("content", "value", "data-price", "data-value", "title")
_ANCHORS = 3
"""Elements above one that may identify it."""


class FieldPlace(NamedTuple):
    """A link, and the set of labelled rows it reads if that is new too."""

    link: Link
    rows: RowsTable | None = None

    @property
    def cost(self) -> tuple[int, str]:
        """The shorter the better: what depends on less of the page breaks less often."""
        text = repr(self.link) + repr(self.rows or "")
        return len(text), text


Fits = Callable[[str], bool]


def places(document: Document, links: Sequence[Link], fits: Fits) -> Iterator[FieldPlace]:
    """Yield every place for one of the links once, up to a limit; of elements, those whose text fits."""
    seen: set[FieldPlace] = set()
    for link in links:
        found: Iterator[FieldPlace] = iter(())
        if link.row is not None:
            found = _row_places(document, link)
        elif link.json_ is not None and link.json_ != CARD:
            found = _json_places(document, link)
        elif link.css is not None:
            found = _css_places(document, link, fits)
        for place in found:
            if place not in seen and len(seen) < REPAIR_MOST_PLACES:
                seen.add(place)
                yield place


def _css_places(document: Document, link: Link, fits: Fits) -> Iterator[FieldPlace]:
    """Yield any element whose text fits, by its class, its id, or those of its parents."""
    for node in document.tree.css("body *, meta"):
        if node.tag in _SILENT:
            continue
        # A link may read the text of an element, or one of its attributes.
        for attr in (None, *(name for name in _ATTRIBUTES if name in node.attributes)):
            read = link.model_copy(update={"attr": attr, "all": False})
            if any(map(fits, document.matched([node_value(node, read)], read))):
                yield from (FieldPlace(read.model_copy(update={"css": css})) for css in _selectors(node))


def _selectors(node: LexborNode) -> Iterator[str]:
    """Yield selectors of an element: by itself, and below the nearest elements that have a name."""
    own = _names(node)
    yield from own
    above, steps = node.parent, 0
    while above is not None and steps < _ANCHORS:
        for anchor in _names(above)[:2]:
            yield from (f"{anchor} {name}" for name in own or [_tag(node) or "*"])
            steps += 1
        above = above.parent


def _tag(node: LexborNode) -> str:
    """Return the element's tag; empty where a selector cannot name it, like Word's `o:p`."""
    return node.tag if node.tag and _NAME.fullmatch(node.tag) else ""


def _names(node: LexborNode) -> list[str]:
    attributes, tag = node.attributes, _tag(node)
    own = attributes.get("id") or ""
    names = [f"#{own}"] if _NAME.fullmatch(own) else []
    classes = (attributes.get("class") or "").split()
    names += [f"{tag}.{name}" for name in classes if _NAME.fullmatch(name)]
    for key in ("itemprop", "property", "name"):
        value = attributes.get(key) or ""
        if _PLAIN_VALUE.fullmatch(value):
            names.append(f'{tag}[{key}="{value}"]')
    return names


def _json_places(document: Document, link: Link) -> Iterator[FieldPlace]:
    """Yield the same link with one of its paths moved; its other paths stay."""
    data = document.json(link.json_ or "")
    scalars = [".".join(keys) for keys in _scalars(data, ())]
    for number, path in enumerate(link.path):
        if "*" in keys_of(path) or scalar_text(find_first(data, keys_of(path))):
            continue  # it still works, or leads to many
        for other in scalars:
            moved = (*link.path[:number], other, *link.path[number + 1 :])
            yield FieldPlace(link.model_copy(update={"path": moved}))


def _scalars(thing: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:  # noqa: ANN401 - any JSON
    if isinstance(thing, dict):
        for key, value in thing.items():
            if "." not in key:
                yield from _scalars(value, (*keys, key))
    elif thing is not None and not isinstance(thing, list):
        yield keys


def _row_places(document: Document, link: Link) -> Iterator[FieldPlace]:
    """Yield the row under another label; then the same label in rows found another way."""
    table = document.rows_table(link.rows)
    for label in document.rows(link.rows):
        yield FieldPlace(link.model_copy(update={"row": label}))
    others = _json_rows(document, table) if table.json_ is not None else _html_rows(document, table, link)
    for rows in others:
        yield FieldPlace(link, rows)


def _json_rows(document: Document, table: RowsTable) -> Iterator[RowsTable]:
    """Yield any list of objects, with the same keys or others of the same objects."""
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
    elif isinstance(thing, list) and thing and all(isinstance(element, dict) for element in thing):
        yield keys, thing


def _html_rows(document: Document, table: RowsTable, link: Link) -> Iterator[RowsTable]:
    """Yield the rows by what encloses the label now."""
    label = row_label(link.row or "")
    for node in document.tree.css(table.label or "body *"):
        if row_label(node_text(node).partition(":")[0]) != label:
            continue
        # The element itself if its text is the row; else the nearest parent that has a value too.
        row = node if table.value is None else node.parent
        while row is not None and table.value is not None and row.css_first(table.value) is None:
            row = row.parent
        if row is None:
            continue
        above = [] if row.parent is None else _names(row.parent)
        for css in (*_names(row), *(f"{name} > {_tag(row) or '*'}" for name in above)):
            yield table.model_copy(update={"css": css})


Facts = Mapping[str, Any]


class Sample(NamedTuple):
    """A page as it is now, and the stored facts of its advert."""

    page: Page
    facts: Facts


@dataclass(frozen=True, slots=True)
class Proposal:
    """A place that gives the stored values, with its evidence."""

    place: FieldPlace
    right: int
    """Pages on which it gives the stored value."""
    wrong: int
    """Pages on which it gives another value; adverts are also edited."""
    pages: int


def known_facts(site: TableSite, page: Page) -> Mapping[str, Facts]:
    """Return the facts of a page by field, without empty fields; none where it cannot be read."""
    try:
        fields = site.listing(page).fields
    except PageError:
        return {}
    read = {name: _plain(read_facts({name: field})) for name, field in fields.items()}
    return {name: facts for name, facts in read.items() if facts}


def propose(site: TableSite, field: str, samples: Sequence[Sample]) -> list[Proposal]:
    """Return the places that give the stored value on some pages and hardly ever another, the best first."""
    table = site.config.listing.fields[field]
    opened: list[tuple[Document, Facts]] = []
    for sample in samples:
        with suppress(PageError):
            opened.append((site.open(sample.page), sample.facts))

    def facts_of(texts: tuple[str, ...]) -> Facts:
        """Parse the texts with the field's own parser."""
        return _plain(read_facts({field: RawField(texts, 0, *table.parser)})) if texts else {}

    def right_places(document: Document, stored: Facts) -> Iterator[FieldPlace]:
        for place in places(document, table.links, lambda text: _agrees(facts_of((text,)), stored)):
            if _agrees(facts_of(document.texts_with(place.link, place.rows)), stored):
                yield place

    def evaluate(place: FieldPlace) -> Proposal:
        read = [
            (facts_of(document.texts_with(place.link, place.rows)), stored) for document, stored in opened
        ]
        right = sum(_agrees(facts, stored) for facts, stored in read)
        return Proposal(place, right, sum(bool(facts) for facts, _ in read) - right, len(read))

    searched = opened[:REPAIR_SEARCHED_PAGES]
    found = dict.fromkeys(place for document, stored in searched for place in right_places(document, stored))
    for link in table.links:  # the old links, on pages that did not change
        found.pop(FieldPlace(link), None)
    good = [
        proposal
        for proposal in map(evaluate, found)
        if proposal.right >= max(REPAIR_LEAST_PAGES, proposal.wrong * REPAIR_RIGHT_FOR_WRONG)
    ]
    best_first = sorted(good, key=lambda proposal: (proposal.wrong - proposal.right, proposal.place.cost))
    return best_first[:REPAIR_PROPOSALS]


def _plain(facts: Facts) -> Facts:
    return {name: value for name, value in facts.items() if name != "flags" and value not in (None, ())}


def _agrees(facts: Facts, stored: Facts) -> bool:
    """Whether there is a value, and every value is the stored one."""
    return bool(facts) and all(stored.get(name) == value for name, value in facts.items())


def written(link: Link | RowsTable) -> dict[str, Any]:
    """Return a link, or a set of rows, as in the site file."""
    return link.model_dump(by_alias=True, exclude_defaults=True, mode="json")
