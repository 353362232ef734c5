"""The place of a flat: a small drawing of the streets and the metro around it, made on the server."""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from markupsafe import Markup

from sale_sofia.app.application import environment
from sale_sofia.flats.flat import Flat
from sale_sofia.geography.gazetteer import areas_of, base_map, centres
from sale_sofia.geography.shapes import Point
from sale_sofia.listings.places import SOFIA, Neighbourhood, find_neighbourhood

WIDTH: Final = 360
HEIGHT: Final = 200
_HIGH: Final = 0.02
"""Height in degrees: about 2 km."""
_FIRST_STATIONS: Final = 3
"""Stations with a name: more names would overlap."""


class _Line(NamedTuple):
    kind: str
    points: tuple[Point, ...]
    low: Point
    high: Point


class _Frame(NamedTuple):
    """The coordinates of a drawing around this point."""

    middle: Point

    def x(self, point: Point) -> float:
        wide = math.cos(math.radians(self.middle.lat))
        return WIDTH / 2 + (point.lon - self.middle.lon) * wide * HEIGHT / _HIGH

    def y(self, point: Point) -> float:
        return HEIGHT / 2 - (point.lat - self.middle.lat) * HEIGHT / _HIGH

    def shows(self, point: Point) -> bool:
        return 0 <= self.x(point) <= WIDTH and 0 <= self.y(point) <= HEIGHT

    def crosses(self, line: _Line) -> bool:
        """Whether the box around the line overlaps the drawing."""
        return (
            self.x(line.low) <= WIDTH
            and self.x(line.high) >= 0
            and self.y(line.low) >= 0
            and self.y(line.high) <= HEIGHT
        )

    def path(self, points: Sequence[Point]) -> str:
        return "M" + "L".join(f"{self.x(point):.0f} {self.y(point):.0f}" for point in points)


def sketch(flat: Flat) -> Markup | None:
    """The drawing, with a point for an exact place, else with the borders of the neighbourhood.

    None for a flat outside Sofia, or in an unknown neighbourhood.
    """
    place = find_neighbourhood(flat.neighbourhood) if flat.city == SOFIA and flat.neighbourhood else None
    exact = flat.exact_place
    middle = exact or (centres()[place.id].point if place else None)
    if middle is None:
        return None
    frame = _Frame(middle)
    stations = [(name, point) for name, point in _stations() if frame.shows(point)]
    stations.sort(key=lambda station: math.hypot(station[1].lat - middle.lat, station[1].lon - middle.lon))
    drawn = (
        environment()
        .get_template("sketch.html")
        .render(
            size=(WIDTH, HEIGHT),
            frame=frame,
            lines=[(line.kind, frame.path(line.points)) for line in _lines() if frame.crosses(line)],
            stations=stations,
            most_names=_FIRST_STATIONS,
            exact=exact,
            rings=[] if exact or place is None else [frame.path(ring) for ring in _rings(place)],
            at=f"{middle.lat:.5f},{middle.lon:.5f},{15 if exact else 14}",
        )
    )
    return Markup(drawn)  # noqa: S704 - escaped there


def _rings(place: Neighbourhood) -> Iterator[Sequence[Point]]:
    for area in areas_of(place.id):
        for piece in area.shape.pieces:
            yield piece[0]


@cache
def _lines() -> list[_Line]:
    """All streets and metro lines, each with the corners of the box around it."""
    base = base_map()
    roads = [(kind, line) for kind, lines in base["roads"].items() for line in lines]
    metro = [("metro", [station[1:] for station in stations]) for stations in base["metro"].values()]
    return [_line(kind, tuple(Point(*at) for at in line)) for kind, line in (*roads, *metro)]


def _line(kind: str, points: tuple[Point, ...]) -> _Line:
    lats, lons = [point.lat for point in points], [point.lon for point in points]
    return _Line(kind, points, Point(min(lats), min(lons)), Point(max(lats), max(lons)))


@cache
def _stations() -> list[tuple[str, Point]]:
    stations = {name: Point(lat, lon) for line in base_map()["metro"].values() for name, lat, lon in line}
    return list(stations.items())
