"""Viewings of properties: planned, done or cancelled; every change is kept."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from sale_sofia.config.evaluation import VIEWING_MINUTES
from sale_sofia.data.evaluation_fields import By, WrongEvaluation
from sale_sofia.data.evaluation_ids import current_property, hold, with_current
from sale_sofia.data.evaluation_schema import viewings
from sale_sofia.data.evaluations import Change, write_changes
from sale_sofia.data.viewing_fields import LISTS, checked_viewing


class UnknownViewing(ValueError):
    """There is no viewing of this number."""


@dataclass(frozen=True, slots=True)
class Viewing:
    """One viewing. Moments are seconds since 1970."""

    id: int
    property_id: int
    """The id the property has now."""
    uid: str
    revision: int
    """How often it was changed."""
    state: str
    starts_at: float
    minutes: int
    agent: str | None
    phone: str | None
    place: str | None
    remarks: str | None
    outcome: str | None
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    made_at: float
    changed_at: float


def add_viewing(connection: Connection, property_id: int, fields: Mapping[str, object], by: By) -> int:
    """Plan a viewing; its number. `starts_at` must be among the fields.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: a field or value that is not allowed; nothing is stored.
    """
    given = checked_viewing({"minutes": VIEWING_MINUTES, **fields, "state": "planned"})
    if "starts_at" not in given:
        raise WrongEvaluation("a viewing needs its starts_at")
    found = hold(connection, property_id)
    row = {"positives": [], "negatives": [], **given, "property_id": found, "uid": token_hex(16)}
    stamps = {"revision": 0, "made_at": by.at, "changed_at": by.at}
    number = connection.execute(insert(viewings).values(**row, **stamps)).inserted_primary_key
    made = int(number[0]) if number else 0
    nothing = dict.fromkeys(given)
    write_changes(connection, _changes(found, made, nothing, given, by))
    return made


def change_viewing(connection: Connection, viewing_id: int, fields: Mapping[str, object], by: By) -> bool:
    """Write these fields; whether any was another before. Positives and negatives are added to those there.

    Raises:
        UnknownViewing: there is no such viewing.
        WrongEvaluation: a field or value that is not allowed; nothing is changed.
    """
    given = checked_viewing(fields)
    row = connection.execute(
        select(viewings).where(viewings.c.id == viewing_id).with_for_update()
    ).mappings().first()  # fmt: skip
    if row is None:
        raise UnknownViewing(f"no viewing {viewing_id}; `sale-sofia viewing list` shows them")
    added = {name: [*row[name], *given[name]] for name in LISTS if name in given}
    new = {name: value for name, value in (given | added).items() if value != row[name]}
    if not new:
        return False
    stamps = {"revision": row["revision"] + 1, "changed_at": by.at}
    connection.execute(update(viewings).where(viewings.c.id == viewing_id).values(**new, **stamps))
    write_changes(connection, _changes(row["property_id"], viewing_id, row, new, by))
    return True


def viewings_of(connection: Connection, property_id: int) -> list[Viewing]:
    """The viewings of a property in the order of time, also those under ids of before.

    Raises:
        UnknownProperty: there is no such property.
    """
    return _read(connection, _chosen(current_property(connection, property_id)))


def all_viewings(connection: Connection) -> list[Viewing]:
    """Every viewing, in the order of time."""
    return _read(connection, _chosen())


def _chosen(property_id: int | None = None) -> Select[Any]:
    table, current = with_current(viewings.c.property_id)
    names = (name for name in Viewing.__dataclass_fields__ if name != "property_id")
    columns = (viewings.c[name] for name in names)
    chosen = select(current.label("property_id"), *columns).select_from(table)
    if property_id is not None:
        chosen = chosen.where(current == property_id)
    return chosen.order_by(viewings.c.starts_at, viewings.c.id)


def _read(connection: Connection, chosen: Select[Any]) -> list[Viewing]:
    return [_viewing(row) for row in connection.execute(chosen)]


def _viewing(row: Row[Any]) -> Viewing:
    lists = {name: tuple(getattr(row, name)) for name in LISTS}
    return Viewing(**{**row._mapping, **lists})  # noqa: SLF001 - the row's public name of itself


def _changes(
    property_id: int, viewing_id: int, old: Mapping[Any, Any], new: Mapping[str, Any], by: By
) -> Iterable[Change]:
    return (
        Change(property_id, viewing_id, field, old[field], value, by.who, by.at)
        for field, value in new.items()
    )
