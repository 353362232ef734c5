"""Which adverts are new, and since when: one rule for all who show it.

An advert is new when it is first seen, unless the run that saw it did not read what adverts have
(`at_least` in the site file). Then it is new when a run or a reparse has read it right, or a person says so.
The same holds for a first sweep that missed adverts of its portal: what it saw is a part of what was there
long before, and is new when a sweep is complete.
"""

from collections.abc import Collection
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, case, func, or_, select, update

from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings, scrape_history

IS_TOLD: Final[ColumnElement[bool]] = listings.c.held_by.is_(None)
NEW_AT: Final[ColumnElement[float | None]] = case(
    (IS_TOLD, func.coalesce(listings.c.new_at, listings.c.first_seen_at))
)
"""Since when an advert is new; null while that is held back."""


def new_since(since: float) -> ColumnElement[bool]:
    """Adverts that became new at this moment or later, found by their indexes."""
    known = or_(listings.c.first_seen_at >= since, listings.c.new_at >= since)
    return known & (since <= NEW_AT)


def hold_news(connection: Connection, site: str, job_id: str, *, now: float) -> None:
    """No advert that this run saw first is new; it is opened again by the next, whatever its card says.

    So is every other advert of the portal that is still held back, without asking whether it was modified.
    """
    hold_first_seen(connection, job_id, now=now)
    due = {"revisit_at": 0.0, "etag": None, "last_modified": None}
    connection.execute(update(listings).where(*_held(site)).values(due))


def hold_first_seen(connection: Connection, job_id: str, *, now: float) -> None:
    """No advert that this run saw first is new; they were read right, and are not opened again for this."""
    first = select(scrape_history.c.listing_id).where(
        scrape_history.c.job_id == job_id, scrape_history.c.result == "new"
    )
    told = update(listings).where(listings.c.id.in_(first), IS_TOLD)
    held = connection.scalars(told.values(held_by=job_id, new_at=now).returning(listings.c.id))
    touch(connection, held)


def release_read(connection: Connection, site: str, job_id: str, *, now: float) -> int:
    """What was held back and this run has read is new; how many adverts that are."""
    read = select(scrape_history.c.listing_id).where(
        scrape_history.c.job_id == job_id, scrape_history.c.verdict == "ok"
    )
    return _release(connection, site, read, now) if held_adverts(connection, site) else 0


def release_adverts(connection: Connection, site: str, external_ids: Collection[str], *, now: float) -> int:
    """These adverts of a portal are new, as far as they were held back."""
    known = held_adverts(connection, site)
    read = [number for number, external_id in known.items() if external_id in external_ids]
    return _release(connection, site, read, now) if read else 0


def release_all(connection: Connection, site: str, *, now: float) -> int:
    """Whatever of a portal was held back is new."""
    return _release(connection, site, list(held_adverts(connection, site)), now)


def _release(connection: Connection, site: str, ids: Select[tuple[int]] | list[int], now: float) -> int:
    chosen = update(listings).where(*_held(site), listings.c.id.in_(ids)).values(held_by=None, new_at=now)
    released = connection.scalars(chosen.returning(listings.c.id)).all()
    touch(connection, released)
    return len(released)


def _held(site: str) -> tuple[ColumnElement[bool], ...]:
    return listings.c.held_by.is_not(None), listings.c.site == site


def held_adverts(connection: Connection, site: str) -> dict[int, str]:
    """The adverts of a portal that are held back: their numbers, and the portal's ids."""
    return dict(connection.execute(select(listings.c.id, listings.c.external_id).where(*_held(site))).all())


def count_held(connection: Connection, job_id: str) -> int:
    """How many adverts that this run saw first are still held back."""
    held = select(func.count()).select_from(listings).where(listings.c.held_by == job_id)
    return int(connection.execute(held).scalar_one())


def held_properties(connection: Connection) -> frozenset[int]:
    """The properties of which nothing but adverts that are held back is known."""
    own = listing_sources.c.property_id
    some = select(own).join(listings).where(~IS_TOLD)
    told = select(own).join(listings).where(IS_TOLD, own.in_(some))
    return frozenset(connection.scalars(some)) - frozenset(connection.scalars(told))
