"""Adverts as searches show them: what is the same as when the advert was opened need not be opened again.

A card is a sighting of its advert: it is stored at once, and the advert's own page has the last word.
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
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.sightings import Sighting, Stored
from sale_sofia.history.tables import cards, listings
from sale_sofia.listings.normalise import card_listing
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_for

_NOT_CONTENT: Final = frozenset(
    {"price_bgn", "flags", "views", "updated_at", "photo_urls", "previous_price_eur", "family_id"}
)
"""Facts of a card that move without the advert changing, or only with another fact, or that never move."""


class SeenCard(NamedTuple):
    """One advert on a page of results."""

    external_id: str
    hash: str
    facts: Mapping[str, Any] = {}
    """What the advert's own page may lack."""
    url: str = ""
    said: Mapping[str, Any] = {}
    """All that it says of the advert."""

    @property
    def price_eur(self) -> float | None:
        """What it says that the advert costs."""
        return self.said.get("price_eur")


@dataclass(frozen=True, slots=True)
class Source:
    """The page of results that cards were read from, and how far it is believed."""

    job_id: str | None = None
    page_digest: str | None = None
    held: bool = False
    held_news: bool = False
    rules: HistoryRules = DEFAULT_RULES


UNKNOWN_SOURCE: Final = Source()


@dataclass(frozen=True, slots=True)
class Scope:
    """The searches of a crawl, by number, and since when it has been at them."""

    id: int
    site: str
    since: float
    everything: bool = False
    """Whether every advert is opened, whatever its card says."""


def card_hash(facts: Mapping[str, Any]) -> str:
    """Moves when, and only when, the card shows something else of its advert."""
    shown = {name: value for name, value in facts.items() if name not in _NOT_CONTENT}
    return hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest()


_SELECT_SHOWN = Quick(
    select(cards)
    .where(cards.c.site == bindparam("of_site"), cards.c.external_id.in_(bindparam("ids", expanding=True)))
    .order_by(cards.c.seen_at)
)
_SELECT_LISTINGS = Quick(
    select(
        *(
            listings.c[name]
            for name in ("id", "external_id", "revisit_at", "gone_at", "opened_at", "price_eur")
        )
    )
    .where(
        listings.c.site == bindparam("of_site"),
        listings.c.external_id.in_(bindparam("ids", expanding=True)),
        listings.c.closed_at.is_(None),
    )
    .order_by(listings.c.id)
    .with_for_update()
)
_SEEN = Quick(
    update(listings)
    .where(listings.c.id == bindparam("of_id"), listings.c.last_seen_at < bindparam("at"))
    .values(last_seen_at=bindparam("at"))
)
_OPENED = Quick(
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
    shown: Sequence[SeenCard],
    *,
    at: float,
    least: int = 0,
    source: Source = UNKNOWN_SOURCE,
    spared: Callable[[set[str]], set[str]] = lambda _wanted: set(),
) -> set[str]:
    """Remember the cards of a page, and their adverts as seen; the ids of those that must be opened.

    These are: an advert never seen, or gone until now; one whose card is not what it was when the advert was
    opened last; one that is due for a visit; without those that are `spared`. When they are fewer than
    `least`, those due soonest join them.
    """
    ids = {"of_site": scope.site, "ids": sorted(card.external_id for card in shown)}
    before = _SELECT_SHOWN.mappings(connection, ids)
    opened = {(row["external_id"], row["opened_hash"]) for row in before}
    last = {row["external_id"]: row for row in before}
    known = {row["external_id"]: row for row in _SELECT_LISTINGS.mappings(connection, ids)}
    _remember(connection, scope, shown, at)
    _SEEN.run(connection, [{"of_id": row["id"], "at": at} for row in known.values()])
    gone = [row for row in known.values() if row["gone_at"] is not None]
    set_back(connection, [row["id"] for row in gone if row["gone_at"] < at], at=at)
    news = [
        card
        for card in shown
        if card.said and _is_news(card, known.get(card.external_id), last.get(card.external_id), at)
    ]
    _tell(connection, scope, news, at, source)
    if scope.everything:
        return {card.external_id for card in shown}

    def is_due(external_id: str) -> bool:
        row = known.get(external_id)
        return row is None or row["revisit_at"] <= at or row["gone_at"] is not None

    wanted = {
        card.external_id
        for card in shown
        if (card.external_id, card.hash) not in opened or is_due(card.external_id)
    }
    wanted -= spared(wanted)
    others = sorted(known.keys() - wanted, key=lambda one: (known[one]["revisit_at"], one))
    return wanted.union(others[: max(0, least - len(wanted))])


def _is_news(card: SeenCard, listing: Stored | None, last: Stored | None, at: float) -> bool:
    """Whether a card says what was not known of its advert; of an opened one, another price than before.

    Of such a price nothing is said where the card before it did not tell one: portals have cards whose price
    is never that of the page.
    """
    if listing is None:
        return True
    if last is None or last["seen_at"] >= at or last["card_hash"] == card.hash:
        return False
    if listing["opened_at"] is None:
        return True
    prices = (last["price_eur"], listing["price_eur"])
    return card.price_eur is not None and last["price_eur"] is not None and card.price_eur not in prices


def _tell(connection: Connection, scope: Scope, news: Sequence[SeenCard], at: float, source: Source) -> None:
    """Store what these cards say as sightings of their adverts."""
    told = [card_listing(scope.site, card.url, card.external_id, card.said) for card in news]
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
        for listing in told
        if listing is not None
    ]
    if sightings:
        save_listings(connection, sightings, source.rules)


def _remember(connection: Connection, scope: Scope, shown: Sequence[SeenCard], at: float) -> None:
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
        for card in sorted(shown, key=lambda card: card.external_id)
    ]
    _remembering(connection.dialect.name).run(connection, rows)


@cache
def _remembering(dialect: str) -> Quick:
    """Put together once: that took longer than the database does to run it."""
    new = insert_for(dialect, cards)
    shown_anew = {name: new.excluded[name] for name in ("card_hash", "facts", "price_eur", "seen_at")}
    return Quick(
        new.on_conflict_do_update(
            index_elements=["scope_id", "external_id"],
            set_={**shown_anew, "missed_at": None, "misses": 0},
            where=cards.c.seen_at <= new.excluded.seen_at,
        )
    )


def card_facts(
    connection: Connection, site: str, external_ids: Sequence[str]
) -> dict[str, Mapping[str, Any]]:
    """What the last cards of these adverts say that their own pages may lack."""
    shown = (
        select(cards.c.external_id, cards.c.facts)
        .where(cards.c.site == site, cards.c.external_id.in_(external_ids), cards.c.facts.is_not(None))
        .order_by(cards.c.seen_at)
    )
    return {row.external_id: row.facts for row in connection.execute(shown)}


def mark_opened(connection: Connection, site: str, opened: Mapping[str, float]) -> None:
    """These adverts were read at these moments: what their cards showed before is known in full."""
    rows = [
        {"of_site": site, "of_external_id": external_id, "at": at}
        for external_id, at in sorted(opened.items())
    ]
    _OPENED.run(connection, rows)
