"""What the pages of a batch are like: how their fields were found, and what became of known prices."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from sale_sofia.config.site_links import FieldTable
from sale_sofia.data.drift import lock_counters, store_counters
from sale_sofia.data.known_prices import KnownPrice, known_prices
from sale_sofia.data.price_meaning import PER_SQM, another_meaning, is_too_little
from sale_sofia.listings.model import Listing
from sale_sofia.listings.raw import FieldSeen
from sale_sofia.monitoring.drift_counts import (
    EURO_SCALE,
    LISTING,
    Example,
    FactCounts,
    SectionCounts,
    Sections,
    counters_of,
    sections_of,
)
from sale_sofia.scraping.outcomes import Failed, Found, Outcome, Read
from sale_sofia.websites.registry import get_scraper

_UNREADABLE = "Parse"
"""How the classes of errors begin that say that a page was had and could not be read."""
_ASKED = ("price_eur", "area_sqm", "deal", "property_type")
_HAS = {"price": "price_eur", "area": "area_sqm", "place": "city", "type": "property_type"}
"""What an advert must have to count as having each of these."""
_PRICE = "price"
"""The parser of prices."""
_NO_PRICES = frozenset({"price_unreadable", "currency_conflict", "price_eur_impossible"})
"""Flags of adverts whose text of a price is no word for "on request"."""
_Known = Mapping[str, KnownPrice]
_Seen = Mapping[str, FieldSeen]


def count_pages(connection: Connection, job_id: str, site: str, outcomes: Sequence[Outcome]) -> Sections:
    """Add these pages to what their run has counted, before they are stored; all it has counted so far."""
    more = observe(connection, site, outcomes)
    sections = sections_of(lock_counters(connection, job_id, site)) if more else {}
    for name, counts in more.items():
        _section(sections, name).merge(counts)
    if more:
        store_counters(connection, job_id, counters_of(sections))
    return sections


def observe(connection: Connection, site: str, outcomes: Sequence[Outcome]) -> Sections:
    """Everything countable of these pages; known prices are those stored before the pages are."""
    sections: Sections = {}
    known = known_prices(connection, site, _adverts(site, outcomes))
    for one in outcomes:
        if isinstance(one, Read):
            _count_listing(_section(sections, LISTING), site, one, known)
        elif isinstance(one, Found) and _has_cards(site, one):
            _count_results(_section(sections, one.section), site, one, known)
        elif isinstance(one, Failed) and one.reason.startswith(_UNREADABLE):
            _count_unreadable(_section(sections, one.claim.kind), one)
    return sections


def _section(sections: Sections, name: str) -> SectionCounts:
    return sections.setdefault(name, SectionCounts())


def _has_cards(site: str, one: Found) -> bool:
    """Whether it is a page of results: a sitemap says nothing of its adverts that could drift."""
    return one.section in get_scraper(site).config.searches


def _adverts(site: str, outcomes: Iterable[Outcome]) -> list[str]:
    read = [one.listing.external_id for one in outcomes if isinstance(one, Read)]
    pages = [one for one in outcomes if isinstance(one, Found) and _has_cards(site, one)]
    return read + [card.external_id for one in pages for card, _ in one.adverts]


def _count_listing(counts: SectionCounts, site: str, one: Read, known: _Known) -> None:
    example = _example(one)
    counts.pages += 1
    fields = get_scraper(site).config.listing.fields
    _count_fields(counts, fields, one.seen, example)
    count_facts(counts.facts, fields, one.listing, one.seen, example)
    facts = {name: getattr(one.listing, name) for name in _ASKED}
    _count_price(counts, facts, known.get(one.listing.external_id), example)


def _count_results(counts: SectionCounts, site: str, one: Found, known: _Known) -> None:
    tables = get_scraper(site).config.searches[one.section].fields
    example = _example(one)
    counts.pages += 1
    for (advert, _), card in zip(one.adverts, one.cards, strict=False):
        _count_fields(counts, tables, card.seen, example)
        facts = {name: card.facts.get(name) for name in _ASKED}
        _count_price(counts, facts, known.get(advert.external_id), example)
    if one.cards:
        _count_cards(counts, one, example)


def _count_cards(counts: SectionCounts, one: Found, example: Example) -> None:
    counts.note_few(len(one.cards), example)
    if one.following:
        counts.full_pages += 1
        counts.full_cards += len(one.cards)
    else:  # the last page of its search speaks for all of them
        counts.told += one.total or 0


def _count_unreadable(counts: SectionCounts, one: Failed) -> None:
    """By its own name: of `ParseSelector: layout_changed: no cards` that is `layout_changed`."""
    name, _, said = one.reason.partition(": ")
    reason = said.partition(":")[0] if ":" in said else name
    counts.unreadable[reason] = counts.unreadable.get(reason, 0) + 1
    counts.puzzle = counts.puzzle or Example(one.claim.url, one.page_digest)


def _count_fields(counts: SectionCounts, names: Iterable[str], seen: _Seen, example: Example) -> None:
    counts.seen += 1
    for name in names:
        field, found = counts.field(name), seen.get(name)
        if found is None or not found.read:
            field.missing = field.missing or example
        if found is None:
            continue
        field.read += found.read
        field.links[found.link] = field.links.get(found.link, 0) + 1
        if found.link:
            field.other = field.other or example


def count_facts(
    counts: FactCounts, fields: Mapping[str, FieldTable], listing: Listing, seen: _Seen, example: Example
) -> None:
    """Count what this advert has of that which every advert should have."""
    has = {name: getattr(listing, fact) is not None for name, fact in _HAS.items()}
    asked = not has["price"] and _on_request(fields, listing, seen)
    counts.adverts += 1
    for name, there in has.items():
        setattr(counts, name, getattr(counts, name) + there)
        if not there and not (asked and name == "price"):
            counts.missing.setdefault(name, example)
    counts.on_request += asked
    counts.both += has["price"] and has["area"]


def _on_request(fields: Mapping[str, FieldTable], listing: Listing, seen: _Seen) -> bool:
    """Whether a text stands where the price does, and is one of the known words for "no price is told"."""
    found = [name for name, table in fields.items() if table.parser[0] == _PRICE and name in seen]
    doubts = _NO_PRICES.union(f"{name}_conflict" for name in found)
    return bool(found) and doubts.isdisjoint(listing.flags)


def _count_price(
    counts: SectionCounts, facts: Mapping[str, Any], known: KnownPrice | None, example: Example
) -> None:
    price = facts["price_eur"]
    if price is None:
        return
    if facts["deal"] != "rent":
        counts.prices.add(price / EURO_SCALE)
    counts.priced += 1
    old = known._asdict() if known else None
    if (old and another_meaning(old, facts) == PER_SQM) or is_too_little(facts):
        counts.per_sqm += 1
    if known and known.price_eur:
        counts.ratios.add(price / known.price_eur)
        if price != known.price_eur:
            counts.odd = counts.odd or example


def _example(one: Read | Found) -> Example:
    return Example(one.claim.url, one.kept.digest if one.kept else None)
