"""One page, of whatever kind, as the JSON of `sale-sofia parse`."""

from datetime import datetime
from typing import Any

from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import PageError, ProjectPage, RemovedListing
from sale_sofia.websites.base import Card, SearchPage, Site

Answer = dict[str, Any]


def read_page(site: Site, page: Page) -> Answer:
    """What the page says. Never raises for a page: what is wrong with it is `kind: error`, by name."""
    try:
        return _read(site, page)
    except ProjectPage:
        return _plain(site, page, "project")
    except RemovedListing:
        return _plain(site, page, "removed")
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
        "cards": [_card_answer(card) for card in found.cards],
    }


def _card_answer(card: Card) -> Answer:
    facts = {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in card.facts.items()
    }
    return {"external_id": card.external_id, "url": card.url, **facts}


def _plain(site: Site, page: Page, kind: str) -> Answer:
    return {"site": site.name, "kind": kind, "url": page.url}
