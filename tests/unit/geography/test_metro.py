"""The metro, and the walk to it."""

import json
import random

from sale_sofia.geography.gazetteer import areas_of
from sale_sofia.geography.metro import (
    Walk,
    nearest_stations,
    stations,
    walk_from,
    walk_minutes,
    walk_over,
    walk_within,
)
from sale_sofia.geography.shapes import Point, read_shape
from sale_sofia.listings.places import find_neighbourhood, neighbourhoods
from unit.geography.test_gazetteer import COLLECTED, needs_collected_data, numbered


def test_every_station_has_a_place_names_and_lines() -> None:
    assert len(stations()) == 50
    assert all(one.name and one.name_en and one.lines and one.doors for one in stations())
    assert {line for one in stations() for line in one.lines} == {"M1", "M2", "M3", "M4"}
    assert sum(len(one.doors) for one in stations()) == 198 + 16  # 16 have none, and their middle instead


def test_one_walks_a_quarter_farther_than_the_crow_flies_at_75_metres_a_minute() -> None:
    assert walk_minutes(600) == 10
    door = stations()[0].doors[0]
    assert walk_from(door) == Walk(0, 0)
    beside = Point(42.6737, 23.3252)
    assert [(one.name, round(minutes, 1)) for one, minutes in nearest_stations(beside, 2)] == [
        ("Джеймс Баучер", 7.6), ("Европейски съюз", 9.6),
    ]  # fmt: skip
    assert walk_from(beside) == Walk(8, 8)


def test_a_range_holds_the_walk_from_every_point_of_the_area() -> None:
    rng = random.Random(7)
    for name in ("Лозенец", "Бояна", "Люлин 5", "Кремиковци", "Дружба 1"):
        walk = walk_within(numbered(name))
        assert walk
        inside = 0
        for area in areas_of(numbered(name)):
            low, high = area.shape.low, area.shape.high
            for _ in range(300):
                point = Point(rng.uniform(low.lat, high.lat), rng.uniform(low.lon, high.lon))
                if area.shape.contains(point):
                    inside += 1
                    assert walk.least <= walk_from(point).least <= walk.most
        assert inside > 50


def test_a_range_is_not_wider_than_it_must_be() -> None:
    """A kilometre from west to east, a door at one end: 0 to 17 minutes, and 1 for the samples."""
    east = 23.30 + 1000 / 81_800
    ring = [[23.30, 42.60], [east, 42.60], [east, 42.6001], [23.30, 42.6001]]
    shape = read_shape({"type": "Polygon", "coordinates": [[*ring, ring[0]]]})
    assert walk_over([shape], [Point(42.60, 23.30)]) == Walk(0, 18)
    assert walk_over([shape], [Point(42.60, 23.30 - 600 / 81_800)]) == Walk(8, 28)


def test_where_borders_are_not_known_there_is_no_range() -> None:
    assert walk_within(numbered("Редута")) is None
    known = [one for one in neighbourhoods() if walk_within(one.id)]
    assert known == [one for one in neighbourhoods() if areas_of(one.id)]


@needs_collected_data
def test_the_walk_from_each_centre_is_in_the_range() -> None:
    """As somebody else worked it out, from the centres."""
    collected = json.loads((COLLECTED / "neighbourhood_access.json").read_text("utf-8"))["rows"]
    checked = 0
    for row in collected:
        walk = walk_within(int(row["id"]))
        if walk and row.get("metro_walk_min") is not None:
            checked += 1
            assert walk.least <= row["metro_walk_min"] <= walk.most, row["name"]
            place = find_neighbourhood(row["name"])
            assert place
            assert place.lat
            assert place.lon
            # There to the station whose middle is nearest; another may have a nearer entrance.
            assert walk_from(Point(place.lat, place.lon)).least <= row["metro_walk_min"] + 1
    assert checked == 129
