"""Revision numbers: each change of an advert, or of data about it, has a number that followers read up to.

A transaction that changes adverts, their descriptions, their properties, the buyer's decisions or their
scores touches them. It draws its number last, from one counter whose row it locks until it commits: so
numbers are committed in order, and a follower that has read up to one has missed none below it.
"""

from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from sale_sofia.history.tables import followers, revision_counter, revisions
from sale_sofia.storage.database import before_commit
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_for, insert_into, replacing

_ONLY_ROW = 1


class Changes(NamedTuple):
    """The adverts that were touched after revision `since`, up to revision `upto`."""

    listing_ids: frozenset[int]
    since: int
    upto: int


def touch(connection: Connection, listing_ids: Iterable[int]) -> None:
    """Give these adverts the revision of this transaction, which must be a write of `Database`.

    A property is touched by its id, which is that of its oldest advert. An advert that is seen again
    unchanged is not touched.
    """
    before_commit(connection, _number, listing_ids)


def touch_scores(connection: Connection, property_ids: Iterable[int]) -> None:
    """As `touch`, for properties of which only scores change: only followers of scores look at them."""
    before_commit(connection, _number_scores, property_ids)


def _number(connection: Connection, listing_ids: Collection[int]) -> None:
    number = _draw(connection)
    names = ("listing_id", "revision", "facts_revision")
    rows = [dict(zip(names, (one, number, number), strict=True)) for one in sorted(listing_ids)]
    _numbering(connection.dialect.name).run(connection, rows)


def _number_scores(connection: Connection, property_ids: Collection[int]) -> None:
    number = _draw(connection)
    rows = [{"listing_id": property_id, "revision": number} for property_id in sorted(property_ids)]
    _numbering_scores(connection.dialect.name).run(connection, rows)


def _draw(connection: Connection) -> int:
    [(number,)] = _drawing(connection.dialect.name).rows(connection)
    return int(number)


@cache
def _drawing(dialect: str) -> Quick:
    """The statement that draws the next number."""
    first = insert_for(dialect, revision_counter).values(id=_ONLY_ROW, value=1)
    next_value = {"value": revision_counter.c.value + 1}
    drawn = first.on_conflict_do_update(index_elements=["id"], set_=next_value)
    return Quick(drawn.returning(revision_counter.c.value))


@cache
def _numbering(dialect: str) -> Quick:
    """The statement that assigns it to adverts."""
    return Quick(replacing(dialect, revisions))


@cache
def _numbering_scores(dialect: str) -> Quick:
    """The same for scores: what else touched the advert keeps its number."""
    new = insert_for(dialect, revisions)
    return Quick(
        new.on_conflict_do_update(index_elements=["listing_id"], set_={"revision": new.excluded.revision})
    )


def latest(connection: Connection) -> int:
    """The latest revision."""
    return connection.scalar(select(revision_counter.c.value)) or 0


def changes_since(connection: Connection, since: int, *, scores: bool = True) -> Changes:
    """The changes after this revision; without `scores`, not those of scores alone."""
    upto = latest(connection)
    if upto == since:
        return Changes(frozenset(), since, upto)
    touched = select(revisions.c.listing_id).where(revisions.c.revision > since)
    if not scores:  # found by the index of `revision`, which is never the smaller one
        touched = touched.where(revisions.c.facts_revision > since)
    return Changes(frozenset(connection.scalars(touched)), since, upto)


def position(connection: Connection, follower: str, version: str) -> int:
    """The revision up to which a follower has read; 0 for a new one, or a new `version` of its rules."""
    query = select(followers.c.revision).where(followers.c.name == follower, followers.c.version == version)
    return connection.scalar(query) or 0


def advance(connection: Connection, follower: str, version: str, changes: Changes) -> bool:
    """Move the follower past these changes; `False`, with nothing changed, if another process was first.

    Call it in the transaction that stores the results, before anything is written: after `False` start over
    with what is left.
    """
    if changes.upto == changes.since:
        return True
    key = (followers.c.name == follower, followers.c.version == version)
    if changes.since:
        moved = update(followers).where(*key, followers.c.revision == changes.since)
        return bool(connection.execute(moved.values(revision=changes.upto)).rowcount)
    connection.execute(delete(followers).where(followers.c.name == follower, followers.c.version != version))
    row = {"name": follower, "version": version, "revision": changes.upto}
    first = insert_into(connection, followers).values(row).on_conflict_do_nothing()
    # By what it returns: PostgreSQL's driver gives no row count for an insert.
    return connection.execute(first.returning(followers.c.name)).first() is not None


def is_at(connection: Connection, follower: str, version: str, since: int) -> bool:
    """Whether the follower is still at this revision; locks it there until this write transaction ends."""
    key = (followers.c.name == follower, followers.c.version == version)
    held = connection.scalar(select(followers.c.revision).where(*key).with_for_update())
    return (held or 0) == since
