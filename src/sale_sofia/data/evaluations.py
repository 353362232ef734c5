"""What the buyer thinks of a property: status, decision, reason, renovation; every change is kept.

What is said of a property is stored under the id it has then: that of its oldest advert. It is read through
that advert, so it goes where matching puts it. When two properties become one, the later word on each field
counts and the earlier stays in the history; when they part, each has its own again.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, insert, select

from sale_sofia.data.evaluation_fields import UNWANTED, By, ChangedMeanwhile, Value, checked
from sale_sofia.data.evaluation_ids import current_property, hold, with_current
from sale_sofia.data.evaluation_schema import evaluation_changes

ANYTHING: Final = object()
"""Instead of an expected value: whatever is there is overwritten."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is thought of a property now."""

    property_id: int
    status: str = "new"
    decision: str | None = None
    reason: str | None = None
    renovation_eur: float | None = None
    changed_by: str | None = None
    changed_at: float | None = None
    """The last change of any of these, in seconds since 1970; None while nothing was said."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change, of a property or of one of its viewings."""

    property_id: int
    """The id of then."""
    viewing_id: int | None
    field: str
    old: Any
    new: Any
    changed_by: str
    changed_at: float


def evaluate(
    connection: Connection,
    property_id: int,
    field: str,
    value: object,
    by: By,
    expected: object = ANYTHING,
) -> bool:
    """Write one field; whether it was another before. Two who write at once do it one after the other.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such field or value.
        ChangedMeanwhile: the field is not what the caller expected it to be.
    """
    if field == "status":
        return mark(connection, property_id, value, by, expected=expected)
    new = checked(field, value)
    now = _held(connection, property_id)
    _as_expected(now, field, expected)
    if getattr(now, field) == new:
        return False
    _write(connection, now, {field: new}, by)
    return True


def mark(
    connection: Connection,
    property_id: int,
    status: object,
    by: By,
    reason: str | None = None,
    expected: object = ANYTHING,
) -> bool:
    """Give a property a status, and the reason; whether anything was another before.

    Rejecting decides "no". A reason and a decision stay until others are given, but not across rejecting,
    hiding or taking that back: then they would stand for the opposite. Raises as `evaluate` does.
    """
    new, because = checked("status", status), checked("reason", reason)
    now = _held(connection, property_id)
    _as_expected(now, "status", expected)
    turned = (now.status in UNWANTED) != (new in UNWANTED)
    kept = {"decision": None, "reason": None} if turned else {"decision": now.decision, "reason": now.reason}
    decision = "no" if new == "rejected" else kept["decision"]
    opinion = {"status": new, "decision": decision, "reason": because or kept["reason"]}
    if all(getattr(now, field) == said for field, said in opinion.items()):
        return False
    # All three are written, also those that stay: joined with an older opinion, this one is still whole.
    _write(connection, now, opinion, by)
    return True


def evaluation_of(connection: Connection, property_id: int) -> Evaluation:
    """What is thought of this property; "new" while nothing was said.

    Raises:
        UnknownProperty: there is no such property.
    """
    found = current_property(connection, property_id)
    return _summed(connection.execute(_changes(found))).get(found) or Evaluation(found)


def evaluations(connection: Connection) -> Mapping[int, Evaluation]:
    """What is thought of all properties that were spoken of, by the id each has now."""
    return _summed(connection.execute(_changes()))


def statuses(connection: Connection) -> Mapping[int, str]:
    """The status of each property that was spoken of, by the id it has now; every other one is "new"."""
    return {current: one.status for current, one in evaluations(connection).items()}


def history_of(connection: Connection, property_id: int) -> list[Change]:
    """Every change of this property and its viewings, the oldest first, also under ids of before."""
    found = current_property(connection, property_id)
    return [
        Change(**{name: getattr(row, name) for name in Change.__dataclass_fields__})
        for row in connection.execute(_changes(found))
        if row.old != row.new
    ]


def write_changes(connection: Connection, changes: Iterable[Change]) -> None:
    """Keep these for ever."""
    connection.execute(insert(evaluation_changes), [asdict(one) for one in changes])


def _held(connection: Connection, property_id: int) -> Evaluation:
    return evaluation_of(connection, hold(connection, property_id))


def _as_expected(now: Evaluation, field: str, expected: object) -> None:
    there = getattr(now, field)
    if expected is not ANYTHING and there != expected:
        raise ChangedMeanwhile(
            f"the {field} of property {now.property_id} is {there!r} by now, not {expected!r}; look again"
        )


def _write(connection: Connection, now: Evaluation, said: Mapping[str, Value], by: By) -> None:
    changes = (
        Change(now.property_id, None, field, getattr(now, field), new, by.who, by.at)
        for field, new in said.items()
    )
    write_changes(connection, changes)


def _changes(property_id: int | None = None) -> Select[Any]:
    """Of one property, or of all, in the order in which they were made."""
    table, current = with_current(evaluation_changes.c.property_id)
    chosen = select(current.label("current_id"), *evaluation_changes.c).select_from(table)
    if property_id is not None:
        chosen = chosen.where(current == property_id)
    return chosen.order_by(evaluation_changes.c.id)


def _summed(rows: Iterable[Row[Any]]) -> dict[int, Evaluation]:
    """By property, the last word on each field."""
    said: dict[int, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        if row.viewing_id is None:
            last = {row.field: row.new, "changed_by": row.changed_by, "changed_at": row.changed_at}
            said[row.current_id] |= last
    return {current: Evaluation(current, **fields) for current, fields in said.items()}
