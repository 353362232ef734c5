"""Stores properties: their adverts, their ids, and the buyer's decisions on them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    FromClause,
    RowMapping,
    Select,
    Table,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    null,
    or_,
    select,
    update,
)

from sale_sofia.flats.settings import ROWS_AT_ONCE, SAVED_AT_ONCE
from sale_sofia.flats.tables import (
    listing_sources,
    match_decisions,
    match_doubts,
    match_fingerprints,
    match_links,
    match_state,
    properties,
)
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.storage.settings import LARGEST_ID
from sale_sofia.storage.upserts import insert_into

# What matching stores between runs: fingerprints, links and the version of its rules.

Row = Mapping[Any, Any]
_ONLY_ROW = 1

_FIELDS = (
    "id", "site", "external_id", "url", "family_id", "deal", "property_type", "rooms", "title",
    "description", "price_eur", "area_sqm", "area_net_sqm", "floor", "floors_total", "year_built", "city",
    "neighbourhood", "street", "seller_kind", "seller_name", "phones", "photo_urls", "content_hash",
    "under_construction",
)  # fmt: skip


class MatchState(NamedTuple):
    """The rules of the last run, and the number of runs; ("", 0) before the first."""

    version: str
    runs: int


class StoredLink(NamedTuple):
    """Two adverts that are one property, or may be; the lower id first."""

    low: int
    high: int
    probability: float
    kind: int


def read_state(connection: Connection) -> MatchState:
    """The state after the last run."""
    row = connection.execute(select(match_state.c.version, match_state.c.runs)).first()
    return MatchState(row.version, row.runs) if row else MatchState("", 0)


def begin_run(connection: Connection, seen: MatchState, version: str, *, now: float) -> bool:
    """Begin the next run in this transaction; False if another process has matched since `seen`."""
    values = {"version": version, "runs": seen.runs + 1, "matched_at": now}
    if not seen.runs:
        # The very first run inserts the row; a concurrent one fails on its key.
        if read_state(connection).runs:
            return False
        connection.execute(insert(match_state).values(id=_ONLY_ROW, **values))
        return True
    mine = update(match_state).where(match_state.c.runs == seen.runs).values(**values)
    return bool(connection.execute(mine).rowcount)


def changed_listings(connection: Connection, touched: Collection[int]) -> list[int]:
    """Those of these adverts that are new or have changed since they were matched."""
    matched = match_fingerprints
    changed = (
        select(listings.c.id)
        .outerjoin(matched, matched.c.listing_id == listings.c.id)
        .where(or_(matched.c.content_hash.is_(None), matched.c.content_hash != listings.c.content_hash))
    )
    return [row[0] for row in rows_of(connection, changed.order_by(listings.c.id), listings.c.id, touched)]


def read_listings(connection: Connection, ids: Sequence[int] | None = None) -> Iterator[Row]:
    """The fields that matching uses, of these adverts or of all; impossible floors are null."""
    floor, total = listings.c.floor, listings.c.floors_total
    impossible = floor > total  # null if one of them is: then the other stays
    storeys = {
        column.name: case((impossible, null()), else_=column).label(column.name) for column in (floor, total)
    }
    columns = select(*(storeys.get(name, listings.c[name]) for name in _FIELDS))
    if ids is None:
        yield from connection.execute(columns.execution_options(yield_per=ROWS_AT_ONCE)).mappings()
        return
    for some in portions(ids):
        yield from connection.execute(columns.where(listings.c.id.in_(some))).mappings()


def read_fingerprints(connection: Connection) -> tuple[list[int], list[bytes]]:
    """The ids of all matched adverts, and their records."""
    found = connection.execute(select(match_fingerprints.c.listing_id, match_fingerprints.c.record))
    rows = found.cursor.fetchall()  # the driver's tuples: a million SQLAlchemy rows cost seconds
    return [row[0] for row in rows], [row[1] for row in rows]


def save_fingerprints(connection: Connection, rows: Sequence[tuple[int, str, bytes]]) -> None:
    """Store fingerprints, replacing those of the same adverts."""
    remove(connection, match_fingerprints, "listing_id", [row[0] for row in rows])
    names = ("listing_id", "content_hash", "record")
    insert_all(connection, match_fingerprints, [dict(zip(names, row, strict=True)) for row in rows])


def links_of(connection: Connection, ids: Iterable[int], most_kind: int) -> set[StoredLink]:
    """The stored links of these adverts, of this kind or stronger."""
    found: set[StoredLink] = set()
    chosen = select(match_links).where(match_links.c.kind <= most_kind)
    for side in (match_links.c.low, match_links.c.high):
        found.update(StoredLink(*row) for row in rows_of(connection, chosen, side, set(ids)))
    return found


def replace_links(connection: Connection, ids: Sequence[int], links: Iterable[StoredLink]) -> None:
    """Replace all links of these adverts."""
    for side in ("low", "high"):
        remove(connection, match_links, side, ids)
    waiting = iter(links)
    while some := [link._asdict() for link in islice(waiting, SAVED_AT_ONCE)]:
        insert_all(connection, match_links, some)


def clear(connection: Connection) -> None:
    """Delete all links and fingerprints, so that everything is matched again. Decisions stay."""
    connection.execute(delete(match_links))
    connection.execute(delete(match_fingerprints))


def remove(connection: Connection, table: Table, column: str, ids: Sequence[int]) -> None:
    """Delete the rows with these ids."""
    if ids:
        gone = delete(table).where(table.c[column] == bindparam("gone"))
        connection.execute(gone, [{"gone": row_id} for row_id in ids])


def insert_all(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert the rows, if there are any."""
    if rows:
        connection.execute(insert(table), list(rows))


def portions(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """The ids, in batches that fit into one statement."""
    return (ids[begin : begin + ROWS_AT_ONCE] for begin in range(0, len(ids), ROWS_AT_ONCE))


def rows_of(
    connection: Connection, chosen: Select[Any], column: ColumnElement[Any], values: Collection[Any] | None
) -> Iterator[Any]:
    """The rows whose column has one of these values, in as many statements as needed; None: all rows."""
    if values is None:
        yield from connection.execute(chosen)
    for some in portions(sorted(values or ())):
        yield from connection.execute(chosen.where(column.in_(some))).all()


OFFERED: Final = and_(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None))
"""Whether an advert is still online, as far as is known."""
Pair = tuple[int, int]


class UnknownProperty(ValueError):
    """There is no property of this id; the message says where to look."""


@dataclass(frozen=True, slots=True)
class ListingSource:
    """One advert of a property, and why it belongs to it."""

    listing_id: int
    property_id: int
    probability: float
    decided_by: str
    """`evidence`, `score`, `buyer`, or `alone` for an advert that is a property of its own."""
    evidence: Mapping[str, Any]


_SOURCE = tuple(ListingSource.__dataclass_fields__)
_SOURCES: Select[Any] = select(*(listing_sources.c[name] for name in _SOURCE))
_SINCE: Select[Any] = select(listing_sources.c.listing_id, listing_sources.c.decided_at)


def save_sources(connection: Connection, sources: Sequence[ListingSource], *, now: float) -> int:
    """Store the properties of adverts; returns the number of changes. Ended ids lead to the new property."""
    ids = [source.listing_id for source in sources]
    stored = {source.listing_id: source for source in sources_of(connection, ids)}
    changed = [source for source in sources if stored.get(source.listing_id) != source]
    owner = {source.listing_id: source.property_id for source in stored.values()}
    stay = [source.listing_id for source in changed if owner.get(source.listing_id) == source.property_id]
    since = {row[0]: row[1] for row in rows_of(connection, _SINCE, listing_sources.c.listing_id, stay)}
    _make_properties(connection, {source.property_id for source in changed}, now=now)
    remove(connection, listing_sources, "listing_id", [source.listing_id for source in changed])
    rows = [
        {name: getattr(source, name) for name in _SOURCE} | {"decided_at": since.get(source.listing_id, now)}
        for source in changed
    ]
    insert_all(connection, listing_sources, rows)
    left = {stored[source.listing_id].property_id for source in changed if source.listing_id in stored}
    _redirect(connection, left | {source.property_id for source in changed})
    for source in changed:
        before = stored.get(source.listing_id)
        if before is None:
            touch(connection, [source.listing_id])
        elif before.property_id != source.property_id:
            touch(connection, [source.listing_id, before.property_id])
    return len(changed)


def sources_of(connection: Connection, listing_ids: Sequence[int]) -> list[ListingSource]:
    """The stored sources of these adverts."""
    return [
        ListingSource(*row)
        for row in rows_of(connection, _SOURCES, listing_sources.c.listing_id, listing_ids)
    ]


def members_of(connection: Connection, property_ids: Iterable[int]) -> list[ListingSource]:
    """All adverts of these properties, the oldest first."""
    chosen = _SOURCES.where(listing_sources.c.property_id.in_(list(property_ids)))
    return [ListingSource(*row) for row in connection.execute(chosen.order_by(listing_sources.c.listing_id))]


def resolve(connection: Connection, property_id: int) -> int:
    """The property that this id leads to now.

    Raises:
        UnknownProperty: no property ever had it.
    """
    chosen = select(listing_sources.c.property_id).where(listing_sources.c.listing_id == property_id)
    found = connection.scalar(chosen) if 0 < property_id <= LARGEST_ID else None
    if found is None:
        raise UnknownProperty(f"no property {property_id}; `sale-sofia properties` lists them")
    return int(found)


def with_current(then: Column[Any]) -> tuple[FromClause, ColumnElement[int]]:
    """The table of a column of old property ids, joined to the current ids, and the column of those."""
    joined = then.table.outerjoin(listing_sources, listing_sources.c.listing_id == then)
    return joined, func.coalesce(listing_sources.c.property_id, then)


def large_properties(connection: Connection, more_than: int) -> list[tuple[int, int]]:
    """Properties with more than so many adverts: id and number, the largest first."""
    count = func.count().label("adverts")
    large = (
        select(listing_sources.c.property_id, count)
        .group_by(listing_sources.c.property_id)
        .having(func.count() > more_than)
        .order_by(count.desc(), listing_sources.c.property_id)
    )
    return [(row[0], row[1]) for row in connection.execute(large)]


def read_decisions(connection: Connection) -> dict[Pair, bool]:
    """The buyer's decisions on pairs of adverts: whether they are the same."""
    return {(row.low, row.high): row.same for row in connection.execute(select(match_decisions))}


def save_decisions(
    connection: Connection, pairs: Iterable[Pair], *, same: bool, now: float, by: str | None = None
) -> None:
    """Store the buyer's decision on these pairs, replacing earlier ones."""
    ordered = sorted({(min(pair), max(pair)) for pair in pairs})
    for low, high in ordered:
        chosen = (match_decisions.c.low == low, match_decisions.c.high == high)
        values = {"same": same, "decided_at": now, "said_by": by}
        if not connection.execute(update(match_decisions).where(*chosen).values(**values)).rowcount:
            connection.execute(insert(match_decisions).values(low=low, high=high, **values))


def listing_rows(connection: Connection, listing_ids: Sequence[int]) -> list[RowMapping]:
    """The stored adverts of these ids, the oldest first."""
    found = [
        row
        for some in portions(listing_ids)
        for row in connection.execute(select(listings).where(listings.c.id.in_(some))).mappings()
    ]
    return sorted(found, key=lambda row: row["id"])


def _make_properties(connection: Connection, ids: Iterable[int], *, now: float) -> None:
    property_ids = sorted(ids)
    existing = {row[0] for row in rows_of(connection, select(properties.c.id), properties.c.id, property_ids)}
    new = [{"id": number, "made_at": now} for number in property_ids if number not in existing]
    insert_all(connection, properties, new)


def _redirect(connection: Connection, ids: Iterable[int]) -> None:
    """Make each of these ids lead to the current property of its advert."""
    leads_to = properties.join(listing_sources, listing_sources.c.listing_id == properties.c.id)
    now = select(properties.c.id, properties.c.merged_into, listing_sources.c.property_id)
    wrong = []
    for row in rows_of(connection, now.select_from(leads_to), properties.c.id, set(ids)):
        target = None if row.property_id == row.id else row.property_id
        wrong += [{"of_id": row.id, "target": target}] if target != row.merged_into else []
    if wrong:
        chosen = update(properties).where(properties.c.id == bindparam("of_id"))
        connection.execute(chosen.values(merged_into=bindparam("target")), wrong)


# Pairs of properties on which the buyer is unsure: they are asked again, after all others.


def save_doubt(connection: Connection, property_id: int, other_id: int, *, now: float) -> None:
    """Record that the buyer is unsure about two properties; a repetition updates the time."""
    low, high = sorted((property_id, other_id))
    row = insert_into(connection, match_doubts).values(low=low, high=high, said_at=now)
    connection.execute(row.on_conflict_do_update(index_elements=["low", "high"], set_={"said_at": now}))


def read_doubts(connection: Connection) -> dict[frozenset[int], float]:
    """Since when the buyer is unsure, by the current properties of each pair."""
    low, high = listing_sources.alias("low_source"), listing_sources.alias("high_source")
    query = (
        select(low.c.property_id, high.c.property_id, match_doubts.c.said_at)
        .join(low, low.c.listing_id == match_doubts.c.low)
        .join(high, high.c.listing_id == match_doubts.c.high)
        .order_by(match_doubts.c.said_at)
    )
    return {frozenset(row[:2]): row[2] for row in connection.execute(query)}
