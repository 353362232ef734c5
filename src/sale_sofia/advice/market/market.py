"""The market by neighbourhood and kind of flat: always asking prices, each flat once, VAT included."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from sqlalchemy import Connection

from sale_sofia.advice.market.flats import (
    MarketFlat,
    Snapshot,
    Stay,
    kaplan_meier,
    market_flats,
)
from sale_sofia.advice.settings import STILL_THERE_DAYS
from sale_sofia.flats.projection import refresh_flats
from sale_sofia.history.listing_rows import moment_text
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

# Flats week by week: the weeks of Sofia's clock, and what became of each flat in them.


class Span(NamedTuple):
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


def _track(flat: MarketFlat, spans: Sequence[Span]) -> Track:
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
    """The same, those that equal the one before as one object: most weeks nothing happens to a flat."""
    last = None
    for one in snapshots:
        last = last if one == last else one
        yield last or one


def spans_until(now: float, weeks: int) -> list[Span]:
    """So many whole weeks and the running one, the oldest first."""
    today = datetime.fromtimestamp(now, SOFIA).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    starts = [(monday - timedelta(weeks=back)).timestamp() for back in range(weeks, -1, -1)]
    whole = [Span(start, end, complete=True) for start, end in pairwise(starts)]
    return [*whole, Span(starts[-1], now, complete=False)]


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


def _figures(tracks: Sequence[Track], spans: Sequence[Span], *, began: float, least: int) -> Figures:
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
        median = statistics.median(sizes) * 100 if sizes else None
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


def _weeks(tracks: Sequence[Track], spans: Sequence[Span], began: float, least: int) -> Iterator[Week]:
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
            "cells": [{**cell._asdict(), **found.as_json()} for cell, found in self.cells.items()],
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
        track, known = _track(flat, spans), find_neighbourhood(flat.neighbourhood)
        for rooms in (None, flat.rooms):
            for neighbourhood in (None, flat.neighbourhood):
                cells[Cell(neighbourhood, rooms)].append(track)
            if known is not None and known.district is not None:
                districts[Cell(known.district, rooms)].append(track)
    least = settings.market_least_flats
    return Market(deal, now, least, _worked_out(cells, spans, least), _worked_out(districts, spans, least))


_Tracks = defaultdict[Cell, list[Track]]


def _worked_out(by_cell: _Tracks, spans: Sequence[Span], least: int) -> dict[Cell, Figures]:
    """The figures of each, in the order of `Market.cells`."""
    found = {}
    for cell, tracks in by_cell.items():
        # When watching began, as far as the flats of the place tell.
        began = min(track.first_seen_at for track in by_cell[Cell(cell.neighbourhood, None)])
        found[cell] = _figures(tracks, spans, began=began, least=least)

    def order(cell: Cell) -> tuple[bool, int, str, bool, str]:
        stock = found[Cell(cell.neighbourhood, None)].stock
        place, rooms = cell.neighbourhood, cell.rooms
        return place is not None, -stock, place or "", rooms is not None, rooms or ""

    return {cell: found[cell] for cell in sorted(found, key=order)}
