"""The viewings of all flats by day, with the way from each to the next; and as a file for calendars."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection

from sale_sofia.buyer.settings import CALENDAR_LINE_OCTETS, WALKED_MINUTES
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.walks import find_place
from sale_sofia.geography.metro import walk_minutes
from sale_sofia.geography.shapes import Destination, Point, metres
from sale_sofia.geography.travel import journeys_to
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.settings.files import atomic_write


class Transfer(NamedTuple):
    """From one viewing to the next."""

    minutes: int
    on_foot: bool
    """Else by public transport, on the timetable of a weekday morning."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A viewing of a day, and the way to it from the one before."""

    viewing: Viewing
    flat: Flat
    follows: bool = False
    """Whether there is one before it on that day."""
    way: Transfer | None = None
    """None: there is none before it, or one of the two places is not known exactly enough."""
    pause: int | None = None
    """Whole minutes from the end of the one before to this one; negative where they overlap."""

    @property
    def is_late(self) -> bool:
        """Whether the pause is too short for the way."""
        return self.pause is not None and self.pause < (self.way.minutes if self.way else 0)

    @property
    def overlap(self) -> int:
        """Minutes for which the one before still lasts when this one begins."""
        return max(0, -(self.pause or 0))

    def as_json(self) -> dict[str, Any]:
        """The stop as data."""
        viewing = self.viewing
        names = ("id", "property_id", "state", "starts_at", "minutes", "agent", "phone", "place", "remarks")
        values: dict[str, Any] = {name: getattr(viewing, name) for name in names}
        values |= {name: getattr(viewing, name) for name in ("outcome", "positives", "negatives")}
        way = {"way": self.way._asdict() if self.way else None, "pause_minutes": self.pause}
        return values | way | {"late": self.is_late}


@dataclass(frozen=True, slots=True)
class Agenda:
    """All viewings at one moment."""

    days: Sequence[tuple[str, Sequence[Stop]]]
    """Upcoming viewings by day like 2026-11-25, in the order of time."""
    unsaid: Sequence[Stop]
    """Past viewings without an outcome; the latest first."""
    past: Sequence[Stop]
    """Viewings that were done or cancelled; the latest first."""


def read_agenda(connection: Connection, *, now: float) -> Agenda:
    """The viewings of all flats as they are at this moment."""
    viewings = all_viewings(connection)
    found = read_flats(connection, {viewing.property_id for viewing in viewings})
    flats = {flat.property_id: flat for flat in found}
    upcoming = [viewing for viewing in viewings if viewing.is_upcoming(now)]
    days = [(day, stops(some, flats)) for day, some in groupby(upcoming, day_of)]
    ended = [viewing for viewing in reversed(viewings) if not viewing.is_upcoming(now)]
    over = [Stop(viewing, flats[viewing.property_id]) for viewing in ended]
    unsaid = [stop for stop in over if stop.viewing.state == "planned"]
    return Agenda(days, unsaid, [stop for stop in over if stop.viewing.state != "planned"])


def day_of(viewing: Viewing) -> str:
    """The day on which it begins, on Sofia's clock, like 2026-11-25."""
    return f"{datetime.fromtimestamp(viewing.starts_at, SOFIA):%Y-%m-%d}"


def stops(day: Iterable[Viewing], flats: Mapping[int, Flat]) -> list[Stop]:
    """The viewings of one day by time, each with the way from the one that ends last before it."""
    found: list[Stop] = []
    for viewing in day:
        flat = flats[viewing.property_id]
        if not found:
            found.append(Stop(viewing, flat))
            continue
        before = max(found, key=lambda stop: stop.viewing.ends_at)  # one may last longer than a later one
        way = way_between(_position(before.viewing, before.flat), _position(viewing, flat))
        pause = int((viewing.starts_at - before.viewing.ends_at) // 60)
        found.append(Stop(viewing, flat, follows=True, way=way, pause=pause))
    return found


def _position(viewing: Viewing, flat: Flat) -> Point | None:
    """The meeting point: the flat, or the agreed place; a neighbourhood is no meeting point."""
    if not viewing.place:
        return flat.exact_place
    found = None if find_neighbourhood(viewing.place) else find_place(viewing.place)
    return found.point if found else None


def way_between(start: Point | None, end: Point | None) -> Transfer | None:
    """On foot where that is near, else by public transport; None where a point or a way is not known."""
    if start is None or end is None:
        return None
    walk = round(walk_minutes(metres(start, end)))
    if walk <= WALKED_MINUTES:
        return Transfer(walk, on_foot=True)
    ride = journeys_to(Destination(end)).from_point(start)
    return None if ride is None else Transfer(round(ride), on_foot=False)


# Calendar files (RFC 5545): what every calendar program imports.

_ESCAPED: Final = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n", "\r": None})
_HEAD: Final = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//sale-sofia//viewings//EN", "METHOD:PUBLISH")


@dataclass(frozen=True, slots=True)
class Event:
    """One entry. Moments are seconds since 1970; empty texts are left out."""

    uid: str
    revision: int
    starts_at: float
    ends_at: float
    changed_at: float
    cancelled: bool
    summary: str
    place: str = ""
    description: str = ""
    url: str = ""


def write_calendar(path: Path, events: Iterable[Event]) -> None:
    """Write the events; the file is there whole, or it is as it was before."""
    with atomic_write(path) as unfinished:
        unfinished.write_bytes(calendar_bytes(events))


def calendar_bytes(events: Iterable[Event]) -> bytes:
    """The whole file: the same events always give the same bytes."""
    lines = (*_HEAD, *(line for event in events for line in _event_lines(event)), "END:VCALENDAR")
    return b"".join(_folded(line) + b"\r\n" for line in lines)


def _event_lines(event: Event) -> Iterator[str]:
    """Moments are written in UTC, which no calendar can misread in spring or autumn."""
    yield "BEGIN:VEVENT"
    yield f"UID:{event.uid}@sale-sofia"
    yield f"DTSTAMP:{_utc(event.changed_at)}"
    yield f"LAST-MODIFIED:{_utc(event.changed_at)}"
    yield f"SEQUENCE:{event.revision}"
    yield f"DTSTART:{_utc(event.starts_at)}"
    yield f"DTEND:{_utc(event.ends_at)}"
    yield f"STATUS:{'CANCELLED' if event.cancelled else 'CONFIRMED'}"
    texts = {"SUMMARY": event.summary, "LOCATION": event.place, "DESCRIPTION": event.description}
    yield from (f"{name}:{text.translate(_ESCAPED)}" for name, text in texts.items() if text)
    if event.url.isprintable() and event.url:
        yield f"URL:{event.url}"
    yield "END:VEVENT"


def _utc(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y%m%dT%H%M%SZ}"


def _folded(line: str) -> bytes:
    """The line folded at CALENDAR_LINE_OCTETS, no letter cut; each next piece begins with a space."""
    pieces, piece = [], b""
    for letter in line:
        octets = letter.encode()
        if len(piece) + len(octets) > CALENDAR_LINE_OCTETS:
            pieces.append(piece)
            piece = b" "
        piece += octets
    return b"\r\n".join([*pieces, piece])


# Viewings as entries of a calendar, each with what a person wants to know on the way there.


def viewing_events(connection: Connection, property_ids: Collection[int] | None = None) -> list[Event]:
    """The viewings of these properties, or of all, in the order of time; the cancelled too, marked so."""
    viewings = all_viewings(connection)
    if property_ids is not None:
        viewings = [viewing for viewing in viewings if viewing.property_id in property_ids]
    found = read_flats(connection, {viewing.property_id for viewing in viewings})
    flats = {flat.property_id: flat for flat in found}
    return [_event(viewing, flats[viewing.property_id]) for viewing in viewings]


def _event(viewing: Viewing, flat: Flat) -> Event:
    return Event(
        uid=viewing.uid,
        revision=viewing.revision,
        starts_at=viewing.starts_at,
        ends_at=viewing.starts_at + viewing.minutes * 60,
        changed_at=viewing.changed_at,
        cancelled=viewing.state == "cancelled",
        summary=f"Оглед: {', '.join(_facts(flat))}",
        place=viewing.place
        or ", ".join(part for part in (flat.city, flat.neighbourhood, flat.street) if part),
        description="\n".join(_description(viewing, flat)),
        url=flat.adverts[0].url,
    )


def _facts(flat: Flat) -> Iterator[str]:
    """The known facts of the flat, in short."""
    if flat.rooms is not None:
        yield f"{flat.rooms}-стаен"
    if flat.area_sqm is not None:
        yield f"{flat.area_sqm:g} m²"
    if flat.neighbourhood is not None:
        yield flat.neighbourhood
    if flat.price_eur is not None:
        yield f"€ {flat.price_eur:,.0f}".replace(",", " ")
    yield f"№ {flat.property_id}"


def _description(viewing: Viewing, flat: Flat) -> Iterator[str]:
    texts = {"Агент": viewing.agent, "Телефон": viewing.phone, "Бележки": viewing.remarks}
    yield from (f"{name}: {text}" for name, text in texts.items() if text)
    yield from (f"+ {text}" for text in viewing.positives)
    yield from (f"- {text}" for text in viewing.negatives)
    if viewing.outcome:
        yield f"Резултат: {viewing.outcome}"
    yield flat.adverts[0].url
