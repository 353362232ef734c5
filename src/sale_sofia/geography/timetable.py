"""The timetable of one weekday morning: stops, and the patterns of lines with their departures."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sale_sofia.geography.imported import own, until_changed
from sale_sofia.geography.settings import FILES, METRES_PER_DEGREE, TIMETABLE
from sale_sofia.geography.shapes import Point

Floats = NDArray[np.float64]
Minutes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The stops that trips of a line have in common, and when each trip is at each of them."""

    line: str
    stops: NDArray[np.int64]
    times: Minutes
    """A row for each trip: minutes of the day, one for each stop; one leaves when one arrives."""


@dataclass(frozen=True)
class Timetable:
    """Stops by their place in these lists, and all trips between them."""

    codes: tuple[str, ...]
    names: tuple[str, ...]
    points: tuple[Point, ...]
    patterns: tuple[Pattern, ...]

    @cached_property
    def ground(self) -> Floats:
        """Metres of each stop to the north and to the east."""
        return np.array(self.points) * METRES_PER_DEGREE

    def called(self, name: str) -> list[int]:
        """The stops of this name or code, in any case."""
        key = name.casefold()
        return [
            stop
            for stop, names in enumerate(zip(self.names, self.codes, strict=True))
            if key in (names[0].casefold(), names[1].casefold())
        ]


@until_changed
@cache
def used_timetable() -> Timetable:
    """The user's own, else the one that is shipped.

    Raises:
        ValueError: the imported file is damaged.
    """
    found = own("timetable")
    if found is None:
        shipped = resources.files(FILES).joinpath("data", *TIMETABLE.split("/"))
        found = json.loads(gzip.decompress(shipped.read_bytes()))
    return parse_timetable(found)


def parse_timetable(data: Mapping[str, Any]) -> Timetable:
    """Of `stops` (code, name, latitude, longitude) and `patterns`, as `make places` writes them.

    Raises:
        ValueError: it is something else, with what is wrong.
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
    """Of minutes between stops, and of the first departure and the minutes between departures."""
    if len(at) != len(gaps) + 1 or not departures:
        raise ValueError(f"line {line}: {len(at)} stops, {len(gaps)} minutes between them")
    if not all(0 <= stop < stops for stop in at) or min(gaps, default=0) < 0:
        raise ValueError(f"line {line}: a stop that is not there, or minutes below 0")
    since_first = np.concatenate([[0], np.cumsum(gaps, dtype=np.int64)])
    return Pattern(line, np.array(at), np.cumsum(departures)[:, None] + since_first[None, :])
