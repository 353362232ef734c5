"""Parts of the city that a search selects: an area that is drawn or named, or everything near a point.

An exact place is in or out. A neighbourhood is in if all of it is, out if none of it is, and otherwise
unknown: a flat somewhere in it may be on either side. Borders are exact to `BORDER_METRES`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Protocol

from sale_sofia.geography import settings as fixed
from sale_sofia.geography.gazetteer import areas_of
from sale_sofia.geography.shapes import (
    SOFIA_CENTRE,
    Point,
    Shape,
    border_samples,
    crosses_itself,
    inner_samples,
    metres,
    shape_of,
)
from sale_sofia.settings.words import Said

_DIGITS: Final = 5
"""Of a degree: a metre."""
_LEAST_CORNERS: Final = 3
_LONGEST_SHOWN: Final = 40
_MIDDLE_STEPS: Final = 20


class Ground(Protocol):
    """A part of the city."""

    def contains(self, point: Point) -> bool:
        """Whether the point is in it."""

    def holds(self, shapes: Sequence[Shape]) -> bool | None:
        """Whether all of these shapes are in it, or none; None if it divides them."""


class Circle:
    """Everything within a radius, in metres, of a point."""

    def __init__(self, middle: Point, radius: float) -> None:
        self._middle, self._radius = middle, radius

    def contains(self, point: Point) -> bool:
        """Whether the point is in it."""
        return metres(self._middle, point) <= self._radius

    def holds(self, shapes: Sequence[Shape]) -> bool | None:
        """Decided by the farthest corner, as a circle is convex, and by the nearest side."""
        corners = (point for shape in shapes for piece in shape.pieces for point in piece[0])
        if max(metres(self._middle, corner) for corner in corners) <= self._radius:
            return True
        nearest = min(shape.metres_outside(self._middle) for shape in shapes)
        return None if nearest <= self._radius else False


class Outline:
    """One or several areas together."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._shape = shape_of(tuple(piece for shape in shapes for piece in shape.pieces))
        self._parts = parts = [shape_of((piece,)) for piece in self._shape.pieces]
        self._border = [
            point
            for part in parts
            for point in border_samples(part, fixed.SAMPLE_METRES)
            if not any(
                other is not part and other.metres_outside(point) <= fixed.BORDER_METRES for other in parts
            )
        ]
        """Sample points of the outer border; none where two of the areas meet."""

    def contains(self, point: Point) -> bool:
        """Whether the point is in one of the areas."""
        return self._shape.contains(point)

    def holds(self, shapes: Sequence[Shape]) -> bool | None:
        """Decided by points of both borders that are farther than `BORDER_METRES` from the other border."""
        if not any(_boxes_meet(self._shape, shape) for shape in shapes):
            return False
        if any(_depth(point, shapes) > fixed.BORDER_METRES for point in self._border):
            return None
        reached = left = False
        for point in (point for shape in shapes for point in border_samples(shape, fixed.SAMPLE_METRES)):
            inside = self._shape.contains(point)
            if (
                not (reached if inside else left)
                and self._shape.metres_to_border(point) > fixed.BORDER_METRES
            ):
                reached, left = reached or inside, left or not inside
            if reached and left:
                return None
        # The remaining borders run along each other; there the middles decide.
        if reached or not left:
            return reached or all(map(self.contains, map(_middle, shapes)))
        return None if any(_depth(point, shapes) > fixed.BORDER_METRES for point in self._middles) else False

    @cached_property
    def _middles(self) -> list[Point]:
        return [_middle(part) for part in self._parts]


def _boxes_meet(shape: Shape, other: Shape) -> bool:
    return all(shape.low[axis] <= other.high[axis] and other.low[axis] <= shape.high[axis] for axis in (0, 1))


def _depth(point: Point, shapes: Sequence[Shape]) -> float:
    """How deep a point is inside the shapes; 0 outside."""
    return max(shape.metres_to_border(point) if shape.contains(point) else 0.0 for shape in shapes)


def _middle(shape: Shape) -> Point:
    """The deepest of a few hundred points inside."""
    step = max(fixed.SAMPLE_METRES, metres(shape.low, shape.high) / _MIDDLE_STEPS)
    points = (*inner_samples(shape, step), shape.pieces[0][0][0])
    return max(points, key=shape.metres_to_border)


class Zone:
    """A part of the city that caches which neighbourhoods are in it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._cached: dict[int, bool | None] = {}

    def holds(self, point: Point) -> bool:
        """Whether an exact point is in it."""
        return self._ground.contains(point)

    def holds_neighbourhood(self, number: int) -> bool | None:
        """Whether all of it is in the zone, or none; None if it is divided, or its borders are unknown."""
        if number not in self._cached:
            shapes = [area.shape for area in areas_of(number)]
            self._cached[number] = self._ground.holds(shapes) if shapes else None
        return self._cached[number]


# Points and areas as texts: "42.6977,23.3219", and for an area its corners with semicolons between them.


def read_point(text: str) -> Point:
    """The point of a text: latitude, comma, longitude.

    Raises:
        ValueError: it is not a point, or not in or near Sofia; the message says so.
    """
    try:
        lat, lon = (round(float(part), _DIGITS) for part in text.split(","))
    except ValueError:
        raise ValueError(Said("wrong_area.point", text=text[:_LONGEST_SHOWN])) from None
    point = Point(lat, lon)
    if not metres(point, SOFIA_CENTRE) <= fixed.SOFIA_METRES:  # also true for NaN
        km = round(fixed.SOFIA_METRES / 1000)
        raise ValueError(Said("wrong_area.far", text=text[:_LONGEST_SHOWN], km=km))
    return point


def read_outline(text: str) -> Shape:
    """The area of a text of corners, separated by semicolons or spaces; the first need not be repeated.

    Raises:
        ValueError: it is not an area in or near Sofia; the message says why.
    """
    parts = text.replace(";", " ").split()
    if len(parts) > fixed.POLYGON_MOST_POINTS + 1:  # with one that closes it
        raise ValueError(Said("wrong_area.many", count=len(parts), most=fixed.POLYGON_MOST_POINTS))
    corners = [read_point(part) for part in parts]
    following = zip(corners, [*corners[1:], *corners[:1]], strict=True)
    ring = [corner for corner, after in following if corner != after]
    if len(ring) < _LEAST_CORNERS:
        raise ValueError(Said("wrong_area.few", count=len(ring)))
    closed = (*ring, ring[0])
    if crosses_itself(closed):
        raise ValueError(Said("wrong_area.crosses"))
    shape = shape_of(((closed,),))
    if shape.square_metres < fixed.POLYGON_LEAST_SQUARE_METRES:
        raise ValueError(Said("wrong_area.small", least=fixed.POLYGON_LEAST_SQUARE_METRES))
    return shape


def point_text(point: Point) -> str:
    """The point as `read_point` reads it."""
    return f"{point.lat:.{_DIGITS}f},{point.lon:.{_DIGITS}f}"


def outline_text(shape: Shape) -> str:
    """The corners of a drawn area, as `read_outline` reads them."""
    return ";".join(map(point_text, shape.pieces[0][0][:-1]))
