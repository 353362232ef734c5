"""Map: Sofia drawn without the internet, flats as pins and clusters, neighbourhoods with their prices."""

import gzip
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, and_, case
from starlette.responses import JSONResponse, Response

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.search.query import WrongSearch
from sale_sofia.advice.search.run import summarise
from sale_sofia.advice.tables import scores
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import WebPage, error_page, immutable_response
from sale_sofia.app.deck import Deck, open_deck
from sale_sofia.app.filters import chips
from sale_sofia.app.pages.search import SearchRequest, cache_key, read
from sale_sofia.app.settings import CLUSTER_PIXELS, LEAST_MEDIAN_FLATS, PINS_FROM_ZOOM, THOUSANDS_FROM_EUR
from sale_sofia.app.visit import PageVisit, Values
from sale_sofia.app.words import say, translate
from sale_sofia.flats.tables import flats as flat_rows
from sale_sofia.geography.gazetteer import Area, areas_of, base_map, centres, drawn
from sale_sofia.geography.imported import until_changed
from sale_sofia.listings.places import SOFIA, Neighbourhood, find_neighbourhood, neighbourhoods
from sale_sofia.listings.text import plain

COLOURS: Final = {"M1": "#eb2227", "M2": "#0078c8", "M3": "#1f9b4a", "M4": "#b98a00"}
"""Of the metro's lines, as on its own maps."""
_WORLD_PIXELS: Final = 256


def page(visit: PageVisit) -> WebPage:
    """The page: the map for browsers with scripts, the neighbourhoods as a table for all."""
    deck = open_deck(visit)
    try:
        request = read(visit)
    except WrongSearch as error:
        return error_page("page.map", [translate(error)], 400)
    city = _survey(deck, request)
    values: Values = {
        "count": city.flats,
        "unsure": _unsure(city, request),
        "back": request.address,
        "chips": _chips(request),
        "rows": [_row(place, request) for place in city.places],
        "attribution": say("map.sources"),
        "own": ", ".join(f"{plain(own.name)} ({plain(own.at)})" for own in deck.profile.places),
    }
    return WebPage("map.html", say("page.map"), values, lambda: _data(deck, request, city))


def _unsure(city: "Survey", request: SearchRequest) -> str:
    """How many flats have no point of their own, and how many may not match, as text."""
    left, apart = city.flats - city.placed, city.apart(request)
    texts = [say("web.map_areas", n=fmt.number(left))] if left else []
    texts += [say("web.map_unknown", n=fmt.number(apart))] if apart else []
    return "".join(f" · {text}" for text in texts)


def base(visit: PageVisit) -> Response:
    """Streets, metro and borders of neighbourhoods; the same for everybody until the next release."""
    return immutable_response(visit.request, _base(), "application/json")


def card(visit: PageVisit) -> WebPage:
    """The card of one flat, for the sheet beside the map."""
    deck = open_deck(visit)
    flats = deck.flats([visit.property_id])
    return WebPage("map_card.html", "", {"cards": deck.cards(flats)})


@until_changed
@cache
def _base() -> bytes:
    base = base_map()
    lines = [
        {"line": line, "colour": COLOURS.get(line, "#555555"), "stations": stations}
        for line, stations in base["metro"].items()
    ]
    own = {kind: [_rings(area) for area in drawn(kind)] for kind in ("districts", "parks")}
    city = {"roads": base["roads"], "names": base["names"], "metro": lines, "places": [*_borders()], **own}
    return gzip.compress(JSONResponse(city).body)


def _rings(area: Area) -> list[list[list[float]]]:
    """The outer rings."""
    return [[[round(point.lat, 4), round(point.lon, 4)] for point in piece[0]] for piece in area.shape.pieces]


def _borders() -> Iterable[Values]:
    """Each neighbourhood that has a centre, with its outer rings; the smallest last, so that it is on top."""
    for place in sorted(neighbourhoods(), key=_size, reverse=True):
        centre = centres()[place.id].point
        rings = [ring for area in areas_of(place.id) for ring in _rings(area)]
        if centre is not None:
            yield {"name": place.name, "at": [round(centre.lat, 4), round(centre.lon, 4)], "rings": rings}


class MapPlace(NamedTuple):
    """A neighbourhood with the flats that were found in it."""

    name: str
    flats: int
    placed: int
    """Flats with a point of their own."""
    median: float | None
    """The median price per m²; None for too few flats."""


class Survey(NamedTuple):
    """The result of a search, without the flats themselves."""

    flats: int
    unsure: int
    """Flats that may not match, as something is unknown."""
    placed: int
    places: Sequence[MapPlace]
    """Those with the most flats first."""

    def apart(self, request: SearchRequest) -> int:
        """How many a search lists apart, as they may not match."""
        return self.unsure if request.query.unknown == "apart" else 0


_IS_PLACED: Final = and_(flat_rows.c.city == SOFIA, flat_rows.c.lat.is_not(None))


def _survey(deck: Deck, request: SearchRequest) -> Survey:
    of = flat_rows.c
    columns = (of.neighbourhood, of.eur_sqm, case((_IS_PLACED, 1), else_=0))
    return deck.visit.state.cached(
        ("map", *cache_key(deck, request)), lambda: _summarise(deck, request, columns, _survey_rows)
    )


def _survey_rows(rows: Iterator[Sequence[Any]]) -> Survey:
    by_name: dict[str | None, tuple[list[float | None], list[int]]] = defaultdict(lambda: ([], []))
    unsure = 0
    for _, is_unsure, name, price, is_placed in rows:
        prices, placed = by_name[name]
        prices.append(price)
        placed.append(is_placed)
        unsure += bool(is_unsure)
    places = [
        MapPlace(name, len(prices), sum(placed), _median([price for price in prices if price is not None]))
        for name, (prices, placed) in by_name.items()
        if name
    ]
    count = sum(len(prices) for prices, _ in by_name.values())
    on_map = sum(sum(placed) for _, placed in by_name.values())
    return Survey(count, unsure, on_map, sorted(places, key=lambda place: (-place.flats, place.name)))


def _median(prices: Sequence[float]) -> float | None:
    return statistics.median(prices) if len(prices) >= LEAST_MEDIAN_FLATS else None


_Summary = TypeVar("_Summary")


def _summarise(
    deck: Deck,
    request: SearchRequest,
    columns: Sequence[ColumnElement[Any]],
    work_out: Callable[[Iterator[Sequence[Any]]], _Summary],
    where: ColumnElement[bool] | None = None,
) -> _Summary:
    return summarise(
        deck.visit.database,
        request.whole,
        columns,
        work_out,
        now=deck.now,
        scored=any(column is scores.c.verdict for column in columns),
        where=where,
        person=deck.visit.person,
    )


class Spot(NamedTuple):
    """A flat with a point of its own."""

    property_id: int
    price_eur: float | None
    lat: float
    lon: float
    verdict: str | None


def _spots(deck: Deck, request: SearchRequest, box: str | None) -> list[Spot]:
    """Flats within `box` (south, west, north, east); everywhere without one."""
    of = flat_rows.c
    where: ColumnElement[bool] = _IS_PLACED
    with suppress(ValueError):
        south, west, north, east = map(float, (box or "").split(","))
        where = and_(where, of.lat.between(south, north), of.lon.between(west, east))
    columns = (of.price_eur, of.lat, of.lon, scores.c.verdict)
    return _summarise(deck, request, columns, lambda rows: [Spot(row[0], *row[2:]) for row in rows], where)


def _size(place: Neighbourhood) -> float:
    return sum(area.shape.square_metres for area in areas_of(place.id))


_PICKED: Final = ("neighbourhood", "polygon")
"""Conditions that are picked on the map, one value at a time."""


def _chips(request: SearchRequest) -> list[Values]:
    """Each condition with the map without it; what is picked on the map has a chip for each value."""
    query = request.query
    picked = [("neighbourhood", name, name) for name in query.neighbourhood]
    picked += [("polygon", outline, say("web.drawn", n=outline.count(";") + 1)) for outline in query.polygon]
    others = [(chip.field, "", chip.text) for chip in chips(query) if chip.field not in _PICKED]
    return [
        {"field": field, "value": value, "text": text, "address": _without(request, field, value)}
        for field, value, text in (*picked, *others)
    ]


def _without(request: SearchRequest, field: str, value: str) -> str:
    left = {name: [other for other in values if name != field or (value and other != value)]
            for name, values in request.params.items()}  # fmt: skip
    return f"/map?{urlencode(left, doseq=True)}"


def _anywhere(deck: Deck, request: SearchRequest, city: Survey) -> Survey:
    """The result in all neighbourhoods, to pick another one from."""
    if not request.query.neighbourhood:
        return city
    anywhere = request.query.model_copy(update={"neighbourhood": ()})
    return _survey(deck, SearchRequest(anywhere, request.passing))


def _data(deck: Deck, request: SearchRequest, city: Survey) -> Values:
    """What is drawn at a zoom: neighbourhoods when far, clusters and pins when near."""
    visit, zoom = deck.visit, deck.visit.page_number("zoom")
    near = zoom >= PINS_FROM_ZOOM
    return {
        "count": city.flats,
        "text": fmt.count_line(city.flats),
        "unsure": _unsure(city, request),
        "found": say("search.found", found=fmt.count_line(city.flats - city.apart(request))),
        "back": request.address,
        "chips": _chips(request),
        "places": [_place(place, request) for place in _anywhere(deck, request, city).places],
        "pins": list(_pins(_spots(deck, request, visit.param("box")), zoom)) if near else [],
        "near": near,
        "own": [{"name": own.name, "at": list(own.place.point)} for own in deck.profile.places],
    }


def _pins(flats: Sequence[Spot], zoom: int) -> Iterable[Values]:
    """Pins; flats that would overlap are one cluster with their count and lowest price."""
    cells: dict[tuple[int, int], list[Spot]] = defaultdict(list)
    for flat in flats:
        # The position in Web Mercator, in pixels from the north-western corner of the world.
        world = _WORLD_PIXELS * 2.0 ** min(zoom, 19)
        north = math.log(math.tan(math.pi / 4 + math.radians(flat.lat) / 2)) / math.pi
        x, y = world * (flat.lon + 180) / 360, world * (1 - north) / 2
        cells[int(x // CLUSTER_PIXELS), int(y // CLUSTER_PIXELS)].append(flat)
    for members in cells.values():
        at = [statistics.fmean(flat.lat for flat in members), statistics.fmean(flat.lon for flat in members)]
        prices = [flat.price_eur for flat in members if flat.price_eur is not None]
        lowest = _pin_price(min(prices)) if prices else fmt.UNKNOWN
        first = members[0]
        yield {
            "at": [round(at[0], 5), round(at[1], 5)],
            "n": len(members),
            "price": lowest,
            "id": first.property_id if len(members) == 1 else None,
            "good": any(flat.verdict in {State.PASS, State.UNKNOWN} for flat in members),
        }


def _pin_price(price: float) -> str:
    """`245k`, and a rent as it is."""
    return fmt.number(price) if price < THOUSANDS_FROM_EUR else f"{fmt.number(price / 1000)}k"


def _place(place: MapPlace, request: SearchRequest) -> Values:
    median = place.median
    return {
        "name": place.name,
        "n": place.flats,
        "placed": place.placed,
        "median": None if median is None else fmt.euro_per_sqm(median),
        "eur_sqm": None if median is None else round(median),
        "search": _search(place.name, request),
        "chosen": place.name in request.query.neighbourhood,
    }


def _row(place: MapPlace, request: SearchRequest) -> Values:
    return {
        "name": place.name,
        "n": fmt.number(place.flats),
        "median": fmt.euro_per_sqm(place.median),
        "search": _search(place.name, request),
    }


def _search(name: str, request: SearchRequest) -> str:
    """The same search in this neighbourhood alone; unchanged where its name is unknown."""
    neighbourhood = find_neighbourhood(name)
    if neighbourhood is None:
        return request.address
    query: Any = request.query.model_copy(update={"neighbourhood": (neighbourhood.name,)})
    return SearchRequest(query, request.passing).address
