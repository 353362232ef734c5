"""When each advert was on the market, and at what price: read once for all of them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, or_, select

from sale_sofia.config.market import EVENTS_AT_ONCE
from sale_sofia.data.history_schema import market_events
from sale_sofia.data.listing_schema import listings, price_points
from sale_sofia.data.market import WITHDRAWN
from sale_sofia.insights.sparing import sparing


class Spell(NamedTuple):
    """From when to when an advert was there; without an end it still is."""

    start: float
    end: float | None


class Asked(NamedTuple):
    """A price as it was printed, since a moment; whether it is another price, or the same in other words."""

    since: float
    price_eur: float
    vat: str | None
    moved: bool


@dataclass(frozen=True, slots=True)
class AdvertHistory:
    """One advert. Its prices are those that were printed; moments rise."""

    spells: tuple[Spell, ...]
    prices: tuple[Asked, ...]
    priced: tuple[tuple[float, int | None], ...]
    """Since when which of the prices holds; None while none is printed."""

    def is_there(self, moment: float) -> bool:
        """Whether it was offered then."""
        return any(one.start <= moment and (one.end is None or moment < one.end) for one in self.spells)

    def asked(self, moment: float) -> Asked | None:
        """The price that was printed then."""
        place = bisect_right(self.priced, moment, key=lambda one: one[0])
        which = self.priced[place - 1][1] if place else None
        return None if which is None else self.prices[which]

    def steps(self) -> Iterator[tuple[Asked, Asked]]:
        """Each two prices of which the later is another one."""
        return ((old, new) for old, new in pairwise(self.prices) if new.moved)


def read_histories(connection: Connection) -> dict[int, AdvertHistory]:
    """The history of every advert that was one; what turned out to be no flat of its own is left out."""
    events = _by_listing(connection, _events())
    points = _by_listing(connection, _points())
    return {
        row.id: _history(row, events.pop(row.id, ()), points.pop(row.id, ()))
        for row in sparing(_stream(connection, _adverts()))
    }


def _adverts() -> Select[Any]:
    names = ("id", "first_seen_at", "gone_at", "closed_at")
    real = or_(listings.c.closed_reason.is_(None), listings.c.closed_reason != WITHDRAWN)
    return select(*(listings.c[name] for name in names)).where(real).order_by(listings.c.id)


def _events() -> Select[Any]:
    columns = (market_events.c.listing_id, market_events.c.kind, market_events.c.at)
    return select(*columns).order_by(market_events.c.at, market_events.c.id)


def _points() -> Select[Any]:
    names = ("listing_id", "seen_at", "price_eur", "vat", "kind")
    return select(*(price_points.c[name] for name in names)).order_by(
        price_points.c.seen_at, price_points.c.id
    )


def _by_listing(connection: Connection, chosen: Select[Any]) -> defaultdict[int, list[Row[Any]]]:
    found: defaultdict[int, list[Row[Any]]] = defaultdict(list)
    for row in _stream(connection, chosen):
        found[row.listing_id].append(row)
    return found


def _stream(connection: Connection, chosen: Select[Any]) -> Iterator[Row[Any]]:
    return iter(connection.execute(chosen, execution_options={"yield_per": EVENTS_AT_ONCE}))


def _history(row: Row[Any], events: Sequence[Row[Any]], points: Sequence[Row[Any]]) -> AdvertHistory:
    prices: list[Asked] = []
    priced: list[tuple[float, int | None]] = []
    for point in points:
        if point.price_eur is None:
            priced.append((point.seen_at, None))
            continue
        prices.append(Asked(point.seen_at, point.price_eur, point.vat, point.kind == "price"))
        priced.append((point.seen_at, len(prices) - 1))
    return AdvertHistory(tuple(_spells(row, events)), tuple(prices), tuple(priced))


def _spells(row: Row[Any], events: Sequence[Row[Any]]) -> Iterator[Spell]:
    ends = [end for end in (row.gone_at, row.closed_at) if end is not None]
    start: float | None = row.first_seen_at
    for event in events:
        if event.kind == "back" and start is None:
            start = event.at
        elif event.kind == "gone" and start is not None:
            yield Spell(start, max(start, event.at))
            start = None
    if start is not None:
        yield Spell(start, max(start, min(ends)) if ends else None)
