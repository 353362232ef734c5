"""What changed: each change of an advert, or of what is said of it, has a number that followers go by.

A transaction that changes adverts, their descriptions, their properties, the buyer's word or their scores
touches them. It draws its number as its last act, from one counter whose row it holds until it is committed:
so numbers are committed in their order, and who has read up to one has missed none below it.
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
    """The adverts that were touched since a follower looked last, and up to which number that is all."""

    listing_ids: frozenset[int]
    since: int
    upto: int


def touch(connection: Connection, listing_ids: Iterable[int]) -> None:
    """These adverts change in this transaction, which is a write of `Database`.

    A property is touched by the id it has: that of its oldest advert. To be seen once more and to be as
    before is no change.
    """
    before_commit(connection, _number, listing_ids)


def _number(connection: Connection, listing_ids: Collection[int]) -> None:
    drawn, numbered = _numbering(connection.dialect.name)
    [(number,)] = drawn.rows(connection)
    rows = [{"listing_id": listing_id, "revision": number} for listing_id in sorted(listing_ids)]
    numbered.run(connection, rows)


@cache
def _numbering(dialect: str) -> tuple[Quick, Quick]:
    """The statements that draw the next number, and that give it to adverts."""
    first = insert_for(dialect, revision_counter).values(id=_ONLY_ROW, value=1)
    next_one = {"value": revision_counter.c.value + 1}
    drawn = first.on_conflict_do_update(index_elements=["id"], set_=next_one)
    return Quick(drawn.returning(revision_counter.c.value)), Quick(replacing(dialect, revisions))


def latest(connection: Connection) -> int:
    """The number of the last change."""
    return connection.scalar(select(revision_counter.c.value)) or 0


def changes_since(connection: Connection, since: int) -> Changes:
    """What was touched after this number."""
    upto = latest(connection)
    if upto == since:
        return Changes(frozenset(), since, upto)
    touched = select(revisions.c.listing_id).where(revisions.c.revision > since)
    return Changes(frozenset(connection.scalars(touched)), since, upto)


def position(connection: Connection, follower: str, version: str) -> int:
    """Up to which number a follower has read; 0 when it never did, or by another `version` of its rules."""
    known = select(followers.c.revision).where(followers.c.name == follower, followers.c.version == version)
    return connection.scalar(known) or 0


def advance(connection: Connection, follower: str, version: str, changes: Changes) -> bool:
    """The follower has dealt with these changes; `False`, and nothing is kept, if another was first.

    To be called in the transaction that keeps what came of them, before anything is written: those who are
    refused begin anew, and find what is left.
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
    # What it returns, not how many it wrote: of an insert PostgreSQL's driver does not say that.
    return connection.execute(first.returning(followers.c.name)).first() is not None


def is_at(connection: Connection, follower: str, version: str, since: int) -> bool:
    """Whether nobody has advanced the follower; nor does anybody until this write transaction ends."""
    key = (followers.c.name == follower, followers.c.version == version)
    held = connection.scalar(select(followers.c.revision).where(*key).with_for_update())
    return (held or 0) == since
