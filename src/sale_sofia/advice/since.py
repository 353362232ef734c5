"""What happened to flats since a moment: new ones, other prices, back on the market, gone."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from sqlalchemy import Connection, select

from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.rows import price_steps
from sale_sofia.history.tables import market_events, price_points

NewsKind = Literal["new", "cut", "rise", "back", "gone"]
NEWS_KINDS: Final[tuple[NewsKind, ...]] = get_args(NewsKind)
_Owners = Callable[[Iterable[int]], Iterator[tuple[Flat, Advert]]]


@dataclass(frozen=True, slots=True)
class News:
    """One thing that became known of a flat. Moments are seconds since 1970."""

    kind: NewsKind
    flat: Flat
    at: float
    old_eur: float | None = None
    """Of another price: what the same advert asked before."""
    new_eur: float | None = None


def news_since(
    connection: Connection, flats: Mapping[int, Flat], whose: Mapping[int, int], since: float
) -> list[News]:
    """The one thing to tell of each flat of which something became known since then, the newest first.

    A new flat is only new, whatever happened to it since; one that is gone is only gone. `whose` says which
    property an advert is of.
    """

    def owners(listing_ids: Iterable[int]) -> Iterator[tuple[Flat, Advert]]:
        """The flat and the advert of each listing."""
        for listing_id in listing_ids:
            flat = flats.get(whose.get(listing_id, listing_id))
            if flat is not None:
                yield from ((flat, advert) for advert in flat.adverts if advert.listing_id == listing_id)

    new = [
        News("new", flat, flat.new_at)
        for flat in flats.values()
        if flat.new_at is not None and flat.new_at >= since and flat.offered
    ]
    told: dict[int, News] = {}
    for news in (*_gone_and_back(connection, owners, since), *new, *_priced(connection, owners, since)):
        told.setdefault(news.flat.property_id, news)
    return sorted(told.values(), key=lambda news: (-news.at, news.flat.property_id))


def _gone_and_back(connection: Connection, owners: _Owners, since: float) -> Iterator[News]:
    """What the flat is now decides: one advert of several that is gone is no news."""
    chosen = select(market_events.c.listing_id, market_events.c.kind, market_events.c.noted_at)
    rows = connection.execute(chosen.where(market_events.c.noted_at >= since).order_by(market_events.c.id))
    events = {listing_id: (kind, at) for listing_id, kind, at in rows}
    for flat, advert in owners(events):
        kind, at = events[advert.listing_id]
        others = (other for other in flat.adverts if other.listing_id != advert.listing_id)
        if kind == "gone" and not flat.offered:
            yield News("gone", flat, at)
        elif kind == "back" and flat.offered and not any(other.offered for other in others):
            yield News("back", flat, at)


def _priced(connection: Connection, owners: _Owners, since: float) -> Iterator[News]:
    """The greatest change of an advert still there, from its price before the first change since then."""
    moved = select(price_points.c.listing_id).where(
        price_points.c.kind == "price", price_points.c.seen_at >= since
    )
    ids = set(connection.scalars(moved))
    all_steps = price_steps(connection, ids)
    greatest: dict[int, tuple[float, News]] = {}
    for flat, advert in owners(ids):
        if not advert.offered:
            continue
        steps = all_steps[advert.listing_id]
        first = next(
            number for number, step in enumerate(steps) if step.kind == "price" and step.seen_at >= since
        )
        old, new = steps[first - 1].price_eur if first else None, steps[-1].price_eur
        if old is None or new is None or old == new:
            continue
        news = News("cut" if new < old else "rise", flat, steps[-1].seen_at, old, new)
        ratio = new / (old or 1.0)
        if flat.property_id not in greatest or ratio < greatest[flat.property_id][0]:
            greatest[flat.property_id] = ratio, news
    return (news for _, news in greatest.values())
