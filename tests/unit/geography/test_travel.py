"""Minutes to a place by public transport: the search, the timetable, and what it was checked against."""

import heapq
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

import pytest

from sale_sofia.geography.gazetteer import areas_of
from sale_sofia.geography.metro import walk_minutes
from sale_sofia.geography.settings import DEPARTURES
from sale_sofia.geography.shapes import BUYERS_CENTRE, Destination, Point, metres
from sale_sofia.geography.travel import (
    Journeys,
    Network,
    Range,
    Timetable,
    journeys_to,
    network,
    parse_timetable,
)
from tables import each_row
from unit.geography.test_gazetteer import COLLECTED, needs_collected_data, numbered

NORTH = 111_200.0
"""Metres of a degree of latitude."""


def north(far: float) -> Point:
    """So many metres to the north of the first stop."""
    return Point(42.6 + far / NORTH, 23.3)


def timetable(stops: Mapping[str, float], patterns: Sequence[object]) -> Timetable:
    """Of stops by their metres to the north."""
    rows = [[code, f"stop {code}", *north(far)] for code, far in stops.items()]
    return parse_timetable({"stops": rows, "patterns": patterns})


def to(table: Timetable, far: float, *stops: str) -> Journeys:
    return Network(table).search(Destination(north(far), stops))


def every(minutes: int, first: int = 480) -> list[int]:
    """Departures so many minutes apart, till 11 o'clock."""
    return [first, *[minutes] * ((660 - first) // minutes)]


def test_a_ride_is_as_long_as_the_walk_the_wait_and_the_way() -> None:
    """A bus every 30 minutes at 08:20, 08:50 …: one who leaves at 08:15 waits 5 minutes and rides 10."""
    table = timetable({"a": 0, "b": 9000}, [["b1", [0, 1], [10], every(30, 500)]])
    found = to(table, 9000, "b")
    waits = [5, 0, 25, 20, 15, 10, 5]
    assert found.from_point(north(0)) == pytest.approx(statistics.mean(waits) + 10)
    # Two minutes on foot to the stop: the bus of 08:20 is missed by who leaves then.
    waits = [5, 30, 25, 20, 15, 10, 5]
    assert found.from_point(north(-120)) == pytest.approx(statistics.mean(waits) + 10)


def test_who_changes_is_a_minute_early() -> None:
    stops = {"a": 0, "b": 9000, "c": 18_000}
    first = ["b1", [0, 1], [10], every(5)]
    for second, more in ((["b2", [1, 2], [10], every(5, 481)], 1), (["b2", [1, 2], [10], every(5)], 5)):
        found = to(timetable(stops, [first, second]), 18_000, "c")
        assert found.from_point(north(0)) == pytest.approx(10 + more + 10)


def test_one_walks_400_metres_to_change_and_not_more() -> None:
    patterns = [["b1", [0, 1], [10], every(5)], ["b2", [2, 3], [10], every(5)]]
    near = timetable({"a": 0, "b": 9000, "c": 9240, "d": 18_000}, patterns)
    assert to(near, 18_000, "d").from_point(north(0)) == pytest.approx(10 + 5 + 10)  # 4 on foot, 1 early
    far = timetable({"a": 0, "b": 9000, "c": 9410, "d": 18_000}, patterns)
    assert to(far, 18_000, "d").from_point(north(0)) is None


def test_stops_of_its_name_are_the_place_and_from_others_one_walks() -> None:
    table = timetable({"a": 0, "b": 9000}, [["b1", [0, 1], [10], every(5)]])
    assert to(table, 9300).from_point(north(0)) == pytest.approx(15)
    assert to(table, 9300, "STOP B").from_point(north(0)) == pytest.approx(10)
    assert to(table, 300).from_point(north(0)) == pytest.approx(5)  # on foot all the way


def test_without_a_way_minutes_are_unknown() -> None:
    table = timetable({"a": 0, "b": 9000}, [["b1", [0, 1], [10], [500]]])
    found = to(table, 9000, "b")
    assert found.from_point(north(0)) is None  # nothing goes after 08:20
    assert found.from_point(north(-2500)) is None  # no stop is near


@each_row(
    ("pattern", "sentence"),
    [
        (["b1", [0, 1], [10, 2], [480]], "2 stops, 2 minutes"),
        (["b1", [0, 7], [10], [480]], "not there"),
        (["b1", [0, 1], [-1], [480]], "below 0"),
    ],
)
def test_a_timetable_that_is_none_is_refused(pattern: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        timetable({"a": 0, "b": 9000}, [pattern])


# The shipped timetable.


@cache
def _patterns() -> list[tuple[list[int], list[list[int]]]]:
    """Stops, and the minutes of each trip there."""
    return [(one.stops.tolist(), one.times.tolist()) for one in network().timetable.patterns]


@cache
def _leaving() -> dict[int, list[tuple[int, int]]]:
    """Stop → the patterns that leave it, and which of their stops it is."""
    found = defaultdict(list)
    for number, pattern in enumerate(_patterns()):
        for at, stop in enumerate(pattern[0][:-1]):
            found[stop].append((number, at))
    return found


@cache
def _around(stop: int) -> list[tuple[int, float]]:
    points = network().timetable.points
    lat, lon = points[stop]
    close = (
        one for one, (up, right) in enumerate(points) if abs(up - lat) < 0.004 and abs(right - lon) < 0.005
    )
    return [(one, walk_minutes(far)) for one in close if (far := metres(points[stop], points[one])) <= 400]


def plain_search(start: int, leave: int, place: Destination) -> float:
    """Minutes from a stop, leaving at one minute: stops in the order in which one can be ready there.

    The first trip of a pattern is the best, as none of its trips overtakes another.
    """
    table = network().timetable
    ends = {stop: walk_minutes(metres(point, place.point)) for stop, point in enumerate(table.points)}
    ends = {stop: minutes for stop, minutes in ends.items() if minutes <= 400 / 60}
    ends.update(dict.fromkeys((stop for name in place.stops for stop in table.called(name)), 0.0))
    walk = walk_minutes(metres(table.points[start], place.point))
    best = leave + walk if walk <= 60 else math.inf
    ready = {stop: leave + minutes for stop, minutes in _around(start)}
    alighted: dict[int, int] = {}
    queue = [(time, stop) for stop, time in ready.items()]
    heapq.heapify(queue)
    while queue:
        time, stop = heapq.heappop(queue)
        if time >= best:
            break
        if time > ready[stop]:
            continue
        for number, at in _leaving()[stop]:
            stops, trips = _patterns()[number]
            trip = next((trip for trip in trips if trip[at] >= time), None)
            for end, minute in zip(stops[at + 1 :], trip[at + 1 :] if trip else (), strict=False):
                if minute >= alighted.get(end, math.inf):
                    continue
                alighted[end] = minute
                best = min(best, minute + ends.get(end, math.inf))
                for other, minutes in _around(end):
                    soon = minute + minutes + 1
                    if soon < ready.get(other, math.inf) and soon < best:
                        ready[other] = soon
                        heapq.heappush(queue, (soon, other))
    return best - leave


BUSINESS_PARK = Destination(Point(42.62939, 23.37316), ("Бизнес парк София",))


@pytest.mark.slow
def test_minutes_to_the_business_park_are_those_of_a_plain_search() -> None:
    """Every 700th of the stops, from each of the seven departures, one at a time."""
    table, compared = network().timetable, 0
    for stop in range(0, len(table.points), 700):
        taken = [plain_search(stop, 540 + leave, BUSINESS_PARK) for leave in DEPARTURES]
        found = journeys_to(BUSINESS_PARK).from_point(table.points[stop])
        if math.inf not in taken:  # else one walks to a stop farther away
            assert found == pytest.approx(statistics.mean(taken))
            compared += 1
    assert compared >= 3


def test_from_a_neighbourhood_minutes_are_a_range() -> None:
    found = journeys_to(BUYERS_CENTRE).within(numbered("Лозенец"))
    assert found
    assert found == Range(6, 27)
    middle = areas_of(numbered("Лозенец"))[0].shape
    point = Point((middle.low.lat + middle.high.lat) / 2, (middle.low.lon + middle.high.lon) / 2)
    minutes = journeys_to(BUYERS_CENTRE).from_point(point)
    assert minutes
    assert found.least <= minutes <= found.most
    assert journeys_to(BUYERS_CENTRE).within(10**6) is None


def given_minutes() -> list[tuple[int, list[Point]]]:
    """The given minutes to Сердика, each with the points it is from: of a metro station its platforms."""
    table, found = network().timetable, []
    for code, name, lat, lon, _, given in json.loads((COLLECTED / "stops.json").read_text("utf-8"))["rows"]:
        platforms = [table.points[stop] for stop in table.called(name)] if code.startswith("M") else []
        if given is not None:
            found.append((given, platforms or [Point(lat, lon)]))
    return found


@needs_collected_data
def test_minutes_to_the_centre_are_near_those_that_were_given() -> None:
    """As near as the quickest ways are to others, see below; the goals were 1 minute and 95 %."""
    found, apart = journeys_to(BUYERS_CENTRE), []
    for given, points in given_minutes():
        minutes = [found.from_point(point) for point in points]
        if None not in minutes:
            apart.append(min(one for one in minutes if one is not None) - given)
    assert len(apart) == 2_787  # from one, nothing leaves after 08:15 till the timetable ends
    assert statistics.mean(map(abs, apart)) <= 1.45
    assert abs(statistics.median(apart)) <= 0.3
    assert sum(abs(one) <= 3 for one in apart) / len(apart) >= 0.86


class GivenScan:
    """Minutes to Сердика as the given values were made: one scan of all rides, from the last to the first.

    A ride is kept at its stop and, earlier by the walk, at all that are within 400 m, only if one is there
    sooner than with the one that was kept last. So one that leaves later than that and is there in the same
    minute is lost, and who waits for it there is told to come by another way, which is slower.
    """

    def __init__(self) -> None:
        self._kept: dict[Point, list[tuple[float, float]]] = defaultdict(list)
        self._ends = self._walks(BUYERS_CENTRE.point)
        self._ends |= {stop: 0 for name in BUYERS_CENTRE.stops for stop in network().timetable.called(name)}

    @staticmethod
    def _walks(point: Point) -> dict[int, int]:
        """Whole minutes to the stops within 400 m; to the stop itself none."""
        points = network().timetable.points
        near = zip(*network().near(point), strict=True)
        return {int(stop): max(1, round(far)) if points[stop] != point else 0 for stop, far in near}

    def _then(self, point: Point, minute: float) -> float:
        """When one is there who can leave at this minute."""
        return next((there for leave, there in reversed(self._kept[point]) if leave >= minute), math.inf)

    def scan(self, points: Iterable[Point]) -> None:
        """All rides, for those who set out at these points."""
        table, around = network().timetable, defaultdict(list)
        for point in {*points, *table.points}:
            for stop, walk in self._walks(point).items():
                around[stop].append((point, walk))
        trips = (
            trip
            for stops, some in _patterns()
            for trip in (list(zip(stops, one, strict=True)) for one in some)
        )
        rides = [(leg, number) for number, trip in enumerate(trips) for leg in pairwise(trip)]
        aboard: dict[int, float] = {}
        for ((stop, leave), (end, at)), trip in sorted(
            rides, key=lambda ride: (-ride[0][0][1], -ride[0][1][1])
        ):
            there = min(
                at + self._ends.get(end, math.inf),
                aboard.get(trip, math.inf),
                self._then(table.points[end], at + 1),
            )
            if there < math.inf:
                aboard[trip] = there
                for point, walk in around[stop]:
                    if not self._kept[point] or there < self._kept[point][-1][1]:
                        self._kept[point].append((leave - walk, there))

    def from_point(self, point: Point) -> float:
        """The average of the departures."""
        walk = walk_minutes(metres(point, BUYERS_CENTRE.point))
        on_foot = walk if walk <= 60 else math.inf
        leaving = [BUYERS_CENTRE.arrive_by + one for one in DEPARTURES]
        return statistics.mean(min(self._then(point, minute) - minute, on_foot) for minute in leaving)


@pytest.mark.slow
@needs_collected_data
def test_the_given_minutes_are_those_of_a_scan_that_loses_rides() -> None:
    """The same timetable, stops, walks and departures within the goals: what differs is that rule alone."""
    given, scan = given_minutes(), GivenScan()
    scan.scan(point for _, points in given for point in points)
    apart = [min(map(scan.from_point, points)) - minutes for minutes, points in given]
    known = [one for one in apart if one < math.inf]
    assert statistics.mean(map(abs, known)) <= 0.65
    assert sum(abs(one) <= 3 for one in known) / len(given) >= 0.95
