"""What the rules of alerts have seen, and what was decided to be told."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, delete, insert, select, update

from sale_sofia.advice.tables import scores
from sale_sofia.alerts.settings import ROWS_WRITTEN_AT_ONCE
from sale_sofia.alerts.tables import alert_items, alert_looks, alert_rules, alert_seen, alert_watch
from sale_sofia.buyer.evaluations import statuses
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.flats.store import portions
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.tables import listings, market_events, price_points
from sale_sofia.storage.upserts import insert_into, replace_in
from sale_sofia.telemetry.tables import incidents

_ONLY_ROW = 1


class RuleState(NamedTuple):
    """What a rule was when it was last looked at, and since when it watches."""

    fingerprint: str
    since: float


class Watched(NamedTuple):
    """An advert as a rule knows it; a cut is measured from its price."""

    listing_id: int
    price_eur: float | None
    vat: str | None
    gone_at: float | None


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be told. Its key says what and of which property, so that nobody tells it twice."""

    key: str
    kind: str
    rules: tuple[str, ...]
    facts: Mapping[str, Any]
    property_id: int | None = None
    incident_id: int | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look leaves behind, beside what is to be told."""

    rules: Mapping[str, RuleState]
    digests: Mapping[int, str]
    vanished: Collection[int] = ()
    """Properties that are no more: they were joined to others."""
    watched: Mapping[str, Sequence[Watched]] = field(default_factory=dict)


def look_number(connection: Connection) -> int:
    """How many looks there were."""
    return connection.execute(select(alert_looks.c.number)).scalar() or 0


def begin_look(connection: Connection, seen: int, *, now: float) -> bool:
    """Whether nobody has looked since `seen`; then this transaction is the next look, and others wait."""
    if not seen:
        row = {"id": _ONLY_ROW, "number": 1, "looked_at": now}
        first = insert_into(connection, alert_looks).values(row).on_conflict_do_nothing()
        # What it returns, not how many it wrote: of an insert PostgreSQL's driver does not say that.
        return connection.execute(first.returning(alert_looks.c.id)).first() is not None
    mine = update(alert_looks).where(alert_looks.c.number == seen).values(number=seen + 1, looked_at=now)
    return bool(connection.execute(mine).rowcount)


def read_rules(connection: Connection) -> dict[str, RuleState]:
    """The rules as they were at the last look."""
    columns = (alert_rules.c.name, alert_rules.c.fingerprint, alert_rules.c.since)
    return {row.name: RuleState(row.fingerprint, row.since) for row in connection.execute(select(*columns))}


def read_digests(connection: Connection) -> dict[int, str]:
    """Every property the rules have seen, with the digest it had."""
    return {
        row[0]: row[1] for row in connection.execute(select(alert_seen.c.property_id, alert_seen.c.digest))
    }


def read_watched(connection: Connection, listing_ids: Sequence[int]) -> dict[str, dict[int, Watched]]:
    """By rule and advert: what the rules know of these adverts."""
    found: dict[str, dict[int, Watched]] = {}
    for some in portions(sorted(listing_ids)):
        for row in connection.execute(select(alert_watch).where(alert_watch.c.listing_id.in_(some))):
            known = found.setdefault(row.rule, {})
            known[row.listing_id] = Watched(row.listing_id, row.price_eur, row.vat, row.gone_at)
    return found


def save_seen(connection: Connection, seen: Seen) -> None:
    """Remember what this look saw. What a rule that is no more knew is forgotten."""
    known = list(seen.rules)
    for table, column in ((alert_rules, alert_rules.c.name), (alert_watch, alert_watch.c.rule)):
        connection.execute(delete(table).where(column.not_in(known)))
    rules = [{"name": name, **state._asdict()} for name, state in seen.rules.items()]
    _replace(connection, alert_rules, rules)
    digests = [{"property_id": one, "digest": digest} for one, digest in seen.digests.items()]
    _replace(connection, alert_seen, digests)
    for some in portions(sorted(seen.vanished)):
        connection.execute(delete(alert_seen).where(alert_seen.c.property_id.in_(some)))
    watched = [{"rule": rule, **one._asdict()} for rule, some in seen.watched.items() for one in some]
    _replace(connection, alert_watch, watched)


def save_items(connection: Connection, items: Iterable[Item], *, now: float) -> dict[str, int]:
    """Store what was not told yet; the numbers of these, by key."""
    given = {item.key: item for item in items}
    told = told_keys(connection, given)
    return {key: _save_item(connection, item, now) for key, item in given.items() if key not in told}


def told_keys(connection: Connection, keys: Iterable[str]) -> set[str]:
    """Of these keys, those that were told."""
    asked = sorted(keys)
    return {
        key
        for first in range(0, len(asked), ROWS_WRITTEN_AT_ONCE)
        for key in connection.scalars(
            select(alert_items.c.key).where(
                alert_items.c.key.in_(asked[first : first + ROWS_WRITTEN_AT_ONCE])
            )
        )
    }


def incident_news(connection: Connection, since: float) -> list[tuple[Any, set[str], bool]]:
    """Incidents that are open, or ended since: each with the parts that were told, and whether as one."""
    chosen = select(incidents).where(incidents.c.closed_at.is_(None) | (incidents.c.closed_at >= since))
    rows = connection.execute(chosen.order_by(incidents.c.opened_at, incidents.c.id)).mappings().all()
    told: dict[int, list[Any]] = {}
    for some in portions(sorted(row["id"] for row in rows)):
        columns = select(alert_items.c.incident_id, alert_items.c.kind, alert_items.c.facts)
        for item in connection.execute(columns.where(alert_items.c.incident_id.in_(some))):
            told.setdefault(item.incident_id, []).append(item)
    return [(row, *_told_parts(told.get(row["id"], []))) for row in rows]


def _told_parts(items: Sequence[Any]) -> tuple[set[str], bool]:
    return {item.kind for item in items}, any(item.facts.get("closed_at") for item in items)


def _save_item(connection: Connection, item: Item, now: float) -> int:
    row = {
        "key": item.key,
        "kind": item.kind,
        "rules": list(item.rules),
        "facts": dict(item.facts),
        "property_id": item.property_id,
        "incident_id": item.incident_id,
        "decided_at": now,
    }
    return int(connection.execute(insert(alert_items).values(row).returning(alert_items.c.id)).scalar_one())


def _replace(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    upsert = replace_in(connection, table)
    for first in range(0, len(rows), ROWS_WRITTEN_AT_ONCE):
        connection.execute(upsert, list(rows[first : first + ROWS_WRITTEN_AT_ONCE]))


# Which properties are not what the rules saw last.

_DIGEST_BYTES = 16
_COLUMNS = (
    listing_sources.c.property_id, listings.c.id, listings.c.content_hash,
    listings.c.price_eur, listings.c.vat, listings.c.gone_at, listings.c.closed_at,
    description_reads.c.read_at,
)  # fmt: skip


def property_digests(connection: Connection, more: Collection[tuple[int, str]]) -> dict[int, str]:
    """A digest of each property: another one means that there may be something to tell.

    `more` is what else rules go by, of each property.
    """
    hashes: dict[int, list[str]] = {}
    joined = listing_sources.join(listings).outerjoin(
        description_reads, description_reads.c.listing_id == listings.c.id
    )
    for row in connection.execute(select(*_COLUMNS).select_from(joined).order_by(listings.c.id)):
        hashes.setdefault(row[0], []).append(repr(tuple(row[1:])))
    for property_id, text in (*statuses(connection).items(), *sorted(more)):
        if property_id in hashes:
            hashes[property_id].append(text)
    return {one: _digest(parts) for one, parts in hashes.items()}


def properties_on(connection: Connection, sites: Collection[str]) -> frozenset[int]:
    """The properties that have an advert on one of these portals."""
    chosen = select(listing_sources.c.property_id).join(listings).where(listings.c.site.in_(sites))
    return frozenset(connection.scalars(chosen)) if sites else frozenset()


def _digest(parts: list[str]) -> str:
    return blake2b("\n".join(parts).encode(), digest_size=_DIGEST_BYTES).hexdigest()


# Adverts as they were at a moment, for rules that begin to watch a flat after the buyer did.


def as_of(connection: Connection, moments: Mapping[int, float]) -> dict[int, Watched]:
    """Each of these adverts as it was known at its moment; one that was not seen yet is left out."""
    found: dict[int, Watched] = {}
    for some in portions(sorted(moments)):
        points = select(price_points).where(price_points.c.listing_id.in_(some))
        for row in connection.execute(points.order_by(price_points.c.seen_at, price_points.c.id)):
            if row.seen_at <= moments[row.listing_id]:
                found[row.listing_id] = Watched(row.listing_id, row.price_eur, row.vat, None)
        events = select(market_events).where(market_events.c.listing_id.in_(some))
        for row in connection.execute(events.order_by(market_events.c.noted_at, market_events.c.id)):
            if row.noted_at <= moments[row.listing_id] and row.listing_id in found:
                gone_at = row.at if row.kind == "gone" else None
                found[row.listing_id] = found[row.listing_id]._replace(gone_at=gone_at)
    return found


# What rules of alerts go by in stored scores.


class Verdict(NamedTuple):
    """A stored score, as far as rules look at it."""

    property_id: int
    verdict: str
    value: float | None
    """Over what is known."""
    known: float
    points: float
    """What nobody tells earns nothing."""
    unknown: list[str]


def read_verdicts(
    connection: Connection, profile: str, property_ids: Sequence[int] | None = None
) -> Iterator[Verdict]:
    """The scores of a profile, all or of these properties; what is not offered has none."""
    chosen = select(*(scores.c[name] for name in Verdict._fields)).where(scores.c.profile == profile)
    if property_ids is None:
        yield from (Verdict._make(row) for row in connection.execute(chosen))
        return
    for some in portions(sorted(property_ids)):
        rows = connection.execute(chosen.where(scores.c.property_id.in_(some)))
        yield from (Verdict._make(row) for row in rows)
