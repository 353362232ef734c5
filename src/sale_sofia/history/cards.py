"""Adverts as searches show them: one whose card is as when it was opened need not be opened again.

A card is a sighting of its advert: it is stored at once, and the advert's own page overrides it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from sale_sofia.history.listings import DEFAULT_RULES, save_listings
from sale_sofia.history.market_events import set_back
from sale_sofia.history.revisions import touch
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.sightings import Sighting, Stored, is_another_year
from sale_sofia.history.tables import cards, listings
from sale_sofia.listings.normalise import card_listing
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_for

_NOT_CONTENT: Final = frozenset(
    {"price_bgn", "flags", "views", "updated_at", "photo_urls", "previous_price_eur", "family_id"}
)
"""Facts that change without the advert changing, or only together with another fact, or never."""
_ENCODER: Final = json.JSONEncoder(sort_keys=True, default=str)


class SeenCard(NamedTuple):
    """One advert on a page of results."""

    external_id: str
    hash: str
    facts: Mapping[str, Any] = {}
    """What the advert's own page may lack."""
    url: str = ""
    said: Mapping[str, Any] = {}
    """All facts on the card."""

    @property
    def price_eur(self) -> float | None:
        """The price on the card; None if it has none."""
        return self.said.get("price_eur")


@dataclass(frozen=True, slots=True)
class Source:
    """The page of results that cards were read from, and what of it is held back."""

    job_id: str | None = None
    page_digest: str | None = None
    held: bool = False
    held_news: bool = False
    rules: HistoryRules = DEFAULT_RULES


UNKNOWN_SOURCE: Final = Source()


@dataclass(frozen=True, slots=True)
class Scope:
    """The searches of a crawl, by id, and the moment when it began them."""

    id: int
    site: str
    since: float
    everything: bool = False
    """Whether every advert is opened, whatever its card says."""


def card_hash(facts: Mapping[str, Any]) -> str:
    """A digest that changes if and only if the card shows something else of its advert."""
    content = {name: value for name, value in facts.items() if name not in _NOT_CONTENT}
    return hashlib.sha256(_ENCODER.encode(content).encode()).hexdigest()


_SELECT_CARDS = Quick(
    select(cards)
    .where(cards.c.site == bindparam("of_site"), cards.c.external_id.in_(bindparam("ids", expanding=True)))
    .order_by(cards.c.seen_at)
)
_STATE = ("id", "external_id", "last_seen_at", "revisit_at", "gone_at", "opened_at", "price_eur")
_SELECT_LISTINGS = Quick(
    select(*(listings.c[name] for name in _STATE))
    .where(
        listings.c.site == bindparam("of_site"),
        listings.c.external_id.in_(bindparam("ids", expanding=True)),
        listings.c.closed_at.is_(None),
    )
    .order_by(listings.c.id)
    .with_for_update()
)
_UPDATE_LAST_SEEN = Quick(
    update(listings)
    .where(listings.c.id == bindparam("of_id"), listings.c.last_seen_at < bindparam("at"))
    .values(last_seen_at=bindparam("at"))
)
_UPDATE_OPENED = Quick(
    update(cards)
    .where(
        cards.c.site == bindparam("of_site"),
        cards.c.external_id == bindparam("of_external_id"),
        cards.c.seen_at <= bindparam("at"),
    )
    .values(opened_hash=cards.c.card_hash)
)


def see_cards(  # noqa: PLR0913 - each is a matter of its own
    connection: Connection,
    scope: Scope,
    seen_cards: Sequence[SeenCard],
    *,
    at: float,
    least: int = 0,
    source: Source = UNKNOWN_SOURCE,
    spared: Callable[[set[str]], set[str]] = lambda _ids: set(),
) -> set[str]:
    """Store the cards of a page, and their adverts as seen; returns the ids of those that must be opened.

    These are adverts that are new, were gone until now or are due for a visit, and those whose card has
    changed since they were last opened; without those that are `spared`. If they are fewer than `least`,
    those due soonest are added.
    """
    ids = {"of_site": scope.site, "ids": sorted(card.external_id for card in seen_cards)}
    card_rows = _SELECT_CARDS.mappings(connection, ids)
    opened = {(row["external_id"], row["opened_hash"]) for row in card_rows}
    last_cards = {row["external_id"]: row for row in card_rows}
    listing_rows = {row["external_id"]: row for row in _SELECT_LISTINGS.mappings(connection, ids)}
    _store_cards(connection, scope, seen_cards, at)
    _UPDATE_LAST_SEEN.run(connection, [{"of_id": row["id"], "at": at} for row in listing_rows.values()])
    touch(connection, [row["id"] for row in listing_rows.values() if is_another_year(row, at)])
    gone = [row for row in listing_rows.values() if row["gone_at"] is not None]
    set_back(connection, [row["id"] for row in gone if row["gone_at"] < at], at=at)
    news = [
        card
        for card in seen_cards
        if card.said
        and _is_news(card, listing_rows.get(card.external_id), last_cards.get(card.external_id), at)
    ]
    _save_sightings(connection, scope, news, at, source)
    if scope.everything:
        return {card.external_id for card in seen_cards}

    def is_due(external_id: str) -> bool:
        row = listing_rows.get(external_id)
        return row is None or row["revisit_at"] <= at or row["gone_at"] is not None

    to_open = {
        card.external_id
        for card in seen_cards
        if (card.external_id, card.hash) not in opened
        or is_due(card.external_id)
        or _is_another_price(card, last_cards.get(card.external_id))
    }
    to_open -= spared(to_open)
    soonest_first = sorted(
        listing_rows.keys() - to_open, key=lambda key: (listing_rows[key]["revisit_at"], key)
    )
    return to_open.union(soonest_first[: max(0, least - len(to_open))])


def _is_another_price(card: SeenCard, last: Stored | None) -> bool:
    """Whether the last card, of whichever searches, had another price.

    Those that have not shown the advert since then may know the price that it goes back to as opened.
    """
    return last is not None and card.price_eur is not None and last["price_eur"] not in {None, card.price_eur}


def _is_news(card: SeenCard, listing: Stored | None, last: Stored | None, at: float) -> bool:
    """Whether a card says something new of its advert; of an opened one, only another price is new.

    Such a price counts only if the previous card had one: some portals' cards never have the page's price.
    """
    if listing is None:
        return True
    if last is None or last["seen_at"] >= at or last["card_hash"] == card.hash:
        return False
    if listing["opened_at"] is None:
        return True
    return _is_another_price(card, last) and card.price_eur != listing["price_eur"]


def _save_sightings(
    connection: Connection, scope: Scope, news: Sequence[SeenCard], at: float, source: Source
) -> None:
    """Store what these cards say as sightings of their adverts."""
    card_listings = [card_listing(scope.site, card.url, card.external_id, card.said) for card in news]
    sightings = [
        Sighting(
            listing,
            at,
            source.job_id,
            source.page_digest,
            held=source.held,
            held_news=source.held_news,
            card=True,
        )
        for listing in card_listings
        if listing is not None
    ]
    if sightings:
        save_listings(connection, sightings, source.rules)


def _store_cards(connection: Connection, scope: Scope, seen_cards: Sequence[SeenCard], at: float) -> None:
    rows = [
        {
            "scope_id": scope.id,
            "site": scope.site,
            "external_id": card.external_id,
            "card_hash": card.hash,
            "facts": dict(card.facts) or None,
            "price_eur": card.price_eur,
            "seen_at": at,
        }
        for card in sorted(seen_cards, key=lambda card: card.external_id)
    ]
    _storing(connection.dialect.name).run(connection, rows)


@cache
def _storing(dialect: str) -> Quick:
    """Built once: that takes longer than the database takes to run it."""
    new = insert_for(dialect, cards)
    new_values = {name: new.excluded[name] for name in ("card_hash", "facts", "price_eur", "seen_at")}
    return Quick(
        new.on_conflict_do_update(
            index_elements=["scope_id", "external_id"],
            set_={**new_values, "missed_at": None, "misses": 0},
            where=cards.c.seen_at <= new.excluded.seen_at,
        )
    )


def card_facts(
    connection: Connection, site: str, external_ids: Sequence[str]
) -> dict[str, Mapping[str, Any]]:
    """What the last cards of these adverts say that their own pages may lack."""
    query = (
        select(cards.c.external_id, cards.c.facts)
        .where(cards.c.site == site, cards.c.external_id.in_(external_ids), cards.c.facts.is_not(None))
        .order_by(cards.c.seen_at)
    )
    return {row.external_id: row.facts for row in connection.execute(query)}


def mark_opened(connection: Connection, site: str, opened: Mapping[str, float]) -> None:
    """Mark these adverts as read at these moments: what their cards showed until then is known in full."""
    rows = [
        {"of_site": site, "of_external_id": external_id, "at": at}
        for external_id, at in sorted(opened.items())
    ]
    _UPDATE_OPENED.run(connection, rows)
