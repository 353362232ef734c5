"""Market: asking prices with quartiles, trend, stock, days and cuts of a named part of it."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, get_args
from urllib.parse import urlencode

from sale_sofia.advice.market.market import Cell, Deal, Figures, Market
from sale_sofia.app import charts
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import WebPage
from sale_sofia.app.settings import COMPARED_PLACES
from sale_sofia.app.visit import PageVisit, Values
from sale_sofia.app.words import say, word_for
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.listings.text import plain

DEALS: Final[tuple[Deal, ...]] = get_args(Deal)
_UNKNOWN_ROOMS: Final = "?"


class MarketPart(NamedTuple):
    """A part of the market: its scope, its name, and its figures."""

    scope: str
    """`neighbourhood`, `district` or `city`."""
    name: str | None
    figures: Figures


def page(visit: PageVisit) -> WebPage:
    """The page."""
    deal = next((choice for choice in DEALS if choice == visit.param("deal")), DEALS[0])
    place, rooms = _place(visit.param("place")), visit.param("rooms")
    market = visit.state.market(deal)
    part = part_of(market, place, rooms)
    # Neighbourhoods with the most flats first; those with too few for quartiles are left out.
    spans = [
        charts.Spread(plain(cell.neighbourhood), *figures.eur_sqm, figures.prices)
        for cell, figures in market.cells.items()
        if cell.rooms == rooms and cell.neighbourhood and figures.eur_sqm
    ]
    values: Values = {
        "deal": deal,
        "deals": DEALS,
        "place": place,
        "places": _choices([cell.neighbourhood for cell in market.cells if cell.rooms is None], place),
        "rooms": rooms,
        "kinds": _choices([cell.rooms for cell in market.cells if cell.neighbourhood is None], rooms),
        "room_name": room_name,
        "label": say("market.label", least=market.least),
        "part": part,
        "heading": " · ".join(filter(None, (_name(part), room_name(rooms) if rooms else None))),
        "fallback": _fallback(market, part, place, rooms),
        "metrics": _metrics(part.figures) if part else [],
        "trend": _trend(part.figures) if part else "",
        "flow": _flow(part.figures) if part else "",
        "compared": charts.spans(say("market.by_place"), "€/m²", spans[:COMPARED_PLACES]),
        "rows": _rows(market, deal, rooms),
    }
    return WebPage("market.html", say("page.market"), values, lambda: _data(market, place, rooms))


def part_of(market: Market, place: str | None, rooms: str | None) -> MarketPart | None:
    """The narrowest part with a median: the neighbourhood, its district, the city; None without any flat.

    Where none of them has a median, the narrowest part that has a flat.
    """
    neighbourhood = find_neighbourhood(place) if place else None
    district = neighbourhood.district if neighbourhood else None
    tried = (
        ("neighbourhood", place, market.cells.get(Cell(place, rooms)) if place else None),
        ("district", district, market.districts.get(Cell(district, rooms)) if district else None),
        ("city", None, market.cells.get(Cell(None, rooms))),
    )
    parts = [MarketPart(scope, name, figures) for scope, name, figures in tried if figures is not None]
    return next((part for part in parts if part.figures.eur_sqm), parts[0] if parts else None)


def room_name(rooms: str) -> str:
    """The name of a kind of flat."""
    if rooms == _UNKNOWN_ROOMS:
        return say("web.rooms_unknown")
    return plain(
        word_for("rooms", rooms.removesuffix("+")) if rooms[0].isdigit() else word_for("property_type", rooms)
    )


def _place(text: str | None) -> str | None:
    """The neighbourhood by its own name, however it is spelled in the address."""
    if text is None or not (name := plain(text)):
        return None
    neighbourhood = find_neighbourhood(name)
    return neighbourhood.name if neighbourhood else name


def _choices(offered: Sequence[str | None], chosen: str | None) -> list[str]:
    """The offered values, and the chosen one even if it is not among them."""
    values = [value for value in offered if value is not None]
    return values if chosen is None or chosen in values else [chosen, *values]


def _name(part: MarketPart | None) -> str | None:
    if part is None:
        return None
    if part.scope == "district":
        return say("web.market_district", name=part.name)
    return part.name or say("market.city")


def _fallback(market: Market, part: MarketPart | None, place: str | None, rooms: str | None) -> str | None:
    """Why another part than the requested one is shown; None where it is the same."""
    if part is None or place is None or part.scope == "neighbourhood":
        return None
    own = market.cells.get(Cell(place, rooms))
    request = f"{place} ({room_name(rooms)})" if rooms else place
    count = fmt.count_line(own.prices if own else 0)
    return say("web.market_fallback", asked=request, found=count, least=market.least, shown=_name(part))


def _metrics(figures: Figures) -> list[tuple[str, str, str]]:
    """Title, value and caption of each number at the top."""
    days, cuts = figures.days, figures.cuts
    weekly = f"{fmt.number(figures.new_per_week, 1)} / {fmt.number(figures.gone_per_week, 1)}"
    cut_by = say("market.cut_by", percent=fmt.number(cuts.median_percent, 1)) if cuts.median_percent else ""
    spread = f"{_quartiles(figures)} · n{fmt.SPACE}={fmt.SPACE}{fmt.number(figures.prices)}"
    return [
        (say("market.median"), _per_sqm(figures), spread),
        (say("market.stock"), fmt.number(figures.stock), say("market.per_week", n=weekly)),
        (
            say("market.days"),
            _days(figures),
            say("market.days_of", found=fmt.count_line(days.flats), gone=fmt.number(days.gone)),
        ),
        (say("market.cuts"), fmt.percent(cuts.share), cut_by or fmt.count_line(cuts.flats)),
    ]


def _per_sqm(figures: Figures) -> str:
    return fmt.euro_per_sqm(figures.eur_sqm.median if figures.eur_sqm else None)


def _quartiles(figures: Figures) -> str:
    prices = figures.eur_sqm
    if not prices:
        return fmt.UNKNOWN
    return " – ".join(f"€{fmt.SPACE}{fmt.rounded(price)}" for price in (prices.low, prices.high))


def _days(figures: Figures, still_there: str = "market.most_there") -> str:
    """The median; where most flats are still on offer, so that there is none yet, that."""
    if figures.days.median is not None:
        return fmt.days(figures.days.median)
    return say(still_there) if figures.days.still_there else fmt.UNKNOWN


def _trend(figures: Figures) -> str:
    line = _weekly(figures, "median_eur_sqm")
    return charts.lines(say("market.trend"), "€/m²", [line]) if line.points else ""


def _flow(figures: Figures) -> str:
    lines = [line for name in ("stock", "new", "gone") if (line := _weekly(figures, name)).points]
    return charts.lines(say("market.flow"), say("market.flats"), lines, zero=True)


def _weekly(figures: Figures, name: str) -> charts.Line:
    """A number of each week that has it."""
    numbers = ((week.start, getattr(week, name)) for week in figures.weeks)
    points = [charts.DataPoint(at, value) for at, value in numbers if value is not None]
    return charts.Line(say(f"market.week.{name}"), points)


def _rows(market: Market, deal: Deal, rooms: str | None) -> list[Values]:
    """One row for each neighbourhood, those with the most flats first; the city above them."""
    return [
        {
            "place": cell.neighbourhood,
            "median": _per_sqm(figures),
            "quartiles": _quartiles(figures),
            "n": fmt.number(figures.prices),
            "stock": fmt.number(figures.stock),
            "change": fmt.UNKNOWN
            if figures.change_percent is None
            else f"{'+' if figures.change_percent > 0 else ''}{fmt.percent(figures.change_percent / 100, 1)}",
            "days": _days(figures, "market.still_there"),
            "cuts": fmt.percent(figures.cuts.share),
            "here": _market_address(deal, cell),
            "search": _search_address(deal, cell),
        }
        for cell, figures in market.cells.items()
        if cell.rooms == rooms
    ]


def _market_address(deal: Deal, cell: Cell) -> str:
    params = {"deal": deal, "place": cell.neighbourhood, "rooms": cell.rooms}
    return f"/market?{urlencode({name: value for name, value in params.items() if value})}"


def _search_address(deal: Deal, cell: Cell) -> str | None:
    """The search for these flats; None for a place that searches do not know."""
    params: dict[str, str] = {"deal": deal}
    if cell.neighbourhood:
        if find_neighbourhood(cell.neighbourhood) is None:
            return None
        params["neighbourhood"] = cell.neighbourhood
    if cell.rooms and cell.rooms[0].isdigit():
        params["rooms"] = cell.rooms.removesuffix("+")
    elif cell.rooms and cell.rooms != _UNKNOWN_ROOMS:
        params["property_type"] = cell.rooms
    return f"/search?{urlencode(params)}"


def _data(market: Market, place: str | None, rooms: str | None) -> dict[str, Any]:
    part = part_of(market, place, rooms)
    part_record = part and {"scope": part.scope, "name": part.name, "rooms": rooms, **part.figures.as_json()}
    return {"asked": {"place": place, "rooms": rooms}, "shown": part_record, **market.as_json()}
