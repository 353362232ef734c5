"""A page of any kind as the JSON of `sale-sofia parse`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from sale_sofia.listings.model import RawField
from sale_sofia.listings.normalise import normalise, read_facts
from sale_sofia.listings.page import LayoutChanged, Page, PageError, ProjectPage, RemovedListing
from sale_sofia.listings.text import squeeze
from sale_sofia.websites.base import SearchPage, Site
from sale_sofia.websites.document import CardElement, Document
from sale_sofia.websites.engine import IDS, Results, TableSite, read_fields
from sale_sofia.websites.site_file import FieldTable, Link
from sale_sofia.websites.sitemaps import SECTION

Answer = dict[str, Any]


def read_page(site: Site, page: Page) -> Answer:
    """Return the content of a page. Never raises for a page: its error is the answer, as `kind: error`."""
    try:
        return _read(site, page)
    except (ProjectPage, RemovedListing) as error:
        kind = "project" if isinstance(error, ProjectPage) else "removed"
        return {"site": site.name, "kind": kind, "url": page.url}
    except PageError as error:
        return error_answer(site.name, page.url, error.code, str(error))


def error_answer(site: str | None, url: str | None, code: str, message: str) -> Answer:
    """Return the answer for a page that gives no data."""
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
        return search_answer(site.search(page))  # an old address of results


def search_answer(results: SearchPage) -> Answer:
    """Return the answer for a page of results."""
    return {
        "site": results.site,
        "kind": "search",
        "url": results.url,
        "total": results.total,
        "capped": results.capped,
        "next_url": results.next_url,
        "cards": [
            {"external_id": card.external_id, "url": card.url, **card.filling(tuple(card.facts))}
            for card in results.cards
        ],
    }


# How a page is read, field by field: which link of each chain found a text, and its value.

_SHOWN_CHARACTERS = 70


def check_page(site: TableSite, page: Page) -> Answer:
    """Return what is read of the page, and how.

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
    except LayoutChanged as error:  # a page without any fact is shown too
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
    """Whether one of the portal's marks is on the page; None where its file has none."""
    return bool(site.proof_on(document)) if site.config.proof else None


def _unmatched(document: Document, table: FieldTable, places: Iterable[CardElement | None]) -> str | None:
    """Return the first text that a link finds and its `match` rejects, in the page or one of these cards."""
    missed = (document.unmatched(link, card) for card in places for link in table.links)
    return next((_short(" | ".join(texts)) for texts in missed if texts), None)


def _field_row(name: str, table: FieldTable, field: RawField | None, unmatched: str | None) -> Answer:
    row: Answer = {
        "field": name,
        "links": len(table.links),
        "link": None,
        "selector": None,
        "text": None,
        "unmatched": None if field else unmatched,
        "value": {},
    }
    if field is None:
        return row
    return row | {
        "link": field.link + 1,
        "selector": selector(table.links[field.link]),
        "text": _short(" | ".join(field.texts)),
        "value": {
            fact: _short(str(value))
            for fact, value in read_facts({name: field}).items()
            if value not in (None, ())
        },
    }


def _check_search(site: TableSite, page: Page) -> Answer:
    results = site.search(page)
    answer = search_answer(results) | {"cards": len(results.cards)}
    if results.section in {SECTION, IDS}:
        # A sitemap, or a page that lists the ids of a filter, has no fields.
        ids = sum(map(len, results.ids.values()))
        lists = {"list": results.section, "sitemaps": len(results.further), "ids": ids}
        return answer | lists | {"fields": [], "missing": []}
    document = site.open(page)
    layout = site.layout_of(document)
    rows = list(_search_rows(document, layout)) if results.cards else []
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
    """Format a link as in the site file, on one line."""
    options = link.model_dump(by_alias=True, exclude_defaults=True).items()
    texts = {key: f"[{', '.join(value)}]" if isinstance(value, tuple) else value for key, value in options}
    return ", ".join(f"{key}: {value}" for key, value in texts.items())


def _short(text: str) -> str:
    line = squeeze(text)
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"
