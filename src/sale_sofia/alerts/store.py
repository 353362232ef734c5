"""What the rules of alerts have seen, and what they decided to tell."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from sale_sofia.alerts.settings import ROWS_WRITTEN_AT_ONCE
from sale_sofia.alerts.tables import alert_items, alert_looks, alert_rules, alert_waiting, alert_watch
from sale_sofia.flats.store import portions, rows_of
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.revisions import Changes
from sale_sofia.history.tables import WAS_ASKED, listings, market_events, price_points
from sale_sofia.storage.upserts import insert_into, replace_in
from sale_sofia.telemetry.tables import incidents

VIEWING: Final = "viewing"
"""The kind of a viewing reminder."""


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
    """One thing to tell. Its key names the event and the property, so that it is never told twice."""

    key: str
    kind: str
    rules: tuple[str, ...]
    facts: Mapping[str, Any]
    property_id: int | None = None
    incident_id: int | None = None


@dataclass(frozen=True, slots=True)
class LookRecord:
    """What one look has read and decided, before anything is written."""

    number: int
    """The number of looks before it."""
    rules: Mapping[str, RuleState]
    changes: Changes
    looked_at: Collection[int] = ()
    """Properties that wait no longer."""
    put_off: Collection[int] = ()
    """Properties that wait until their portals are not held back."""
    watched: Mapping[str, Sequence[Watched]] = field(default_factory=dict)
    items: Sequence[Item] = ()
    flats: int = 0


def look_number(connection: Connection) -> int:
    """How many looks there were."""
    return connection.execute(select(alert_looks.c.number)).scalar() or 0


def begin_look(connection: Connection, seen: int, *, now: float) -> bool:
    """Whether nobody has looked since `seen`; then this transaction is the next look, and others wait."""
    if not seen:
        row = {"id": 1, "number": 1, "looked_at": now}
        first = insert_into(connection, alert_looks).values(row).on_conflict_do_nothing()
        # What it returns, not how many it wrote: of an insert PostgreSQL's driver does not say that.
        return connection.execute(first.returning(alert_looks.c.id)).first() is not None
    mine = update(alert_looks).where(alert_looks.c.number == seen).values(number=seen + 1, looked_at=now)
    return bool(connection.execute(mine).rowcount)


def read_rules(connection: Connection) -> dict[str, RuleState]:
    """The rules as they were at the last look."""
    columns = (alert_rules.c.name, alert_rules.c.fingerprint, alert_rules.c.since)
    return {row.name: RuleState(row.fingerprint, row.since) for row in connection.execute(select(*columns))}


def read_waiting(connection: Connection) -> frozenset[int]:
    """Properties that changed while they were held back."""
    return frozenset(connection.scalars(select(alert_waiting.c.property_id)))


def read_watched(connection: Connection, listing_ids: Sequence[int]) -> dict[str, dict[int, Watched]]:
    """By rule and advert: what the rules know of these adverts."""
    found: dict[str, dict[int, Watched]] = {}
    for row in rows_of(connection, select(alert_watch), alert_watch.c.listing_id, listing_ids):
        by_advert = found.setdefault(row.rule, {})
        by_advert[row.listing_id] = Watched(row.listing_id, row.price_eur, row.vat, row.gone_at)
    return found


def save_seen(connection: Connection, seen: LookRecord) -> None:
    """Store what this look saw, and delete what rules that no longer exist knew."""
    if ended := sorted(read_rules(connection).keys() - seen.rules.keys()):
        connection.execute(delete(alert_rules).where(alert_rules.c.name.in_(ended)))
        connection.execute(delete(alert_watch).where(alert_watch.c.rule.in_(ended)))
    for some in portions(sorted(seen.looked_at)):
        connection.execute(delete(alert_waiting).where(alert_waiting.c.property_id.in_(some)))
    if put_off := [{"property_id": property_id} for property_id in seen.put_off]:
        connection.execute(insert_into(connection, alert_waiting).on_conflict_do_nothing(), put_off)
    rules = [{"name": name, **state._asdict()} for name, state in seen.rules.items()]
    watched = [
        {"rule": rule, **advert._asdict()} for rule, adverts in seen.watched.items() for advert in adverts
    ]
    for table, rows in ((alert_rules, rules), (alert_watch, watched)):
        upsert = replace_in(connection, table)
        for first in range(0, len(rows), ROWS_WRITTEN_AT_ONCE):
            connection.execute(upsert, rows[first : first + ROWS_WRITTEN_AT_ONCE])


def save_items(connection: Connection, items: Iterable[Item], *, now: float) -> dict[str, int]:
    """Insert the items that were not told yet; their ids, by key."""
    by_key = {item.key: item for item in items}
    keys, stored = sorted(by_key), set[str]()
    for first in range(0, len(keys), ROWS_WRITTEN_AT_ONCE):
        some = alert_items.c.key.in_(keys[first : first + ROWS_WRITTEN_AT_ONCE])
        stored.update(connection.scalars(select(alert_items.c.key).where(some)))
    insert_one = insert(alert_items).returning(alert_items.c.id)
    return {
        item.key: connection.execute(insert_one, {**asdict(item), "decided_at": now}).scalar_one()
        for item in by_key.values()
        if item.key not in stored
    }


PRICE_KINDS: Final = frozenset({"cut", "rise", "cheaper"})
"""Items about a price; their keys name an advert and what it asks."""


def dated(connection: Connection, items: Sequence[Item]) -> list[Item]:
    """The items, those about a price with the moment since when it is asked in their key.

    So a change is told once, and a later one back to the same price is another change.
    """
    adverts = {item.key: int(item.key.split("|")[1]) for item in items if item.kind in PRICE_KINDS}
    points = select(price_points).where(WAS_ASKED).order_by(price_points.c.seen_at, price_points.c.id)
    last: dict[int, tuple[float | None, float]] = {}
    for row in rows_of(connection, points, price_points.c.listing_id, sorted(set(adverts.values()))):
        if row.listing_id not in last or last[row.listing_id][0] != row.price_eur:
            last[row.listing_id] = row.price_eur, row.seen_at
    moments = {key: last[number][1] for key, number in adverts.items() if number in last}
    return [
        replace(item, key=f"{item.key}|{moments[item.key]:.0f}") if item.key in moments else item
        for item in items
    ]


def incident_news(connection: Connection, since: float) -> Iterator[tuple[RowMapping, set[str], bool]]:
    """Incidents that are open or ended since, each with the kinds already told, and whether its end was."""
    chosen = select(incidents).where(incidents.c.closed_at.is_(None) | (incidents.c.closed_at >= since))
    rows = connection.execute(chosen.order_by(incidents.c.opened_at, incidents.c.id)).mappings().all()
    by_incident: dict[int, list[Any]] = {}
    columns = select(alert_items.c.incident_id, alert_items.c.kind, alert_items.c.facts)
    for item in rows_of(connection, columns, alert_items.c.incident_id, [row["id"] for row in rows]):
        by_incident.setdefault(item.incident_id, []).append(item)
    for row in rows:
        items = by_incident.get(row["id"], [])
        yield row, {item.kind for item in items}, any(item.facts.get("closed_at") for item in items)


# Which properties the rules look at.


def matched(connection: Connection, property_ids: Collection[int] | None) -> list[int]:
    """The properties of matched adverts, among these or all: nothing is told about others yet."""
    own = select(listing_sources.c.property_id).distinct()
    return [row[0] for row in rows_of(connection, own, listing_sources.c.property_id, property_ids)]


def properties_on(connection: Connection, sites: Collection[str]) -> frozenset[int]:
    """The properties that have an advert on one of these portals."""
    chosen = select(listing_sources.c.property_id).join(listings).where(listings.c.site.in_(sites))
    return frozenset(connection.scalars(chosen)) if sites else frozenset()


# Adverts as they were at a moment, for rules that begin to watch a flat after the buyer did.


def as_of(connection: Connection, moments: Mapping[int, float]) -> dict[int, Watched]:
    """Each of these adverts as it was known at its moment; one that was not seen yet is left out."""
    found: dict[int, Watched] = {}
    points = select(price_points).where(WAS_ASKED).order_by(price_points.c.seen_at, price_points.c.id)
    for row in rows_of(connection, points, price_points.c.listing_id, moments):
        if row.seen_at <= moments[row.listing_id]:
            found[row.listing_id] = Watched(row.listing_id, row.price_eur, row.vat, None)
    events = select(market_events).order_by(market_events.c.noted_at, market_events.c.id)
    for row in rows_of(connection, events, market_events.c.listing_id, moments):
        if row.noted_at <= moments[row.listing_id] and row.listing_id in found:
            gone_at = row.at if row.kind == "gone" else None
            found[row.listing_id] = found[row.listing_id]._replace(gone_at=gone_at)
    return found
