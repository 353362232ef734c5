"""What lies in a part of the city: exact places, and neighbourhoods as a whole, in part, or not at all."""

import pytest

from sale_sofia.geography.gazetteer import areas_of
from sale_sofia.geography.settings import BORDER_METRES, METRES_PER_DEGREE
from sale_sofia.geography.shapes import Point, Shape, crosses_itself, shape_of
from sale_sofia.geography.zones import Circle, Outline, Zone, outline_text, read_outline
from sale_sofia.listings.places import neighbourhoods, own_areas
from tables import each_row

NORTH, EAST = METRES_PER_DEGREE
CORNER = Point(42.65, 23.3)


def square(size: float, north: float = 0.0, east: float = 0.0) -> Shape:
    """With its south-western corner so many metres from a point."""
    low, left = CORNER.lat + north / NORTH, CORNER.lon + east / EAST
    high, right = low + size / NORTH, left + size / EAST
    corners = ((low, left), (high, left), (high, right), (low, right), (low, left))
    return shape_of(((tuple(Point(*corner) for corner in corners),),))


FAR = 10 * BORDER_METRES
NEAR = BORDER_METRES / 3
HALVES = [square(1000), square(1000, north=1000)]


@each_row(
    ("outline", "shape", "holds"),
    [
        ([square(1000)], square(FAR, FAR, FAR), True),
        ([square(1000)], square(1000), True),
        ([square(1000)], square(1000, NEAR, -NEAR), True),  # as exact as borders are
        ([square(1000)], square(1000, FAR), None),
        ([square(1000)], square(1000, 1000), False),
        ([square(1000)], square(1000, 1000 - NEAR), False),
        ([square(1000)], square(1000, 1000 - FAR), None),
        ([square(1000)], square(9000, -4000, -4000), None),
        ([square(40, 2018, 2018)], square(9000), None),  # smaller than the samples are apart
        ([square(1000)], square(1000, 5000), False),
        (HALVES, square(FAR, 1000 - FAR / 2, FAR), True),  # over the border between them
        (HALVES, square(1000, 500, 500), None),
    ],
)
def test_an_area_holds_all_none_or_a_part(outline: list[Shape], shape: Shape, holds: bool | None) -> None:  # noqa: FBT001
    assert Outline(outline).holds([shape]) is holds


@each_row(
    ("metres", "holds"),
    [(1415.0, True), (1413.0, None), (1.0, None)],
)
def test_a_circle_holds_what_its_farthest_corner_says(metres: float, holds: bool | None) -> None:  # noqa: FBT001
    assert Circle(CORNER, metres).holds([square(1000)]) is holds
    assert Circle(CORNER, metres).holds([square(1000, 5000)]) is False


def test_every_neighbourhood_is_within_its_own_borders_and_not_in_its_neighbours() -> None:
    """However their borders run along each other; only those are parted that are drawn over each other."""
    bordered = [one for one in neighbourhoods() if own_areas(one)]
    chosen = bordered[::6]
    for place in chosen:
        zone = Zone(Outline([area.shape for area in own_areas(place)]))
        found = {one.name: zone.holds_neighbourhood(one.id) for one in bordered}
        assert found.pop(place.name) is True
        assert {name for name, holds in found.items() if holds is not False} <= {"м-т Киноцентъра"}
    assert len(chosen) > 19


def test_a_neighbourhood_without_borders_is_not_known() -> None:
    nowhere = next(one for one in neighbourhoods() if not areas_of(one.id))
    assert Zone(Circle(CORNER, 30_000.0)).holds_neighbourhood(nowhere.id) is None


@pytest.mark.parametrize("turn", range(5))
def test_sides_that_cross_are_seen_from_every_corner(turn: int) -> None:
    corners = [(0, 0), (0, 4), (4, 4), (4, 0), (2, 5)]
    ring = [Point(float(lat), float(lon)) for lat, lon in (*corners[turn:], *corners[:turn])]
    assert crosses_itself([*ring, ring[0]])
    whole = [point for point in ring if point != (2.0, 5.0)]
    assert not crosses_itself([*whole, whole[0]])


def test_an_area_and_its_text_are_the_same() -> None:
    text = "42.66000,23.30000;42.70000,23.30000;42.70000,23.36000"
    assert outline_text(read_outline(text)) == text
    assert read_outline(text).contains(Point(42.69, 23.31))
    assert not read_outline(text).contains(Point(42.67, 23.35))
