"""The metro: its stations with their entrances, and the walk to the nearest one.

A walk is the straight-line distance times a detour factor, at a constant pace. From a neighbourhood it is a
range that contains the walk from every point of its area.
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
    """Its entrances; its centre where none are known."""


class Walk(NamedTuple):
    """Whole minutes on foot, from the nearest and from the farthest possible point."""

    least: int
    most: int


def walk_minutes(crow_metres: float) -> float:
    """Minutes on foot over this straight-line distance."""
    return crow_metres * fixed.WALK_DETOUR / fixed.WALK_METRES_PER_MINUTE


@until_changed
@cache
def stations() -> tuple[Station, ...]:
    """All stations: the imported ones, else the shipped ones."""
    imported = own("stations")
    return tuple(
        Station(code, name, name_en, tuple(lines), tuple(Point(*door) for door in doors))
        for code, name, name_en, lines, doors in (
            imported["stations"] if imported else shipped("odbl/metro.json").values()
        )
    )


@until_changed
@cache
def _doors() -> tuple[Point, ...]:
    return tuple(door for station in stations() for door in station.doors)


def nearest_stations(point: Point, count: int) -> list[tuple[Station, float]]:
    """The stations with the shortest walks, each with its minutes."""
    walks = (
        (station, walk_minutes(min(metres(point, door) for door in station.doors))) for station in stations()
    )
    return sorted(walks, key=lambda walk: walk[1])[:count]


def walk_from(point: Point) -> Walk:
    """The walk to the nearest entrance from an exact point."""
    minutes = round(walk_minutes(_nearest(point, _doors())))
    return Walk(minutes, minutes)


def walk_within(neighbourhood: int) -> Walk | None:
    """The walk from anywhere in a neighbourhood; None where its borders are not known."""
    return _walks().get(neighbourhood)


@until_changed
@cache
def _walks() -> dict[int, Walk]:
    """The shipped walks; with imported stations or areas, those computed from exactly these files."""
    content = own(WALKS) if any(_basis()) else {"basis": _basis(), "walks": shipped("odbl/metro_walks.json")}
    if content is None or content["basis"] != _basis():
        return {}
    return {int(number): Walk(*walk) for number, walk in content["walks"].items()}


def _basis() -> list[float | None]:
    """The import times of the files that walks are computed from."""
    imported = map(own, ("stations", "neighbourhoods"))
    return [content["meta"]["imported_at"] if content else None for content in imported]


def keep_walks(data_dir: Path) -> None:
    """Compute and store the walks for the stations and areas in use, after a change to them."""
    use(data_dir)
    if not any(_basis()):
        remove(data_dir, WALKS)
        return
    imported = own("neighbourhoods") or {"features": ()}
    replaced = {
        number for feature in imported["features"] for number in feature["properties"]["neighbourhoods"]
    }
    shipped_walks = shipped("odbl/metro_walks.json") if own("stations") is None else {}
    numbers = {number for area in areas() for number in area.neighbourhoods}
    walks = {
        str(number): walk_over([area.shape for area in areas_of(number)], _doors())
        for number in sorted(numbers)
        if number in replaced or str(number) not in shipped_walks
    }
    keep(data_dir, WALKS, {"basis": _basis(), "walks": {**shipped_walks, **walks}})


def walk_over(shapes: Sequence[Shape], doors: Sequence[Point]) -> Walk:
    """The walk from anywhere in these shapes to the nearest of the doors; computed when data is built.

    Computed from sample points; no point of a shape is farther than `slack` from one of them.
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
    """The few doors that may be the nearest one to some point of the shape."""
    low, high = shape.low, shape.high
    middle, reach = Point((low.lat + high.lat) / 2, (low.lon + high.lon) / 2), metres(low, high)
    nearest = _nearest(middle, doors)
    return [door for door in doors if metres(door, middle) <= nearest + reach]


def _nearest(point: Point, doors: Sequence[Point]) -> float:
    return min([metres(point, door) for door in doors])
