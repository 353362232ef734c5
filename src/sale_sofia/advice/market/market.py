"""The market by neighbourhood and kind of flat: always asking prices, each flat once, VAT included."""

import statistics
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Table, or_, select

from sale_sofia.advice.scoring.settings import COMPARED_TYPES
from sale_sofia.advice.settings import FLATS_AT_ONCE, LARGEST_ROOMS, ROUNDING, STILL_THERE_DAYS
from sale_sofia.flats.prices import vat_on_top, with_vat
from sale_sofia.flats.projection import refresh_flats
from sale_sofia.flats.rows import sparing
from sale_sofia.flats.store import portions, rows_of
from sale_sofia.flats.tables import flats, listing_sources
from sale_sofia.history.listing_rows import moment_text
from sale_sofia.history.market_events import WITHDRAWN, days_on_market
from sale_sofia.history.tables import WAS_ASKED, listings, market_events, price_points
from sale_sofia.listings.dates import SOFIA as SOFIA_CLOCK
from sale_sofia.listings.places import SOFIA, find_neighbourhood
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

# A flat on the market: when it was offered, at what price for each m², and by how much that was cut.


class Spell(NamedTuple):
    """From when to when an advert was there; without an end it still is."""

    start: float
    end: float | None


class AskingPrice(NamedTuple):
    """A price as it was printed from a moment on; `moved`: it is another sum, not the same restated."""

    since: float
    price_eur: float
    vat: str | None
    moved: bool


@dataclass(frozen=True, slots=True)
class AdvertHistory:
    """One advert. Its prices are those that were printed; moments rise."""

    spells: tuple[Spell, ...]
    prices: tuple[AskingPrice, ...]
    priced: tuple[tuple[float, int | None], ...]
    """Since when which of the prices holds; None while none is printed."""

    def is_there(self, moment: float) -> bool:
        """Whether it was offered then."""
        return any(
            spell.start <= moment and (spell.end is None or moment < spell.end) for spell in self.spells
        )

    def price_at(self, moment: float) -> AskingPrice | None:
        """The price that was printed then."""
        place = bisect_right(self.priced, moment, key=itemgetter(0))
        which = self.priced[place - 1][1] if place else None
        return None if which is None else self.prices[which]


def read_histories(connection: Connection, listing_ids: Collection[int]) -> dict[int, AdvertHistory]:
    """The histories of these adverts, without those that were withdrawn as no flat of their own."""

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
    prices: list[AskingPrice] = []
    priced: list[tuple[float, int | None]] = []
    for point in points:
        if point.price_eur is None:
            priced.append((point.seen_at, None))
            continue
        prices.append(AskingPrice(point.seen_at, point.price_eur, point.vat, point.kind == "price"))
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
    observed = list(stays)
    went = Counter(stay.days for stay in observed if stay.gone)
    ends = Counter(stay.days for stay in observed)
    there, share = len(observed), 1.0
    steps: list[tuple[float, float]] = []
    for day in sorted(ends):
        if went[day]:
            share *= 1 - went[day] / there
            steps.append((day, share))
        there -= ends[day]
    days, shares = tuple(day for day, _ in steps), tuple(left for _, left in steps)
    return Curve(days, shares, len(observed), went.total(), max(ends, default=0.0))


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

        Not when it was first offered: of the flats from before we watched only those that stayed long are
        left, and counting their whole stay would make every stay look longer than it is (decision 025).
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
        prices = [price for advert in there if (price := advert.price_at(moment)) is not None]
        if not prices or not self.area_sqm:
            return Snapshot(bool(there), None)
        return Snapshot(there=True, eur_sqm=min(map(self._with_vat, prices)) / self.area_sqm)

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

    def _with_vat(self, price: AskingPrice) -> float:
        due = vat_on_top(price.vat, text_says_so=self.says_without_vat, may_be_due=False)
        return with_vat(price.price_eur, due=due).least


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
        members = histories_of(connection, [row.property_id for row in some])
        for number, place, kind, rooms, area, without_vat in sparing(some):
            if adverts := tuple(members.get(number, {}).values()):
                yield MarketFlat(number, place, room_type(kind, rooms), area, without_vat, adverts)
        last = some[-1].property_id


def histories_of(
    connection: Connection, property_ids: Collection[int]
) -> Mapping[int, Mapping[int, AdvertHistory]]:
    """For each of these properties, its adverts and their histories."""
    own = listing_sources.c
    whose = rows_of(connection, select(own.listing_id, own.property_id), own.property_id, property_ids)
    owners = {number: number for number in property_ids} | {row[0]: row[1] for row in whose}
    members: dict[int, dict[int, AdvertHistory]] = defaultdict(dict)
    for listing_id, history in read_histories(connection, owners).items():
        members[owners[listing_id]][listing_id] = history
    return members


def room_type(property_type: str | None, rooms: int | None) -> str:
    """The kind of flat, by its rooms."""
    if property_type == "maisonette":
        return "maisonette"
    if rooms is None:
        return "?"
    return f"{LARGEST_ROOMS}+" if rooms >= LARGEST_ROOMS else str(rooms)


# Flats week by week: the weeks of Sofia's clock, and what became of each flat in them.


class WeekSpan(NamedTuple):
    """A week from Monday to Monday on Sofia's clock; the running one ends now."""

    start: float
    end: float
    complete: bool

    def holds(self, moment: float | None) -> bool:
        """Whether it happened in this week; now is the end of the running one, and in it."""
        return moment is not None and self.start <= moment and (moment < self.end or not self.complete)


@dataclass(frozen=True, slots=True)
class Track:
    """One flat through the weeks, worked out once for all parts of the market it belongs to.

    There are as many as flats: it keeps nothing of their histories, which are larger than all the rest.
    """

    first_seen_at: float
    new_in: int | None
    """The number of the week in which it came; None: before the first."""
    gone_in: int | None
    """The number of the week in which it went; None: before the first, or it is still there."""
    snapshots: tuple[Snapshot, ...]
    """At the end of each week; the last is now."""
    cuts: tuple[float, ...]
    stay: Stay


def _track(flat: MarketFlat, spans: Sequence[WeekSpan]) -> Track:
    def week_of(moment: float | None) -> int | None:
        return next((number for number, span in enumerate(spans) if span.holds(moment)), None)

    return Track(
        flat.first_seen_at,
        week_of(flat.first_seen_at),
        week_of(flat.gone_at),
        tuple(_shared(flat.at(span.end) for span in spans)),
        tuple(flat.cuts()),
        flat.stay(spans[-1].end),
    )


def _shared(snapshots: Iterable[Snapshot]) -> Iterator[Snapshot]:
    """The same snapshots; equal neighbours share one object, as most weeks nothing happens to a flat."""
    last = None
    for snapshot in snapshots:
        last = last if snapshot == last else snapshot
        yield last or snapshot


def spans_until(now: float, weeks: int) -> list[WeekSpan]:
    """So many whole weeks and the running one, the oldest first."""
    today = datetime.fromtimestamp(now, SOFIA_CLOCK).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    starts = [(monday - timedelta(weeks=back)).timestamp() for back in range(weeks, -1, -1)]
    whole = [WeekSpan(start, end, complete=True) for start, end in pairwise(starts)]
    return [*whole, WeekSpan(starts[-1], now, complete=False)]


# The figures of some flats: what is asked, how many there are, how fast they come and go, what is cut.


class Quartiles(NamedTuple):
    """EUR for each m²: a quarter of the flats is cheaper than `low`, half than `median`."""

    low: float
    median: float
    high: float


class Week(NamedTuple):
    """One week: what was there at its end, what came and what went in it."""

    start: float
    complete: bool
    stock: int
    prices: int
    median_eur_sqm: float | None
    new: int | None
    """None for the week in which watching began: then everything is new."""
    gone: int


class DaysOnMarket(NamedTuple):
    """How long flats stay, open ones counted; None where too few flats are known, or most are still there."""

    flats: int
    gone: int
    median: float | None
    still_there: dict[int, float | None] | None
    """After so many days, the share that is still offered; None where nobody has watched so long."""


class Cuts(NamedTuple):
    """Of the flats offered now: how many had their price cut, and the median of all cuts, in per cent."""

    flats: int
    share: float | None
    median_percent: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of some flats; figures of too few flats are None."""

    stock: int
    prices: int
    eur_sqm: Quartiles | None
    weeks: tuple[Week, ...]
    change_percent: float | None
    """From the first week whose median is told to the last."""
    new_per_week: float | None
    gone_per_week: float | None
    days: DaysOnMarket
    cuts: Cuts

    def as_json(self) -> dict[str, Any]:
        """As they are printed."""
        return {
            **asdict(self),
            "eur_sqm": self.eur_sqm and self.eur_sqm._asdict(),
            "weeks": [{**week._asdict(), "start": _moment(week.start)} for week in self.weeks],
            "days": self.days._asdict(),
            "cuts": self.cuts._asdict(),
        }


def _figures(tracks: Sequence[Track], spans: Sequence[WeekSpan], *, began: float, least: int) -> Figures:
    """The figures of these flats, watched since `began`; none that fewer than `least` flats make."""
    offered = [track for track in tracks if track.snapshots[-1].there]
    prices = _prices(track.snapshots[-1] for track in offered)
    quartiles = Quartiles(*np.quantile(prices, (0.25, 0.5, 0.75)).tolist()) if len(prices) >= least else None
    weeks = tuple(_weeks(tracks, spans, began, least))
    whole = [week for week in weeks if week.complete and week.new is not None]
    medians = [week.median_eur_sqm for week in weeks if week.median_eur_sqm is not None]
    curve = kaplan_meier(track.stay for track in tracks)
    days = DaysOnMarket(curve.flats, curve.gone, None, None)
    if curve.flats >= least:
        still_there = {days: curve.after(days) for days in STILL_THERE_DAYS}
        days = DaysOnMarket(curve.flats, curve.gone, curve.median(), still_there)
    cut = [track for track in offered if track.cuts]
    cuts = Cuts(len(cut), None, None)
    if len(offered) >= least:
        sizes = [size for track in cut for size in track.cuts]
        median = statistics.median(sizes) * 100 if len(cut) >= least else None
        cuts = Cuts(len(cut), len(cut) / len(offered), median)
    return Figures(
        len(offered),
        len(prices),
        quartiles,
        weeks,
        (medians[-1] / medians[0] - 1) * 100 if len(medians) > 1 else None,
        statistics.fmean(week.new or 0 for week in whole) if whole else None,
        statistics.fmean(week.gone for week in whole) if whole else None,
        days,
        cuts,
    )


def _prices(snapshots: Iterable[Snapshot]) -> list[float]:
    return [snapshot.eur_sqm for snapshot in snapshots if snapshot.eur_sqm is not None]


def _weeks(tracks: Sequence[Track], spans: Sequence[WeekSpan], began: float, least: int) -> Iterator[Week]:
    new, gone = Counter(track.new_in for track in tracks), Counter(track.gone_in for track in tracks)
    for number, span in enumerate(spans):
        if span.complete and span.end <= began:
            continue
        there = [track.snapshots[number] for track in tracks if track.snapshots[number].there]
        prices = _prices(there)
        median = statistics.median(prices) if len(prices) >= least else None
        watched = None if span.start < began else new[number]
        yield Week(span.start, span.complete, len(there), len(prices), median, watched, gone[number])


Deal = Literal["sale", "rent"]
LABEL: Final = "asking prices, de-duplicated"
VAT_RULE: Final = "a price without VAT is counted with 20 % VAT; one whose VAT is not told, as it is printed"


class Cell(NamedTuple):
    """A part of the market; None stands for all neighbourhoods, or all kinds of flat."""

    neighbourhood: str | None
    rooms: str | None


@dataclass(frozen=True, slots=True)
class Market:
    """The figures of every part that has a flat."""

    deal: Deal
    now: float
    least: int
    cells: Mapping[Cell, Figures]
    """The whole city first, then the neighbourhoods by their stock; each whole, then by rooms."""
    districts: Mapping[Cell, Figures] = field(default_factory=dict)
    """The same by the administrative districts: what a neighbourhood of few flats is told beside."""

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "label": LABEL,
            "vat": VAT_RULE,
            "deal": self.deal,
            "at": _moment(self.now),
            "hidden_under": self.least,
            "cells": [{**cell._asdict(), **figures.as_json()} for cell, figures in self.cells.items()],
        }


def _moment(seconds: float) -> str:
    return moment_text(datetime.fromtimestamp(seconds, UTC))


def read_market(database: Database, settings: Settings, *, now: float, deal: Deal = "sale") -> Market:
    """The market as the database has it. Rents, for each m² and month, are a market of their own."""
    refresh_flats(database)
    return database.run_read(partial(_read_market, settings=settings, now=now, deal=deal))


def _read_market(connection: Connection, settings: Settings, *, now: float, deal: Deal) -> Market:
    spans = spans_until(now, settings.market_weeks)
    cells: _Tracks = defaultdict(list)
    districts: _Tracks = defaultdict(list)
    for flat in market_flats(connection, deal):
        track, place = _track(flat, spans), find_neighbourhood(flat.neighbourhood)
        for rooms in (None, flat.rooms):
            for neighbourhood in (None, flat.neighbourhood):
                cells[Cell(neighbourhood, rooms)].append(track)
            if place is not None and place.district is not None:
                districts[Cell(place.district, rooms)].append(track)
    least = settings.market_least_flats
    return Market(
        deal, now, least, _figures_by_cell(cells, spans, least), _figures_by_cell(districts, spans, least)
    )


_Tracks = defaultdict[Cell, list[Track]]


def _figures_by_cell(by_cell: _Tracks, spans: Sequence[WeekSpan], least: int) -> dict[Cell, Figures]:
    """The figures of each, in the order of `Market.cells`."""
    figures = {}
    for cell, tracks in by_cell.items():
        # When watching began, as far as the flats of the place tell.
        began = min(track.first_seen_at for track in by_cell[Cell(cell.neighbourhood, None)])
        figures[cell] = _figures(tracks, spans, began=began, least=least)

    def order(cell: Cell) -> tuple[bool, int, str, bool, str]:
        stock = figures[Cell(cell.neighbourhood, None)].stock
        place, rooms = cell.neighbourhood, cell.rooms
        return place is not None, -stock, place or "", rooms is not None, rooms or ""

    return {cell: figures[cell] for cell in sorted(figures, key=order)}
