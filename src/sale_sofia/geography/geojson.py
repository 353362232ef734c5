"""Areas and stations of a user's GeoJSON file, checked; each fault is one sentence."""

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
        shown = [*faults[:FAULTS_SHOWN], *([f"and {more} more faults"] if more > 0 else [])]
        super().__init__("\n".join(shown))


class Feature(NamedTuple):
    """A named thing on the map."""

    name: str
    properties: Mapping[str, Any]
    geometry: Mapping[str, Any]


def read_features(path: Path) -> list[Feature]:
    """All features of a file, of which no more is read than is allowed.

    Raises:
        WrongPlaces: it is no GeoJSON, or holds too much.
    """
    with path.open("rb") as file:
        held = file.read(GEOJSON_MOST_BYTES + 1)
    if len(held) > GEOJSON_MOST_BYTES:
        raise WrongPlaces([f"{path}: is larger than {GEOJSON_MOST_BYTES:_} bytes, the most that is read"])
    try:
        found = json.loads(held)
    except (ValueError, RecursionError) as error:
        raise WrongPlaces([f"{path}: is no JSON: {error}"]) from None
    features = found.get("features") if isinstance(found, dict) else None
    if not isinstance(features, list) or found.get("type") != "FeatureCollection":
        raise WrongPlaces([f"{path}: is no GeoJSON; it must be a FeatureCollection with features"])
    if not 0 < len(features) <= GEOJSON_MOST_FEATURES:
        raise WrongPlaces(
            [f"{path}: has {len(features)} features; allowed are 1 to {GEOJSON_MOST_FEATURES:_}"]
        )
    return [_feature(one, number) for number, one in enumerate(features, 1)]


def _feature(one: Any, number: int) -> Feature:  # noqa: ANN401 - any JSON
    if not isinstance(one, dict) or not isinstance(one.get("geometry"), dict):
        raise WrongPlaces([f"feature {number}: has no geometry"])
    properties = one.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    name = next((properties[key] for key in _NAMES if isinstance(properties.get(key), str)), "")
    return Feature(name.strip(), properties, one["geometry"])


def are_points(features: Iterable[Feature]) -> bool:
    """Whether the file has stations, and not areas."""
    return all(one.geometry.get("type") == "Point" for one in features)


# Areas.


def read_areas(
    features: Sequence[Feature], *, nameless: bool = False, number_of: Number | None = None
) -> list[dict[str, Any]]:
    """The areas as GeoJSON features with `name` and `neighbourhoods`.

    With `number_of` each is a neighbourhood's, which it names. Without `nameless` each needs a name.

    Raises:
        WrongPlaces: a name is missing or unknown, or what is drawn cannot be an area of Sofia.
    """
    faults, found, corners = [], [], 0
    for place, one in enumerate(features, 1):
        told = one.name or f"feature {place}"
        if not one.name and not nameless:
            faults.append(f"{told}: has no name; give it a property `name`")
            continue
        try:
            shape = _checked_shape(one.geometry)
            number = _checked_number(one.name, shape, number_of) if number_of else None
        except ValueError as error:
            faults.append(f"{told}: {error}")
            continue
        corners += sum(len(ring) for piece in shape.pieces for ring in piece)
        properties = {"name": one.name, "neighbourhoods": [] if number is None else [number]}
        found.append({"type": "Feature", "properties": properties, "geometry": dict(one.geometry)})
    if corners > GEOJSON_MOST_CORNERS:
        faults.append(f"the areas have {corners:_} corners together; allowed are {GEOJSON_MOST_CORNERS:_}")
    if faults:
        raise WrongPlaces(faults)
    return found


def _checked_shape(geometry: Mapping[str, Any]) -> Shape:
    """Raises ValueError: what is drawn is no area in Sofia's surroundings."""
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
    return metres(point, SOFIA_CENTRE) <= most  # of what is no number, neither


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
    """Code, name, English name, lines and doors of each station; points of one code or name are its doors.

    Raises:
        WrongPlaces: one has no name, or does not lie in Sofia's surroundings.
    """
    faults: list[str] = []
    found: dict[str, list[Any]] = {}
    for place, one in enumerate(features, 1):
        door = _point(one.geometry)
        if not one.name or not _is_near(door, SOFIA_METRES):
            wrong = f"is no point within {SOFIA_METRES / 1000:g} km of the middle of Sofia"
            faults.append(f"{one.name or f'feature {place}'}: {wrong if one.name else 'has no name'}")
            continue
        code = str(one.properties.get("code") or one.name)
        english = str(one.properties.get("name_en") or one.name)
        station = found.setdefault(code, [code, one.name, english, [], []])
        station[3] = sorted({*station[3], *_lines(one.properties.get("lines"))})
        station[4].append([door.lat, door.lon])
    if faults:
        raise WrongPlaces(faults)
    return list(found.values())


def _point(geometry: Mapping[str, Any]) -> Point:
    """Of a Point; of what is none, nowhere."""
    try:
        lon, lat, *_ = geometry["coordinates"]
        return Point(float(lat), float(lon))
    except (TypeError, KeyError, ValueError):
        return Point(math.nan, math.nan)


def _lines(given: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """As a list, the keys of a table, or words."""
    if isinstance(given, str):
        given = given.replace(",", " ").split()
    yield from (str(one) for one in given or () if isinstance(one, str | int))


# Schools.


def read_schools(features: Sequence[Feature]) -> list[list[Any]]:
    """Name, place and rank of each school: its place among all that have an `exam`, the most points first.

    Raises:
        WrongPlaces: one has no name, does not lie in Sofia's surroundings, or its exam is no number.
    """
    faults: list[str] = []
    found: list[tuple[str, Point, float | None]] = []
    for place, one in enumerate(features, 1):
        told, door, exam = one.name or f"feature {place}", _point(one.geometry), one.properties.get("exam")
        is_number = exam is None or (type(exam) in {int, float} and math.isfinite(exam))
        if not one.name:
            faults.append(f"{told}: has no name")
        elif not _is_near(door, SOFIA_METRES):
            faults.append(f"{told}: is no point within {SOFIA_METRES / 1000:g} km of the middle of Sofia")
        elif not is_number:
            faults.append(f"{told}: its `exam` must be a number, the mean of its points")
        else:
            found.append((one.name, door, exam))
    if faults:
        raise WrongPlaces(faults)
    exams = [exam for _, _, exam in found if exam is not None]
    return [
        [name, *door, None if exam is None else 1 + sum(other > exam for other in exams)]
        for name, door, exam in found
    ]
