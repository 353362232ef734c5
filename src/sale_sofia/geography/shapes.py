"""Points and areas on the flat ground of one city: distances, containment, and grids of sample points."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Final, NamedTuple

from sale_sofia.geography.settings import ARRIVE_BY, CENTRE, CENTRE_PLACE, METRES_PER_DEGREE

_NORTH, _EAST = METRES_PER_DEGREE
_LEAST_RING: Final = 4
"""Corners of a triangle that closes."""


class Point(NamedTuple):
    """A place in degrees."""

    lat: float
    lon: float


SOFIA_CENTRE: Final = Point(*CENTRE)


class Destination(NamedTuple):
    """A destination of a buyer."""

    point: Point
    stops: tuple[str, ...] = ()
    """Names or codes of the stops that count as the place."""
    arrive_by: int = ARRIVE_BY
    """Minutes of the day."""


BUYERS_CENTRE: Final = Destination(Point(*CENTRE_PLACE[0]), CENTRE_PLACE[1])


def metres(start: Point, end: Point) -> float:
    """The straight-line distance; exact enough within a city."""
    return math.hypot((start.lat - end.lat) * _NORTH, (start.lon - end.lon) * _EAST)


Ring = Sequence[Point]
"""The corners of a closed line: the last equals the first."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One or several pieces of ground; each has an outer ring first, then its holes."""

    pieces: tuple[tuple[Ring, ...], ...]
    low: Point
    high: Point
    """The south-western and the north-eastern corner of the box around it."""
    square_metres: float

    def contains(self, point: Point) -> bool:
        """Whether the point lies in one of the pieces, and not in a hole of it."""
        if not (self.low.lat <= point.lat <= self.high.lat and self.low.lon <= point.lon <= self.high.lon):
            return False
        return any(
            _is_inside(outer, point) and not any(_is_inside(hole, point) for hole in holes)
            for outer, *holes in self.pieces
        )

    def metres_outside(self, point: Point) -> float:
        """How far the point is from the shape; 0 in it."""
        return 0.0 if self.contains(point) else self.metres_to_border(point)

    def metres_to_border(self, point: Point) -> float:
        """How far the point is from the nearest border, of an outer ring or of a hole."""
        return min(
            _metres_to_line(point, start, end)
            for piece in self.pieces
            for ring in piece
            for start, end in pairwise(ring)
        )


def read_shape(geometry: dict[str, Any]) -> Shape:
    """The shape of a GeoJSON Polygon or MultiPolygon.

    Raises:
        ValueError: it is something else, or a ring has fewer than four corners, or does not close.
    """
    kind, coordinates = geometry["type"], geometry["coordinates"]
    if kind not in {"Polygon", "MultiPolygon"}:
        raise ValueError(f"a {kind} is no area; only Polygon and MultiPolygon are")
    several = [coordinates] if kind == "Polygon" else coordinates
    return shape_of(tuple(tuple(map(_ring, piece)) for piece in several))


def shape_of(pieces: tuple[tuple[Ring, ...], ...]) -> Shape:
    """The shape of these pieces, of which there is at least one."""
    outer = [point for piece in pieces for point in piece[0]]
    return Shape(
        pieces,
        Point(min(point.lat for point in outer), min(point.lon for point in outer)),
        Point(max(point.lat for point in outer), max(point.lon for point in outer)),
        sum(2 * _area(piece[0]) - sum(map(_area, piece)) for piece in pieces),
    )


def _ring(corners: Sequence[Sequence[float]]) -> Ring:
    try:
        ring = tuple(Point(float(lat), float(lon)) for lon, lat, *_ in corners)
    except (TypeError, ValueError):
        raise ValueError("its corners are no pairs of numbers") from None
    if len(ring) < _LEAST_RING or ring[0] != ring[-1]:
        raise ValueError("a ring of an area must close and have three corners or more")
    return ring


def _is_inside(ring: Ring, point: Point) -> bool:
    return _is_between(_crossings(ring, point.lat), point.lon)


def _crossings(ring: Ring, lat: float) -> list[float]:
    """The longitudes where its sides cross this latitude, ascending."""
    return sorted(
        start.lon + (lat - start.lat) / (end.lat - start.lat) * (end.lon - start.lon)
        for start, end in pairwise(ring)
        if (start.lat > lat) != (end.lat > lat)
    )


def _is_between(crossings: Sequence[float], lon: float) -> bool:
    """Whether a ray to the east crosses an odd number of sides."""
    return (len(crossings) - bisect_right(crossings, lon)) % 2 == 1


def _metres_to_line(point: Point, start: Point, end: Point) -> float:
    """The distance to the nearest point between two corners."""
    x, y = (point.lon - start.lon) * _EAST, (point.lat - start.lat) * _NORTH
    across, up = (end.lon - start.lon) * _EAST, (end.lat - start.lat) * _NORTH
    length = across * across + up * up
    share = min(1.0, max(0.0, (x * across + y * up) / length)) if length else 0.0
    return math.hypot(x - share * across, y - share * up)


def _area(ring: Ring) -> float:
    twice = sum(start.lon * end.lat - end.lon * start.lat for start, end in pairwise(ring))
    return abs(twice) / 2 * _NORTH * _EAST


def samples(shape: Shape, step: float) -> Iterator[Point]:
    """Points of a grid inside a shape and on its borders, `step` metres apart."""
    yield from inner_samples(shape, step)
    yield from border_samples(shape, step)


def inner_samples(shape: Shape, step: float) -> Iterator[Point]:
    """Points of a grid inside a shape; its sides are crossed once for each row."""
    high, wide = step / _NORTH, step / _EAST
    for row in range(int((shape.high.lat - shape.low.lat) / high) + 1):
        lat = shape.low.lat + row * high
        pieces = [[_crossings(ring, lat) for ring in piece] for piece in shape.pieces]
        for column in range(int((shape.high.lon - shape.low.lon) / wide) + 1):
            lon = shape.low.lon + column * wide
            if any(
                _is_between(outer, lon) and not any(_is_between(hole, lon) for hole in holes)
                for outer, *holes in pieces
            ):
                yield Point(lat, lon)


def border_samples(shape: Shape, step: float) -> Iterator[Point]:
    """Points on the borders of a shape, including all corners."""
    for start, end in (side for piece in shape.pieces for ring in piece for side in pairwise(ring)):
        parts = int(metres(start, end) / step) + 1
        for part in range(parts):
            share = part / parts
            yield Point(start.lat + share * (end.lat - start.lat), start.lon + share * (end.lon - start.lon))


def crosses_itself(ring: Ring) -> bool:
    """Whether a side of a closed ring touches one that is not its neighbour, or turns back on a neighbour.

    Corners are rounded to a millionth of a degree (a tenth of a metre), so that the arithmetic is exact.
    Those that are then equal to the one before are one corner, and fewer than three make no ring.
    """
    rounded = ((round(point.lat * 1e6), round(point.lon * 1e6)) for point in ring)
    corners = [corner for corner, _ in groupby(rounded)]
    if len(corners) < _LEAST_RING:
        return True
    sides = [(min(pair), max(pair), number) for number, pair in enumerate(pairwise(corners))]
    last = len(sides) - 1
    sides.sort()
    for place, (low, high, number) in enumerate(sides):
        for other_low, other_high, other in sides[place + 1 :]:
            if other_low[0] > high[0]:
                break
            apart = abs(number - other)
            if apart in (1, last):
                if _turns_back(corners, number, other):
                    return True
            elif _meet((low, high), (other_low, other_high)):
                return True
    return False


Cell = tuple[int, int]


def _side_of(start: Cell, end: Cell, point: Cell) -> int:
    """Positive on the left of the line from start to end, negative on its right, 0 on it."""
    return (end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (point[0] - start[0])


def _meet(first: tuple[Cell, Cell], second: tuple[Cell, Cell]) -> bool:
    ways = [_side_of(*first, point) for point in second] + [_side_of(*second, point) for point in first]
    if not any(ways):  # in one line: they meet where both directions overlap
        return all(
            max(min(first[0][axis], first[1][axis]), min(second[0][axis], second[1][axis]))
            <= min(max(first[0][axis], first[1][axis]), max(second[0][axis], second[1][axis]))
            for axis in (0, 1)
        )
    return ways[0] * ways[1] <= 0 and ways[2] * ways[3] <= 0


def _turns_back(corners: Sequence[Cell], number: int, other: int) -> bool:
    """Whether the second of two neighbouring sides goes back along the first."""
    first, second = (number, other) if other == (number + 1) % (len(corners) - 1) else (other, number)
    before, corner, after = corners[first], corners[second], corners[second + 1]
    ahead = (corner[0] - before[0]) * (after[0] - corner[0]) + (corner[1] - before[1]) * (
        after[1] - corner[1]
    )
    return ahead < 0 and _side_of(before, corner, after) == 0
