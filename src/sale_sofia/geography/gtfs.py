"""A working day's morning from a GTFS timetable, in the compact form that travel times are computed from.

A pattern is a line with the stops of its trips: [line, indexes of stops, minutes between them, the first
departure in minutes after midnight and then the gaps]. Minutes are those of the median rush-hour trip.
"""

import csv
import io
import statistics
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from sale_sofia.geography import settings as fixed
from sale_sofia.geography.geojson import WrongPlaces
from sale_sofia.geography.shapes import SOFIA_CENTRE, Point, metres

_NEEDED: Final = ("stops.txt", "routes.txt", "trips.txt", "stop_times.txt")
_CALENDARS: Final = ("calendar.txt", "calendar_dates.txt")
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WORKING: Final = 5
_LEAST_STOPS: Final = 2
_SIGNS: Final = {"0": "t", "1": "M", "11": "tb", "4xx": "M", "8xx": "tb", "9xx": "t"}
"""Signs of lines by the kind of route, where it is no bus; of three digits the first counts."""

Row = Mapping[str, str]


class Call(NamedTuple):
    """A stop of a trip, and when the trip leaves it, in minutes after midnight."""

    order: int
    stop: str
    leaves: float


def read_timetable(path: Path) -> dict[str, Any]:
    """The stops in Sofia and the patterns of a working day's morning.

    Raises:
        WrongPlaces: the file is not a GTFS timetable, is too large, or has no trips on such a morning.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check(archive)
            return _timetable(archive, path.name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise WrongPlaces([f"{path}: is no ZIP file that can be read: {error}"]) from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise WrongPlaces([f"{path}: a table cannot be read: {error}"]) from None


def _check(archive: zipfile.ZipFile) -> None:
    there = {info.filename: info for info in archive.infolist()}
    faults = [f"{name} is missing; a GTFS timetable has it" for name in _NEEDED if name not in there]
    if not any(name in there for name in _CALENDARS):
        faults.append("calendar.txt or calendar_dates.txt is missing; one of them says when trips go")
    if "frequencies.txt" in there and any(_rows(archive, "frequencies.txt", ())):
        faults.append("frequencies.txt gives trips by how often they go; only trips with times are read")
    used = [there[name] for name in (*_NEEDED, *_CALENDARS) if name in there]
    total = sum(info.file_size for info in used)
    if total > fixed.GTFS_MOST_BYTES:
        faults.append(f"its tables have {total:_} bytes; allowed are {fixed.GTFS_MOST_BYTES:_}")
    faults += [
        f"{info.filename} unpacks from {info.compress_size:_} bytes to {info.file_size:_}; no timetable does"
        for info in used
        if info.file_size > fixed.GTFS_MOST_GROWTH * max(info.compress_size, 1)
    ]
    if faults:
        raise WrongPlaces(faults)


def _rows(archive: zipfile.ZipFile, name: str, columns: Sequence[str]) -> Iterator[Row]:
    """The rows of a table, which must have these columns; none if the table is missing."""
    if name not in archive.namelist():
        return
    with archive.open(name) as packed, io.TextIOWrapper(packed, "utf-8-sig", newline="") as text:
        reader = csv.DictReader(text, restval="")
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise WrongPlaces([f"{name} has no column {column}" for column in missing])
        for number, row in enumerate(reader):
            if number >= fixed.GTFS_MOST_ROWS:
                raise WrongPlaces([f"{name} has more than {fixed.GTFS_MOST_ROWS:_} rows"])
            yield row


def _timetable(archive: zipfile.ZipFile, source: str) -> dict[str, Any]:
    places = _places(archive)
    services = {
        row["trip_id"]: (row["service_id"], row["route_id"])
        for row in _rows(archive, "trips.txt", ("trip_id", "service_id", "route_id"))
    }
    day, active = _working_day(archive, Counter(service for service, _ in services.values()))
    lines = _lines(archive)
    trips = {trip: lines.get(route, "") for trip, (service, route) in services.items() if service in active}
    patterns = _patterns(_calls(archive, trips, places), trips)
    if not patterns:
        first, last = (f"{minute // 60:02}:{minute % 60:02}" for minute in fixed.MORNING_MINUTES)
        raise WrongPlaces([f"no trip calls at two stops in Sofia on {day} from {first} to {last}"])
    used = list(dict.fromkeys(stop for _, stops in patterns for stop in stops))
    index = {stop: number for number, stop in enumerate(used)}
    return {
        "meta": {
            "source": source,
            "day": day.isoformat(),
            "window": "trips leaving their first stop 06:30-10:30",
        },
        "stops": [[code, name, *point] for code, name, point in map(places.__getitem__, used)],
        "patterns": [
            [line, [index[stop] for stop in stops], *_times(trips_of)]
            for (line, stops), trips_of in patterns.items()
        ],
    }


def _places(archive: zipfile.ZipFile) -> dict[str, tuple[str, str, Point]]:
    """Stops near Sofia by id: the code on their sign (the id, unless all codes differ), name and position."""
    places: dict[str, tuple[str, str, Point]] = {}
    for row in _rows(archive, "stops.txt", ("stop_id", "stop_lat", "stop_lon")):
        try:
            point = Point(round(float(row["stop_lat"]), 5), round(float(row["stop_lon"]), 5))
        except ValueError:
            continue  # an entrance or a node, for which coordinates are optional
        if metres(point, SOFIA_CENTRE) <= fixed.SOFIA_METRES:
            code = row.get("stop_code") or row["stop_id"]
            places[row["stop_id"]] = (code, row.get("stop_name") or code, point)
    if not places:
        raise WrongPlaces(
            [f"stops.txt has no stop within {fixed.SOFIA_METRES / 1000:g} km of the middle of Sofia"]
        )
    if len({code for code, _, _ in places.values()}) < len(places):
        places = {stop: (stop, name, point) for stop, (_, name, point) in places.items()}
    return places


def _working_day(archive: zipfile.ZipFile, trips: Mapping[str, int]) -> tuple[date, set[str]]:
    """The first weekday with the most trips (so no holiday), and the services that run on it."""
    changes: dict[date, dict[str, bool]] = defaultdict(dict)
    for row in _rows(archive, "calendar_dates.txt", ("service_id", "date", "exception_type")):
        changes[_date(row["date"])][row["service_id"]] = row["exception_type"] == "1"
    weekly = [
        (
            row["service_id"],
            _date(row["start_date"]),
            _date(row["end_date"]),
            [row[day] == "1" for day in _DAYS],
        )
        for row in _rows(archive, "calendar.txt", ("service_id", "start_date", "end_date", *_DAYS))
    ]
    days = [*changes, *(begin for _, begin, _, _ in weekly)]
    if not days:
        raise WrongPlaces(["neither calendar.txt nor calendar_dates.txt has a day"])
    best: tuple[int, date, set[str]] = (0, min(days), set())
    # More trips than a week before go only where a service began since, or on either day's own exception.
    for day in sorted({day + timedelta(ahead) for day in days for ahead in range(len(_DAYS) + 1)}):
        if day.weekday() >= _WORKING:
            continue
        active = {
            service
            for service, begin, end, weekdays in weekly
            if begin <= day <= end and weekdays[day.weekday()]
        }
        active = {*active, *changes[day]} - {service for service, goes in changes[day].items() if not goes}
        count = sum(trips.get(service, 0) for service in active)
        best = max(best, (count, day, active), key=lambda candidate: candidate[0])
    if not best[0]:
        raise WrongPlaces(["no trip goes from Monday to Friday on any day of the calendar"])
    return best[1], best[2]


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise WrongPlaces([f"{text[:20]!r} in the calendar is no date"]) from None


def _lines(archive: zipfile.ZipFile) -> dict[str, str]:
    """Route → its line, prefixed by kind: b bus, t tram, tb trolley, M metro."""
    lines = {}
    for row in _rows(archive, "routes.txt", ("route_id", "route_type")):
        kind = row["route_type"].strip()
        sign = _SIGNS.get(f"{kind[0]}xx" if len(kind) == len("100") else kind, "b")
        name = (row.get("route_short_name") or row.get("route_long_name") or row["route_id"]).strip()
        lines[row["route_id"]] = name if sign == "M" and name.startswith(("M", "М")) else f"{sign}{name}"
    return {route: f"M{line[1:]}" if line.startswith("М") else line for route, line in lines.items()}


def _calls(
    archive: zipfile.ZipFile, trips: Mapping[str, str], places: Mapping[str, object]
) -> dict[str, list[Call]]:
    """The stops in Sofia of each trip, in order."""
    columns = ("trip_id", "arrival_time", "departure_time", "stop_id", "stop_sequence")
    calls: dict[str, list[Call]] = defaultdict(list)
    for row in _rows(archive, "stop_times.txt", columns):
        leaves = _minutes(row["departure_time"] or row["arrival_time"])
        if row["trip_id"] in trips and row["stop_id"] in places and leaves is not None:
            order = row["stop_sequence"].strip()
            if not order.isdecimal():
                wrong = f"trip {row['trip_id']} has the stop_sequence {order!r}"
                raise WrongPlaces([f"stop_times.txt: {wrong}; a whole number gives the order of its stops"])
            calls[row["trip_id"]].append(Call(int(order), row["stop_id"], leaves))
    return {trip: sorted(trip_calls) for trip, trip_calls in calls.items() if len(trip_calls) >= _LEAST_STOPS}


def _minutes(text: str) -> float | None:
    """Minutes after midnight of "07:05:30"; None where no time is given, as between timed stops."""
    parts = text.strip().split(":")
    if len(parts) != len("hms") or not all(part.isdecimal() and len(part) <= len("000") for part in parts):
        return None
    hours, minutes, seconds = map(int, parts)
    return hours * 60 + minutes + seconds / 60


Pattern = tuple[str, tuple[str, ...]]


def _patterns(calls: Mapping[str, list[Call]], lines: Mapping[str, str]) -> dict[Pattern, list[list[float]]]:
    """Line and stops → when each trip of the morning leaves them, the earliest trip first."""
    patterns: dict[Pattern, list[list[float]]] = defaultdict(list)
    first, last = fixed.MORNING_MINUTES
    for trip, trip_calls in calls.items():
        if first <= trip_calls[0].leaves <= last:
            stops = tuple(call.stop for call in trip_calls)
            patterns[lines[trip], stops].append([call.leaves for call in trip_calls])
    return {pattern: sorted(patterns[pattern]) for pattern in sorted(patterns)}


def _times(trips: Sequence[Sequence[float]]) -> tuple[list[int], list[int]]:
    """Minutes between the stops, of the median trip in the rush hour; the first departure and the gaps."""
    first, last = fixed.RUSH_MINUTES
    rush = [trip for trip in trips if first <= trip[0] <= last] or trips
    offsets = [
        round(statistics.median(trip[place] - trip[0] for trip in rush)) for place in range(len(rush[0]))
    ]
    leaves = [int(trip[0]) for trip in trips]
    return (
        [max(after - before, 0) for before, after in pairwise(offsets)],
        [leaves[0], *(after - before for before, after in pairwise(leaves))],
    )
