"""Calendar files (RFC 5545): what every calendar program imports."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from sale_sofia.buyer.settings import CALENDAR_LINE_OCTETS
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.settings.files import whole_or_not_at_all

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
    with whole_or_not_at_all(path) as unfinished:
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
    """The line in pieces of so many octets at most, no letter cut in two; each next begins with a space."""
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
    """What is known of the flat, shortly."""
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
