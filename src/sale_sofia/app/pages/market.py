"""Market: asking prices with quartiles, trend, stock, days and cuts; of which part is always said."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, get_args
from urllib.parse import urlencode

from sale_sofia.advice.market.market import Cell, Deal, Figures, Market
from sale_sofia.app import charts
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Page
from sale_sofia.app.settings import COMPARED_PLACES
from sale_sofia.app.visit import Values, Visit
from sale_sofia.app.words import named, say
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.listings.text import plain

DEALS: Final[tuple[Deal, ...]] = get_args(Deal)
_UNKNOWN_ROOMS: Final = "?"


class Part(NamedTuple):
    """A part of the market: how wide it is, its name there, and what is known of it."""

    scope: str
    """`neighbourhood`, `district` or `city`."""
    name: str | None
    figures: Figures


def page(visit: Visit) -> Page:
    """The page."""
    deal = next((one for one in DEALS if one == visit.asked("deal")), DEALS[0])
    place, rooms = _place(visit.asked("place")), visit.asked("rooms")
    market = visit.site.market(deal)
    part = part_of(market, place, rooms)
    # The neighbourhoods with the most flats, with their quartiles; those of too few flats are left out.
    spans = [
        charts.Span(plain(cell.neighbourhood), *found.eur_sqm, found.prices)
        for cell, found in market.cells.items()
        if cell.rooms == rooms and cell.neighbourhood and found.eur_sqm
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
    return Page("market.html", say("page.market"), values, lambda: _data(market, place, rooms))


def part_of(market: Market, place: str | None, rooms: str | None) -> Part | None:
    """The narrowest part with a median: the neighbourhood, its district, the city; None without any flat.

    Where no median can be told at all it is the narrowest part that has a flat.
    """
    known = find_neighbourhood(place) if place else None
    district = known.district if known else None
    tried = (
        ("neighbourhood", place, market.cells.get(Cell(place, rooms)) if place else None),
        ("district", district, market.districts.get(Cell(district, rooms)) if district else None),
        ("city", None, market.cells.get(Cell(None, rooms))),
    )
    there = [Part(scope, name, found) for scope, name, found in tried if found is not None]
    return next((part for part in there if part.figures.eur_sqm), there[0] if there else None)


def room_name(rooms: str) -> str:
    """A kind of flat in words."""
    if rooms == _UNKNOWN_ROOMS:
        return say("web.rooms_unknown")
    return plain(
        named("rooms", rooms.removesuffix("+")) if rooms[0].isdigit() else named("property_type", rooms)
    )


def _place(text: str | None) -> str | None:
    """The neighbourhood by its own name, in whatever writing it is asked for."""
    if text is None or not (asked := plain(text)):
        return None
    known = find_neighbourhood(asked)
    return known.name if known else asked


def _choices(there: Sequence[str | None], asked: str | None) -> list[str]:
    """What there is, and what is asked for though there is none."""
    found = [one for one in there if one is not None]
    return found if asked is None or asked in found else [asked, *found]


def _name(part: Part | None) -> str | None:
    if part is None:
        return None
    if part.scope == "district":
        return say("web.market_district", name=part.name)
    return part.name or say("market.city")


def _fallback(market: Market, part: Part | None, place: str | None, rooms: str | None) -> str | None:
    """Why what is shown is not what was asked for; None where it is."""
    if part is None or place is None or part.scope == "neighbourhood":
        return None
    own = market.cells.get(Cell(place, rooms))
    asked = f"{place} ({room_name(rooms)})" if rooms else place
    found = shown.count_line(own.prices if own else 0)
    return say("web.market_fallback", asked=asked, found=found, least=market.least, shown=_name(part))


def _metrics(figures: Figures) -> list[tuple[str, str, str]]:
    """Title, value and what stands beneath, of each number at the top."""
    days, cuts = figures.days, figures.cuts
    weekly = f"{shown.number(figures.new_per_week, 1)} / {shown.number(figures.gone_per_week, 1)}"
    cut_by = say("market.cut_by", percent=shown.number(cuts.median_percent, 1)) if cuts.median_percent else ""
    spread = f"{_quartiles(figures)} · n{shown.SPACE}={shown.SPACE}{shown.number(figures.prices)}"
    return [
        (say("market.median"), _per_sqm(figures), spread),
        (say("market.stock"), shown.number(figures.stock), say("market.per_week", n=weekly)),
        (say("market.days"), _days(figures), say("market.days_of", n=days.flats, gone=days.gone)),
        (say("market.cuts"), shown.percent(cuts.share), cut_by or say("market.cut_flats", n=cuts.flats)),
    ]


def _per_sqm(figures: Figures) -> str:
    return shown.euro_per_sqm(figures.eur_sqm.median if figures.eur_sqm else None)


def _quartiles(figures: Figures) -> str:
    found = figures.eur_sqm
    return f"{shown.euro(found.low)} – {shown.euro(found.high)}" if found else shown.UNKNOWN


def _days(figures: Figures, still_there: str = "market.most_there") -> str:
    """The median; where there is none yet because most are still there, that."""
    if figures.days.median is not None:
        return shown.days(figures.days.median)
    return say(still_there) if figures.days.still_there else shown.UNKNOWN


def _trend(figures: Figures) -> str:
    line = _weekly(figures, "median_eur_sqm")
    return charts.lines(say("market.trend"), "€/m²", [line]) if line.points else ""


def _flow(figures: Figures) -> str:
    found = [line for name in ("stock", "new", "gone") if (line := _weekly(figures, name)).points]
    return charts.lines(say("market.flow"), say("market.flats"), found, zero=True)


def _weekly(figures: Figures, name: str) -> charts.Line:
    """One number of each week that has it."""
    numbers = ((week.start, getattr(week, name)) for week in figures.weeks)
    points = [charts.Point(at, value) for at, value in numbers if value is not None]
    return charts.Line(say(f"market.week.{name}"), points)


def _rows(market: Market, deal: Deal, rooms: str | None) -> list[Values]:
    """One row for each neighbourhood, those with the most flats first; the city above them."""
    return [
        {
            "place": cell.neighbourhood,
            "median": _per_sqm(found),
            "quartiles": _quartiles(found),
            "n": shown.number(found.prices),
            "stock": shown.number(found.stock),
            "change": shown.UNKNOWN
            if found.change_percent is None
            else f"{'+' if found.change_percent > 0 else ''}{shown.percent(found.change_percent / 100, 1)}",
            "days": _days(found, "market.still_there"),
            "cuts": shown.percent(found.cuts.share),
            "here": _market_address(deal, cell),
            "search": _search_address(deal, cell),
        }
        for cell, found in market.cells.items()
        if cell.rooms == rooms
    ]


def _market_address(deal: Deal, cell: Cell) -> str:
    given = {"deal": deal, "place": cell.neighbourhood, "rooms": cell.rooms}
    return f"/market?{urlencode({name: value for name, value in given.items() if value})}"


def _search_address(deal: Deal, cell: Cell) -> str | None:
    """The search for these flats; None of a place that no search knows."""
    given: dict[str, str] = {"deal": deal}
    if cell.neighbourhood:
        if find_neighbourhood(cell.neighbourhood) is None:
            return None
        given["neighbourhood"] = cell.neighbourhood
    if cell.rooms and cell.rooms[0].isdigit():
        given["rooms"] = cell.rooms.removesuffix("+")
    elif cell.rooms and cell.rooms != _UNKNOWN_ROOMS:
        given["property_type"] = cell.rooms
    return f"/search?{urlencode(given)}"


def _data(market: Market, place: str | None, rooms: str | None) -> dict[str, Any]:
    part = part_of(market, place, rooms)
    told = part and {"scope": part.scope, "name": part.name, "rooms": rooms, **part.figures.as_json()}
    return {"asked": {"place": place, "rooms": rooms}, "shown": told, **market.as_json()}
