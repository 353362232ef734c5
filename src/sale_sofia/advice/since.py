"""What happened to flats since a moment: new ones, other prices, back on the market, gone."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from sqlalchemy import Connection, select

from sale_sofia.flats.flat import Advert, Flat
from sale_sofia.flats.rows import PriceStep, price_steps
from sale_sofia.history.tables import market_events, price_points

NewsKind = Literal["new", "cut", "rise", "back", "gone"]
NEWS_KINDS: Final[tuple[NewsKind, ...]] = get_args(NewsKind)


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
    owners = _Owners(flats, whose)
    told: dict[int, News] = {}
    for one in (
        *_gone_and_back(connection, owners, since),
        *_new(flats, since),
        *_priced(connection, owners, since),
    ):
        told.setdefault(one.flat.property_id, one)
    return sorted(told.values(), key=lambda one: (-one.at, one.flat.property_id))


@dataclass(frozen=True, slots=True)
class _Owners:
    """The flat and the advert of a listing."""

    flats: Mapping[int, Flat]
    whose: Mapping[int, int]

    def of(self, listing_ids: Iterable[int]) -> Iterator[tuple[Flat, Advert]]:
        for one in listing_ids:
            flat = self.flats.get(self.whose.get(one, one))
            if flat is not None:
                yield from ((flat, advert) for advert in flat.adverts if advert.listing_id == one)


def _new(flats: Mapping[int, Flat], since: float) -> Iterator[News]:
    for flat in flats.values():
        if flat.new_at is not None and flat.new_at >= since and flat.offered:
            yield News("new", flat, flat.new_at)


def _gone_and_back(connection: Connection, owners: _Owners, since: float) -> Iterator[News]:
    """What the flat is now decides: one advert of several that is gone is no news."""
    events: dict[int, tuple[str, float]] = {}
    chosen = select(market_events.c.listing_id, market_events.c.kind, market_events.c.noted_at)
    rows = connection.execute(chosen.where(market_events.c.noted_at >= since).order_by(market_events.c.id))
    for listing_id, kind, at in rows:
        events[listing_id] = (kind, at)
    for flat, advert in owners.of(events):
        kind, at = events[advert.listing_id]
        if kind == "gone" and not flat.offered:
            yield News("gone", flat, at)
        elif kind == "back" and flat.offered and _was_away(flat, advert):
            yield News("back", flat, at)


def _was_away(flat: Flat, advert: Advert) -> bool:
    """Whether nothing else offered the flat before this advert came back."""
    return not any(other.offered for other in flat.adverts if other.listing_id != advert.listing_id)


def _priced(connection: Connection, owners: _Owners, since: float) -> Iterator[News]:
    """The greatest change of an advert still there."""
    moved = select(price_points.c.listing_id).where(
        price_points.c.kind == "price", price_points.c.seen_at >= since
    )
    ids = set(connection.scalars(moved))
    steps = price_steps(connection, ids)
    by_flat: dict[int, list[News]] = defaultdict(list)
    for flat, advert in owners.of(ids):
        if advert.offered and (news := _price_news(flat, steps[advert.listing_id], since)):
            by_flat[flat.property_id].append(news)
    for found in by_flat.values():
        yield min(found, key=_ratio)


def _price_news(flat: Flat, steps: Sequence[PriceStep], since: float) -> News | None:
    """From the price before the first change since then to the price now."""
    first = next(
        number for number, step in enumerate(steps) if step.kind == "price" and step.seen_at >= since
    )
    old = steps[first - 1].price_eur if first else None
    new, at = steps[-1].price_eur, steps[-1].seen_at
    if old is None or new is None or old == new:
        return None
    return News("cut" if new < old else "rise", flat, at, old, new)


def _ratio(news: News) -> float:
    return (news.new_eur or 0.0) / (news.old_eur or 1.0)
