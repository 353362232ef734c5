"""Which adverts are new, and since when: one rule for everything that shows it.

An advert is new when it is first seen, unless the run that saw it did not read the required facts (`at_least`
in the site file). Then it is held back until a run or a reparse has read it correctly, or a person accepts
it. The same holds for a first sweep that missed adverts of its portal: what it saw may have been there for
long, and is new when a sweep of the same searches, or of the whole portal, is complete.
"""

from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, case, func, or_, select, update

from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings, scrape_history

IS_RELEASED: Final[ColumnElement[bool]] = listings.c.held_by.is_(None)
NEW_AT: Final[ColumnElement[float | None]] = case(
    (IS_RELEASED, func.coalesce(listings.c.new_at, listings.c.first_seen_at))
)
"""Since when an advert is new; null while that is held back."""


def new_since(since: float) -> ColumnElement[bool]:
    """Adverts that became new at this moment or later; the condition uses the indexes."""
    seen = or_(listings.c.first_seen_at >= since, listings.c.new_at >= since)
    return seen & (since <= NEW_AT)


def hold_news(connection: Connection, site: str, job_id: str, *, now: float) -> None:
    """Hold back the adverts that this run saw first; the next run opens them again, whatever their cards say.

    It also opens every other held advert of the portal, without a conditional request.
    """
    hold_first_seen(connection, job_id, now=now)
    due = {"revisit_at": 0.0, "etag": None, "last_modified": None}
    connection.execute(update(listings).where(*_held(site)).values(due))


def hold_first_seen(connection: Connection, job_id: str, *, now: float) -> None:
    """Hold back the adverts that this run saw first; they were read correctly and are not opened again."""
    first = select(scrape_history.c.listing_id).where(
        scrape_history.c.job_id == job_id, scrape_history.c.result == "new"
    )
    query = update(listings).where(listings.c.id.in_(first), IS_RELEASED)
    held = connection.scalars(query.values(held_by=job_id, new_at=now).returning(listings.c.id))
    touch(connection, held)


def release_read(connection: Connection, site: str, job_id: str, *, now: float) -> int:
    """Release held adverts that this run has read, as new; returns how many."""
    read = select(scrape_history.c.listing_id).where(
        scrape_history.c.job_id == job_id, scrape_history.c.verdict == "ok"
    )
    return _release(connection, site, read, now) if held_adverts(connection, site) else 0


def release_adverts(connection: Connection, site: str, external_ids: Collection[str], *, now: float) -> int:
    """Release these adverts of a portal, as far as they were held back; returns how many."""
    held = held_adverts(connection, site)
    ids = [number for number, external_id in held.items() if external_id in external_ids]
    return _release(connection, site, ids, now) if ids else 0


def holding_runs(connection: Connection, site: str) -> list[str]:
    """The runs that hold adverts of a portal back."""
    held = select(listings.c.held_by).where(*_held(site)).distinct()
    return sorted(connection.scalars(held))


def release_runs(connection: Connection, site: str, runs: Sequence[str], *, now: float) -> int:
    """Release the adverts of a portal that these runs hold back; returns how many."""
    own = select(listings.c.id).where(*_held(site), listings.c.held_by.in_(runs))
    return _release(connection, site, own, now)


def release_all(connection: Connection, site: str, *, now: float) -> int:
    """Release all held adverts of a portal; returns how many."""
    return _release(connection, site, select(listings.c.id).where(*_held(site)), now)


def _release(connection: Connection, site: str, ids: Select[tuple[int]] | list[int], now: float) -> int:
    query = update(listings).where(*_held(site), listings.c.id.in_(ids)).values(held_by=None, new_at=now)
    released = connection.scalars(query.returning(listings.c.id)).all()
    touch(connection, released)
    return len(released)


def _held(site: str) -> tuple[ColumnElement[bool], ...]:
    # Not the column itself, lest SQLite goes through all adverts of the portal by its index.
    return listings.c.held_by.is_not(None), listings.c.site + "" == site


def held_adverts(connection: Connection, site: str) -> dict[int, str]:
    """The held adverts of a portal: their numbers, and the portal's ids."""
    return dict(connection.execute(select(listings.c.id, listings.c.external_id).where(*_held(site))).all())


def count_held(connection: Connection, job_id: str) -> int:
    """How many adverts that this run saw first are still held back."""
    held = select(func.count()).select_from(listings).where(listings.c.held_by == job_id)
    return int(connection.execute(held).scalar_one())


def held_properties(connection: Connection) -> frozenset[int]:
    """The properties all of whose adverts are held back."""
    own = listing_sources.c.property_id
    held = select(own).join(listings).where(~IS_RELEASED)
    shown = select(own).join(listings).where(IS_RELEASED, own.in_(held))
    return frozenset(connection.scalars(held)) - frozenset(connection.scalars(shown))
