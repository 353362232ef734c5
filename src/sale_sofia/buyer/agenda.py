"""The viewings of all flats by day, with the way from each to the next."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection

from sale_sofia.buyer.settings import WALKED_MINUTES
from sale_sofia.buyer.viewings import Viewing, all_viewings
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.walks import find_place
from sale_sofia.geography.metro import walk_minutes
from sale_sofia.geography.shapes import Place, Point, metres
from sale_sofia.geography.travel import journeys_to
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.places import find_neighbourhood


class Way(NamedTuple):
    """From one viewing to the next."""

    minutes: int
    on_foot: bool
    """Else by public transport, on the timetable of a weekday morning."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A viewing of a day, and how one comes to it from the one before."""

    viewing: Viewing
    flat: Flat
    follows: bool = False
    """Whether there is one before it on that day."""
    way: Way | None = None
    """None: there is none before it, or it is not known exactly enough where one of the two is."""
    pause: int | None = None
    """Whole minutes between the end of the one before and this one; less than none where they overlap."""

    @property
    def is_late(self) -> bool:
        """Whether one cannot be there in time."""
        return self.pause is not None and self.pause < (self.way.minutes if self.way else 0)

    def as_json(self) -> dict[str, Any]:
        """The stop as data."""
        one = self.viewing
        names = ("id", "property_id", "state", "starts_at", "minutes", "agent", "phone", "place", "remarks")
        told: dict[str, Any] = {name: getattr(one, name) for name in names}
        told |= {"outcome": one.outcome, "positives": one.positives, "negatives": one.negatives}
        way = {"way": self.way._asdict() if self.way else None, "pause_minutes": self.pause}
        return told | way | {"late": self.is_late}


@dataclass(frozen=True, slots=True)
class Agenda:
    """All viewings at one moment."""

    days: Sequence[tuple[str, Sequence[Stop]]]
    """What is to come, by day like 2026-11-25, in the order of time."""
    unsaid: Sequence[Stop]
    """What is over, and nobody said how it was; the last first."""
    past: Sequence[Stop]
    """What was done or cancelled; the last first."""


def read_agenda(connection: Connection, *, now: float) -> Agenda:
    """The viewings of all flats as they are at this moment."""
    found = all_viewings(connection)
    flats = {flat.property_id: flat for flat in read_flats(connection, {one.property_id for one in found})}
    upcoming = [one for one in found if one.is_upcoming(now)]
    days = [(day, stops(list(some), flats)) for day, some in groupby(upcoming, day_of)]
    over = [Stop(one, flats[one.property_id]) for one in reversed(found) if not one.is_upcoming(now)]
    unsaid = [one for one in over if one.viewing.state == "planned"]
    return Agenda(days, unsaid, [one for one in over if one.viewing.state != "planned"])


def day_of(viewing: Viewing) -> str:
    """The day on which it begins, on Sofia's clock, like 2026-11-25."""
    return f"{datetime.fromtimestamp(viewing.starts_at, SOFIA):%Y-%m-%d}"


def stops(day: Iterable[Viewing], flats: Mapping[int, Flat]) -> list[Stop]:
    """The viewings of one day in the order of time, each with the way from the one before."""
    found: list[Stop] = []
    for one in day:
        flat = flats[one.property_id]
        if not found:
            found.append(Stop(one, flat))
            continue
        before = found[-1]
        way = way_between(_position(before.viewing, before.flat), _position(one, flat))
        pause = int((one.starts_at - before.viewing.ends_at) // 60)
        found.append(Stop(one, flat, follows=True, way=way, pause=pause))
    return found


def _position(viewing: Viewing, flat: Flat) -> Point | None:
    """Where one meets: at the flat, or where it was agreed; a neighbourhood is no place to meet at."""
    if not viewing.place:
        return flat.exact_place
    found = None if find_neighbourhood(viewing.place) else find_place(viewing.place)
    return found.point if found else None


def way_between(start: Point | None, end: Point | None) -> Way | None:
    """On foot where that is near, else by public transport; None where a point or a way is not known."""
    if start is None or end is None:
        return None
    walk = round(walk_minutes(metres(start, end)))
    if walk <= WALKED_MINUTES:
        return Way(walk, on_foot=True)
    ride = journeys_to(Place(end)).from_point(start)
    return None if ride is None else Way(round(ride), on_foot=False)
