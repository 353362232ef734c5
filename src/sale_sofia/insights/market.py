"""The market by neighbourhood and kind of flat: always asking prices, each flat once, VAT included."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import Connection

from sale_sofia.config.settings import Settings
from sale_sofia.data.listing_rows import moment_text
from sale_sofia.insights.flat_rows import read_flats
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.market_figures import Figures, Week, figures
from sale_sofia.insights.market_flats import market_flats
from sale_sofia.insights.market_history import read_histories
from sale_sofia.insights.market_weeks import Track, spans_until, track

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

    def as_json(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "label": LABEL,
            "vat": VAT_RULE,
            "deal": self.deal,
            "at": _moment(self.now),
            "hidden_under": self.least,
            "cells": [{**cell._asdict(), **_figures(found)} for cell, found in self.cells.items()],
        }


def read_market(connection: Connection, settings: Settings, *, now: float, deal: Deal = "sale") -> Market:
    """The market as the database has it. Rents, for each m² and month, are a market of their own."""
    return market_of(read_flats(connection, photos=0), connection, settings, now=now, deal=deal)


def market_of(
    flats: Iterable[Flat], connection: Connection, settings: Settings, *, now: float, deal: Deal
) -> Market:
    """The market of these flats, with the histories that the database has of their adverts."""
    histories, spans = read_histories(connection), spans_until(now, settings.market_weeks)
    tracks = [track(flat, spans) for flat in market_flats(flats, histories, deal)]
    return Market(deal, now, settings.market_least_flats, _cells(tracks, settings.market_least_flats))


def _cells(tracks: list[Track], least: int) -> dict[Cell, Figures]:
    by_cell = _by_cell(tracks)
    found = {
        cell: figures(members, began=_began(by_cell[Cell(cell.neighbourhood, None)]), least=least)
        for cell, members in by_cell.items()
    }
    return {cell: found[cell] for cell in sorted(found, key=lambda cell: _order(cell, found))}


def _began(tracks: Iterable[Track]) -> float:
    """When watching began, as far as these flats tell."""
    return min(one.first_seen_at for one in tracks)


def _by_cell(tracks: Iterable[Track]) -> dict[Cell, list[Track]]:
    found: dict[Cell, list[Track]] = defaultdict(list)
    for one in tracks:
        for neighbourhood in (None, one.flat.neighbourhood):
            for rooms in (None, one.flat.rooms):
                found[Cell(neighbourhood, rooms)].append(one)
    return found


def _order(cell: Cell, found: Mapping[Cell, Figures]) -> tuple[bool, int, str, bool, str]:
    stock = found[Cell(cell.neighbourhood, None)].stock
    place, rooms = cell.neighbourhood or "", cell.rooms or ""
    return cell.neighbourhood is not None, -stock, place, cell.rooms is not None, rooms


def _figures(found: Figures) -> dict[str, Any]:
    told = asdict(found)
    told["eur_sqm"] = found.eur_sqm and found.eur_sqm._asdict()
    told["weeks"] = [_week(week) for week in found.weeks]
    told["days"], told["cuts"] = found.days._asdict(), found.cuts._asdict()
    return told


def _week(week: Week) -> dict[str, Any]:
    return {**week._asdict(), "start": _moment(week.start)}


def _moment(seconds: float) -> str:
    return moment_text(datetime.fromtimestamp(seconds, UTC))
