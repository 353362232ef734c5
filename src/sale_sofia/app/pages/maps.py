"""Map: Sofia drawn without the internet, flats as pins and clusters, neighbourhoods with their prices."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from sqlalchemy import case, null
from starlette.responses import JSONResponse, Response

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.search.query import WrongSearch
from sale_sofia.advice.search.run import Found, search_rows
from sale_sofia.advice.tables import scores
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Page
from sale_sofia.app.deck import Deck, open_deck
from sale_sofia.app.filters import chips
from sale_sofia.app.pages.search import Asked, find, read
from sale_sofia.app.settings import CLUSTER_PIXELS, LEAST_MEDIAN_FLATS, PINS_FROM_ZOOM, YEAR_SECONDS
from sale_sofia.app.visit import Values, Visit
from sale_sofia.app.words import say, told
from sale_sofia.flats.tables import flats as flat_rows
from sale_sofia.geography.gazetteer import Area, areas_of, base_map, centres, drawn
from sale_sofia.geography.imported import until_changed
from sale_sofia.listings.places import SOFIA, Neighbourhood, find_neighbourhood, neighbourhoods
from sale_sofia.listings.text import plain

COLOURS: Final = {"M1": "#eb2227", "M2": "#0078c8", "M3": "#1f9b4a", "M4": "#b98a00"}
"""Of the metro's lines, as its own maps have them; each station has its name too."""
_WORLD_PIXELS: Final = 256


def page(visit: Visit) -> Page:
    """The page: the map for who has scripts, the neighbourhoods as a table for everybody."""
    deck = open_deck(visit)
    try:
        asked = read(visit)
    except WrongSearch as error:
        return Page("message.html", say("page.map"), {"errors": [told(error)]}, status=400)
    flats, counts = _find(deck, asked, scored=False), _counts(deck, asked)
    places = _by_place(flats)
    values: Values = {
        "count": len(flats),
        "unsure": _unsure(flats, counts),
        "back": asked.address,
        "chips": _chips(asked),
        "rows": [_row(name, members, asked) for name, members in _largest(places)],
        "attribution": say("map.sources"),
        "own": ", ".join(f"{plain(one.name)} ({plain(one.at)})" for one in deck.profile.places),
    }
    return Page("map.html", say("page.map"), values, lambda: _data(deck, asked, counts))


def _counts(deck: Deck, asked: Asked) -> Found:
    """How many fulfil the search, and of how many that is not known."""
    return find(deck, asked, lambda _: slice(0), lambda _: slice(0))


def _unsure(flats: Sequence["Spot"], counts: Found) -> str:
    """How many are drawn that have no point of their own, or of which not all that is asked is known."""
    left = sum(not flat.is_placed for flat in flats)
    told = [say("web.map_areas", n=shown.number(left))] if left else []
    told += [say("web.map_unknown", n=shown.number(counts.unknown_total))] if counts.unknown_total else []
    return "".join(f" · {one}" for one in told)


def base(_visit: Visit) -> Response:
    """Streets, metro and the borders of neighbourhoods; the same for everybody until the next release."""
    return JSONResponse(_base(), headers={"cache-control": f"public, max-age={YEAR_SECONDS}, immutable"})


def card(visit: Visit) -> Page:
    """The card of one flat, for the sheet beside the map."""
    deck = open_deck(visit)
    flats = deck.flats([int(visit.request.path_params["number"])])
    return Page("map_card.html", "", {"cards": deck.cards(flats)})


@until_changed
@cache
def _base() -> Values:
    found = base_map()
    lines = [
        {"line": line, "colour": COLOURS.get(line, "#555555"), "stations": stations}
        for line, stations in found["metro"].items()
    ]
    own = {kind: [_rings(area) for area in drawn(kind)] for kind in ("districts", "parks")}
    return {"roads": found["roads"], "names": found["names"], "metro": lines, "places": [*_borders()], **own}


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


class Spot(NamedTuple):
    """A flat as the map needs it."""

    property_id: int
    neighbourhood: str | None
    price_eur: float | None
    price_per_sqm_eur: float | None
    lat: float | None
    """With `lon`: its own point in Sofia."""
    lon: float | None
    verdict: str | None

    @property
    def is_placed(self) -> bool:
        """Whether it has a point of its own in Sofia."""
        return self.lat is not None and self.lon is not None


def _find(deck: Deck, asked: Asked, *, scored: bool) -> list[Spot]:
    """All that fits; without their verdicts, which take as long, where they are not asked for."""
    of = flat_rows.c
    point = (case((of.city == SOFIA, of.lat)), case((of.city == SOFIA, of.lon)))
    columns = (of.neighbourhood, of.price_eur, of.eur_sqm, *point, scores.c.verdict if scored else null())
    rows = search_rows(
        deck.visit.database, asked.whole, columns, now=deck.now, scored=scored, person=deck.visit.person
    )
    return [Spot._make(row) for row in rows]


def _size(place: Neighbourhood) -> float:
    return sum(area.shape.square_metres for area in areas_of(place.id))


_PICKED: Final = ("neighbourhood", "polygon")
"""Conditions that are picked on the map, one value at a time."""


def _chips(asked: Asked) -> list[Values]:
    """Whatever is asked, and the map without it; what is picked on the map has a chip for each value."""
    query = asked.query
    picked = [("neighbourhood", name, name) for name in query.neighbourhood]
    picked += [("polygon", one, say("web.drawn", n=one.count(";") + 1)) for one in query.polygon]
    others = [(chip.field, "", chip.text) for chip in chips(query) if chip.field not in _PICKED]
    return [
        {"field": field, "value": value, "text": text, "address": _without(asked, field, value)}
        for field, value, text in (*picked, *others)
    ]


def _without(asked: Asked, field: str, value: str) -> str:
    left = {name: [one for one in values if name != field or (value and one != value)]
            for name, values in asked.params.items()}  # fmt: skip
    return f"/map?{urlencode(left, doseq=True)}"


def _anywhere(deck: Deck, asked: Asked, flats: Sequence[Spot]) -> Sequence[Spot]:
    """What would be found in all neighbourhoods, so that one can pick another."""
    if not asked.query.neighbourhood:
        return flats
    anywhere = asked.query.model_copy(update={"neighbourhood": ()})
    return _find(deck, Asked(anywhere, asked.passing), scored=False)


def _data(deck: Deck, asked: Asked, counts: Found) -> Values:
    """What is drawn at a zoom: neighbourhoods from afar, clusters and pins from near."""
    visit, flats = deck.visit, _find(deck, asked, scored=True)
    inside = [flat for flat in flats if _is_inside(flat, visit.asked("box"))]
    zoom = visit.page_number("zoom")
    return {
        "count": len(flats),
        "text": shown.count_line(len(flats)),
        "unsure": _unsure(flats, counts),
        "found": say("search.found", found=shown.count_line(counts.total)),
        "back": asked.address,
        "chips": _chips(asked),
        "places": [
            _place(name, members, asked)
            for name, members in _largest(_by_place(_anywhere(deck, asked, flats)))
        ],
        "pins": list(_pins(inside, zoom)),
        "near": zoom >= PINS_FROM_ZOOM,
        "own": [{"name": one.name, "at": list(one.place.point)} for one in deck.profile.places],
    }


def _is_inside(flat: Spot, box: str | None) -> bool:
    """Whether the flat has a point of its own, within south, west, north, east."""
    if not flat.is_placed:
        return False
    try:
        south, west, north, east = map(float, (box or "").split(","))
    except ValueError:
        return True
    return south <= (flat.lat or 0.0) <= north and west <= (flat.lon or 0.0) <= east


def _pins(flats: Sequence[Spot], zoom: int) -> Iterable[Values]:
    """Flats that would lie on each other are one cluster with their number and their lowest price."""
    cells: dict[tuple[int, int], list[Spot]] = defaultdict(list)
    for flat in flats:
        x, y = _pixel(flat.lat or 0.0, flat.lon or 0.0, zoom)
        cells[int(x // CLUSTER_PIXELS), int(y // CLUSTER_PIXELS)].append(flat)
    for members in cells.values():
        at = [
            statistics.fmean(flat.lat or 0.0 for flat in members),
            statistics.fmean(flat.lon or 0.0 for flat in members),
        ]
        prices = [flat.price_eur for flat in members if flat.price_eur is not None]
        lowest = f"{shown.number(min(prices) / 1000)}k" if prices else shown.UNKNOWN
        one = members[0]
        yield {
            "at": [round(at[0], 5), round(at[1], 5)],
            "n": len(members),
            "price": lowest,
            "id": one.property_id if len(members) == 1 else None,
            "good": any(flat.verdict in {State.PASS, State.UNKNOWN} for flat in members),
        }


def _pixel(lat: float, lon: float, zoom: int) -> tuple[float, float]:
    """Where a place is on the world's map in Web Mercator, in pixels from its north-western corner."""
    world = _WORLD_PIXELS * 2.0 ** min(zoom, 19)
    north = math.log(math.tan(math.pi / 4 + math.radians(lat) / 2)) / math.pi
    return world * (lon + 180) / 360, world * (1 - north) / 2


def _by_place(flats: Iterable[Spot]) -> Mapping[str, list[Spot]]:
    found: dict[str, list[Spot]] = defaultdict(list)
    for flat in flats:
        if flat.neighbourhood:
            found[flat.neighbourhood].append(flat)
    return found


def _largest(places: Mapping[str, list[Spot]]) -> list[tuple[str, list[Spot]]]:
    return sorted(places.items(), key=lambda one: (-len(one[1]), one[0]))


def _median(flats: Sequence[Spot]) -> float | None:
    """Of the prices per m²; None of too few flats."""
    prices = [price for flat in flats if (price := flat.price_per_sqm_eur) is not None]
    return statistics.median(prices) if len(prices) >= LEAST_MEDIAN_FLATS else None


def _place(name: str, flats: Sequence[Spot], asked: Asked) -> Values:
    median = _median(flats)
    return {
        "name": name,
        "n": len(flats),
        "placed": sum(flat.is_placed for flat in flats),
        "median": None if median is None else shown.euro_per_sqm(median),
        "search": _search(name, asked),
        "chosen": name in asked.query.neighbourhood,
    }


def _row(name: str, flats: Sequence[Spot], asked: Asked) -> Values:
    return {
        "name": name,
        "n": shown.number(len(flats)),
        "median": shown.euro_per_sqm(_median(flats)),
        "search": _search(name, asked),
    }


def _search(name: str, asked: Asked) -> str:
    """The same search in this neighbourhood alone; in all where the name is none we know."""
    found = find_neighbourhood(name)
    if found is None:
        return asked.address
    query: Any = asked.query.model_copy(update={"neighbourhood": (found.name,)})
    return Asked(query, asked.passing).address
