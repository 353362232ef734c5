"""What is near a place: exactly from a point, as what holds everywhere from a neighbourhood, else unknown."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sale_sofia.geography import imported
from sale_sofia.geography.gazetteer import areas_of, shipped
from sale_sofia.geography.geojson import Feature, WrongPlaces, read_schools
from sale_sofia.geography.nearby import (
    keep_nearby,
    lines,
    near_all,
    near_point,
    near_wherever,
    ranked_schools,
    schools_file,
)
from sale_sofia.geography.settings import ROAD_CLASS_METRES
from sale_sofia.geography.shapes import Point, metres, shape_of
from sale_sofia.geography.surroundings import Nearby, Nearest, Road, line_kind, line_number
from tables import each_row
from unit.geography.test_gazetteer import numbered

LOZENETS = Point(42.6737, 23.3252)


@pytest.fixture(autouse=True)
def shipped_afterwards(tmp_path: Path) -> Iterator[None]:
    yield
    imported.use(tmp_path / "nothing")


def test_from_a_point_everything_is_known_but_schools_which_are_not_shipped() -> None:
    lines_there = ("bХ9", "t10", "t15")
    assert near_point(LOZENETS) == Nearby(
        None,
        Nearest(5, 5, "Минимарт"),
        Nearest(2, 2, "Енергопроект", None, lines_there, lines_there),
        Road(2, 2),
    )
    assert Road(2, 2).known == "close"
    shops = [Point(lat, lon) for _, lat, lon in shipped("odbl/shops.json").values()]
    assert len(shops) == 307
    assert round(min(metres(LOZENETS, shop) for shop in shops) / 60) == 5  # a minute for 60 m of the crow


@each_row(
    ("point", "road", "shop"),
    [
        (Point(42.7000, 23.3675), Road(0, 0), True),  # on a boulevard
        (Point(42.7500, 23.3110), Road(0, 3), True),  # beyond the northern tangent, which is not in the data
        (Point(42.6650, 23.3790), Road(3, 3), True),  # where all of them are drawn, and none is near
        (Point(42.6000, 23.1700), Road(0, 3), False),  # villages have shops that nobody lists
    ],
)
def test_where_the_data_does_not_cover_nothing_is_said(point: Point, road: Road, shop: bool) -> None:  # noqa: FBT001
    near = near_point(point)
    assert (near.road, near.shop is not None) == (road, shop)


@each_row(
    ("missing",),
    [
        (Point(42.7395, 23.2850),),  # the northern tangent
        (Point(42.7390, 23.3130),),
        (Point(42.7280, 23.3800),),
        (Point(42.6890, 23.4480),),  # the eastern arc of the ring
        (Point(42.7780, 23.3600),),  # its northern arc
        (Point(42.7050, 23.4700),),  # the motorways Хемус,
        (Point(42.6250, 23.4800),),  # Тракия
        (Point(42.6830, 23.2150),),  # and Люлин
    ],
)
def test_beside_a_big_road_without_buses_it_is_not_said_that_none_is_near(missing: Point) -> None:
    road = near_point(missing).road
    assert road is not None
    assert road.least == 0


def test_what_is_said_of_a_neighbourhood_holds_at_every_point_of_it() -> None:
    rng, inside = random.Random(27), 0
    for name in ("Лозенец", "Бояна", "Люлин 4", "Христо Ботев", "Дружба 1"):
        whole = near_wherever(numbered(name))
        assert whole is not None
        for area in areas_of(numbered(name)):
            low, high = area.shape.low, area.shape.high
            for _ in range(60):
                point = Point(rng.uniform(low.lat, high.lat), rng.uniform(low.lon, high.lon))
                if area.shape.contains(point):
                    inside += 1
                    _holds(whole, near_point(point))
    assert inside > 100


def _holds(whole: Nearby, here: Nearby) -> None:
    for wide, exact in ((whole.shop, here.shop), (whole.stop, here.stop)):
        assert wide is not None
        assert exact is not None
        assert wide.least <= exact.least <= wide.most
        assert wide.name in (None, exact.name)
        assert {*wide.lines} <= {*exact.lines} <= {*wide.some_lines}
    assert whole.road is not None
    assert here.road is not None
    assert whole.road.least <= here.road.least
    assert here.road.most <= whole.road.most


def test_where_borders_are_not_known_nothing_is() -> None:
    assert near_wherever(numbered("Медицинска академия")) is None


def test_lines_have_a_kind_and_what_stands_on_them() -> None:
    assert {line_kind(one) for one in lines()} == {"M", "b", "t", "tb"}
    assert [line_number(one) for one in ("M2", "b94", "t5", "tb2", "bХ9")] == ["M2", "94", "5", "2", "Х9"]


# Schools, which only the user can bring.


def school(name: str, lat: float, lon: float, **told: Any) -> Feature:  # noqa: ANN401 - any JSON
    return Feature(name, told, {"type": "Point", "coordinates": [lon, lat]})


def test_schools_are_ranked_by_their_exam_and_those_alike_share_a_rank() -> None:
    read = read_schools(
        [
            school("А", 42.70, 23.30, exam=40.5),
            school("Б", 42.70, 23.31, exam=60),
            school("В", 42.70, 23.32, exam=60.0),
            school("Г", 42.70, 23.33),
        ]
    )
    assert read == [["А", 42.70, 23.30, 3], ["Б", 42.70, 23.31, 1], ["В", 42.70, 23.32, 1],
                    ["Г", 42.70, 23.33, None]]  # fmt: skip


def test_each_fault_of_a_school_is_one_sentence() -> None:
    wrong = [
        school("", 42.7, 23.3),
        school("Далеч", 1, 1),
        school("Дума", 42.7, 23.3, exam="отличен"),
        school("Безкрай", 42.7, 23.3, exam=float("nan")),
        Feature("Площ", {}, {"type": "Polygon", "coordinates": [[]]}),
    ]
    with pytest.raises(WrongPlaces) as refused:
        read_schools(wrong)
    assert str(refused.value).split("\n") == [
        "feature 1: has no name",
        "Далеч: is no point within 35 km of the middle of Sofia",
        "Дума: its `exam` must be a number, the mean of its points",
        "Безкрай: its `exam` must be a number, the mean of its points",
        "Площ: is no point within 35 km of the middle of Sofia",
    ]


@pytest.mark.slow
def test_imported_schools_are_near_flats_and_neighbourhoods_until_given_back(tmp_path: Path) -> None:
    rows = [["1 СУ", 42.6737, 23.3252, 7], ["2 СУ", 42.72, 23.27, None]]
    meta = {"imported_at": 5.0, "source": "mine.geojson"}
    before = near_wherever(numbered("Хладилника"))
    imported.keep(tmp_path, "schools", {"schools": rows, "meta": meta})
    assert near_point(LOZENETS).school == Nearest(0, 0, "1 СУ", (7, 7))
    assert near_point(Point(42.72, 23.27)).school == Nearest(0, 0, "2 СУ", None)
    assert near_wherever(numbered("Хладилника")) is None  # killed before it was worked out
    keep_nearby(tmp_path)
    near = near_wherever(numbered("Хладилника"))
    assert near is not None
    assert before is not None
    assert near.school is not None
    assert (near.school.name, near.school.ranks) == ("1 СУ", (7, 7))
    assert near._replace(school=None) == before
    assert (ranked_schools(), schools_file()) == (1, "mine.geojson")
    assert imported.remove(tmp_path, "schools")
    keep_nearby(tmp_path)
    assert (near_wherever(numbered("Хладилника")), imported.stamp()) == (before, "")


def test_between_two_schools_neither_is_the_nearest_of_all(tmp_path: Path) -> None:
    """A field of 400 m between a school at each end: the walk is a range, the rank too, the name unknown."""
    east = 23.30 + 400 / 81_800
    corners = [Point(42.70, 23.30), Point(42.70, east), Point(42.701, east), Point(42.701, 23.30)]
    rows = [["Запад", 42.70, 23.30, 3], ["Изток", 42.70, east, 90]]
    imported.keep(tmp_path, "schools", {"schools": rows, "meta": {"imported_at": 5.0}})
    found = near_all([shape_of((((*corners, corners[0]),),))]).school
    assert found == Nearest(0, 5, None, (3, 90))


def test_the_classes_of_roads_grow() -> None:
    assert list(ROAD_CLASS_METRES) == sorted(ROAD_CLASS_METRES)
