"""What happened to flats since a moment: new ones, other prices, back on the market, gone."""

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Literal, NamedTuple, get_args

from sqlalchemy import BindParameter, Connection, bindparam, select

from sale_sofia.advice.market.market import AdvertHistory, histories_of
from sale_sofia.flats.rows import price_steps, restated
from sale_sofia.flats.store import OFFERED, rows_of, with_current
from sale_sofia.flats.tables import flats
from sale_sofia.history.tables import listings, market_events, price_points
from sale_sofia.storage.quick import Quick

NewsKind = Literal["new", "cut", "rise", "back", "gone"]
NEWS_KINDS: Final[tuple[NewsKind, ...]] = get_args(NewsKind)
_FIRST: Final[tuple[NewsKind, ...]] = ("gone", "new", "back", "cut", "rise")
"""Of several kinds the earlier one is told."""


class News(NamedTuple):
    """One piece of news about a flat. Moments are seconds since 1970."""

    kind: NewsKind
    property_id: int
    at: float
    old_eur: float | None = None
    """For a changed price: what the same advert asked before, with the VAT that is printed now."""
    new_eur: float | None = None


_SINCE: Final[BindParameter[float]] = bindparam("since")
_NEW: Final = Quick(select(flats.c.property_id, flats.c.new_at).where(flats.c.new_at >= _SINCE))


def news_since(connection: Connection, since: float, among: Collection[int]) -> list[News]:
    """One piece of news for each flat that has any since then, the newest first.

    A new flat is only new, whatever happened to it since; one that is gone is only gone. New flats and
    changed prices are limited to flats `among` these, which are on offer: of thousands few are wanted.
    """
    found = [
        *_gone_and_back(connection, since),
        *(News("new", *row) for row in _NEW.rows(connection, {"since": since}) if row[0] in among),
        *_priced(connection, since, among),
    ]
    by_flat: dict[int, News] = {}
    for news in sorted(found, key=lambda news: (_FIRST.index(news.kind), -news.at)):
        by_flat.setdefault(news.property_id, news)
    return sorted(by_flat.values(), key=lambda news: (-news.at, news.property_id))


class _Advert(NamedTuple):
    """An advert with its flat, and whether each is offered."""

    listing_id: int
    property_id: int
    offered: bool
    flat_offered: bool


def _adverts(connection: Connection, listing_ids: Collection[int]) -> list[_Advert]:
    """These adverts, as far as they belong to flats."""
    table, current = with_current(listings.c.id)
    columns = select(listings.c.id, current, OFFERED, flats.c.offered)
    joined = columns.select_from(table.join(flats, flats.c.property_id == current))
    return [_Advert._make(row) for row in rows_of(connection, joined, listings.c.id, listing_ids)]


def _gone_and_back(connection: Connection, since: float) -> Iterator[News]:
    """Of whole flats: one advert of several that goes or comes back is no news."""
    lately = market_events.c.noted_at >= since
    chosen = select(market_events.c.listing_id, market_events.c.kind, market_events.c.noted_at)
    rows = connection.execute(chosen.where(lately).order_by(market_events.c.id))
    events = {listing_id: (kind, at) for listing_id, kind, at in rows}
    adverts = _adverts(connection, events)
    back = [advert for advert in adverts if events[advert.listing_id][0] == "back" and advert.offered]
    histories = histories_of(connection, {advert.property_id for advert in back})
    for advert in adverts:
        kind, at = events[advert.listing_id]
        if kind == "gone" and not advert.flat_offered:
            yield News("gone", advert.property_id, at)
    for advert in back:
        at = events[advert.listing_id][1]
        if brings_back(advert.listing_id, at, histories[advert.property_id]):
            yield News("back", advert.property_id, at)


def brings_back(listing_id: int, at: float, histories: Mapping[int, AdvertHistory]) -> bool:
    """Whether an advert that came back then brought its flat back: none of its other adverts was there."""
    before = math.nextafter(at, 0.0)
    return not any(history.is_there(before) for number, history in histories.items() if number != listing_id)


_TABLE, _CURRENT = with_current(price_points.c.listing_id)
_MOVED: Final = Quick(
    select(price_points.c.listing_id, _CURRENT)
    .select_from(_TABLE)
    .where(price_points.c.kind == "price", price_points.c.seen_at >= _SINCE)
)
"""Adverts whose price has changed since a moment, each with its flat."""


def _priced(connection: Connection, since: float, among: Collection[int]) -> Iterator[News]:
    """Of each flat the price change since then that is best for the buyer, of an advert still offered."""
    moved = {number: owner for number, owner in _MOVED.rows(connection, {"since": since}) if owner in among}
    there = select(listings.c.id).where(OFFERED)  # after choosing: an advert's row is long, and few are left
    owners = {row[0]: moved[row[0]] for row in rows_of(connection, there, listings.c.id, moved)}
    greatest: dict[int, tuple[float, float, float, float]] = {}
    for advert, steps in price_steps(connection, owners).items():
        property_id = owners[advert]
        first = next(
            number for number, step in enumerate(steps) if step.kind == "price" and step.seen_at >= since
        )
        old, new = restated(steps[first - 1].price_eur, steps[first:]) if first else None, steps[-1].price_eur
        if old is None or new is None or old == new:
            continue
        ratio = new / (old or 1.0)
        if property_id not in greatest or ratio < greatest[property_id][0]:
            greatest[property_id] = ratio, steps[-1].seen_at, old, new
    for property_id, (_, at, old, new) in greatest.items():
        yield News("cut" if new < old else "rise", property_id, at, old, new)
