"""When adverts leave the market and come back."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from sqlalchemy import Connection, bindparam, insert, update

from sale_sofia.history.revisions import touch
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.history.tables import listings, market_events

Row = dict[str, Any]
EventKind = Literal["gone", "back"]
REUSED: Final = "reused"
"""Why a listing was closed: its advert's id was given to another flat."""
WITHDRAWN: Final = "withdrawn"
"""Why a listing was closed: a late sighting showed that it was the same flat all the time."""
MISSED: Final = "missed"
"""Why an advert is gone: complete sweeps did not show it, nor does its page, where that was looked at."""
REMOVED: Final = "removed"
"""Why an advert is gone: its own page says so, on a portal whose searches do not show everything."""
SEEN_AGAIN: Final = "seen again"
_SECONDS_PER_DAY: Final = 24 * SECONDS_PER_HOUR
_SET_GONE = update(listings).where(listings.c.id == bindparam("of_id")).values(gone_at=bindparam("since"))


def event(listing_id: int, kind: EventKind, at: float, noted_at: float, reason: str) -> Row:
    """One row of what became of a listing."""
    return {"listing_id": listing_id, "kind": kind, "at": at, "noted_at": noted_at, "reason": reason}


def note_events(connection: Connection, events: Sequence[Row]) -> None:
    """Remember what became of listings."""
    if events:
        connection.execute(insert(market_events), events)
        touch(connection, [row["listing_id"] for row in events])


def set_gone(connection: Connection, since: dict[int, float], *, now: float, reason: str) -> None:
    """These listings are gone, each since its own moment."""
    if since:
        connection.execute(_SET_GONE, [{"of_id": one, "since": at} for one, at in since.items()])
        note_events(connection, [event(one, "gone", at, now, reason) for one, at in since.items()])


def set_back(connection: Connection, listing_ids: Sequence[int], *, at: float) -> None:
    """These listings, which were gone, are there again."""
    if listing_ids:
        connection.execute(_SET_GONE, [{"of_id": one, "since": None} for one in listing_ids])
        note_events(connection, [event(one, "back", at, at, SEEN_AGAIN) for one in listing_ids])


def days_on_market(
    first_seen_at: float, gone_at: float | None, closed_at: float | None, *, now: float
) -> float:
    """From the first sight to the end, or until now."""
    ends = [end for end in (gone_at, closed_at) if end is not None]
    return max(0.0, min(ends, default=now) - first_seen_at) / _SECONDS_PER_DAY
