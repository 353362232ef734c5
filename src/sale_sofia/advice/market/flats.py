"""A flat on the market: when it was offered, at what price for each m², and by how much that was cut."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Table, or_, select

from sale_sofia.advice.scoring.settings import COMPARED_TYPES
from sale_sofia.advice.settings import FLATS_AT_ONCE, LARGEST_ROOMS, ROUNDING
from sale_sofia.flats.prices import vat_on_top, with_vat
from sale_sofia.flats.rows import sparing
from sale_sofia.flats.store import portions
from sale_sofia.flats.tables import flats, listing_sources
from sale_sofia.history.market_events import WITHDRAWN, days_on_market
from sale_sofia.history.tables import WAS_ASKED, listings, market_events, price_points
from sale_sofia.listings.places import SOFIA

# When each advert was on the market, and at what price.


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


def read_histories(connection: Connection, listing_ids: Collection[int]) -> dict[int, AdvertHistory]:
    """The histories of these adverts; of what turned out to be no flat of its own none."""

    def by_listing(
        table: Table, names: Sequence[str], moment: str, some: Sequence[int], *which: ColumnElement[bool]
    ) -> defaultdict[int, list[Row[Any]]]:
        found: defaultdict[int, list[Row[Any]]] = defaultdict(list)
        columns = [table.c[name] for name in ("listing_id", moment, *names)]
        chosen = select(*columns).where(table.c.listing_id.in_(some), *which)
        for row in connection.execute(chosen.order_by(table.c[moment], table.c.id)).all():
            found[row.listing_id].append(row)
        return found

    columns = [listings.c[name] for name in ("id", "first_seen_at", "gone_at", "closed_at")]
    real = or_(listings.c.closed_reason.is_(None), listings.c.closed_reason != WITHDRAWN)
    histories = {}
    for some in portions(sorted(listing_ids)):
        events = by_listing(market_events, ["kind"], "at", some)
        points = by_listing(price_points, ["price_eur", "vat", "kind"], "seen_at", some, WAS_ASKED)
        adverts = select(*columns).where(real, listings.c.id.in_(some)).order_by(listings.c.id)
        for row in connection.execute(adverts).all():
            histories[row.id] = _history(row, events.get(row.id, ()), points.get(row.id, ()))
    return histories


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


# How long flats stay, those that are still there counted for as long as they have been (Kaplan–Meier).


class Stay(NamedTuple):
    """How long one flat was seen, and whether it is gone; if not, it stays on for nobody knows how long."""

    days: float
    gone: bool


@dataclass(frozen=True, slots=True)
class Curve:
    """The share of flats that is still there after so many days; it falls on the days at which flats went."""

    days: tuple[float, ...]
    shares: tuple[float, ...]
    flats: int
    gone: int
    watched: float
    """The longest stay, in days; of later days nothing is known."""

    def after(self, days: float) -> float | None:
        """The share that stays longer than this; None for longer than anybody has watched."""
        if days > self.watched:
            return None
        place = bisect_right(self.days, days)
        return self.shares[place - 1] if place else 1.0

    def median(self) -> float | None:
        """The first day on which no more than half are there; None while more are."""
        half = 0.5 + ROUNDING
        return next((day for day, share in zip(self.days, self.shares, strict=True) if share <= half), None)


def kaplan_meier(stays: Iterable[Stay]) -> Curve:
    """The curve of these stays. Who was last seen on a day on which others went was still there with them."""
    given = list(stays)
    went = Counter(stay.days for stay in given if stay.gone)
    ends = Counter(stay.days for stay in given)
    there, share = len(given), 1.0
    steps: list[tuple[float, float]] = []
    for day in sorted(ends):
        if went[day]:
            share *= 1 - went[day] / there
            steps.append((day, share))
        there -= ends[day]
    days, shares = tuple(day for day, _ in steps), tuple(left for _, left in steps)
    return Curve(days, shares, len(given), went.total(), max(ends, default=0.0))


class Snapshot(NamedTuple):
    """A flat at one moment: whether it was offered, and for how much each m², where that is known."""

    there: bool
    eur_sqm: float | None


@dataclass(frozen=True, slots=True)
class MarketFlat:
    """One property with the histories of its adverts."""

    property_id: int
    neighbourhood: str
    rooms: str
    """1, 2, 3, 4, 5+, maisonette, or a question mark."""
    area_sqm: float | None
    says_without_vat: bool
    """A description says so; that counts for prices of which no more is printed."""
    adverts: tuple[AdvertHistory, ...]

    @property
    def first_seen_at(self) -> float:
        """When the first of its adverts was seen.

        Not since when it is offered: those that stayed long before we looked are among us, those that went
        soon are not, and counted so they would make every stay look longer than it is (decision 025).
        """
        return min(advert.spells[0].start for advert in self.adverts)

    @property
    def gone_at(self) -> float | None:
        """When the last of its adverts went; None while one is there."""
        ends = [advert.spells[-1].end for advert in self.adverts]
        return None if None in ends else max(end for end in ends if end is not None)

    def at(self, moment: float) -> Snapshot:
        """Whether any of its adverts was offered then, and the lowest of their prices, VAT included."""
        there = [advert for advert in self.adverts if advert.is_there(moment)]
        asked = [one for advert in there if (one := advert.asked(moment)) is not None]
        if not asked or not self.area_sqm:
            return Snapshot(bool(there), None)
        return Snapshot(there=True, eur_sqm=min(map(self._with_vat, asked)) / self.area_sqm)

    def cuts(self) -> Iterator[float]:
        """By what share the price fell each time that an advert's was lowered."""
        for advert in self.adverts:
            for old, new in pairwise(advert.prices):
                before, after = self._with_vat(old), self._with_vat(new)
                if new.moved and after < before:
                    yield 1 - after / before

    def stay(self, now: float) -> Stay:
        """How long it has been there; a time off the market between two adverts or sights is part of it."""
        return Stay(days_on_market(self.first_seen_at, self.gone_at, None, now=now), self.gone_at is not None)

    def _with_vat(self, asked: Asked) -> float:
        due = vat_on_top(asked.vat, text_says_so=self.says_without_vat, may_be_due=False)
        return with_vat(asked.price_eur, due=due).least


def market_flats(connection: Connection, deal: str) -> Iterator[MarketFlat]:
    """The flats in Sofia for sale (or to let) whose place is known, each once, as the table has them.

    Their histories are read for some at a time: those of all flats would be larger than all the rest.
    """
    of = flats.c
    chosen = (
        select(of.property_id, of.neighbourhood, of.property_type, of.rooms, of.area_sqm, of.without_vat)
        .where(
            of.neighbourhood.is_not(None),
            of.deal == deal,
            of.property_type.in_(COMPARED_TYPES),
            of.city == SOFIA,
            of.flags.not_like("%|place_conflict|%"),
        )
        .order_by(of.property_id)
        .limit(FLATS_AT_ONCE)
    )
    last = 0
    while some := connection.execute(chosen.where(of.property_id > last)).all():
        members = _members(connection, [row.property_id for row in some])
        for number, place, kind, rooms, area, without_vat in sparing(some):
            if adverts := members.get(number):
                yield MarketFlat(number, place, room_type(kind, rooms), area, without_vat, tuple(adverts))
        last = some[-1].property_id


def _members(connection: Connection, property_ids: Sequence[int]) -> dict[int, list[AdvertHistory]]:
    """The histories of the adverts of each of these properties, which rise; one may have its own alone."""
    own = listing_sources.c
    whose = select(own.listing_id, own.property_id).where(
        own.property_id.between(property_ids[0], property_ids[-1])
    )
    owners = {number: number for number in property_ids}
    owners |= {row[0]: row[1] for row in connection.execute(whose).all()}
    members: dict[int, list[AdvertHistory]] = defaultdict(list)
    for listing_id, history in read_histories(connection, owners).items():
        members[owners[listing_id]].append(history)
    return members


def room_type(property_type: str | None, rooms: int | None) -> str:
    """The kind of flat, by its rooms."""
    if property_type == "maisonette":
        return "maisonette"
    if rooms is None:
        return "?"
    return f"{LARGEST_ROOMS}+" if rooms >= LARGEST_ROOMS else str(rooms)
