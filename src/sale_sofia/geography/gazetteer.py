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
    """One of the files of `data`, by its path there."""
    found = resources.files(FILES).joinpath("data", *name.split("/")).read_bytes()
    return json.loads(gzip.decompress(found) if name.endswith(".gz") else found)


@dataclass(frozen=True, slots=True)
class Centre:
    """The middle of a neighbourhood, never an address."""

    point: Point | None
    basis: str
    """From what it is known, or why it is not."""


@cache
def centres() -> dict[int, Centre]:
    """Of every neighbourhood, by its number."""
    return {
        int(number): Centre(Point(*at) if at else None, basis)
        for number, (at, basis) in shipped("odbl/centres.json").items()
    }


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the city as OpenStreetMap draws it."""

    osm: str
    """Its number there; empty for what was imported."""
    name: str
    neighbourhoods: tuple[int, ...]
    """Those it is the area of, or a piece of it, or that lie somewhere in it; none for parts nobody lists."""
    shape: Shape


@until_changed
@cache
def areas() -> tuple[Area, ...]:
    """All of them, the smallest first. They overlap: Люлин 5 lies in Люлин.

    A neighbourhood that was imported has the area that came with it, and no other.
    """
    given = [_area(one) for one in (own("neighbourhoods") or {"features": ()})["features"]]
    replaced = {number for area in given for number in area.neighbourhoods}
    found = [*given, *_others(map(_area, shipped("odbl/neighbourhoods.geojson.gz")["features"]), replaced)]
    return tuple(sorted(found, key=lambda area: area.shape.square_metres))


def _others(shipped_ones: Iterable[Area], replaced: Collection[int]) -> Iterator[Area]:
    """Without the neighbourhoods that are replaced, and without areas that were theirs alone."""
    for area in shipped_ones:
        left = tuple(number for number in area.neighbourhoods if number not in replaced)
        if left or not area.neighbourhoods:
            yield replace(area, neighbourhoods=left)


def _area(feature: dict[str, Any]) -> Area:
    told = feature["properties"]
    return Area(
        told.get("osm", ""), told["name"], tuple(told["neighbourhoods"]), read_shape(feature["geometry"])
    )


@until_changed
@cache
def drawn(kind: str) -> tuple[Area, ...]:
    """Districts or parks, which are not shipped: only what was imported."""
    return tuple(map(_area, (own(kind) or {"features": ()})["features"]))


@until_changed
@cache
def areas_of(neighbourhood: int) -> tuple[Area, ...]:
    """The areas that a neighbourhood lies in, all together; none where its borders are not known."""
    return tuple(area for area in areas() if neighbourhood in area.neighbourhoods)


def metres_outside(neighbourhood: int, point: Point) -> float | None:
    """How far a point is from a neighbourhood, 0 inside; None where its borders are not known."""
    return min((area.shape.metres_outside(point) for area in areas_of(neighbourhood)), default=None)


@cache
def base_map() -> dict[str, Any]:
    """What a map of the city is drawn from: `roads` by kind, `names` of the large ones, `metro` by line."""
    found: dict[str, Any] = shipped("odbl/base_map.json.gz")
    return found
