"""Flats on a map that needs no internet: points, and the neighbourhoods with the median of their prices."""

import math
import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pydeck
import streamlit as st

from sale_sofia.app import formatting
from sale_sofia.app import formatting as safe
from sale_sofia.app.deck import Deck
from sale_sofia.app.settings import (
    LEAST_MEDIAN_FLATS,
    MAP_CENTRE,
    MAP_DOT,
    MAP_EDGE,
    MAP_FEW_POINTS,
    MAP_HEIGHT,
    MAP_NAME_GAP,
    MAP_NAME_SIZE,
    MAP_NARROW,
    MAP_POINTS,
    MAP_ZOOMS,
    NEAR_DIGITS,
)
from sale_sofia.app.words import say
from sale_sofia.flats.flat import Flat
from sale_sofia.listings.places import neighbourhoods

# Names of neighbourhoods on a map: those with the most flats, as far as none covers another.

Medians = Mapping[str, tuple[float | None, int]]
"""Neighbourhood → median EUR per m², unknown for too few flats, and of how many flats it is."""
_WORLD_PIXELS: Final = 512
"""The width of the whole world at zoom 0."""
_TINY: Final = 1e-9
_LETTER_WIDTH: Final = 0.66
_LINE_HEIGHT: Final = 1.2
"""Of a letter's size; rather too much than too little, as browsers have other fonts."""


Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, right, top and bottom in pixels of the world's map."""
_SHIFTS: Final = (0, -16, 16, -28, 28)
"""Pixels by which a name is moved up or down where a flat's point lies on it."""


class View(NamedTuple):
    """The part of the map that is seen first."""

    lat: float
    lon: float
    zoom: float

    def frame(self) -> Box:
        """What of it fits on a telephone."""
        x, y = pixel(self.lat, self.lon, self.zoom)
        wide, tall = MAP_NARROW / 2, MAP_HEIGHT / 2
        return x - wide, x + wide, y - tall, y + tall


class Label(NamedTuple):
    """A text around its place on the map, moved down by some pixels."""

    text: str
    lat: float
    lon: float
    shift: int = 0

    def box(self, zoom: float) -> Box:
        """What it covers at this zoom, with a gap around."""
        x, y = pixel(self.lat, self.lon, zoom)
        y += self.shift
        lines = self.text.split("\n")
        wide = max(map(len, lines)) * _LETTER_WIDTH * MAP_NAME_SIZE / 2 + MAP_NAME_GAP
        tall = len(lines) * _LINE_HEIGHT * MAP_NAME_SIZE / 2 + MAP_NAME_GAP
        return x - wide, x + wide, y - tall, y + tall


def pixel(lat: float, lon: float, zoom: float) -> tuple[float, float]:
    """Where a place is on the world's map in Web Mercator, in pixels from its north-western corner."""
    world = _WORLD_PIXELS * 2.0**zoom
    north = math.log(math.tan(math.pi / 4 + math.radians(lat) / 2)) / math.pi
    return world * (lon + 180) / 360, world * (1 - north) / 2


def view_of(points: Collection[Point]) -> View:
    """All points on a telephone, as near as that is possible; of scattered ones those in their middle."""
    if not points:
        return View(*MAP_CENTRE, MAP_ZOOMS[0])
    lats, lons = sorted(point[0] for point in points), sorted(point[1] for point in points)
    middle = ((lats[0] + lats[-1]) / 2, (lons[0] + lons[-1]) / 2)
    (left, top), (right, bottom) = pixel(lats[-1], lons[0], 0), pixel(lats[0], lons[-1], 0)
    room = min(
        (MAP_NARROW - MAP_EDGE) / max(right - left, _TINY), (MAP_HEIGHT - MAP_EDGE) / max(bottom - top, _TINY)
    )
    zoom = math.log2(room)
    if zoom < MAP_ZOOMS[0]:
        middle = (lats[len(lats) // 2], lons[len(lons) // 2])
    return View(*middle, min(max(zoom, MAP_ZOOMS[0]), MAP_ZOOMS[1]))


def names(found: Medians, view: View, points: Collection[Point] = ()) -> list[Label]:
    """The names that are drawn, those of the most flats first; none covers another, or is cut off."""
    placed = [one for one in neighbourhoods() if one.name in found]
    largest = sorted(placed, key=lambda one: (-found[one.name][1], one.name))
    labels = (
        Label(_text(one.name, found[one.name][0]), one.lat, one.lon)
        for one in largest
        if one.lat is not None and one.lon is not None
    )
    inside = (label for label in labels if _within(label.box(view.zoom), view.frame()))
    return apart(inside, view.zoom, points)


def apart(labels: Iterable[Label], zoom: float, points: Collection[Point] = ()) -> list[Label]:
    """In their order, without those that would touch one before; beside the points, where these are few."""
    dots = [_dot(point, zoom) for point in points] if len(points) <= MAP_FEW_POINTS else []
    kept: list[Label] = []
    for label in labels:
        taken = [other.box(zoom) for other in kept]
        if not _touches(label.box(zoom), taken):
            kept += _beside(label, zoom, [*taken, *dots])
    return kept


def _beside(label: Label, zoom: float, others: Sequence[Box]) -> list[Label]:
    """The name, above or beneath what lies on it; nothing where no place is free."""
    ways = (label._replace(shift=shift) for shift in _SHIFTS)
    return [way for way in ways if not _touches(way.box(zoom), others)][:1]


def _dot(point: Point, zoom: float) -> Box:
    x, y = pixel(*point, zoom)
    return x - MAP_DOT, x + MAP_DOT, y - MAP_DOT, y + MAP_DOT


def _within(one: Box, frame: Box) -> bool:
    return frame[0] <= one[0] and one[1] <= frame[1] and frame[2] <= one[2] and one[3] <= frame[3]


def _touches(one: Box, others: Iterable[Box]) -> bool:
    return any(_touch(one, other) for other in others)


def _touch(one: Box, two: Box) -> bool:
    return one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]


def _text(name: str, median: float | None) -> str:
    return name if median is None else f"{name}\n{formatting.euro_per_sqm(median)}"


_GREY: Final = (110, 118, 125, 200)
_COLOURS: Final = ((178, 24, 43), (244, 165, 130), (190, 190, 190), (146, 197, 222), (33, 102, 172))
"""Red to blue, which the colour-blind can tell apart; the score itself stands in the list and the tip."""
_LEAST_RADIUS: Final = 40.0


@dataclass(frozen=True, slots=True)
class Plotted:
    """What is drawn, and what could not be."""

    points: Mapping[Point, Sequence[Flat]]
    left_out: int
    """Flats of points beyond the most that are drawn."""
    without_place: int
    """Flats whose adverts say no exact place."""


def plot(flats: Iterable[Flat]) -> Plotted:
    """The flats by the point they are at, the best points first, so many as a map can show."""
    points: dict[Point, list[Flat]] = defaultdict(list)
    without = 0
    for flat in flats:
        if flat.lat is None or flat.lon is None:
            without += 1
        else:
            points[round(flat.lat, NEAR_DIGITS), round(flat.lon, NEAR_DIGITS)].append(flat)
    drawn = dict(list(points.items())[:MAP_POINTS])
    left_out = sum(map(len, points.values())) - sum(map(len, drawn.values()))
    return Plotted(drawn, left_out, without)


def show_map(deck: Deck, flats: Sequence[Flat], key: str) -> Sequence[Flat]:
    """Draw the flats; gives those at the point that was chosen."""
    plotted = plot(flats)
    _say_what_is_missing(plotted)
    chosen = st.pydeck_chart(
        _deck_of(deck, plotted, flats),
        height=MAP_HEIGHT,
        on_select="rerun",
        key=key,
        selection_mode="single-object",
    )
    st.caption(say("map.legend"))
    st.caption(say("map.sources"))
    picked = chosen["selection"]["objects"].get("flats", [])
    return _at(plotted, picked[0]) if picked else ()


def medians(flats: Iterable[Flat]) -> dict[str, tuple[float | None, int]]:
    """The median EUR per m² of each neighbourhood, unknown for too few flats, and of how many flats it is."""
    found: dict[str, list[float]] = defaultdict(list)
    for flat in flats:
        if flat.neighbourhood is not None and flat.price_per_sqm_eur is not None:
            found[flat.neighbourhood].append(flat.price_per_sqm_eur)
    return {
        name: (statistics.median(prices) if len(prices) >= LEAST_MEDIAN_FLATS else None, len(prices))
        for name, prices in found.items()
    }


def _at(plotted: Plotted, picked: Mapping[str, Any]) -> Sequence[Flat]:
    return plotted.points.get((picked.get("lat", 0.0), picked.get("lon", 0.0)), ())


def _say_what_is_missing(plotted: Plotted) -> None:
    number = formatting.number
    told = {"points": number(len(plotted.points)), "flats": number(sum(map(len, plotted.points.values())))}
    st.caption(say("map.drawn", **told))
    if plotted.left_out:
        st.warning(say("map.left_out", n=number(plotted.left_out), most=number(MAP_POINTS)))
    if plotted.without_place:
        st.caption(say("map.without", n=number(plotted.without_place)))


def _deck_of(deck: Deck, plotted: Plotted, flats: Sequence[Flat]) -> pydeck.Deck:
    view = view_of(plotted.points)
    layers = [_neighbourhood_names(names(medians(flats), view, plotted.points)), _flat_points(deck, plotted)]
    # Without a provider nothing is fetched from anywhere; a style, even None, would be one.
    return pydeck.Deck(
        layers=layers,
        initial_view_state=pydeck.ViewState(latitude=view.lat, longitude=view.lon, zoom=view.zoom),
        map_provider=None,
        tooltip={"text": "{tip}"},
    )


def _flat_points(deck: Deck, plotted: Plotted) -> pydeck.Layer:
    rows = [_point(deck, point, flats) for point, flats in plotted.points.items()]
    return pydeck.Layer(
        "ScatterplotLayer",
        rows,
        id="flats",
        get_position=["lon", "lat"],
        get_fill_color="colour",
        get_radius="radius",
        get_line_color=[30, 40, 50],
        radius_min_pixels=5,
        radius_max_pixels=18,
        line_width_min_pixels=1,
        stroked=True,
        pickable=True,
    )


def _point(deck: Deck, point: Point, flats: Sequence[Flat]) -> dict[str, Any]:
    best = min(flats, key=deck.order)
    score = deck.scores.get(best.property_id)
    value = score.value if score else None
    return {
        "lat": point[0],
        "lon": point[1],
        "colour": list(_colour(value)),
        "radius": _LEAST_RADIUS + (best.area_sqm or 0.0) / 2,
        "tip": _tip(best, value, len(flats)),
    }


def _colour(value: float | None) -> tuple[int, ...]:
    if value is None:
        return _GREY
    return (*_COLOURS[min(int(value), len(_COLOURS) - 1)], 210)


def _tip(flat: Flat, value: float | None, count: int) -> str:
    several = f" (× {count})" if count > 1 else ""
    size = f"{formatting.euro(flat.price_eur)} · {formatting.area(flat.area_sqm)}"
    return f"{size}\n★ {formatting.score(value)}/5{several}\n{safe.plain(flat.neighbourhood or '?')}"


def _neighbourhood_names(labels: Iterable[Label]) -> pydeck.Layer:
    """The only ground there is: neighbourhoods at their centres, with the medians of their prices."""
    rows = [{"lat": one.lat, "lon": one.lon, "text": one.text, "shift": [0, one.shift]} for one in labels]
    return pydeck.Layer(
        "TextLayer",
        rows,
        id="neighbourhoods",
        get_position=["lon", "lat"],
        get_text="text",
        get_size=MAP_NAME_SIZE,
        get_pixel_offset="shift",
        get_color=[60, 70, 80],
        font_family=pydeck.types.String("sans-serif"),
        character_set=pydeck.types.String("auto"),
        pickable=False,
    )
