"""Where neighbourhoods are, and what is shipped of it."""

import json
from pathlib import Path

import pytest

import sale_sofia.geography
from sale_sofia.geography.gazetteer import areas, areas_of, centres, metres_outside
from sale_sofia.geography.shapes import Point, metres, read_shape
from sale_sofia.listings.places import find_neighbourhood, neighbourhoods
from shared import SHARED
from tables import each_row

DATA = Path(sale_sofia.geography.__file__).with_name("data")
COLLECTED = SHARED / "data" / "sofia"
needs_collected_data = pytest.mark.skipif(
    not COLLECTED.exists(), reason="the collected data (../shared/data/sofia) is not here"
)
ROOT = Path(__file__).parents[3]


def numbered(name: str) -> int:
    place = find_neighbourhood(name)
    assert place
    return place.id


# Shapes.

SQUARE = [[23.30, 42.60], [23.32, 42.60], [23.32, 42.62], [23.30, 42.62], [23.30, 42.60]]
HOLE = [[23.308, 42.608], [23.312, 42.608], [23.312, 42.612], [23.308, 42.612], [23.308, 42.608]]


def test_a_shape_holds_what_is_in_it_and_not_in_its_hole() -> None:
    shape = read_shape({"type": "Polygon", "coordinates": [SQUARE, HOLE]})
    assert shape.contains(Point(42.605, 23.305))
    assert not shape.contains(Point(42.61, 23.31))
    assert not shape.contains(Point(42.63, 23.31))
    assert shape.square_metres == pytest.approx(0.02 * 0.02 * 111_200 * 81_800 * 0.96)


def test_distances_are_those_of_sofia() -> None:
    assert metres(Point(42.60, 23.30), Point(42.61, 23.30)) == pytest.approx(1112)
    assert metres(Point(42.60, 23.30), Point(42.60, 23.31)) == pytest.approx(818)
    shape = read_shape({"type": "MultiPolygon", "coordinates": [[SQUARE, HOLE]]})
    assert shape.metres_outside(Point(42.605, 23.305)) == 0
    assert shape.metres_outside(Point(42.61, 23.33)) == pytest.approx(818)
    assert shape.metres_outside(Point(42.61, 23.31)) == pytest.approx(0.002 * 81_800)  # to the hole's edge


@each_row(
    ("geometry", "sentence"),
    [
        ({"type": "Point", "coordinates": [23.3, 42.6]}, "a Point is no area"),
        ({"type": "Polygon", "coordinates": [SQUARE[:-1]]}, "must close"),
        ({"type": "Polygon", "coordinates": [[*SQUARE[:2], SQUARE[0]]]}, "three corners"),
    ],
)
def test_what_is_no_area_is_refused(geometry: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_shape(geometry)


# Neighbourhoods.


def test_every_neighbourhood_has_a_position_or_a_reason_why_not() -> None:
    assert centres().keys() == {place.id for place in neighbourhoods()}
    known = [one for one in centres().values() if one.point]
    assert len(known) == 179
    assert all(one.basis for one in centres().values())
    bordered = [place for place in neighbourhoods() if areas_of(place.id)]
    assert len(bordered) == 129


def test_no_centre_lies_far_outside_its_area() -> None:
    known = {number: one.point for number, one in centres().items() if one.point}
    far = {number for number, point in known.items() if (metres_outside(number, point) or 0) > 300}
    assert far == set()


def test_areas_overlap() -> None:
    at = Point(42.71886, 23.2498)
    assert [area.name for area in areas() if area.shape.contains(at)] == ["ж.к. Люлин 3", "ж.к. Люлин"]


def test_a_neighbourhood_its_areas_and_its_district_lead_to_each_other() -> None:
    assert [area.name for area in areas_of(numbered("Кремиковци"))] == ["ж.к. Кремиковци", "кв. Кремиковци"]
    assert areas_of(numbered("Дружба 1")) == areas_of(numbered("Дружба 2"))
    assert [area.name for area in areas_of(numbered("Оборище"))] == ["кв. Подуяне", "Център"]
    of_place = {place.id: place for place in neighbourhoods()}
    centre = of_place[numbered("Люлин 5")]
    assert centre.lat
    assert centre.lon
    area = next(one for one in areas() if one.shape.contains(Point(centre.lat, centre.lon)))
    assert [of_place[number].district for number in area.neighbourhoods] == ["Люлин"]
    assert len(areas()) == 155


# What is shipped.


def test_the_data_stands_apart_by_licence() -> None:
    told = (DATA / "README.md").read_text("utf-8")
    files = {path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file()} - {"README.md"}
    assert {name.split("/")[0] for name in files} <= {"odbl", "cc-by"}
    assert [name for name in sorted(files) if f"`{name}`" not in told] == []
    assert sum((DATA / name).stat().st_size for name in files) < 300_000
    assert 'license = "MIT AND ODbL-1.0 AND CC-BY-4.0 AND Bitstream-Vera"' in (
        ROOT / "pyproject.toml"
    ).read_text("utf-8")


def test_the_file_of_names_holds_no_coordinates() -> None:
    names = (ROOT / "src" / "sale_sofia" / "listings" / "places.yaml").read_text("utf-8")
    assert "lat:" not in names


@needs_collected_data
def test_the_centres_are_those_collected() -> None:
    collected = json.loads((COLLECTED / "neighbourhood_centres.json").read_text("utf-8"))["rows"]
    new = {int(row["id"]): tuple(row["new"]) if row.get("new") else (None, None) for row in collected}
    assert {place.id: (place.lat, place.lon) for place in neighbourhoods()} == new
