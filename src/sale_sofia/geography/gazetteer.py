"""Where the neighbourhoods of Sofia are: centres and areas, by the numbers of `listings/places.yaml`.

The data is shipped apart from the code, by its licences: `data/README.md`. Nothing is read on import.
"""

import gzip
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from sale_sofia.geography.imported import own, until_changed
from sale_sofia.geography.settings import FILES
from sale_sofia.geography.shapes import Point, Shape, read_shape


def shipped(name: str) -> Any:  # noqa: ANN401 - any JSON
    """The parsed content of a file in `data`, by its path there."""
    content = resources.files(FILES).joinpath("data", *name.split("/")).read_bytes()
    return json.loads(gzip.decompress(content) if name.endswith(".gz") else content)


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of a neighbourhood, never an address."""

    point: Point | None
    basis: str
    """Where the point comes from, or why there is none."""


@cache
def centres() -> dict[int, Centre]:
    """The centre of every neighbourhood, by its number."""
    return {
        int(number): Centre(Point(*at) if at else None, basis)
        for number, (at, basis) in shipped("odbl/centres.json").items()
    }


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the city as OpenStreetMap draws it."""

    osm: str
    """Its id there; empty for an imported area."""
    name: str
    neighbourhoods: tuple[int, ...]
    """Those that it outlines, is a piece of, or contains; empty where no listing names the area."""
    shape: Shape
    whole: bool
    """Whether it is one neighbourhood, and no larger area in which several lie."""


@until_changed
@cache
def areas() -> tuple[Area, ...]:
    """All areas, the smallest first. They overlap: Люлин 5 lies in Люлин.

    An imported neighbourhood has the imported area only.
    """
    imported = [_area(feature) for feature in (own("neighbourhoods") or {"features": ()})["features"]]
    replaced = {number for area in imported for number in area.neighbourhoods}
    others = _others(map(_area, shipped("odbl/neighbourhoods.geojson.gz")["features"]), replaced)
    return tuple(sorted([*imported, *others], key=lambda area: area.shape.square_metres))


def _others(shipped_areas: Iterable[Area], replaced: Collection[int]) -> Iterator[Area]:
    """The shipped areas without replaced neighbourhoods, and without areas that belonged only to them."""
    for area in shipped_areas:
        remaining = tuple(number for number in area.neighbourhoods if number not in replaced)
        if remaining or not area.neighbourhoods:
            yield replace(area, neighbourhoods=remaining)


def _area(feature: dict[str, Any]) -> Area:
    properties, numbers = feature["properties"], tuple(feature["properties"]["neighbourhoods"])
    return Area(
        properties.get("osm", ""),
        properties["name"],
        numbers,
        read_shape(feature["geometry"]),
        len(numbers) == 1,
    )


@until_changed
@cache
def drawn(kind: str) -> tuple[Area, ...]:
    """Imported districts or parks; none are shipped."""
    return tuple(map(_area, (own(kind) or {"features": ()})["features"]))


@until_changed
@cache
def areas_of(neighbourhood: int) -> tuple[Area, ...]:
    """The areas that make up a neighbourhood; empty where its borders are not known."""
    return tuple(area for area in areas() if neighbourhood in area.neighbourhoods)


def metres_outside(neighbourhood: int, point: Point) -> float | None:
    """How far a point is from a neighbourhood, 0 inside; None where its borders are not known."""
    return min((area.shape.metres_outside(point) for area in areas_of(neighbourhood)), default=None)


@cache
def base_map() -> dict[str, Any]:
    """The data of the city map: `roads` by kind, `names` of the large ones, `metro` by line."""
    content: dict[str, Any] = shipped("odbl/base_map.json.gz")
    return content
