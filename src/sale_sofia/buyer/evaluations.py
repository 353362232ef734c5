"""The buyer's evaluation of a property: status, decision, reason, renovation; every change is stored.

An evaluation is stored under the id the property has then: that of its oldest advert. It is read through
that advert, so it follows the matching. When two properties become one, the later value of each field
counts and the earlier stays in the history; when they part, each has its own again.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Final, Literal, NamedTuple, get_args
from unicodedata import category

from sqlalchemy import Connection, Row, Select, and_, insert, select

from sale_sofia.buyer.settings import (
    FIRST_VIEWING_YEAR,
    LAST_VIEWING_YEAR,
    LONGEST_LINE,
    LONGEST_NOTE,
    LONGEST_WHO,
    MOST_RENOVATION_EUR,
    SENT_AGAIN_SECONDS,
)
from sale_sofia.buyer.tables import evaluation_changes, property_notes
from sale_sofia.flats.store import UnknownProperty, with_current
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.settings.words import Said
from sale_sofia.storage.settings import LARGEST_ID

# What may be written of a property: the fields, their values, and what a text may hold.

Status = Literal["new", "contacted", "viewing", "shortlist", "offer", "ours", "rejected", "hidden"]
Decision = Literal["buy", "maybe", "no"]
Value = str | float | None
STATUSES: Final[tuple[str, ...]] = get_args(Status)
DECISIONS: Final[tuple[str, ...]] = get_args(Decision)
BOARD: Final = ("shortlist", "contacted", "viewing", "offer", "ours")
"""The stages of a wanted flat, from the first look to the key."""
UNWANTED: Final = frozenset({"rejected", "hidden"})
"""Statuses of what the buyer does not want to see again."""


class WrongEvaluation(ValueError):
    """The value is not allowed; one sentence says what is. Nothing was changed."""


class ChangedMeanwhile(WrongEvaluation):
    """The value is no longer what the caller expected; nothing was changed."""


@dataclass(frozen=True, slots=True)
class By:
    """Who writes, and when, in seconds since 1970."""

    who: str
    at: float

    def __post_init__(self) -> None:
        clean_text(self.who, "the name of who writes", LONGEST_WHO)


def clean_text(text: object, name: str, most: int = LONGEST_LINE) -> str:
    """The text without surrounding space, its line ends as plain newlines.

    Raises:
        WrongEvaluation: it is no text, empty, too long, or holds control characters.
    """
    if not isinstance(text, str):
        raise WrongEvaluation(f"{name} must be a text, not {text!r}")
    cleaned = text.replace("\r\n", "\n").strip()
    if not cleaned:
        raise WrongEvaluation(Said("wrong_text.empty", what=name))
    if len(cleaned) > most:
        raise WrongEvaluation(Said("wrong_text.long", what=name, count=len(cleaned), most=most))
    # Control characters, and halves of characters, which come from broken input.
    if any(sign not in "\n\t" and category(sign) in {"Cc", "Cs"} for sign in cleaned):
        raise WrongEvaluation(Said("wrong_text.signs", what=name))
    return cleaned


def checked_number(value: object, problem: str) -> float:
    """The value as a finite number; booleans are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongEvaluation(f"{problem}, not {value!r}")
    return float(value)


def _euros(value: object) -> float:
    euros = checked_number(value, "renovation_eur must be a number of euros")
    if not 0 <= euros <= MOST_RENOVATION_EUR:
        raise WrongEvaluation(Said("wrong_text.renovation", euros=euros, most=MOST_RENOVATION_EUR))
    return euros


def checked_word(value: object, allowed: Sequence[str], problem: str) -> str:
    """The value, in whatever case it is typed, if it is one of these words."""
    word = str(value).lower()
    if word not in allowed:
        raise WrongEvaluation(f"{problem}; allowed: {', '.join(allowed)}")
    return word


def _day(value: object) -> str:
    """A day like 2026-11-25, as it is stored."""
    try:
        day = date.fromisoformat(str(value).strip())
    except ValueError:
        day = date.min
    if not FIRST_VIEWING_YEAR <= day.year <= LAST_VIEWING_YEAR:
        raise WrongEvaluation(Said("wrong_text.day", text=str(value)))
    return day.isoformat()


_CHECKS: Final[Mapping[str, Callable[[object], Value]]] = {
    "status": lambda value: checked_word(value, STATUSES, f"no status {value!r}"),
    "decision": lambda value: checked_word(value, DECISIONS, f"no decision {value!r}"),
    "reason": lambda value: clean_text(value, "reason"),
    "renovation_eur": _euros,
    "decide_by": _day,
}
FIELDS: Final = tuple(_CHECKS)
"""All fields that can be written; notes and viewings have functions of their own."""


def checked(field: str, value: object) -> Value:
    """The value as it is stored; None clears any field but the status, which always has a value."""
    checked_word(field, FIELDS, f"{field!r} cannot be written")
    return None if value is None and field != "status" else _CHECKS[field](value)


# The id a property has now, whatever it was when it was evaluated.


def current_property(connection: Connection, property_id: int) -> int:
    """The property that this id leads to now; an advert that was never matched is one by itself.

    Raises:
        UnknownProperty: no property ever had it.
    """
    table, current = with_current(listings.c.id)
    chosen = select(current).select_from(table).where(listings.c.id == property_id)
    found = connection.scalar(chosen) if 0 < property_id <= LARGEST_ID else None
    if found is None:
        raise UnknownProperty(f"no property {property_id}; `sale-sofia properties` lists them")
    return int(found)


def hold(connection: Connection, property_id: int) -> int:
    """The id the property has now; its row is locked until this transaction ends."""
    found = current_property(connection, property_id)
    connection.execute(select(listings.c.id).where(listings.c.id == found).with_for_update(key_share=True))
    return found


ANYTHING: Final = object()
"""Instead of an expected value: whatever is there is overwritten."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a property now."""

    property_id: int
    status: str = "new"
    decision: str | None = None
    reason: str | None = None
    renovation_eur: float | None = None
    changed_by: str | None = None
    changed_at: float | None = None
    """The last change of any field, in seconds since 1970; None before the first."""
    decide_by: str | None = None
    """The day by which they want to decide, like 2026-11-25."""


@dataclass(frozen=True, slots=True)
class EvaluationChange:
    """One change: of a property, of what a person thinks of it, or of one of its viewings."""

    property_id: int
    """The id of then."""
    viewing_id: int | None
    field: str
    old: Any
    new: Any
    changed_by: str
    changed_at: float


def evaluate(
    connection: Connection, property_id: int, field: str, value: object, by: By, expected: object = ANYTHING
) -> bool:
    """Write one field; whether it changed. Concurrent writes run one after the other.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such field or value.
        ChangedMeanwhile: the field is not what the caller expected it to be.
    """
    if field == "status":
        return mark(connection, property_id, value, by, expected=expected)
    new = checked(field, value)
    now = _held(connection, property_id, field, expected)
    if getattr(now, field) == new:
        return False
    write_changes(connection, (now.property_id, None), asdict(now), {field: new}, by)
    return True


def mark(
    connection: Connection,
    property_id: int,
    status: object,
    by: By,
    reason: str | None = None,
    expected: object = ANYTHING,
) -> bool:
    """Give a property a status and a reason; whether anything changed.

    Rejecting decides "no". A reason, a decision and its day stay until others are given, but not across
    rejecting, hiding or taking that back: then they would stand for the opposite. Raises as `evaluate` does.
    """
    new, because = checked("status", status), checked("reason", reason)
    now = _held(connection, property_id, "status", expected)
    turned = (now.status in UNWANTED) != (new in UNWANTED)
    decision, kept_reason = (None, None) if turned else (now.decision, now.reason)
    opinion = {
        "status": new,
        "decision": "no" if new == "rejected" else decision,
        "reason": because or kept_reason,
    }
    if all(getattr(now, field) == value for field, value in opinion.items()):
        return False
    if turned or new in UNWANTED:
        opinion["decide_by"] = None if turned else now.decide_by
    # All are written, also those that stay: joined with an older opinion, this one is still whole.
    write_changes(connection, (now.property_id, None), asdict(now), opinion, by)
    return True


def evaluation_of(connection: Connection, property_id: int) -> Evaluation:
    """The evaluation of this property; "new" before the first change.

    Raises:
        UnknownProperty: there is no such property.
    """
    found = current_property(connection, property_id)
    return _summed(connection.execute(_changes(found))).get(found) or Evaluation(found)


def evaluations(connection: Connection) -> Mapping[int, Evaluation]:
    """The evaluations of all evaluated properties, by the id each has now."""
    return _summed(connection.execute(_changes()))


def statuses(connection: Connection) -> Mapping[int, str]:
    """The status of each evaluated property, by the id it has now; every other one is "new"."""
    return {current: evaluation.status for current, evaluation in evaluations(connection).items()}


class GivenStatus(NamedTuple):
    """The status of a property, who gave it last, and when."""

    status: str = "new"
    who: str | None = None
    at: float = 0.0


def given_statuses(connection: Connection, property_id: int | None = None) -> Mapping[int, GivenStatus]:
    """The status that was given last to this property, or to each, by the id each has now."""
    chosen = _changes(property_id).where(evaluation_changes.c.field == "status")
    rows = connection.execute(chosen)
    return {row.current_id: GivenStatus(row.new, row.changed_by, row.changed_at) for row in rows}


def history_of(connection: Connection, property_id: int) -> list[EvaluationChange]:
    """Every change of this property and its viewings, the oldest first, also under ids of before."""
    found = current_property(connection, property_id)
    return [
        EvaluationChange(**{name: getattr(row, name) for name in EvaluationChange.__dataclass_fields__})
        for row in connection.execute(_changes(found))
        if row.old != row.new
    ]


def write_changes(
    connection: Connection,
    whose: tuple[int, int | None],
    old: Mapping[Any, Any],
    new: Mapping[str, Any],
    by: By,
) -> None:
    """Record the old and new values of these fields of a property, or of one of its viewings."""
    same = {"property_id": whose[0], "viewing_id": whose[1], "changed_by": by.who, "changed_at": by.at}
    rows = [{**same, "field": field, "old": old[field], "new": value} for field, value in new.items()]
    connection.execute(insert(evaluation_changes), rows)
    touch(connection, [whose[0]])


def _held(connection: Connection, property_id: int, field: str, expected: object) -> Evaluation:
    """The evaluation of the property, locked; raises ChangedMeanwhile if the field is not as expected."""
    now = evaluation_of(connection, hold(connection, property_id))
    there = getattr(now, field)
    if expected is not ANYTHING and there != expected:
        raise ChangedMeanwhile(
            f"the {field} of property {now.property_id} is {there!r} by now, not {expected!r}; look again"
        )
    return now


def _changes(property_id: int | None = None) -> Select[Any]:
    """Of one property, or of all, in the order in which they were made."""
    table, current = with_current(evaluation_changes.c.property_id)
    chosen = select(current.label("current_id"), *evaluation_changes.c).select_from(table)
    if property_id is not None:
        chosen = chosen.where(current == property_id)
    return chosen.order_by(evaluation_changes.c.id)


def _summed(rows: Iterable[Row[Any]]) -> dict[int, Evaluation]:
    """By property, the last value of each field."""
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        if row.viewing_id is None and row.field in FIELDS:  # what persons think is in the history alone
            last = {row.field: row.new, "changed_by": row.changed_by, "changed_at": row.changed_at}
            found[row.current_id] |= last
    return {current: Evaluation(current, **fields) for current, fields in found.items()}


# Notes on a property. They are only ever added, so concurrent writes lose nothing.


@dataclass(frozen=True, slots=True)
class PropertyNote:
    """What somebody wrote, and when, in seconds since 1970."""

    text: str
    written_by: str
    written_at: float


def add_note(connection: Connection, property_id: int, text: str, by: By) -> None:
    """Add a note; the same text sent again within SENT_AGAIN_SECONDS is stored once.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: the text is empty, too long or cannot be printed.
    """
    cleaned = clean_text(text, "the note", LONGEST_NOTE)
    found = hold(connection, property_id)
    values = {"property_id": found, "text": cleaned, "written_by": by.who}
    same = and_(*(property_notes.c[name] == value for name, value in values.items()))
    lately = property_notes.c.written_at > by.at - SENT_AGAIN_SECONDS
    if connection.scalar(select(property_notes.c.id).where(same, lately).limit(1)) is None:
        connection.execute(insert(property_notes).values(**values, written_at=by.at))


def notes_of(connection: Connection, property_id: int) -> list[PropertyNote]:
    """The notes on a property, the oldest first, also those under ids of before.

    Raises:
        UnknownProperty: there is no such property.
    """
    found = current_property(connection, property_id)
    table, current = with_current(property_notes.c.property_id)
    columns = (property_notes.c[name] for name in PropertyNote.__dataclass_fields__)
    chosen = select(*columns).select_from(table).where(current == found).order_by(property_notes.c.id)
    return [PropertyNote(*row) for row in connection.execute(chosen)]
