"""What is near a place: school, supermarket, stop with its lines, big road.

Walks are those of `metro.walk_minutes`. For a neighbourhood, each value holds for every point of its area:
minutes and classes as ranges, a name only where it is the same from everywhere. What the data does not cover
is unknown: shops and schools where all are far away, and the absence of roads where some are missing.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from sale_sofia.geography.gazetteer import areas, areas_of, base_map, shipped
from sale_sofia.geography.imported import NEARBY, keep, own, remove, until_changed, use
from sale_sofia.geography.metro import walk_minutes
from sale_sofia.geography.settings import (
    METRES_PER_DEGREE,
    NEAR_STOP_METRES,
    NEARBY_KNOWN_METRES,
    ROAD_CLASS_METRES,
    SAMPLE_METRES,
)
from sale_sofia.geography.shapes import Point, Shape, samples, shape_of
from sale_sofia.geography.surroundings import Nearby, Nearest, Road
from sale_sofia.geography.travel import Floats, used_timetable

Kind = Literal["school", "shop", "stop"]
_SLACK: Final = SAMPLE_METRES * (math.sqrt(0.5) + 0.5)
"""No point of an area is farther from one of its samples."""


class Spots:
    """Places of one kind."""

    def __init__(self, rows: Sequence[tuple[str, Point, int | None, frozenset[str]]]) -> None:
        self.names = [row[0] for row in rows]
        self.ranks = [row[2] for row in rows]
        self.lines = [row[3] for row in rows]
        self._ground = np.array([row[1] for row in rows]).reshape(-1, 2) * METRES_PER_DEGREE

    def nearest(self, points: Floats, slack: float) -> Nearest | None:
        """From anywhere within `slack` metres of these points; None where the data does not cover them."""
        if not self.names:
            return None
        # The few that may be the nearest to some point, or whose lines count
        low, high = points.min(axis=0), points.max(axis=0)
        from_middle = np.hypot(*((self._ground - (low + high) / 2).T))
        reach = float(np.hypot(*(high - low)))
        away = np.flatnonzero(
            from_middle <= max(float(from_middle.min()), NEAR_STOP_METRES) + reach + 2 * _SLACK
        )
        ground = self._ground[away]
        apart = np.hypot(*(points[:, None, axis] - ground[None, :, axis] for axis in (0, 1)))
        shortest = apart.min(axis=1)
        if shortest.max() + slack > NEARBY_KNOWN_METRES:
            return None
        possible = [int(index) for index in away[(apart <= shortest[:, None] + 2 * slack).any(axis=0)]]
        names, ranks = {self.names[index] for index in possible}, [self.ranks[index] for index in possible]
        known_ranks = [rank for rank in ranks if rank is not None]
        return Nearest(
            *_minutes(max(float(shortest.min()) - slack, 0.0), float(shortest.max()) + slack, slack),
            names.pop() if len(names) == 1 else None,
            (min(known_ranks), max(known_ranks)) if known_ranks and len(known_ranks) == len(ranks) else None,
            *self._lines(away, apart, slack),
        )

    def _lines(self, away: Any, apart: Floats, slack: float) -> tuple[tuple[str, ...], tuple[str, ...]]:  # noqa: ANN401 - an array
        """Lines of the stops within a short walk: from every point, and from at least one."""
        within = np.flatnonzero((apart <= NEAR_STOP_METRES + slack).any(axis=0))
        some = {line for index in within for line in self.lines[away[index]]}
        sure = [
            line
            for line in some
            if apart[:, [index for index in within if line in self.lines[away[index]]]].min(axis=1).max()
            <= NEAR_STOP_METRES - slack
        ]
        return tuple(sorted(sure)), tuple(sorted(some))


def _minutes(least: float, most: float, slack: float) -> tuple[int, int]:
    """Walking minutes of a range of metres; both the same where the place is exact."""
    if not slack:
        return round(walk_minutes(least)), round(walk_minutes(most))
    return math.floor(walk_minutes(least)), math.ceil(walk_minutes(most))


# What there is: supermarkets are shipped, schools only imported, stops those of the timetable in use.


@until_changed
@cache
def spots(kind: Kind) -> Spots:
    """All places of a kind; empty where that has to be imported and was not."""
    return Spots([*_READ[kind]()])


Row = tuple[str, Point, int | None, frozenset[str]]


def _schools() -> Iterable[Row]:
    for name, lat, lon, rank in (own("schools") or {"schools": ()})["schools"]:
        yield name, Point(lat, lon), rank, frozenset()


@until_changed
@cache
def ranked_schools() -> int:
    """How many schools have a rank."""
    return sum(rank is not None for rank in spots("school").ranks)


@until_changed
@cache
def schools_file() -> str:
    """The name of the file that schools were imported from; empty where none were."""
    imported = own("schools")
    return imported["meta"]["source"] if imported else ""


def _shops() -> Iterable[Row]:
    for chain, lat, lon in shipped("odbl/shops.json").values():
        yield chain, Point(lat, lon), None, frozenset()


def _stops() -> Iterable[Row]:
    timetable = used_timetable()
    lines: dict[int, set[str]] = {}
    for pattern in timetable.patterns:
        for stop in pattern.stops.tolist():
            lines.setdefault(stop, set()).add(pattern.line)
    for stop, served in sorted(lines.items()):
        name = timetable.names[stop] or timetable.codes[stop]
        yield name, timetable.points[stop], None, frozenset(served)


def lines() -> tuple[str, ...]:
    """All lines of the timetable in use: M2, b94, t5, tb2."""
    return tuple(sorted({pattern.line for pattern in used_timetable().patterns}))


_READ: Final[Mapping[Kind, Callable[[], Iterable[Row]]]] = {
    "school": _schools,
    "shop": _shops,
    "stop": _stops,
}


@cache
def _road_sides() -> tuple[Floats, Floats]:
    """The segments of big roads in metres: their starts, and the vectors to their ends."""
    roads = base_map()["roads"]
    sides = [side for kind in ("main", "ring") for line in roads[kind] for side in pairwise(line)]
    ends = np.array(sides) * METRES_PER_DEGREE
    return ends[:, 0], ends[:, 1] - ends[:, 0]


def _road(points: Floats, slack: float) -> Road:
    """The class of the nearest and of the farthest point; `beside` is possible where road data is missing."""
    begin, way = _road_sides()
    low, high = points.min(axis=0), points.max(axis=0)
    reach = ROAD_CLASS_METRES[-1] + 2 * _SLACK
    ends = begin + way
    close = ((np.minimum(begin, ends) <= high + reach) & (np.maximum(begin, ends) >= low - reach)).all(axis=1)
    begin, way = begin[close], way[close]
    shortest = np.full(len(points), math.inf)
    for start, to in zip(begin, way, strict=True):
        length = float(to @ to)
        share = np.clip((points - start) @ to / length, 0.0, 1.0) if length else np.zeros(len(points))
        shortest = np.minimum(shortest, np.hypot(*(points - start - share[:, None] * to).T))
    all_known = all(_roads_known().contains(Point(*point)) for point in points / METRES_PER_DEGREE)
    least = float(shortest.min()) - slack if all_known else 0.0
    return Road(_class(least), _class(float(shortest.max()) + slack))


@cache
def _roads_known() -> Shape:
    """The area within the mesh of big roads that `make places` finds.

    Outside the northern tangent, the ring and motorways are missing wherever no bus uses them.
    """
    corners = [Point(*corner) for corner in shipped("odbl/roads_known.json").values()]
    return shape_of((((*corners, corners[0]),),))


def _class(metres: float) -> int:
    return sum(metres > edge for edge in ROAD_CLASS_METRES)


# Near a place, or somewhere in a neighbourhood.


@until_changed
@lru_cache(4096)
def near_point(point: Point) -> Nearby:
    """What is near an exact point."""
    return _near(np.array([point]) * METRES_PER_DEGREE, 0.0)


def near_wherever(neighbourhood: int) -> Nearby | None:
    """What is near every point of a neighbourhood; None where its borders are not known."""
    return _by_neighbourhood().get(neighbourhood)


def near_all(shapes: Sequence[Shape]) -> Nearby:
    """What is near every point of these shapes; computed when data is built."""
    points = np.array([point for shape in shapes for point in samples(shape, SAMPLE_METRES)])
    return _near(points * METRES_PER_DEGREE, _SLACK)


def _near(points: Floats, slack: float) -> Nearby:
    school, shop, stop = (spots(kind).nearest(points, slack) for kind in ("school", "shop", "stop"))
    return Nearby(school, shop, stop, _road(points, slack))


@until_changed
@cache
def _by_neighbourhood() -> dict[int, Nearby]:
    """The shipped values; with imported schools, stops or areas, those computed from exactly these files."""
    content = own(NEARBY) if any(_basis()) else {"basis": _basis(), "nearby": shipped("odbl/nearby.json")}
    if content is None or content["basis"] != _basis():
        return {}
    return {int(number): _nearby(row) for number, row in content["nearby"].items()}


def _nearby(row: Sequence[Any]) -> Nearby:
    school, shop, stop = (_nearest(nearest) if nearest else None for nearest in row[:-1])
    return Nearby(school, shop, stop, Road(*row[-1]))


def _nearest(row: Sequence[Any]) -> Nearest:
    least, most, name, ranks, lines, some = row
    return Nearest(least, most, name, tuple(ranks) if ranks else None, tuple(lines), tuple(some))


def _basis() -> list[float | None]:
    """The import times of the files that these values are computed from."""
    imported = map(own, ("schools", "timetable", "neighbourhoods"))
    return [content["meta"]["imported_at"] if content else None for content in imported]


def keep_nearby(data_dir: Path) -> None:
    """Compute and store what is near all neighbourhoods, after a change to schools, stops or areas."""
    use(data_dir)
    if not any(_basis()):
        remove(data_dir, NEARBY)
        return
    numbers = sorted({number for area in areas() for number in area.neighbourhoods})
    nearby = {str(number): near_all([area.shape for area in areas_of(number)]) for number in numbers}
    keep(data_dir, NEARBY, {"basis": _basis(), "nearby": nearby})
