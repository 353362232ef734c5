"""One page, of whatever kind, as the JSON of `sale-sofia parse`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from sale_sofia.listings.model import RawField
from sale_sofia.listings.normalise import normalise, read_facts
from sale_sofia.listings.page import LayoutChanged, Page, PageError, ProjectPage, RemovedListing
from sale_sofia.listings.text import squeeze
from sale_sofia.websites.base import SearchPage, Site
from sale_sofia.websites.document import Card, Document
from sale_sofia.websites.engine import IDS, Results, TableSite, read_fields
from sale_sofia.websites.site_file import FieldTable, Link
from sale_sofia.websites.sitemaps import SECTION

Answer = dict[str, Any]


def read_page(site: Site, page: Page) -> Answer:
    """What the page says. Never raises for a page: what is wrong with it is `kind: error`, by name."""
    try:
        return _read(site, page)
    except (ProjectPage, RemovedListing) as error:
        kind = "project" if isinstance(error, ProjectPage) else "removed"
        return {"site": site.name, "kind": kind, "url": page.url}
    except PageError as error:
        return error_answer(site.name, page.url, error.code, str(error))


def error_answer(site: str | None, url: str | None, code: str, message: str) -> Answer:
    """The answer for a page that gives no data."""
    return {"site": site, "kind": "error", "url": url, "error": {"type": code, "message": message}}


def _read(site: Site, page: Page) -> Answer:
    kind = site.kind_of(page.url)
    if kind == "search":
        return search_answer(site.search(page))
    try:
        return normalise(site.listing(page)).model_dump(mode="json")
    except RemovedListing:
        if kind is not None:
            raise
        return search_answer(site.search(page))  # an address of old: results where no advert was asked for


def search_answer(found: SearchPage) -> Answer:
    """The answer for a page of results."""
    return {
        "site": found.site,
        "kind": "search",
        "url": found.url,
        "total": found.total,
        "capped": found.capped,
        "next_url": found.next_url,
        "cards": [
            {"external_id": card.external_id, "url": card.url, **card.filling(tuple(card.facts))}
            for card in found.cards
        ],
    }


# How a page is read, field by field: which link of each chain found a text, and what became of it.

_SHOWN_CHARACTERS = 70


def check_page(site: TableSite, page: Page) -> Answer:
    """What is read of the page, and how.

    Raises:
        PageError: the page cannot be read at all.
    """
    kind = site.kind_of(page.url)
    if kind == "search":
        return _check_search(site, page)
    try:
        return _check_listing(site, page)
    except RemovedListing:
        if kind is not None:
            raise
        return _check_search(site, page)


def _check_listing(site: TableSite, page: Page) -> Answer:
    raw, document = site.listing(page), site.open(page)
    try:
        flags = list(normalise(raw).flags)
    except LayoutChanged as error:  # a page of which nothing is read is shown too
        flags = [error.code]
    tables = site.config.listing.fields
    rows = [
        _field_row(name, table, raw.fields.get(name), _unmatched(document, table, [None]))
        for name, table in tables.items()
    ]
    return {
        "site": site.name,
        "kind": "listing",
        "url": page.url,
        "external_id": raw.external_id,
        "fields": rows,
        "missing": [row["field"] for row in rows if row["link"] is None],
        "unread": [
            row["field"] for row in rows if row["link"] is not None and not row["value"].keys() - {"flags"}
        ],
        "flags": flags,
        "proven": _proven(site, document),
    }


def _proven(site: TableSite, document: Document) -> bool | None:
    """Whether one of the portal's marks stands on the page; None where its file names none."""
    return bool(site.proof_on(document)) if site.config.proof else None


def _unmatched(document: Document, table: FieldTable, places: Iterable[Card | None]) -> str | None:
    """The first text that a link finds and its `match` refuses, in the page or in one of these cards."""
    missed = (document.unmatched(link, card) for card in places for link in table.links)
    return next((_short(" | ".join(texts)) for texts in missed if texts), None)


def _field_row(name: str, table: FieldTable, found: RawField | None, unmatched: str | None) -> Answer:
    row: Answer = {
        "field": name,
        "links": len(table.links),
        "link": None,
        "selector": None,
        "text": None,
        "unmatched": None if found else unmatched,
        "value": {},
    }
    if found is None:
        return row
    return row | {
        "link": found.link + 1,
        "selector": selector(table.links[found.link]),
        "text": _short(" | ".join(found.texts)),
        "value": {
            fact: _short(str(value))
            for fact, value in read_facts({name: found}).items()
            if value not in (None, ())
        },
    }


def _check_search(site: TableSite, page: Page) -> Answer:
    found = site.search(page)
    answer = search_answer(found) | {"cards": len(found.cards)}
    if found.section in {SECTION, IDS}:
        # A sitemap, or a page that lists the ids of a filter: there are no fields to look at.
        ids = sum(map(len, found.ids.values()))
        lists = {"list": found.section, "sitemaps": len(found.further), "ids": ids}
        return answer | lists | {"fields": [], "missing": []}
    document = site.open(page)
    layout = site.layout_of(document)
    rows = list(_search_rows(document, layout)) if found.cards else []
    return answer | {
        "layout": site.layouts.index(layout) + 1,
        "fields": rows,
        "missing": [row["field"] for row in rows if not row["filled"]],
        "proven": _proven(site, document),
    }


def _search_rows(document: Document, layout: Results) -> Iterator[Answer]:
    cards = list(layout.elements(document))
    read = [read_fields(document, layout.table.fields, card) for card in cards]
    for name, table in layout.table.fields.items():
        found = [fields[name] for fields in read if name in fields]
        links = sorted(Counter(field.link for field in found).items())
        yield {
            **_field_row(name, table, found[0] if found else None, _unmatched(document, table, cards)),
            "filled": len(found),
            "matched": {str(link + 1): count for link, count in links},
        }


def selector(link: Link) -> str:
    """A link as the site file writes it, on one line."""
    given = link.model_dump(by_alias=True, exclude_defaults=True).items()
    written = {key: f"[{', '.join(value)}]" if isinstance(value, tuple) else value for key, value in given}
    return ", ".join(f"{key}: {value}" for key, value in written.items())


def _short(text: str) -> str:
    line = squeeze(text)
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"
