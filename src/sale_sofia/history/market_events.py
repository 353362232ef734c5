"""When adverts come to the market, leave it and come back."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, select, update

from sale_sofia.history.revisions import touch
from sale_sofia.history.settings import EARLIEST_LISTED, SECONDS_PER_HOUR
from sale_sofia.history.tables import listings, market_events
from sale_sofia.listings.dates import family_second

Row = dict[str, Any]
EventKind = Literal["gone", "back"]
REUSED: Final = "reused"
"""Why a listing was closed: its advert's id was given to another flat."""
WITHDRAWN: Final = "withdrawn"
"""Why a listing was closed: a late sighting showed that it was the same flat all the time."""
MISSED: Final = "missed"
"""Why an advert is gone: complete sweeps did not show it, nor does its page, if that was checked."""
REMOVED: Final = "removed"
"""Why an advert is gone: its own page says so, on a portal whose searches do not show everything."""
SEEN_AGAIN: Final = "seen again"
SECONDS_PER_DAY: Final = 24 * SECONDS_PER_HOUR
_SET_GONE = update(listings).where(listings.c.id == bindparam("of_id")).values(gone_at=bindparam("since"))


def event(listing_id: int, kind: EventKind, at: float, noted_at: float, reason: str) -> Row:
    """One row of a listing's market events."""
    return {"listing_id": listing_id, "kind": kind, "at": at, "noted_at": noted_at, "reason": reason}


def note_events(connection: Connection, events: Sequence[Row]) -> None:
    """Store market events of listings."""
    if events:
        connection.execute(insert(market_events), events)
        touch(connection, [row["listing_id"] for row in events])


def set_gone(connection: Connection, since: dict[int, float], *, now: float, reason: str) -> None:
    """Mark these listings as gone, each since its own moment."""
    if since:
        connection.execute(_SET_GONE, [{"of_id": number, "since": at} for number, at in since.items()])
        note_events(connection, [event(number, "gone", at, now, reason) for number, at in since.items()])


def set_back(connection: Connection, listing_ids: Sequence[int], *, at: float) -> None:
    """Mark these gone listings as back."""
    if listing_ids:
        connection.execute(_SET_GONE, [{"of_id": listing_id, "since": None} for listing_id in listing_ids])
        note_returns(connection, dict.fromkeys(listing_ids, at))


def note_returns(connection: Connection, seen_at: Mapping[int, float]) -> None:
    """Note that these gone listings are back, each since it was seen again.

    A page may be stored after a removal was noted that its moment precedes: in the order of notes, each
    return still comes after what it ends.
    """
    if not seen_at:
        return
    gone = (market_events.c.listing_id.in_(sorted(seen_at)), market_events.c.kind == "gone")
    latest = select(market_events.c.listing_id, func.max(market_events.c.noted_at)).where(*gone)
    rows = connection.execute(latest.group_by(market_events.c.listing_id))
    noted = {listing_id: float(noted_at) for listing_id, noted_at in rows}
    note_events(
        connection,
        [
            event(number, "back", at, max(at, noted.get(number, at)), SEEN_AGAIN)
            for number, at in seen_at.items()
        ],
    )


Source = Literal["posted", "id", "first_seen"]
"""Where the start of an advert comes from: the portal, the moment in an imot.bg id, or our first sighting."""


class Since(NamedTuple):
    """A moment, in seconds since 1970, and its source."""

    at: float
    source: Source


def listed_since(row: Mapping[Any, Any], *, reused: bool = False) -> Since:
    """The earliest plausible moment known of an advert.

    Implausible is one before portals had adverts, or after we saw it. For a reused id the portal's moments
    belong to the earlier flat: only our first sighting counts.
    """
    at: float = row["first_seen_at"]
    source: Source = "first_seen"
    if reused or row["generation"] > 1:
        return Since(at, source)
    if text := row["posted_at"]:
        posted = datetime.fromisoformat(text).timestamp()
        if EARLIEST_LISTED <= posted < at:
            at, source = posted, "posted"
    made = family_second(row["family_id"]) if row["family_id"] else None
    # Of two equal moments prefer the id's: where a portal prints none, the other is derived from it.
    if made is not None and EARLIEST_LISTED <= made <= at:
        at, source = made, "id"
    return Since(at, source)


def days_on_market(since: float, gone_at: float | None, closed_at: float | None, *, now: float) -> float:
    """Days from a moment to the end, or until now."""
    ends = [end for end in (gone_at, closed_at) if end is not None]
    return max(0.0, min(ends, default=now) - since) / SECONDS_PER_DAY
