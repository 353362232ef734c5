"""What matching remembers between runs: fingerprints, links and the rules they were made with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, bindparam, delete, insert, or_, select, update

from sale_sofia.config.matching import ROWS_AT_ONCE, SAVED_AT_ONCE
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.property_schema import match_fingerprints, match_links, match_state

Row = Mapping[Any, Any]
_ONLY_ROW = 1

_FIELDS = (
    "id", "site", "external_id", "url", "family_id", "deal", "property_type", "rooms", "description",
    "price_eur", "area_sqm", "area_net_sqm", "floor", "floors_total", "year_built", "city", "neighbourhood",
    "seller_kind", "seller_name", "phones", "photo_urls", "content_hash",
)  # fmt: skip


class State(NamedTuple):
    """The rules of the last run, and how many runs there were; none: ("", 0)."""

    version: str
    runs: int


class StoredLink(NamedTuple):
    """Two adverts that are one property, or may be; the lower id first."""

    low: int
    high: int
    probability: float
    kind: int


def read_state(connection: Connection) -> State:
    """As the last run left it."""
    row = connection.execute(select(match_state.c.version, match_state.c.runs)).first()
    return State(row.version, row.runs) if row else State("", 0)


def begin_run(connection: Connection, seen: State, version: str, *, now: float) -> bool:
    """Whether nobody has matched since `seen`; then this transaction is the next run."""
    values = {"version": version, "runs": seen.runs + 1, "matched_at": now}
    if not seen.runs:
        # The first run of all makes the row; a second one that comes as early fails on its key.
        if read_state(connection).runs:
            return False
        connection.execute(insert(match_state).values(id=_ONLY_ROW, **values))
        return True
    mine = update(match_state).where(match_state.c.runs == seen.runs).values(**values)
    return bool(connection.execute(mine).rowcount)


def changed_listings(connection: Connection) -> list[int]:
    """The adverts that are new or have changed since they were matched."""
    matched = match_fingerprints
    changed = (
        select(listings.c.id)
        .outerjoin(matched, matched.c.listing_id == listings.c.id)
        .where(or_(matched.c.content_hash.is_(None), matched.c.content_hash != listings.c.content_hash))
    )
    return list(connection.scalars(changed.order_by(listings.c.id)))


def read_listings(connection: Connection, ids: Sequence[int] | None = None) -> Iterator[Row]:
    """The fields that matching looks at, of these adverts or of all."""
    columns = select(*(listings.c[name] for name in _FIELDS))
    if ids is None:
        yield from connection.execute(columns.execution_options(yield_per=ROWS_AT_ONCE)).mappings()
        return
    for some in portions(ids):
        yield from connection.execute(columns.where(listings.c.id.in_(some))).mappings()


def read_fingerprints(connection: Connection) -> tuple[list[int], list[bytes]]:
    """The ids of all matched adverts, and their records."""
    found = connection.execute(select(match_fingerprints.c.listing_id, match_fingerprints.c.record))
    rows = found.cursor.fetchall()  # the driver's own tuples: a million rows of SQLAlchemy cost seconds
    return [row[0] for row in rows], [row[1] for row in rows]


def save_fingerprints(connection: Connection, rows: Sequence[tuple[int, str, bytes]]) -> None:
    """Store these, instead of what was there."""
    remove(connection, match_fingerprints, "listing_id", [row[0] for row in rows])
    names = ("listing_id", "content_hash", "record")
    insert_all(connection, match_fingerprints, [dict(zip(names, row, strict=True)) for row in rows])


def links_of(connection: Connection, ids: Iterable[int], most_kind: int) -> set[StoredLink]:
    """The stored links of these adverts that are of this kind or a stronger one."""
    found: set[StoredLink] = set()
    for some in portions(sorted(ids)):
        for side in (match_links.c.low, match_links.c.high):
            chosen = select(match_links).where(side.in_(some), match_links.c.kind <= most_kind)
            found.update(StoredLink(*row) for row in connection.execute(chosen))
    return found


def replace_links(connection: Connection, ids: Sequence[int], links: Iterable[StoredLink]) -> None:
    """Instead of all links of these adverts, these."""
    for side in ("low", "high"):
        remove(connection, match_links, side, ids)
    waiting = iter(links)
    while some := [link._asdict() for link in islice(waiting, SAVED_AT_ONCE)]:
        insert_all(connection, match_links, some)


def clear(connection: Connection) -> None:
    """Forget all links and fingerprints: everything is matched anew. What the buyer said is not touched."""
    connection.execute(delete(match_links))
    connection.execute(delete(match_fingerprints))


def remove(connection: Connection, table: Table, column: str, ids: Sequence[int]) -> None:
    """Delete the rows with these ids."""
    if ids:
        gone = delete(table).where(table.c[column] == bindparam("gone"))
        connection.execute(gone, [{"gone": one} for one in ids])


def insert_all(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert the rows, if there are any."""
    if rows:
        connection.execute(insert(table), list(rows))


def portions(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """The ids, as many at a time as one statement may name."""
    return (ids[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(ids), ROWS_AT_ONCE))
