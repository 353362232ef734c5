"""Minutes from anywhere to a place by public transport, on the timetable of a weekday morning.

A journey starts with a walk to a stop within 400 m or, if none of those reaches the place at each departure,
within 2 km; or it is a walk all the way. Boarding there takes no time; a change takes a walk of at most 400 m
and a minute. The journey ends at a stop that counts as the place (those of its name), or at one within 400 m
of it plus the walk from there. Walks are those of `metro.walk_minutes`; the wait for the first ride counts.
The result is the average of seven departures, five minutes apart, the last a quarter of an hour before the
time of arrival: to arrive by 09:00, from 08:15 to 08:45.

All departures are searched at once, backwards from the place, in rounds as in RAPTOR: each allows one more
ride. Times are whole minutes, so a table of the minutes of the morning holds every answer.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sale_sofia.geography import settings as fixed
from sale_sofia.geography.gazetteer import areas_of, shipped
from sale_sofia.geography.imported import own, until_changed
from sale_sofia.geography.metro import walk_minutes
from sale_sofia.geography.shapes import Destination, Point, metres, samples

Floats = NDArray[np.float64]
Minutes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The stops shared by trips of a line, and when each trip is at each of them."""

    line: str
    stops: NDArray[np.int64]
    times: Minutes
    """A row for each trip: the minute of the day at each stop; arrival and departure are the same."""


@dataclass(frozen=True)
class Timetable:
    """Stops by their index in these lists, and all trips between them."""

    codes: tuple[str, ...]
    names: tuple[str, ...]
    points: tuple[Point, ...]
    patterns: tuple[Pattern, ...]

    @cached_property
    def ground(self) -> Floats:
        """The position of each stop in metres, north and east."""
        return np.array(self.points) * fixed.METRES_PER_DEGREE

    def called(self, name: str) -> list[int]:
        """The stops of this name or code, ignoring case."""
        key = name.casefold()
        return [
            stop
            for stop, names in enumerate(zip(self.names, self.codes, strict=True))
            if key in (names[0].casefold(), names[1].casefold())
        ]


@until_changed
@cache
def used_timetable() -> Timetable:
    """The imported timetable, else the shipped one.

    Raises:
        ValueError: the imported file is damaged.
    """
    imported = own("timetable")
    return parse_timetable(shipped(fixed.TIMETABLE) if imported is None else imported)


def parse_timetable(data: Mapping[str, Any]) -> Timetable:
    """A timetable of `stops` (code, name, latitude, longitude) and `patterns`, as `make places` writes them.

    Raises:
        ValueError: the data is inconsistent; the message says where.
    """
    stops = data["stops"]
    patterns = tuple(
        _pattern(len(stops), line, at, gaps, departures) for line, at, gaps, departures in data["patterns"]
    )
    return Timetable(
        tuple(code for code, _, _, _ in stops),
        tuple(name for _, name, _, _ in stops),
        tuple(Point(lat, lon) for _, _, lat, lon in stops),
        patterns,
    )


def _pattern(stops: int, line: str, at: list[int], gaps: list[int], departures: list[int]) -> Pattern:
    """The pattern of the minutes between stops, the first departure, and the minutes between departures."""
    if len(at) != len(gaps) + 1 or not departures:
        raise ValueError(f"line {line}: {len(at)} stops, {len(gaps)} minutes between them")
    if not all(0 <= stop < stops for stop in at) or min(gaps, default=0) < 0:
        raise ValueError(f"line {line}: a stop that is not there, or minutes below 0")
    since_first = np.concatenate([[0], np.cumsum(gaps, dtype=np.int64)])
    return Pattern(line, np.array(at), np.cumsum(departures)[:, None] + since_first[None, :])


NEVER: Final = 1e6
"""The arrival minute where there is no connection."""


Walked = tuple[NDArray[np.int64], Floats]
"""Stops, and the minutes on foot to them."""


class Range(NamedTuple):
    """The range of possible whole minutes."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Walks:
    """Walks between near stops: a row for each pair, ordered by the first stop."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    minutes: Floats


class Network:
    """A timetable, ready to be searched."""

    def __init__(self, timetable: Timetable) -> None:
        self.timetable = timetable
        self._cells: dict[tuple[int, int], list[int]] = {}
        for stop, point in enumerate(timetable.points):
            self._cells.setdefault(_cell(point), []).append(stop)
        self._walks = self._between_stops()

    def near(self, point: Point) -> Walked:
        """The stops within a short walk of a point, and the minutes to them."""
        north, east = _cell(point)
        around = [
            stop
            for up in (-1, 0, 1)
            for right in (-1, 0, 1)
            for stop in self._cells.get((north + up, east + right), ())
        ]
        return self._within(fixed.TRANSFER_METRES, np.array(around, dtype=np.int64), point)

    def far(self, point: Point) -> Walked:
        """The stops within a long walk, for points from which no near stop reaches the place."""
        return self._within(fixed.FAR_STOP_METRES, np.arange(len(self.timetable.points)), point)

    def _within(self, most: float, stops: NDArray[np.int64], point: Point) -> Walked:
        apart = self.timetable.ground[stops] - np.array(point) * fixed.METRES_PER_DEGREE
        away = np.hypot(apart[:, 0], apart[:, 1])
        close = away <= most
        return stops[close], walk_minutes(1.0) * away[close]

    def _between_stops(self) -> Walks:
        walks = [
            (stop, other, minutes)
            for stop, point in enumerate(self.timetable.points)
            for other, minutes in zip(*self.near(point), strict=True)
        ]
        start, end, minutes = zip(*walks, strict=True)
        return Walks(np.array(start), np.array(end), np.array(minutes))

    def search(self, place: Destination) -> "Journeys":
        """All journeys to a place."""
        first = place.arrive_by + fixed.DEPARTURES[0]
        leaving = place.arrive_by + math.ceil(walk_minutes(fixed.FAR_STOP_METRES))
        last = max(leaving, *(int(pattern.times.max()) for pattern in self.timetable.patterns))
        minutes = np.arange(first, last + 1)
        at_place = np.full(len(self.timetable.points), NEVER)
        stops, walks = self.near(place.point)
        at_place[stops] = walks
        at_place[[stop for name in place.stops for stop in self.timetable.called(name)]] = 0.0
        boarded = np.full((len(self.timetable.points), len(minutes)), NEVER)
        for _ in range(fixed.MOST_RIDES):
            alighted = np.minimum(self._changed(boarded), at_place[:, None] + minutes)
            if np.array_equal(better := self._ridden(boarded, alighted, first), boarded):
                break
            boarded = better
        return Journeys(self, place, boarded)

    def _changed(self, boarded: Floats) -> Floats:
        """Stop and minute of alighting → the arrival time after a change."""
        walks, count = self._walks, boarded.shape[1]
        changed = np.full_like(boarded, NEVER)
        delay = np.ceil(walks.minutes + fixed.BOARDING_MINUTES).astype(np.int64)
        for wait in np.unique(delay):
            some = delay == wait
            later = boarded[walks.end[some], wait:]
            _lower(changed, walks.start[some], later, count - int(wait))
        return changed

    def _ridden(self, boarded: Floats, alighted: Floats, first: int) -> Floats:
        """Stop and minute of waiting there → the arrival time with one more ride."""
        earliest = boarded.copy()
        for pattern in self.timetable.patterns:
            columns = pattern.times - first
            columns = columns[columns[:, -1] >= 0]
            reached = np.where(columns >= 0, alighted[pattern.stops, np.maximum(columns, 0)], NEVER)
            aboard = np.minimum.accumulate(reached[:, :0:-1], axis=1)[:, ::-1]
            rows, left = np.broadcast_arrays(pattern.stops[:-1], columns[:, :-1])
            caught = left >= 0
            np.minimum.at(earliest, (rows[caught], left[caught]), aboard[caught])
        return np.minimum.accumulate(earliest[:, ::-1], axis=1)[:, ::-1]


def _lower(table: Floats, rows: NDArray[np.int64], by: Floats, width: int) -> None:
    """Lower rows of a table to these minimums; rows are sorted and may repeat."""
    starts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]])
    lowest = np.minimum.reduceat(by, starts, axis=0)
    table[rows[starts], :width] = np.minimum(table[rows[starts], :width], lowest)


class Journeys:
    """Minutes to one place, from anywhere."""

    def __init__(self, network: Network, place: Destination, boarded: Floats) -> None:
        self.place = place
        self._network = network
        self._boarded = boarded

    def from_point(self, point: Point, near: Walked | None = None) -> float | None:
        """The average of all departures; None if one of them has no connection.

        Args:
            point: The start.
            near: The stops near it, if already computed.
        """
        minutes = self._rides(*(near or self._network.near(point)))
        if minutes.max() >= NEVER / 2:
            minutes = self._rides(*self._network.far(point))
        on_foot = walk_minutes(metres(point, self.place.point))
        if on_foot <= fixed.LONGEST_WALK_MINUTES:
            minutes = np.minimum(minutes, on_foot)
        return float(minutes.mean()) if minutes.max() < NEVER / 2 else None

    def _rides(self, stops: NDArray[np.int64], walks: Floats) -> Floats:
        """Minutes from each departure to the place, by the best of these stops."""
        columns = np.ceil(walks).astype(np.int64)[:, None] + _SINCE_FIRST
        there = self._boarded[stops[:, None], columns].min(axis=0, initial=NEVER)
        minutes: Floats = there - (self.place.arrive_by + np.array(fixed.DEPARTURES))
        return minutes

    def within(self, neighbourhood: int) -> Range | None:
        """From anywhere in a neighbourhood; None without known borders, or if a part has no connection."""
        points = [
            point
            for area in areas_of(neighbourhood)
            for point in samples(area.shape, fixed.TRAVEL_SAMPLE_METRES)
        ]
        journeys = [self.from_point(point) for point in points]
        reachable = [minutes for minutes in journeys if minutes is not None]
        if not reachable or len(reachable) < len(journeys):
            return None
        return Range(math.floor(min(reachable)), math.ceil(max(reachable)))


_SINCE_FIRST: Final = np.array(fixed.DEPARTURES) - fixed.DEPARTURES[0]


def _cell(point: Point) -> tuple[int, int]:
    """A grid square as wide as the longest transfer, which so ends in it or in its eight neighbours."""
    north, east = fixed.METRES_PER_DEGREE
    return int(point.lat * north // fixed.TRANSFER_METRES), int(point.lon * east // fixed.TRANSFER_METRES)


@until_changed
@lru_cache(1)
def network() -> Network:
    """The network of the timetable in use."""
    return Network(used_timetable())


@until_changed
@lru_cache(64)
def journeys_to(place: Destination) -> Journeys:
    """Journeys to a place on the timetable in use; cached."""
    return network().search(place)


@until_changed
@lru_cache(4096)
def minutes_within(neighbourhood: int, place: Destination) -> Range | None:
    """Minutes from anywhere in a neighbourhood to a place; cached."""
    return journeys_to(place).within(neighbourhood)
