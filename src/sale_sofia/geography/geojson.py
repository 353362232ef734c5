"""Areas, stations and schools of a user's GeoJSON file, validated; each fault is one sentence."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from sale_sofia.geography.gazetteer import centres
from sale_sofia.geography.settings import (
    AREA_FROM_CENTRE_METRES,
    AREA_REACH_METRES,
    FAULTS_SHOWN,
    GEOJSON_MOST_BYTES,
    GEOJSON_MOST_CORNERS,
    GEOJSON_MOST_FEATURES,
    SOFIA_METRES,
)
from sale_sofia.geography.shapes import SOFIA_CENTRE, Point, Shape, crosses_itself, metres, read_shape

_NAMES: Final = ("name", "name_bg", "n")
Number = Callable[[str], int | None]
"""The number of the neighbourhood that a text names."""


class WrongPlaces(ValueError):
    """A file that cannot be imported; one sentence for each fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        more = len(faults) - FAULTS_SHOWN
        lines = [*faults[:FAULTS_SHOWN], *([f"and {more} more faults"] if more > 0 else [])]
        super().__init__("\n".join(lines))


class Feature(NamedTuple):
    """A named thing on the map."""

    name: str
    properties: Mapping[str, Any]
    geometry: Mapping[str, Any]


def read_features(path: Path) -> list[Feature]:
    """All features of a file; never reads more than `GEOJSON_MOST_BYTES`.

    Raises:
        WrongPlaces: the file is not GeoJSON, or is too large.
    """
    with path.open("rb") as file:
        content = file.read(GEOJSON_MOST_BYTES + 1)
    if len(content) > GEOJSON_MOST_BYTES:
        raise WrongPlaces([f"{path}: is larger than {GEOJSON_MOST_BYTES:_} bytes, the most that is read"])
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise WrongPlaces([f"{path}: is no JSON: {error}"]) from None
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list) or document.get("type") != "FeatureCollection":
        raise WrongPlaces([f"{path}: is no GeoJSON; it must be a FeatureCollection with features"])
    if not 0 < len(features) <= GEOJSON_MOST_FEATURES:
        raise WrongPlaces(
            [f"{path}: has {len(features)} features; allowed are 1 to {GEOJSON_MOST_FEATURES:_}"]
        )
    return [_feature(feature, number) for number, feature in enumerate(features, 1)]


def _feature(feature: Any, number: int) -> Feature:  # noqa: ANN401 - any JSON
    if not isinstance(feature, dict) or not isinstance(feature.get("geometry"), dict):
        raise WrongPlaces([f"feature {number}: has no geometry"])
    properties = feature.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    name = next((properties[key] for key in _NAMES if isinstance(properties.get(key), str)), "")
    return Feature(name.strip(), properties, feature["geometry"])


def are_points(features: Iterable[Feature]) -> bool:
    """Whether all features are points (stations, not areas)."""
    return all(feature.geometry.get("type") == "Point" for feature in features)


# Areas.


def read_areas(
    features: Sequence[Feature], *, nameless: bool = False, number_of: Number | None = None
) -> list[dict[str, Any]]:
    """The areas as GeoJSON features with `name` and `neighbourhoods`.

    With `number_of` each must name a neighbourhood. Without `nameless` each needs a name.

    Raises:
        WrongPlaces: a name is missing or unknown, or a shape cannot be an area of Sofia.
    """
    faults, read, corners = [], [], 0
    for place, feature in enumerate(features, 1):
        label = feature.name or f"feature {place}"
        if not feature.name and not nameless:
            faults.append(f"{label}: has no name; give it a property `name`")
            continue
        try:
            shape = _checked_shape(feature.geometry)
            number = _checked_number(feature.name, shape, number_of) if number_of else None
        except ValueError as error:
            faults.append(f"{label}: {error}")
            continue
        corners += sum(len(ring) for piece in shape.pieces for ring in piece)
        properties = {"name": feature.name, "neighbourhoods": [] if number is None else [number]}
        read.append({"type": "Feature", "properties": properties, "geometry": dict(feature.geometry)})
    if corners > GEOJSON_MOST_CORNERS:
        faults.append(f"the areas have {corners:_} corners together; allowed are {GEOJSON_MOST_CORNERS:_}")
    if faults:
        raise WrongPlaces(faults)
    return read


def _checked_shape(geometry: Mapping[str, Any]) -> Shape:
    """Raises ValueError: the geometry is not an area in or near Sofia."""
    try:
        shape = read_shape(dict(geometry))
        rings = [ring for piece in shape.pieces for ring in piece]
        far = [point for ring in rings for point in ring if not _is_near(point, AREA_REACH_METRES)]
    except (TypeError, KeyError, IndexError):
        raise ValueError("its coordinates are not those of a Polygon or MultiPolygon") from None
    if far:
        lat, lon = far[0]
        km = AREA_REACH_METRES / 1000
        raise ValueError(
            f"latitude {lat:g}, longitude {lon:g} is more than {km:g} km from Sofia; longitude comes first"
        )
    if any(map(crosses_itself, rings)):
        raise ValueError("its border crosses itself")
    return shape


def _is_near(point: Point, most: float) -> bool:
    return metres(point, SOFIA_CENTRE) <= most  # False for NaN


def _checked_number(name: str, shape: Shape, number_of: Number) -> int:
    number = number_of(name)
    if number is None:
        raise ValueError("is no neighbourhood of Sofia that we know; --leave-out imports the others")
    centre = centres()[number].point
    if centre and (far := shape.metres_outside(centre)) > AREA_FROM_CENTRE_METRES:
        raise ValueError(f"is drawn {far / 1000:.1f} km from where that is")
    return number


# Stations.


def read_stations(features: Sequence[Feature]) -> list[list[Any]]:
    """Code, name, English name, lines and doors of each station; points with the same code or name are doors.

    Raises:
        WrongPlaces: a station has no name, or is not in or near Sofia.
    """
    faults: list[str] = []
    stations: dict[str, list[Any]] = {}
    for place, feature in enumerate(features, 1):
        door = _point(feature.geometry)
        if not feature.name or not _is_near(door, SOFIA_METRES):
            wrong = f"is no point within {SOFIA_METRES / 1000:g} km of the middle of Sofia"
            faults.append(f"{feature.name or f'feature {place}'}: {wrong if feature.name else 'has no name'}")
            continue
        code = str(feature.properties.get("code") or feature.name)
        english = str(feature.properties.get("name_en") or feature.name)
        station = stations.setdefault(code, [code, feature.name, english, [], []])
        station[3] = sorted({*station[3], *_lines(feature.properties.get("lines"))})
        station[4].append([door.lat, door.lon])
    if faults:
        raise WrongPlaces(faults)
    return list(stations.values())


def _point(geometry: Mapping[str, Any]) -> Point:
    """The coordinates of a Point; NaN for anything else."""
    try:
        lon, lat, *_ = geometry["coordinates"]
        return Point(float(lat), float(lon))
    except (TypeError, KeyError, ValueError):
        return Point(math.nan, math.nan)


def _lines(lines: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Lines given as a list, as the keys of an object, or as words."""
    if isinstance(lines, str):
        lines = lines.replace(",", " ").split()
    yield from (str(line) for line in lines or () if isinstance(line, str | int))


# Schools.


def read_schools(features: Sequence[Feature]) -> list[list[Any]]:
    """Name, coordinates and rank of each school, by its `exam` among all that have one, the best first.

    Raises:
        WrongPlaces: a school has no name, is not in or near Sofia, or its exam is not a number.
    """
    faults: list[str] = []
    schools: list[tuple[str, Point, float | None]] = []
    for place, feature in enumerate(features, 1):
        label, door = feature.name or f"feature {place}", _point(feature.geometry)
        exam = feature.properties.get("exam")
        is_number = exam is None or (type(exam) in {int, float} and math.isfinite(exam))
        if not feature.name:
            faults.append(f"{label}: has no name")
        elif not _is_near(door, SOFIA_METRES):
            faults.append(f"{label}: is no point within {SOFIA_METRES / 1000:g} km of the middle of Sofia")
        elif not is_number:
            faults.append(f"{label}: its `exam` must be a number, the mean of its points")
        else:
            schools.append((feature.name, door, exam))
    if faults:
        raise WrongPlaces(faults)
    exams = [exam for _, _, exam in schools if exam is not None]
    return [
        [name, *door, None if exam is None else 1 + sum(other > exam for other in exams)]
        for name, door, exam in schools
    ]
