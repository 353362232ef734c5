"""What happened to flats since a moment: new ones, other prices, back on the market, gone."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

from sqlalchemy import Connection, func, select

from sale_sofia.flats.rows import price_steps, restated
from sale_sofia.flats.store import OFFERED, rows_of, with_current
from sale_sofia.flats.tables import flats, listing_sources
from sale_sofia.history.tables import listings, market_events, price_points

NewsKind = Literal["new", "cut", "rise", "back", "gone"]
NEWS_KINDS: Final[tuple[NewsKind, ...]] = get_args(NewsKind)


@dataclass(frozen=True, slots=True)
class News:
    """One piece of news about a flat. Moments are seconds since 1970."""

    kind: NewsKind
    property_id: int
    at: float
    old_eur: float | None = None
    """For a changed price: what the same advert asked before, with the VAT that is printed now."""
    new_eur: float | None = None


def news_since(connection: Connection, since: float, among: Collection[int]) -> list[News]:
    """One piece of news for each flat that has any since then, the newest first.

    A new flat is only new, whatever happened to it since; one that is gone is only gone. New flats and
    changed prices are limited to flats `among` these, which are on offer: of thousands few are wanted.
    """
    new = select(flats.c.property_id, flats.c.new_at).where(flats.c.new_at >= since)
    by_flat: dict[int, News] = {}
    for news in (
        *_gone_and_back(connection, since),
        *(News("new", *row) for row in connection.execute(new).all() if row[0] in among),
        *_priced(connection, since, among),
    ):
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


def _several_offered(connection: Connection, property_ids: Collection[int]) -> set[int]:
    """Which of these flats have more than one advert on offer."""
    of = listing_sources.c
    chosen = select(of.property_id).join(listings, listings.c.id == of.listing_id).where(OFFERED)
    several = chosen.group_by(of.property_id).having(func.count() > 1)
    return {row[0] for row in rows_of(connection, several, of.property_id, property_ids)}


def _gone_and_back(connection: Connection, since: float) -> Iterator[News]:
    """Decided by the flat's present state: one advert of several that is gone is no news, the last one is."""
    lately = market_events.c.noted_at >= since
    chosen = select(market_events.c.listing_id, market_events.c.kind, market_events.c.noted_at)
    rows = connection.execute(chosen.where(lately).order_by(market_events.c.id))
    events = {listing_id: (kind, at) for listing_id, kind, at in rows}
    adverts = _adverts(connection, events)
    several = _several_offered(connection, {advert.property_id for advert in adverts})
    for advert in sorted(adverts, key=lambda advert: -events[advert.listing_id][1]):
        kind, at = events[advert.listing_id]
        if kind == "gone" and not advert.flat_offered:
            yield News("gone", advert.property_id, at)
        elif kind == "back" and advert.offered and advert.property_id not in several:
            yield News("back", advert.property_id, at)


def _priced(connection: Connection, since: float, among: Collection[int]) -> Iterator[News]:
    """Of each flat the price change since then that is best for the buyer, of an advert still offered."""
    table, current = with_current(price_points.c.listing_id)
    moved = select(price_points.c.listing_id, current).select_from(table)
    lately = (price_points.c.kind == "price", price_points.c.seen_at >= since)
    rows = connection.execute(moved.where(*lately)).all()
    owners = {listing_id: property_id for listing_id, property_id in rows if property_id in among}
    there = select(listings.c.id).where(OFFERED)
    adverts = [row[0] for row in rows_of(connection, there, listings.c.id, owners)]
    greatest: dict[int, tuple[float, News]] = {}
    for advert, steps in price_steps(connection, adverts).items():
        property_id = owners[advert]
        first = next(
            number for number, step in enumerate(steps) if step.kind == "price" and step.seen_at >= since
        )
        old, new = restated(steps[first - 1].price_eur, steps[first:]) if first else None, steps[-1].price_eur
        if old is None or new is None or old == new:
            continue
        news = News("cut" if new < old else "rise", property_id, steps[-1].seen_at, old, new)
        ratio = new / (old or 1.0)
        if property_id not in greatest or ratio < greatest[property_id][0]:
            greatest[property_id] = ratio, news
    return (news for _, news in greatest.values())
