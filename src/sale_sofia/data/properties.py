"""Properties: which adverts each one has, under which id, and what the buyer said of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, bindparam, func, insert, select, update

from sale_sofia.data.listing_schema import listings
from sale_sofia.data.properties_state import insert_all, portions, remove
from sale_sofia.data.property_schema import listing_sources, match_decisions, properties

Pair = tuple[int, int]


class UnknownProperty(ValueError):
    """There is no property of this id; the text says where to look."""


@dataclass(frozen=True, slots=True)
class Source:
    """One advert of a property, and why it is one."""

    listing_id: int
    property_id: int
    probability: float
    decided_by: str
    """`evidence`, `score`, `buyer`, or `alone` for an advert that is a property of its own."""
    evidence: Mapping[str, Any]


def save_sources(connection: Connection, sources: Sequence[Source], *, now: float) -> int:
    """Store whose adverts these are; how many were not so before. Ids that end still lead to the property."""
    ids = [source.listing_id for source in sources]
    known = {source.listing_id: source for source in sources_of(connection, ids)}
    changed = [source for source in sources if known.get(source.listing_id) != source]
    _make_properties(connection, {source.property_id for source in changed}, now=now)
    remove(connection, listing_sources, "listing_id", [source.listing_id for source in changed])
    insert_all(connection, listing_sources, [_row(source, now) for source in changed])
    left = {known[one.listing_id].property_id for one in changed if one.listing_id in known}
    _redirect(connection, left | {source.property_id for source in changed})
    return len(changed)


def sources_of(connection: Connection, listing_ids: Sequence[int]) -> list[Source]:
    """The stored sources of these adverts."""
    return [
        source
        for some in portions(listing_ids)
        for source in _sources(connection, _columns().where(listing_sources.c.listing_id.in_(some)))
    ]


def members_of(connection: Connection, property_ids: Iterable[int]) -> list[Source]:
    """All adverts of these properties, the oldest first."""
    chosen = _columns().where(listing_sources.c.property_id.in_(list(property_ids)))
    return _sources(connection, chosen.order_by(listing_sources.c.listing_id))


def resolve(connection: Connection, property_id: int) -> int:
    """The property that this id leads to now.

    Raises:
        UnknownProperty: no property ever had it.
    """
    found = connection.execute(
        select(listing_sources.c.property_id).where(listing_sources.c.listing_id == property_id)
    ).scalar()
    if found is None:
        raise UnknownProperty(f"no property {property_id}; `sale-sofia properties` lists them")
    return int(found)


def large_properties(connection: Connection, more_than: int) -> list[tuple[int, int]]:
    """Properties with more adverts than that: id and number, the largest first."""
    count = func.count().label("adverts")
    large = (
        select(listing_sources.c.property_id, count)
        .group_by(listing_sources.c.property_id)
        .having(func.count() > more_than)
        .order_by(count.desc(), listing_sources.c.property_id)
    )
    return [(row[0], row[1]) for row in connection.execute(large)]


def read_decisions(connection: Connection) -> dict[Pair, bool]:
    """What the buyer said of pairs of adverts: the same, or not."""
    rows = connection.execute(select(match_decisions.c.low, match_decisions.c.high, match_decisions.c.same))
    return {(row.low, row.high): row.same for row in rows}


def save_decisions(connection: Connection, pairs: Iterable[Pair], *, same: bool, now: float) -> None:
    """The buyer says of these pairs that they are the same, or not; what he said before is taken back."""
    ordered = sorted({(min(pair), max(pair)) for pair in pairs})
    for low, high in ordered:
        chosen = (match_decisions.c.low == low, match_decisions.c.high == high)
        values = {"same": same, "decided_at": now}
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


def _columns() -> Select[Any]:
    return select(
        listing_sources.c.listing_id,
        listing_sources.c.property_id,
        listing_sources.c.probability,
        listing_sources.c.decided_by,
        listing_sources.c.evidence,
    )


def _sources(connection: Connection, chosen: Select[Any]) -> list[Source]:
    return [Source(*row) for row in connection.execute(chosen)]


def _row(source: Source, now: float) -> dict[str, Any]:
    return {
        "listing_id": source.listing_id,
        "property_id": source.property_id,
        "probability": source.probability,
        "decided_by": source.decided_by,
        "evidence": dict(source.evidence),
        "decided_at": now,
    }


def _make_properties(connection: Connection, ids: Iterable[int], *, now: float) -> None:
    wanted = sorted(ids)
    known = {
        one
        for some in portions(wanted)
        for one in connection.scalars(select(properties.c.id).where(properties.c.id.in_(some)))
    }
    insert_all(connection, properties, [{"id": one, "made_at": now} for one in wanted if one not in known])


def _redirect(connection: Connection, ids: Iterable[int]) -> None:
    """Each of these ids leads to the property its advert is in now."""
    leads_to = properties.join(listing_sources, listing_sources.c.listing_id == properties.c.id)
    now = select(properties.c.id, properties.c.merged_into, listing_sources.c.property_id)
    wrong = []
    for some in portions(sorted(ids)):
        for row in connection.execute(now.select_from(leads_to).where(properties.c.id.in_(some))):
            target = None if row.property_id == row.id else row.property_id
            wrong += [{"of_id": row.id, "target": target}] if target != row.merged_into else []
    if wrong:
        chosen = update(properties).where(properties.c.id == bindparam("of_id"))
        connection.execute(chosen.values(merged_into=bindparam("target")), wrong)
