"""Links that show one flat to people outside the household: random, valid for some days, revocable.

A link shows the flat that its advert belongs to now, and opens nothing else. Only its digest is stored:
reading the database opens no link, and no link is shown again after it was made.
"""

from dataclasses import dataclass
from secrets import token_urlsafe

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from sale_sofia.buyer.changes import note_change
from sale_sofia.buyer.evaluations import By, WrongEvaluation, current_property
from sale_sofia.buyer.people import digest_of
from sale_sofia.buyer.settings import MOST_SHARED, MOST_SHARED_DAYS
from sale_sofia.buyer.tables import shared_links
from sale_sofia.flats.store import with_current
from sale_sofia.settings.words import Said
from sale_sofia.storage.settings import LARGEST_ID

_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A valid link; moments in seconds since 1970."""

    id: int
    property_id: int
    """The id that the flat has now."""
    made_by: str
    made_at: float
    ends_at: float


def share(connection: Connection, property_id: int, days: int, by: By) -> str:
    """The token of a new link to this flat, valid for so many days; expired links are deleted.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: too many days, or too many links.
    """
    if not 1 <= days <= MOST_SHARED_DAYS:
        raise WrongEvaluation(Said("share.days", most=MOST_SHARED_DAYS))
    found = current_property(connection, property_id)
    connection.execute(delete(shared_links).where(shared_links.c.ends_at <= by.at))
    if (connection.scalar(select(func.count()).select_from(shared_links)) or 0) >= MOST_SHARED:
        raise WrongEvaluation(Said("share.many", most=MOST_SHARED))
    token = token_urlsafe(32)
    values = {"property_id": found, "made_by": by.who, "made_at": by.at}
    ends = by.at + days * _DAY_SECONDS
    connection.execute(insert(shared_links).values(digest=digest_of(token), ends_at=ends, **values))
    note_change(connection, "share", str(found), "made", by)
    return token


def shared_by(connection: Connection, token: str, *, now: float) -> SharedLink | None:
    """The link of this token; None if it is expired, revoked or not ours."""
    return next(iter(_links(connection, shared_links.c.digest == digest_of(token), now)), None)


def links_to(connection: Connection, property_id: int | None = None, *, now: float) -> list[SharedLink]:
    """The valid links to this flat, or to all, the newest first."""
    if property_id is None:
        return _links(connection, shared_links.c.id > 0, now)
    _, current = with_current(shared_links.c.property_id)
    return _links(connection, current == current_property(connection, property_id), now)


def take_back(connection: Connection, link_id: int, by: By) -> bool:
    """Revoke the link; whether there was one."""
    if not 0 < link_id <= LARGEST_ID:
        return False
    removed = delete(shared_links).where(shared_links.c.id == link_id).returning(shared_links.c.property_id)
    row = connection.execute(removed).first()
    if row is not None:
        note_change(connection, "share", str(row.property_id), "removed", by)
    return row is not None


def _links(connection: Connection, which: ColumnElement[bool], now: float) -> list[SharedLink]:
    table, current = with_current(shared_links.c.property_id)
    own = shared_links.c
    chosen = select(own.id, current, own.made_by, own.made_at, own.ends_at).select_from(table)
    chosen = chosen.where(which, own.ends_at > now).order_by(own.made_at.desc(), own.id.desc())
    return [SharedLink(*row) for row in connection.execute(chosen)]
