"""The geographic data that is shipped, made out of collected open data: `make places`.

    python bench/places.py FOLDER [--into src/sale_sofia/geography/data]
    python bench/places.py FOLDER --schools schools.geojson

Only what a source gives a licence for is taken, into one folder for each licence; `data/README.md` says what
is from where. The same input gives the same files.
"""

import argparse
import gzip
import json
import math
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sale_sofia.geography.gazetteer import areas, areas_of
from sale_sofia.geography.metro import walk_over
from sale_sofia.geography.nearby import near_all
from sale_sofia.geography.settings import METRES_PER_DEGREE
from sale_sofia.geography.shapes import Point, Shape, metres, read_shape

INTO = Path(__file__).parents[1] / "src" / "sale_sofia" / "geography" / "data"
NO_CENTRE = "no area, settlement or stop of this name in the sources"
CROSSING_METRES = 60.0
"""So near to each other two big roads cross: each is one line, between its carriageways. 40 gives the same
corners; at 80 two western ones move by some hundred metres."""
LYING_IN = {
    "relation/16901061": (17, 18),  # Дружба: 1, 2
    "relation/16919906": (129, 130),  # Овча купел: 1, 2
    "relation/16869263": (57,),  # Център: Оборище, all but 1 % of its district,
    "relation/16855447": (57,),  # and Подуяне: the rest
}
"""Areas, and neighbourhoods that are not drawn by themselves and lie somewhere in them."""


def rows(folder: Path, name: str) -> Any:  # noqa: ANN401 - any JSON
    """What a collected file holds, without what it says about itself."""
    read = json.loads((folder / name).read_text("utf-8"))
    return read.get("rows") or read.get("features") or read


def centres(folder: Path) -> dict[str, Any]:
    """Neighbourhood → its centre, and from what it is known or why it is not."""
    return {
        row["id"]: [row.get("new"), row["basis"] if row.get("new") else NO_CENTRE]
        for row in rows(folder, "neighbourhood_centres.json")
    }


def neighbourhoods(folder: Path) -> dict[str, Any]:
    """The areas as GeoJSON, each with the neighbourhoods that are in it."""
    named: dict[str, list[int]] = {osm: list(ids) for osm, ids in LYING_IN.items()}
    for row in rows(folder, "neighbourhood_centres.json"):
        for osm in row.get("polygon", ()):
            named.setdefault(osm, []).append(int(row["id"]))
    features = [
        {
            "type": "Feature",
            "properties": {
                "osm": one["properties"]["osm"],
                "name": one["properties"]["name"],
                "neighbourhoods": named.get(one["properties"]["osm"], []),
            },
            "geometry": one["geometry"],
        }
        for one in rows(folder, "neighbourhoods.geojson")
    ]
    return {"type": "FeatureCollection", "features": features}


def base_map(folder: Path) -> dict[str, Any]:
    """What a map of the city is drawn from: streets by kind, and the metro as its stations in their order."""
    roads: dict[str, list[Any]] = {}
    for one in rows(folder, "base_roads.geojson"):
        lines = one["geometry"]["coordinates"]
        for line in lines if one["geometry"]["type"] == "MultiLineString" else [lines]:
            roads.setdefault(one["properties"]["k"], []).append([rounded(lat, lon) for lon, lat in line])
    names = [
        [one["properties"]["n"], middle(one["geometry"])]
        for one in rows(folder, "base_roads.geojson")
        if one["properties"].get("n")
    ]
    metro: dict[str, list[Any]] = {}
    for one in rows(folder, "metro_stations.json"):
        for line, place in one["lines"].items():
            metro.setdefault(line, []).append([place, one["name_bg"], *rounded(one["lat"], one["lon"])])
    ordered = {line: [found[1:] for found in sorted(stations)] for line, stations in sorted(metro.items())}
    return {"roads": roads, "names": names, "metro": ordered}


def rounded(lat: float, lon: float) -> list[float]:
    """To some ten metres, which is less than a pixel of a city's map."""
    return [round(lat, 4), round(lon, 4)]


def roads_known(folder: Path) -> dict[str, Any]:
    """Corners of the part of the city in which the big roads make a mesh: the hull of their crossings.

    Only roads with public transport are collected. One that crosses two others at least, each of which does
    so too, belongs to the mesh; what leads out of it, and villages, do not.
    """
    lines: dict[str, list[Any]] = {}
    for one in rows(folder, "base_roads.geojson"):
        if one["properties"]["k"] in ("main", "ring"):
            lines.setdefault(one["properties"]["n"], []).append(points_along(one["geometry"]))
    roads = {name: np.concatenate(some) for name, some in lines.items()}
    crossings = [
        (met, {one, other})
        for one, other in combinations(roads, 2)
        if (met := meeting(roads[one], roads[other]))
    ]
    while True:
        times = Counter(name for _, names in crossings for name in names)
        left = [one for one in crossings if all(times[name] > 1 for name in one[1])]
        if len(left) == len(crossings):
            return {
                str(number): rounded(*corner) for number, corner in enumerate(hull([one[0] for one in left]))
            }
        crossings = left


def points_along(geometry: dict[str, Any]) -> Any:  # noqa: ANN401 - an array of metres
    """Of a road, no farther apart than its crossings are told by."""
    lines = geometry["coordinates"] if geometry["type"] == "MultiLineString" else [geometry["coordinates"]]
    found = []
    for line in lines:
        ground = np.array(line)[:, ::-1] * METRES_PER_DEGREE
        for begin, end in pairwise(ground):
            parts = math.ceil(math.dist(begin, end) / (CROSSING_METRES / 3)) + 1
            found.append(np.linspace(begin, end, parts))
    return np.concatenate(found)


def meeting(one: Any, other: Any) -> tuple[float, float] | None:  # noqa: ANN401 - arrays of metres
    """Where two roads cross, in degrees: their carriageways are one line each, which may miss each other."""
    apart = np.hypot(*(one[:, None] - other[None]).transpose(2, 0, 1))
    at = one[np.unravel_index(apart.argmin(), apart.shape)[0]] / METRES_PER_DEGREE
    return (float(at[0]), float(at[1])) if apart.min() <= CROSSING_METRES else None


def hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The corners of what a rope around the points holds, in their order."""

    def half(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for lat, lon in ordered:
            while len(kept) > 1 and (kept[-1][0] - kept[-2][0]) * (lon - kept[-2][1]) <= (
                kept[-1][1] - kept[-2][1]
            ) * (lat - kept[-2][0]):
                kept.pop()
            kept.append((lat, lon))
        return kept[:-1]

    return half(sorted(points)) + half(sorted(points, reverse=True))


def middle(geometry: dict[str, Any]) -> list[float]:
    """A point of the longest line, half way along its corners."""
    lines = geometry["coordinates"] if geometry["type"] == "MultiLineString" else [geometry["coordinates"]]
    longest = max(lines, key=len)
    lon, lat = longest[len(longest) // 2]
    return rounded(lat, lon)


def metro(folder: Path) -> dict[str, Any]:
    """Station → its code, names, lines and entrances; where none are known, its middle."""
    doors: dict[str, list[list[float]]] = {}
    for row in rows(folder, "metro_entrances.json"):
        doors.setdefault(row["station"], []).append([row["lat"], row["lon"]])
    return {
        row["code"]: [
            row["code"], row["name_bg"], row["name_en"], sorted(row["lines"]),
            doors.get(row["code"], [[row["lat"], row["lon"]]]),
        ]
        for row in rows(folder, "metro_stations.json")
    }  # fmt: skip


def metro_walks(folder: Path) -> dict[str, Any]:
    """Neighbourhood → minutes on foot to the metro, from the least to the most of any point of its areas."""
    doors = [Point(*door) for station in metro(folder).values() for door in station[-1]]
    shapes: dict[int, list[Shape]] = {}
    for area in neighbourhoods(folder)["features"]:
        for number in area["properties"]["neighbourhoods"]:
            shapes.setdefault(number, []).append(read_shape(area["geometry"]))
    return {str(number): walk_over(shapes[number], doors) for number in sorted(shapes)}


def timetable(folder: Path) -> dict[str, Any]:
    """Stops with their names, and patterns of trips; platforms of the metro are called as their station."""
    given = json.loads((folder / "pt_am_weekday.json").read_text("utf-8"))
    names = {row[0]: row[1] for row in rows(folder, "stops.json")}
    lines: dict[int, set[str]] = {}
    for line, stops, _, _ in given["patterns"]:
        for stop in stops if line.startswith("M") else ():
            lines.setdefault(stop, set()).add(line)
    stations = rows(folder, "metro_stations.json")
    for stop, served in lines.items():
        code, lat, lon = given["stops"][stop]
        names[code] = min(
            (one for one in stations if served & set(one["lines"])),
            key=lambda one: metres(Point(one["lat"], one["lon"]), Point(lat, lon)),
        )["name_bg"]
    stops = [[code, names.get(code, ""), lat, lon] for code, lat, lon in given["stops"]]
    return {"stops": stops, "patterns": given["patterns"]}


def shops(folder: Path) -> dict[str, Any]:
    """Supermarkets of six chains: chain and place."""
    return {str(number): row[:3] for number, row in enumerate(rows(folder, "supermarkets.json"))}


def nearby(_folder: Path) -> dict[str, Any]:
    """Neighbourhood → what is near all of it, by the files above, which are written by now; no schools."""
    numbers = sorted({number for area in areas() for number in area.neighbourhoods})
    return {str(number): near_all([area.shape for area in areas_of(number)]) for number in numbers}


def schools(folder: Path) -> dict[str, Any]:
    """Schools as GeoJSON for `places import --as schools`; their sources state no licence to ship them by.

    `exam` is the mean of Bulgarian and mathematics after the seventh class.
    """
    features = [
        {
            "type": "Feature",
            "properties": {
                "name": " ".join(one["name"].split()),
                **({"exam": round((one["nvo7"][0] + one["nvo7"][1]) / 2, 2)} if one.get("nvo7") else {}),
            },
            "geometry": {"type": "Point", "coordinates": [one["lon"], one["lat"]]},
        }
        for one in rows(folder, "schools.json")
    ]
    return {"type": "FeatureCollection", "features": features}


FILES = {
    "odbl/centres.json": centres,
    "odbl/neighbourhoods.geojson.gz": neighbourhoods,
    "odbl/base_map.json.gz": base_map,
    "odbl/roads_known.json": roads_known,
    "odbl/metro.json": metro,
    "odbl/metro_walks.json": metro_walks,
    "odbl/shops.json": shops,
    "cc-by/timetable.json.gz": timetable,
    "odbl/nearby.json": nearby,
}


def main() -> None:
    """Write all of them."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--into", type=Path, default=INTO)
    arguments.add_argument("--schools", type=Path, metavar="FILE", help="write only this file, to import it")
    given = arguments.parse_args()
    if given.schools:
        text = json.dumps(schools(given.folder), ensure_ascii=False)
        given.schools.write_text(text, "utf-8")
        return
    for name, make in FILES.items():
        path = given.into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = make(given.folder)
        if name.endswith(".gz"):
            packed = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
            path.write_bytes(gzip.compress(packed, mtime=0))
        else:
            lines = (
                f"{json.dumps(key)}: {json.dumps(one, ensure_ascii=False)}" for key, one in content.items()
            )
            path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        print(f"{path.stat().st_size:>7} bytes  {name}")


if __name__ == "__main__":
    main()
