"""A new place for a field whose page changed: found where known values stand now, never used by itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from sale_sofia.config.monitoring import REPAIR_LEAST_PAGES, REPAIR_PROPOSALS, REPAIR_RIGHT_FOR_WRONG
from sale_sofia.config.reading import REPAIR_SEARCHED_PAGES
from sale_sofia.config.site_links import FieldTable, Link, RowsTable
from sale_sofia.listings.normalise import read_facts
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import PageError
from sale_sofia.listings.raw import RawField
from sale_sofia.websites.document import Document
from sale_sofia.websites.repair_links import Place, places
from sale_sofia.websites.table_site import TableSite

Facts = Mapping[str, Any]


class Sample(NamedTuple):
    """A page as it is now, and what is known of its advert."""

    page: Page
    known: Facts


@dataclass(frozen=True, slots=True)
class Proposal:
    """A place that gives the known values, and its evidence."""

    place: Place
    right: int
    """Pages on which it gives the known value."""
    wrong: int
    """Pages on which it gives another: adverts are edited, too."""
    pages: int


def known_facts(site: TableSite, field: str, page: Page) -> Facts:
    """What a page that could be read says of one field."""
    try:
        found = site.listing(page).fields.get(field)
    except PageError:
        return {}
    return {} if found is None else _plain(read_facts({field: found}))


def propose(site: TableSite, field: str, samples: Sequence[Sample]) -> list[Proposal]:
    """The places that give the known value on some of the pages and hardly ever another, the best first."""
    table = site.config.listing.fields[field]
    opened = [(document, one.known) for one in samples if (document := _open(site, one.page))]
    searched = opened[:REPAIR_SEARCHED_PAGES]
    found = (place for document, known in searched for place in _right_places(document, field, table, known))
    counted = [_tried(place, field, table, opened) for place in dict.fromkeys(found)]
    good = [
        one for one in counted if one.right >= max(REPAIR_LEAST_PAGES, one.wrong * REPAIR_RIGHT_FOR_WRONG)
    ]
    return sorted(good, key=lambda one: (one.wrong - one.right, one.place.cost))[:REPAIR_PROPOSALS]


def _right_places(document: Document, field: str, table: FieldTable, known: Facts) -> Iterator[Place]:
    """The places of one page where the known value stands."""
    fits = partial(_fits, field, table, known)
    for place in places(document, table.links, fits):
        if _agrees(_facts(document, place, field, table), known):
            yield place


def _fits(field: str, table: FieldTable, known: Facts, text: str) -> bool:
    return _agrees(_plain(read_facts({field: RawField((text,), 0, *table.parser)})), known)


def _tried(place: Place, field: str, table: FieldTable, opened: Sequence[tuple[Document, Facts]]) -> Proposal:
    """The place on every page."""
    told = [(_facts(document, place, field, table), known) for document, known in opened]
    right = sum(_agrees(facts, known) for facts, known in told)
    return Proposal(place, right, sum(bool(facts) for facts, _ in told) - right, len(told))


def _facts(document: Document, place: Place, field: str, table: FieldTable) -> Facts:
    """What the field's own parser makes of the texts at the place: nothing of those of another type."""
    texts = document.texts_with(place.link, place.rows)
    return _plain(read_facts({field: RawField(texts, 0, *table.parser)})) if texts else {}


def _plain(facts: Facts) -> Facts:
    return {name: value for name, value in facts.items() if name != "flags" and value not in (None, ())}


def _agrees(facts: Facts, known: Facts) -> bool:
    """Every value is the known one, and there is one."""
    return bool(facts) and all(known.get(name) == value for name, value in facts.items())


def _open(site: TableSite, page: Page) -> Document | None:
    try:
        return site.open(page)
    except PageError:
        return None


def written(link: Link | RowsTable) -> dict[str, Any]:
    """A link, or a set of rows, as the site file writes it."""
    return link.model_dump(by_alias=True, exclude_defaults=True, mode="json")
