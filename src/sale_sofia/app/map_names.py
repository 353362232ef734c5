"""Names of neighbourhoods on a map: those with the most flats, as far as none covers another."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from sale_sofia.app import formatting
from sale_sofia.config.screens import (
    MAP_CENTRE,
    MAP_DOT,
    MAP_EDGE,
    MAP_FEW_POINTS,
    MAP_HEIGHT,
    MAP_NAME_GAP,
    MAP_NAME_SIZE,
    MAP_NARROW,
    MAP_ZOOMS,
)
from sale_sofia.listings.places import neighbourhoods

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
