"""The market as rows and points; worked out once for all sessions, and again when an advert changed."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from sale_sofia.advice.market.market import Cell, Deal, Figures, Market, market_of
from sale_sofia.app import charts, formatting, snapshot, state
from sale_sofia.app import formatting as shown
from sale_sofia.app.words import named, say
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import no_collecting
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

Row = dict[str, Any]
Flats = Mapping[int, Flat]


class MarketKeeper:
    """Holds the market of each deal. Whoever asks waits until it is up to date."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings
        self._lock = threading.Lock()
        self._kept: dict[Deal, tuple[Flats, int, Market]] = {}

    def current(self, deal: Deal, flats: Flats, now: float) -> Market:
        """The market of these flats, the same object until one changed; days are counted anew each hour."""
        hour = int(now // SECONDS_PER_HOUR)
        with self._lock:
            known = self._kept.get(deal)
            if known is None or known[0] is not flats or known[1] != hour:
                known = (flats, hour, self._work_out(deal, flats, now))
                self._kept[deal] = known
            return known[2]

    def _work_out(self, deal: Deal, flats: Flats, now: float) -> Market:
        with no_collecting():
            return self._database.run_read(
                lambda connection: market_of(flats.values(), connection, self._settings, now=now, deal=deal)
            )


def current(deal: Deal) -> Market:
    """The market as it is now."""
    database = state.database()
    url = database.url.render_as_string(hide_password=False)
    return _keeper(url, database, state.settings()).current(deal, snapshot.current().flats, state.now())


@st.cache_resource(show_spinner=False)
def _keeper(url: str, _database: Database, _settings: Settings) -> MarketKeeper:  # noqa: ARG001 - the key
    return MarketKeeper(_database, _settings)


def places(market: Market) -> list[str]:
    """The neighbourhoods by their stock."""
    return [cell.neighbourhood for cell in market.cells if cell.neighbourhood and cell.rooms is None]


def rooms_of(market: Market, place: str | None) -> list[str]:
    """The kinds of flat that there are."""
    return [cell.rooms for cell in market.cells if cell.neighbourhood == place and cell.rooms]


def per_sqm(figures: Figures) -> str:
    """`€ 2 450/m²`, or "?" of too few flats."""
    return shown.euro_per_sqm(figures.eur_sqm.median if figures.eur_sqm else None)


def quartiles(figures: Figures) -> str:
    """`€ 2 100 – € 2 900`."""
    found = figures.eur_sqm
    return f"{shown.euro(found.low)} – {shown.euro(found.high)}" if found else shown.UNKNOWN


def metrics(figures: Figures) -> list[tuple[str, str, str]]:
    """Title, value and what stands beneath, of each number at the top."""
    days, cuts = figures.days, figures.cuts
    weekly = f"{_per_week(figures.new_per_week)} / {_per_week(figures.gone_per_week)}"
    cut_by = say("market.cut_by", percent=shown.number(cuts.median_percent, 1)) if cuts.median_percent else ""
    return [
        (
            say("market.median"),
            per_sqm(figures),
            f"{quartiles(figures)} · n = {shown.number(figures.prices)}",
        ),
        (say("market.stock"), shown.number(figures.stock), say("market.per_week", n=weekly)),
        (say("market.days"), _days(figures), say("market.days_of", n=days.flats, gone=days.gone)),
        (say("market.cuts"), shown.percent(cuts.share), cut_by or say("market.cut_flats", n=cuts.flats)),
    ]


def metric_html(title: str, value: str, beneath: str) -> str:
    """A number with its title above and what goes with it beneath; words of ours only."""
    parts = zip(("ss-small", "ss-number", "ss-small"), (title, value, beneath), strict=True)
    return (
        f'<div class="ss-metric">{"".join(f"<div class={name!r}>{text}</div>" for name, text in parts)}</div>'
    )


def _per_week(number: float | None) -> str:
    return shown.number(number, 1)


def _days(figures: Figures, still_there: str = "market.most_there") -> str:
    """The median; where there is none yet because most are still there, that."""
    if figures.days.median is not None:
        return shown.days(figures.days.median)
    return say(still_there) if figures.days.still_there else shown.UNKNOWN


def table(market: Market, rooms: str | None) -> list[Row]:
    """One row for each neighbourhood, those with the most flats first."""
    return [
        {
            say("market.place"): formatting.plain(cell.neighbourhood or say("market.city")),
            say("market.median"): per_sqm(found),
            say("market.quartiles"): quartiles(found),
            "n": found.prices,
            say("market.stock"): found.stock,
            say("market.change"): shown.UNKNOWN
            if found.change_percent is None
            else _signed(found.change_percent),
            say("market.days"): _days(found, "market.still_there"),
            say("market.cuts"): shown.percent(found.cuts.share),
        }
        for cell, found in market.cells.items()
        if cell.rooms == rooms
    ]


def _signed(percent: float) -> str:
    return f"{'+' if percent > 0 else ''}{shown.number(percent, 1)}{shown.SPACE}%"


def week_points(figures: Figures, name: str) -> list[Row]:
    """One number of each week that has it."""
    return [
        {"week": charts.moment(week.start), "value": value, "what": say(f"market.week.{name}")}
        for week in figures.weeks
        if (value := getattr(week, name)) is not None
    ]


def room_name(rooms: str) -> str:
    """A kind of flat in words."""
    return named("rooms", rooms.removesuffix("+")) if rooms[0].isdigit() else named("property_type", rooms)


def cell_of(market: Market, place: str | None, rooms: str | None) -> Figures | None:
    """The figures of a part; None where there is no flat."""
    return market.cells.get(Cell(place, rooms))


def compared(market: Market, rooms: str | None, most: int) -> Sequence[Row]:
    """The neighbourhoods with the most flats, with their quartiles; those of too few flats are left out."""
    return [
        {
            "place": formatting.plain(cell.neighbourhood or ""),
            "low": found.eur_sqm.low,
            "median": found.eur_sqm.median,
            "high": found.eur_sqm.high,
            "n": found.prices,
        }
        for cell, found in market.cells.items()
        if cell.rooms == rooms and cell.neighbourhood and found.eur_sqm
    ][:most]
