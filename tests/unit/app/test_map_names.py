"""Names on the map: none covers another, those with the most flats stay, and the medians are right."""

import math
from itertools import combinations

import pytest

from sale_sofia.app.maps import Label, View, apart, names, pixel, view_of
from sale_sofia.app.settings import MAP_HEIGHT, MAP_NARROW, MAP_ZOOMS
from sale_sofia.listings.places import neighbourhoods

ZOOM = 10.6
SOFIA = View(42.697, 23.322, 10.0)


def test_places_are_projected_as_web_maps_do() -> None:
    assert pixel(0, 0, 0) == pytest.approx((256, 256))
    assert pixel(85.0511287798066, -180, 0) == pytest.approx((0, 0), abs=1e-6)
    # The formula of OpenStreetMap's tiles, written otherwise.
    world, north = 512 * 2**10, math.asinh(math.tan(math.radians(42.697))) / math.pi
    assert pixel(42.697, 23.322, 10) == pytest.approx((world * 203.322 / 360, world * (1 - north) / 2))


def test_of_two_names_at_one_place_the_first_stays() -> None:
    near, far = Label("Едно", 42.7, 23.3), Label("Трето", 42.7, 23.5)
    assert apart([near, Label("Друго", 42.7001, 23.3001), far], ZOOM) == [near, far]


def test_what_touches_from_afar_has_room_from_near() -> None:
    two = [Label("Белите брези", 42.68, 23.29), Label("Красно село", 42.68, 23.30)]
    assert apart(two, ZOOM) == two[:1]
    assert apart(two, 14) == two


def test_a_second_line_needs_room_too() -> None:
    above, beneath = Label("Горе\n€ 2 000/m²", 42.7, 23.3), Label("Долу", 42.695, 23.3)
    assert pixel(42.695, 23.3, ZOOM)[1] - pixel(42.7, 23.3, ZOOM)[1] == pytest.approx(15, abs=1)
    assert apart([above, beneath], ZOOM) == [above]
    assert apart([Label("Горе", 42.7, 23.3), Label("Долу", 42.692, 23.3)], ZOOM) != [above]


def test_all_of_sofia_is_named_without_one_name_over_another() -> None:
    found = {one.name: (2000.0, number) for number, one in enumerate(neighbourhoods())}
    shown = names(found, SOFIA)
    assert 10 < len(shown) < len(found)
    boxes = [label.box(SOFIA.zoom) for label in shown]
    left, right, top, bottom = SOFIA.frame()
    assert (right - left, bottom - top) == pytest.approx((MAP_NARROW, MAP_HEIGHT))
    assert all(left <= box[0] and box[1] <= right and top <= box[2] and box[3] <= bottom for box in boxes)
    crossing = [
        (one, two)
        for one, two in combinations(boxes, 2)
        if one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]
    ]
    assert crossing == []


def test_the_neighbourhood_with_more_flats_is_named_with_its_median() -> None:
    placed = [Label(one.name, one.lat, one.lon) for one in neighbourhoods() if one.lat and one.lon]
    one, two = min(combinations(placed, 2), key=lambda pair: math.dist(pair[0][1:3], pair[1][1:3]))
    here = View(one.lat, one.lon, 10.0)
    few = names({one.text: (2450.4, 9), two.text: (None, 8)}, here)
    assert [label.text.replace("\N{NO-BREAK SPACE}", " ") for label in few] == [f"{one.text}\n€ 2 450/m²"]
    assert [label.text for label in names({one.text: (2450.4, 8), two.text: (None, 9)}, here)] == [two.text]
    assert names({"Никъде": (1.0, 5)}, here) == []


def test_a_name_makes_room_for_a_point_and_stays_where_there_are_too_many() -> None:
    name, point = Label("Младост 1", 42.65, 23.37), (42.65, 23.37)
    assert apart([name], ZOOM, [(42.65, 23.5)]) == [name]
    assert apart([name], ZOOM, [point]) == [name._replace(shift=-28)]
    assert pixel(42.65, 23.37, ZOOM)[1] - apart([name], ZOOM, [point])[0].box(ZOOM)[3] > 8
    assert apart([name], ZOOM, [point] * 301) == [name]
    around = [(42.65 + step / 500, 23.37) for step in range(-10, 11)]
    assert apart([name], ZOOM, around) == []


def test_the_view_holds_all_points_on_a_telephone() -> None:
    points = [(42.65, 23.25), (42.72, 23.42), (42.70, 23.30)]
    view = view_of(points)
    assert (view.lat, view.lon) == pytest.approx((42.685, 23.335))
    assert MAP_ZOOMS[0] < view.zoom < MAP_ZOOMS[1]
    left, right, top, bottom = view.frame()
    for x, y in (pixel(*point, view.zoom) for point in points):
        assert left + 25 < x < right - 25
        assert top + 25 < y < bottom - 25
    assert view_of([points[0]]) == View(*points[0], MAP_ZOOMS[1])
    assert view_of([]) == View(42.697, 23.322, MAP_ZOOMS[0])


def test_one_wrong_place_far_away_does_not_make_the_city_a_dot() -> None:
    near = [(42.69, 23.31), (42.70, 23.32), (42.71, 23.33)]
    view = view_of([*near, (43.2, 27.9)])
    assert view == View(42.71, 23.33, MAP_ZOOMS[0])
