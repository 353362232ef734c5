"""The last visit of each visitor of the dashboard, and the flats they put off."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, delete, select, update

from sale_sofia.buyer.evaluations import current_property
from sale_sofia.buyer.settings import FIRST_VISIT_SECONDS, VISIT_NOTED_SECONDS, VISIT_PAUSE_SECONDS
from sale_sofia.buyer.tables import dashboard_later, dashboard_visits
from sale_sofia.flats.store import with_current
from sale_sofia.storage.upserts import insert_into


@dataclass(frozen=True, slots=True)
class DashboardVisit:
    """One visit. Moments are seconds since 1970."""

    since: float
    """When the visit before ended; what became known later is new to this one."""
    began_at: float
    first: bool
    """Whether it is the visitor's first."""

    @property
    def seen_through(self) -> bool:
        """Whether the visitor marked everything as seen."""
        return self.since == self.began_at


def visit(connection: Connection, visitor: str, *, now: float) -> DashboardVisit:
    """The visit that a request belongs to: the last one while it goes on, else a new one."""
    row = connection.execute(select(dashboard_visits).where(dashboard_visits.c.visitor == visitor)).first()
    if row is None:
        since = now - FIRST_VISIT_SECONDS
        values = {"visitor": visitor, "since": since, "began_at": now, "seen_at": now}
        _insert(connection, dashboard_visits, values)
        return DashboardVisit(since, now, first=True)
    if now - row.seen_at > VISIT_PAUSE_SECONDS:
        _set(connection, visitor, {"since": row.seen_at, "began_at": now, "seen_at": now})
        return DashboardVisit(row.seen_at, now, first=False)
    if now - row.seen_at > VISIT_NOTED_SECONDS:
        _set(connection, visitor, {"seen_at": now})
    return DashboardVisit(row.since, row.began_at, first=row.since == row.began_at - FIRST_VISIT_SECONDS)


def seen_all(connection: Connection, visitor: str, *, now: float) -> None:
    """Mark everything up to a moment as seen: only what is newer is new."""
    _set(connection, visitor, {"since": now, "began_at": now, "seen_at": now})


def put_off(connection: Connection, visitor: str, property_id: int, *, now: float) -> None:
    """Put off the visitor's decision on this flat.

    Raises:
        UnknownProperty: there is no such property.
    """
    found = current_property(connection, property_id)
    take_up(connection, visitor, found)
    _insert(connection, dashboard_later, {"visitor": visitor, "property_id": found, "put_off_at": now})


def take_up(connection: Connection, visitor: str, property_id: int) -> None:
    """Take back `put_off` for this flat, also under ids of before."""
    own = dashboard_later.c
    table, current = with_current(own.property_id)
    flat = current_property(connection, property_id)
    ids = connection.scalars(select(own.property_id).select_from(table).where(current == flat)).all()
    connection.execute(delete(dashboard_later).where(own.visitor == visitor, own.property_id.in_(ids)))


def all_put_off(connection: Connection, visitor: str) -> Mapping[int, float]:
    """When each flat was put off last, by the id it has now."""
    own = dashboard_later.c
    table, current = with_current(own.property_id)
    chosen = select(current, own.put_off_at).select_from(table).where(own.visitor == visitor)
    return {row[0]: row[1] for row in connection.execute(chosen.order_by(own.put_off_at))}


def visitor_of(person_id: int) -> str:
    """The visitor name of a person, on all their devices."""
    return f"person {person_id}"


def forget_visitor(connection: Connection, visitor: str) -> None:
    """Delete the visits and put-off flats of a visitor, for all profiles."""
    for table in (dashboard_visits, dashboard_later):
        own = (table.c.visitor == visitor) | table.c.visitor.startswith(f"{visitor}:", autoescape=True)
        connection.execute(delete(table).where(own))


def _set(connection: Connection, visitor: str, values: Mapping[str, Any]) -> None:
    chosen = update(dashboard_visits).where(dashboard_visits.c.visitor == visitor)
    connection.execute(chosen.values(**values))


def _insert(connection: Connection, table: Table, values: Mapping[str, Any]) -> None:
    """Insert unless it is there: two windows of one browser may be first at once."""
    connection.execute(insert_into(connection, table).values(**values).on_conflict_do_nothing())
