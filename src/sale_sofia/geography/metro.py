"""The metro: its stations with their entrances, and the walk to the nearest one.

A walk is as long as the crow flies, times a detour, at an even pace. From somewhere in a neighbourhood it is
a range, which holds the walk from every point of its area.
"""

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sale_sofia.geography import settings as fixed
from sale_sofia.geography.gazetteer import areas, areas_of, shipped
from sale_sofia.geography.imported import WALKS, keep, own, remove, until_changed, use
from sale_sofia.geography.shapes import Point, Shape, metres, samples


class Station(NamedTuple):
    """A station of the metro."""

    code: str
    name: str
    name_en: str
    lines: tuple[str, ...]
    doors: tuple[Point, ...]
    """Its entrances; where none are known, its middle."""


class Walk(NamedTuple):
    """Whole minutes on foot, from the nearest to the farthest point that is meant."""

    least: int
    most: int


def walk_minutes(crow_metres: float) -> float:
    """How long one walks so far."""
    return crow_metres * fixed.WALK_DETOUR / fixed.WALK_METRES_PER_MINUTE


@until_changed
@cache
def stations() -> tuple[Station, ...]:
    """All of them."""
    given = own("stations")
    return tuple(
        Station(code, name, name_en, tuple(lines), tuple(Point(*door) for door in doors))
        for code, name, name_en, lines, doors in (
            given["stations"] if given else shipped("odbl/metro.json").values()
        )
    )


@until_changed
@cache
def _doors() -> tuple[Point, ...]:
    return tuple(door for station in stations() for door in station.doors)


def nearest_stations(point: Point, count: int) -> list[tuple[Station, float]]:
    """The stations with the shortest walks, and their minutes."""
    walks = ((one, walk_minutes(min(metres(point, door) for door in one.doors))) for one in stations())
    return sorted(walks, key=lambda walk: walk[1])[:count]


def walk_from(point: Point) -> Walk:
    """The walk to the nearest entrance from an exact place."""
    minutes = round(walk_minutes(_nearest(point, _doors())))
    return Walk(minutes, minutes)


def walk_within(neighbourhood: int) -> Walk | None:
    """The walk from wherever in a neighbourhood; None where its borders are not known."""
    return _walks().get(neighbourhood)


@until_changed
@cache
def _walks() -> dict[int, Walk]:
    """As shipped; with own stations or areas those that were worked out of them, and of no others."""
    found = own(WALKS) if any(_basis()) else {"basis": _basis(), "walks": shipped("odbl/metro_walks.json")}
    if found is None or found["basis"] != _basis():
        return {}
    return {int(number): Walk(*walk) for number, walk in found["walks"].items()}


def _basis() -> list[float | None]:
    """Of which imported files walks are made: when each came."""
    given = map(own, ("stations", "neighbourhoods"))
    return [one["meta"]["imported_at"] if one else None for one in given]


def keep_walks(data_dir: Path) -> None:
    """Work out the walks of the stations and areas that are in use, after they were changed."""
    use(data_dir)
    if not any(_basis()):
        remove(data_dir, WALKS)
        return
    given = own("neighbourhoods") or {"features": ()}
    replaced = {number for one in given["features"] for number in one["properties"]["neighbourhoods"]}
    known = shipped("odbl/metro_walks.json") if own("stations") is None else {}
    numbers = {number for area in areas() for number in area.neighbourhoods}
    walks = {
        str(number): walk_over([area.shape for area in areas_of(number)], _doors())
        for number in sorted(numbers)
        if number in replaced or str(number) not in known
    }
    keep(data_dir, WALKS, {"basis": _basis(), "walks": {**known, **walks}})


def walk_over(shapes: Sequence[Shape], doors: Sequence[Point]) -> Walk:
    """The walk from wherever in these shapes to the nearest of the doors; worked out when data is made.

    It is that of samples; no point of a shape is farther from one of them than `slack`.
    """
    slack = fixed.SAMPLE_METRES * (math.sqrt(0.5) + 0.5)
    far = [
        _nearest(point, near)
        for shape in shapes
        if (near := _doors_near(shape, doors))
        for point in samples(shape, fixed.SAMPLE_METRES)
    ]
    least, most = walk_minutes(max(min(far) - slack, 0.0)), walk_minutes(max(far) + slack)
    return Walk(math.floor(least), math.ceil(most))


def _doors_near(shape: Shape, doors: Sequence[Point]) -> Sequence[Point]:
    """Those that may be the nearest of a point of the shape: few of all."""
    low, high = shape.low, shape.high
    middle, reach = Point((low.lat + high.lat) / 2, (low.lon + high.lon) / 2), metres(low, high)
    nearest = _nearest(middle, doors)
    return [door for door in doors if metres(door, middle) <= nearest + reach]


def _nearest(point: Point, doors: Sequence[Point]) -> float:
    return min([metres(point, door) for door in doors])
