"""Places of the user's own: read, refused by a sentence for each fault, used for the shipped, given back."""

import gzip
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sale_sofia.geography import imported
from sale_sofia.geography.gazetteer import areas, areas_of, drawn
from sale_sofia.geography.geojson import WrongPlaces, read_areas, read_features, read_stations
from sale_sofia.geography.gtfs import read_timetable
from sale_sofia.geography.metro import Walk, keep_walks, stations, walk_from, walk_within
from sale_sofia.geography.settings import FAULTS_SHOWN, GEOJSON_MOST_BYTES
from sale_sofia.geography.shapes import Point
from sale_sofia.listings.places import borders_of, find_neighbourhood
from shared import SHARED
from tables import each_row

DATA_SOFIA = SHARED / "data" / "sofia"
SQUARE = [[23.32, 42.67], [23.33, 42.67], [23.33, 42.68], [23.32, 42.68], [23.32, 42.67]]
"""In Лозенец."""
CENTRE = 83
BOW = [[23.32, 42.67], [23.33, 42.68], [23.33, 42.67], [23.32, 42.68], [23.32, 42.67]]


@pytest.fixture(autouse=True)
def shipped_afterwards(tmp_path: Path) -> Iterator[None]:
    yield
    imported.use(tmp_path / "nothing")


def number_of(name: str) -> int | None:
    found = find_neighbourhood(name)
    return found.id if found else None


def feature(name: str | None, ring: Any, kind: str = "Polygon", **told: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    coordinates = [ring] if kind == "Polygon" else ring
    properties = {**({"name": name} if name else {}), **told}
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": kind, "coordinates": coordinates},
    }


def written(path: Path, *features: Any) -> Path:  # noqa: ANN401 - any JSON
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), "utf-8")
    return path


@each_row(
    ("features", "faults"),
    [
        ([feature("Лозенец", BOW)], ["Лозенец: its border crosses itself"]),
        ([feature("Нийде", SQUARE), feature(None, SQUARE)], [
            "Нийде: is no neighbourhood of Sofia that we know; --leave-out imports the others",
            "feature 2: has no name; give it a property `name`",
        ]),
        ([feature("Лозенец", [one[::-1] for one in SQUARE])], [
            "Лозенец: latitude 23.32, longitude 42.67 is more than 60 km from Sofia; longitude comes first",
        ]),
        ([feature("Бояна", SQUARE)], ["Бояна: is drawn 5.1 km from where that is"]),
        ([feature("Лозенец", SQUARE[:-1])],
         ["Лозенец: a ring of an area must close and have three corners or more"]),
        ([feature("Лозенец", "here")],
         ["Лозенец: its corners are no pairs of numbers"]),
        ([feature("Лозенец", [["a", 1]] * 4)],
         ["Лозенец: its corners are no pairs of numbers"]),
        ([feature("Лозенец", 5, kind="MultiPolygon")],
         ["Лозенец: its coordinates are not those of a Polygon or MultiPolygon"]),
        ([feature("Лозенец", SQUARE, kind="LineString")],
         ["Лозенец: a LineString is no area; only Polygon and MultiPolygon are"]),
    ],
)  # fmt: skip
def test_an_area_that_cannot_be_is_one_sentence(
    features: list[Any], faults: list[str], tmp_path: Path
) -> None:
    read = read_features(written(tmp_path / "own.geojson", *features))
    with pytest.raises(WrongPlaces) as refused:
        read_areas(read, number_of=number_of)
    assert str(refused.value).split("\n") == faults


@each_row(
    ("held", "fault"),
    [
        ("{", "is no JSON: Expecting property name"),
        ("[" * 100_000, "is no JSON: "),
        ("[1]", "is no GeoJSON; it must be a FeatureCollection with features"),
        ('{"type": "FeatureCollection", "features": []}', "has 0 features; allowed are 1 to 5_000"),
        ('{"type": "FeatureCollection", "features": [1]}', "feature 1: has no geometry"),
        (" " * (GEOJSON_MOST_BYTES + 1), "is larger than 20_000_000 bytes, the most that is read"),
    ],
)
def test_what_is_no_geojson_is_one_sentence(held: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "own.geojson"
    path.write_text(held, "utf-8")
    with pytest.raises(WrongPlaces) as refused:
        read_features(path)
    assert fault in str(refused.value)


@pytest.mark.parametrize("corner", [SQUARE[1], [23.33, 42.6700001]])
def test_a_corner_that_comes_twice_is_one(corner: list[float], tmp_path: Path) -> None:
    ring = [*SQUARE[:2], corner, *SQUARE[2:]]
    (area,) = read_areas(read_features(written(tmp_path / "own.geojson", feature("Лозенец", ring))))
    assert area["properties"]["name"] == "Лозенец"
    with pytest.raises(WrongPlaces, match="its border crosses itself"):
        read_areas(read_features(written(tmp_path / "own.geojson", feature("Лозенец", [corner] * 4))))


def test_of_many_faults_the_first_are_told(tmp_path: Path) -> None:
    read = read_features(written(tmp_path / "own.geojson", *[feature("Нийде", SQUARE)] * 30))
    with pytest.raises(WrongPlaces) as refused:
        read_areas(read, number_of=number_of)
    assert str(refused.value).split("\n")[FAULTS_SHOWN:] == ["and 10 more faults"]


def test_an_imported_neighbourhood_has_its_own_area_and_walk_until_it_is_given_back(tmp_path: Path) -> None:
    lozenets = number_of("Лозенец")
    assert lozenets is not None
    shipped_walk, centre_walk, count = walk_within(lozenets), walk_within(CENTRE), len(areas())
    read = read_features(written(tmp_path / "own.geojson", feature("кв. Лозенец", SQUARE)))
    content = {"features": read_areas(read, number_of=number_of), "meta": {"imported_at": 5.0}}
    imported.keep(tmp_path, "neighbourhoods", content)
    (own,) = areas_of(lozenets)
    assert (own.shape.contains(Point(42.675, 23.325)), own.shape.contains(Point(42.669, 23.325))) == (
        True,
        False,
    )
    assert len(areas()) == count
    assert walk_within(lozenets) is None  # not that of other borders
    keep_walks(tmp_path)
    known = walk_within(lozenets)
    assert known is not None
    assert shipped_walk is not None
    assert known.most < shipped_walk.most
    assert walk_within(CENTRE) == centre_walk
    imported.keep(tmp_path, "neighbourhoods", {**content, "meta": {"imported_at": 6.0}})
    assert walk_within(lozenets) is None  # killed before the walks followed
    assert imported.remove(tmp_path, "neighbourhoods")
    keep_walks(tmp_path)
    assert (walk_within(lozenets), imported.stamp()) == (shipped_walk, "")
    assert not imported.remove(tmp_path, "neighbourhoods")


@pytest.mark.parametrize("held", [b"", b"\x1f\x8b", b"no", gzip.compress(b"{", mtime=0)])
def test_a_damaged_file_is_said_to_be_damaged_and_can_be_given_back(held: bytes, tmp_path: Path) -> None:
    imported.keep(tmp_path, "districts", {"features": []})
    path = tmp_path / "imported" / "districts.json.gz"
    path.write_bytes(held)
    imported.use(tmp_path)
    with pytest.raises(
        ValueError, match=r"districts.json.gz is damaged; `sale-sofia places reset` goes back"
    ):
        drawn("districts")
    assert imported.remove(tmp_path, "districts")
    assert drawn("districts") == ()


def test_imported_stations_count_for_every_walk(tmp_path: Path) -> None:
    doors = [
        feature("Нова", [23.32, 42.67], "Point", code="N1", lines=["M5"]),
        feature("Нова", [23.33, 42.67], "Point", code="N1", lines="M6"),
        feature("Стара", [23.20, 42.70], "Point"),
    ]
    read = read_stations(read_features(written(tmp_path / "own.geojson", *doors)))
    assert read[0] == ["N1", "Нова", "Нова", ["M5", "M6"], [[42.67, 23.32], [42.67, 23.33]]]
    imported.keep(tmp_path, "stations", {"stations": read, "meta": {"imported_at": 5.0}})
    assert [one.name for one in stations()] == ["Нова", "Стара"]
    assert walk_from(Point(42.67, 23.33)) == Walk(0, 0)
    wrong = written(
        tmp_path / "own.geojson", feature(None, [23.3, 42.7], "Point"), feature("А", [1, 1], "Point")
    )
    with pytest.raises(WrongPlaces) as refused:
        read_stations(read_features(wrong))
    assert str(refused.value).split("\n") == [
        "feature 1: has no name",
        "А: is no point within 35 km of the middle of Sofia",
    ]


@pytest.mark.parametrize("written_as", ["Лозенец", "Район Лозенец"])
def test_districts_are_known_by_name_once_they_are_imported(written_as: str, tmp_path: Path) -> None:
    assert borders_of("район Лозенец") is None
    read = read_areas(read_features(written(tmp_path / "own.geojson", feature(written_as, SQUARE))))
    imported.keep(tmp_path, "districts", {"features": read, "meta": {"imported_at": 5.0}})
    known = borders_of("Район лозенец")
    assert known is not None
    assert (known[0], known[1]) == ("район Лозенец", drawn("districts"))
    own = borders_of("Лозенец")
    assert own is not None
    assert own[0] == "Лозенец"  # the neighbourhood comes first


def test_what_is_left_of_a_larger_area_is_not_the_borders_of_who_lies_in_it(tmp_path: Path) -> None:
    square = [[lon + 0.075, lat - 0.01] for lon, lat in SQUARE]
    read = read_features(written(tmp_path / "own.geojson", feature("Дружба 1", square)))
    content = {"features": read_areas(read, number_of=number_of), "meta": {"imported_at": 5.0}}
    imported.keep(tmp_path, "neighbourhoods", content)
    assert borders_of("Дружба 1") is not None
    assert borders_of("Дружба 2") is None  # somewhere in what is drawn as Дружба, where Дружба 1 is too


# Timetables.

STOPS = ["stop_id,stop_code,stop_name,stop_lat,stop_lon", "A,1,,42.69,23.32", "B,2,,42.70,23.33",
         "C,3,Сердика,42.71,23.34",
         "X,4,,43.2,27.9"]  # fmt: skip
TABLES: Mapping[str, list[str]] = {
    "stops.txt": STOPS,
    "routes.txt": ["route_id,route_short_name,route_type", "r1,94,3", "r2,М2,1", "r3,7,900"],
    "calendar.txt": [
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date",
        "work,1,1,1,1,1,0,0,20261102,20261130",
        "rest,0,0,0,0,0,1,1,20261102,20261130",
    ],
    "calendar_dates.txt": ["service_id,date,exception_type", "work,20261102,2"],
    "trips.txt": [
        "route_id,service_id,trip_id", "r1,work,t1", "r1,work,t2", "r1,rest,t3", "r2,work,t4", "r3,work,t5",
    ],
    "stop_times.txt": [
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence",
        "t1,07:00:00,07:00:00,A,1", "t1,07:09:00,07:09:00,C,3", "t1,07:04:00,07:04:30,B,2",
        "t1,07:59:00,,X,4",
        "t2,07:40:00,07:40:00,A,1", "t2,07:43:00,07:43:00,B,2", "t2,07:47:00,07:47:00,C,3",
        "t3,08:00:00,08:00:00,A,1", "t3,08:03:00,08:03:00,B,2",
        "t4,10:30:00,10:30:00,C,1", "t4,10:32:00,10:32:00,A,2",
        "t5,10:31:00,10:31:00,C,1", "t5,10:33:00,10:33:00,A,2",
    ],
}  # fmt: skip


def packed(path: Path, **changed: list[str] | None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, rows in {**TABLES, **{f"{one}.txt": rows for one, rows in changed.items()}}.items():
            if rows is not None:
                archive.writestr(name, "\ufeff" + "\r\n".join(rows) + "\r\n")
    return path


def test_a_timetable_is_the_morning_of_a_working_day(tmp_path: Path) -> None:
    found = read_timetable(packed(tmp_path / "own.zip"))
    assert found["meta"]["day"] == "2026-11-03"  # on Monday the work service does not go
    assert found["stops"] == [
        ["3", "Сердика", 42.71, 23.34],
        ["1", "1", 42.69, 23.32],
        ["2", "2", 42.7, 23.33],
    ]
    assert found["patterns"] == [
        ["M2", [0, 1], [2], [630]],
        ["b94", [1, 2, 0], [3, 4], [420, 40]],  # as long as the trip of 07:40 takes
    ]


def test_a_service_that_began_long_ago_does_not_hide_those_of_today(tmp_path: Path) -> None:
    rows = [*TABLES["calendar.txt"], "old,1,1,1,1,1,1,1,20200101,20301231"]
    trips = [*TABLES["trips.txt"], "r1,old,t6"]
    found = read_timetable(packed(tmp_path / "own.zip", calendar=rows, trips=trips))
    assert found["meta"]["day"] == "2026-11-03"


def test_kinds_of_routes_with_three_digits_are_those_of_their_first(tmp_path: Path) -> None:
    routes = ["route_id,route_short_name,route_type", "r1,5,106", "r2,М2,401"]
    found = read_timetable(packed(tmp_path / "own.zip", routes=routes))
    assert [line for line, *_ in found["patterns"]] == ["M2", "b5"]


@each_row(
    ("changed", "faults"),
    [
        ({"trips": None, "calendar": None, "calendar_dates": None}, [
            "trips.txt is missing; a GTFS timetable has it",
            "calendar.txt or calendar_dates.txt is missing; one of them says when trips go",
        ]),
        ({"stops": [STOPS[0], "X,4,,43.2,27.9"]},
         ["stops.txt has no stop within 35 km of the middle of Sofia"]),
        ({"stops": ["stop_id,lat"]},
         ["stops.txt has no column stop_lat", "stops.txt has no column stop_lon"]),
        ({"calendar_dates": ["service_id,date,exception_type", "work,tomorrow,2"]},
         ["'tomorrow' in the calendar is no date"]),
        ({"trips": ["route_id,service_id,trip_id", "r1,rest,t3"]},
         ["no trip goes from Monday to Friday on any day of the calendar"]),
        ({"stop_times": [*TABLES["stop_times.txt"], "t2,07:50:00,07:50:00,B,"]},
         ["stop_times.txt: trip t2 has the stop_sequence ''; a whole number gives the order of its stops"]),
        ({"stop_times": TABLES["stop_times.txt"][:1]},
         ["no trip calls at two stops in Sofia on 2026-11-03 from 06:30 to 10:30"]),
        ({"frequencies": ["trip_id,headway_secs", "t1,300"]},
         ["frequencies.txt gives trips by how often they go; only trips with times are read"]),
    ],
)  # fmt: skip
def test_a_timetable_that_cannot_be_is_one_sentence(
    changed: dict[str, list[str] | None], faults: list[str], tmp_path: Path
) -> None:
    with pytest.raises(WrongPlaces) as refused:
        read_timetable(packed(tmp_path / "own.zip", **changed))
    assert str(refused.value).split("\n") == faults


def test_a_zip_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path) -> None:
    with pytest.raises(
        WrongPlaces, match=r"stops.txt unpacks from [\d_]+ bytes to 30_000_007; no timetable does"
    ):
        read_timetable(packed(tmp_path / "own.zip", stops=["0" * 30_000_002]))
    (tmp_path / "own.zip").write_bytes(b"PK but no more")
    with pytest.raises(WrongPlaces, match="is no ZIP file that can be read"):
        read_timetable(tmp_path / "own.zip")


def test_a_zip_with_a_damaged_table_is_one_sentence(tmp_path: Path) -> None:
    path = packed(tmp_path / "own.zip")
    damaged = bytearray(path.read_bytes())
    start = damaged.index(b"stops.txt") + len("stops.txt")
    damaged[start : start + 20] = b"\xff" * 20
    path.write_bytes(damaged)
    with pytest.raises(WrongPlaces, match="is no ZIP file that can be read"):
        read_timetable(path)


@pytest.mark.skipif(not DATA_SOFIA.exists(), reason="the collected open data is not here")
def test_the_collected_timetable_is_the_same_after_a_way_through_gtfs(tmp_path: Path) -> None:
    """Written out as trips with times, and read again: stops, lines, minutes, departures of all patterns."""
    given = json.loads((DATA_SOFIA / "pt_am_weekday.json").read_text("utf-8"))
    routes, trips, times = ["route_id,route_short_name,route_type"], ["route_id,service_id,trip_id"], []
    kinds = {"M": "1", "tb": "11", "t": "0", "b": "3"}
    for number, (line, stops, minutes, departures) in enumerate(given["patterns"]):
        sign = next(one for one in kinds if line.startswith(one))
        routes.append(f"{number},{line if sign == 'M' else line[len(sign) :]},{kinds[sign]}")
        leaves = 0
        for gap in departures:
            leaves += gap
            trips.append(f"{number},work,{number}-{leaves}")
            now = leaves
            for place, stop in enumerate(stops):
                now += minutes[place - 1] if place else 0
                time = f"{now // 60:02}:{now % 60:02}:00"
                times.append(f"{number}-{leaves},{time},{time},{given['stops'][stop][0]},{place}")
    stops = ["stop_id,stop_lat,stop_lon", *(f"{code},{lat},{lon}" for code, lat, lon in given["stops"])]
    head = TABLES["stop_times.txt"][0]
    found = read_timetable(
        packed(tmp_path / "own.zip", routes=routes, trips=trips, stop_times=[head, *times], stops=stops)
    )
    assert patterns(found) == patterns(given)
    assert sorted([code, lat, lon] for code, _, lat, lon in found["stops"]) == sorted(given["stops"])


def patterns(timetable: Mapping[str, Any]) -> list[Any]:
    """With the codes of stops instead of their places in the list."""
    codes = [code for code, *_ in timetable["stops"]]
    return sorted(
        [line, [codes[one] for one in stops], *rest] for line, stops, *rest in timetable["patterns"]
    )
