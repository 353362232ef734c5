"""Adverts whose portal says that they are as they were: what to ask it, and what its word leaves behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, or_, select, update

from sale_sofia.config.history import HistoryRules
from sale_sofia.data.history_schema import scrape_history
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.market import SEEN_AGAIN, event, note_events
from sale_sofia.data.sightings import STILL, is_back, listing_key, visited

_UPDATE = update(listings).where(listings.c.id == bindparam("of_id"))


@dataclass(frozen=True, slots=True)
class SameAgain:
    """An advert that was asked for and had not moved."""

    external_id: str
    at: float
    seconds: float | None = None


def validators(
    connection: Connection, site: str, external_ids: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """The headers that ask whether an advert is as we know it, by its id.

    None for one whose price is in doubt: each visit of it counts, and must be whole.
    """
    known = select(listings.c.external_id, listings.c.etag, listings.c.last_modified).where(
        listings.c.site == site,
        listings.c.external_id.in_(external_ids),
        listings.c.closed_at.is_(None),
        listings.c.odd_visits == 0,
        or_(listings.c.etag.is_not(None), listings.c.last_modified.is_not(None)),
    )
    return {row.external_id: _headers(row.etag, row.last_modified) for row in connection.execute(known)}


def _headers(etag: str | None, last_modified: str | None) -> dict[str, str]:
    asked = {"If-None-Match": etag, "If-Modified-Since": last_modified}
    return {name: value for name, value in asked.items() if value is not None}


def save_unmodified(
    connection: Connection, site: str, same: Sequence[SameAgain], *, job_id: str, rules: HistoryRules
) -> int:
    """Store that these adverts were seen again as they were; how many we knew."""
    if not same:
        return 0
    asked = {one.external_id: one for one in same}
    known = select(listings).where(
        listings.c.site == site, listings.c.external_id.in_(sorted(asked)), listings.c.closed_at.is_(None)
    )
    rows = connection.execute(known.order_by(listings.c.id).with_for_update()).mappings().all()
    seen = [
        (row, asked[row["external_id"]]) for row in rows if asked[row["external_id"]].at > row["visited_at"]
    ]
    if seen:
        connection.execute(_UPDATE, [visited(row, one.at, STILL, rules) for row, one in seen])
        visits = [
            {
                "site": site,
                "url_key": listing_key(one.external_id),
                "job_id": job_id,
                "fetched_at": one.at,
                "verdict": "not_modified",
                "seconds": one.seconds,
                "content_hash": row["content_hash"],
                "listing_id": row["id"],
                "result": "unchanged",
            }
            for row, one in seen
        ]
        connection.execute(insert(scrape_history), visits)
    back = [event(row["id"], "back", one.at, one.at, SEEN_AGAIN) for row, one in seen if is_back(row, one.at)]
    note_events(connection, back)
    return len(rows)
