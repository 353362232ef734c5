"""Viewings of properties: planned, done or cancelled; every change is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from sale_sofia.buyer.evaluations import (
    By,
    WrongEvaluation,
    checked_number,
    checked_word,
    clean_text,
    current_property,
    evaluation_of,
    hold,
    mark,
    write_changes,
)
from sale_sofia.buyer.settings import (
    FIRST_VIEWING_YEAR,
    LAST_VIEWING_YEAR,
    LONGEST_NOTE,
    MOST_VIEWING_MINUTES,
    VIEWING_MINUTES,
)
from sale_sofia.buyer.tables import viewings
from sale_sofia.flats.store import with_current
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.words import Said

# What may be written of a viewing.

STATES: Final = ("planned", "done", "cancelled")
LISTS: Final = ("positives", "negatives")
_TEXTS: Final = ("agent", "phone", "place", "remarks", "outcome")
FIELDS: Final = ("state", "starts_at", "minutes", *_TEXTS, *LISTS)
"""All that can be written of a viewing."""
_BEFORE_VIEWING: Final = frozenset({"new", "shortlist", "contacted"})


def checked_viewing(fields: Mapping[str, object]) -> dict[str, Any]:
    """The fields as they are stored.

    Raises:
        WrongEvaluation: no such field, or no such value.
    """
    for name in fields:
        checked_word(name, FIELDS, f"{name!r} of a viewing cannot be written")
    return {name: _checked_value(name, value) for name, value in fields.items()}


def _checked_value(name: str, value: object) -> object:
    if name == "state":
        return checked_word(value, STATES, f"no state {value!r} of a viewing")
    if name == "starts_at":
        moment = checked_number(value, "starts_at must be a moment")
        first, last = (
            datetime(year, 1, 1, tzinfo=UTC).timestamp()
            for year in (FIRST_VIEWING_YEAR, LAST_VIEWING_YEAR + 1)
        )
        if not first <= moment < last:
            raise WrongEvaluation(
                Said("wrong_viewing.year", first=FIRST_VIEWING_YEAR, last=LAST_VIEWING_YEAR)
            )
        return moment
    if name == "minutes":
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MOST_VIEWING_MINUTES:
            raise WrongEvaluation(
                f"minutes must be a whole number from 1 to {MOST_VIEWING_MINUTES}, not {value!r}"
            )
        return value
    if name in _TEXTS:
        return None if value is None else clean_text(value, name, LONGEST_NOTE)
    if not isinstance(value, list | tuple):
        raise WrongEvaluation(f"{name} must be a list of texts, not {value!r}")
    return [clean_text(text, f"one of the {name}") for text in value]


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

    @property
    def ends_at(self) -> float:
        """When it is over."""
        return self.starts_at + self.minutes * 60

    def is_upcoming(self, now: float) -> bool:
        """Whether it is still to come, or goes on; one that is over is not, whatever its state says."""
        return self.state == "planned" and self.ends_at > now


def add_viewing(connection: Connection, property_id: int, fields: Mapping[str, object], by: By) -> int:
    """Add a planned viewing; its id. `starts_at` must be among the fields.

    A second one for the same moment, sent again as no answer came, is not stored: the first stays as it was.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: a field or value that is not allowed; nothing is stored.
    """
    values = checked_viewing({"minutes": VIEWING_MINUTES, **fields, "state": "planned"})
    if "starts_at" not in values:
        raise WrongEvaluation("a viewing needs its starts_at")
    found = hold(connection, property_id)
    for viewing in all_viewings(connection, found):
        if (viewing.state, viewing.starts_at) == ("planned", values["starts_at"]):
            return viewing.id
    row = {"positives": [], "negatives": [], **values, "property_id": found, "uid": token_hex(16)}
    stamps = {"revision": 0, "made_at": by.at, "changed_at": by.at}
    number = connection.execute(insert(viewings).values(**row, **stamps)).inserted_primary_key
    made = int(number[0]) if number else 0
    write_changes(connection, (found, made), dict.fromkeys(values), values, by)
    return made


def plan_viewing(connection: Connection, property_id: int, fields: Mapping[str, object], by: By) -> int:
    """As `add_viewing`; a flat at an earlier stage gets the status "viewing"."""
    made = add_viewing(connection, property_id, fields, by)
    if evaluation_of(connection, property_id).status in _BEFORE_VIEWING:
        mark(connection, property_id, "viewing", by)
    return made


def change_viewing(connection: Connection, viewing_id: int, fields: Mapping[str, object], by: By) -> bool:
    """Write these fields; whether any changed. New positives and negatives are added to the old ones.

    Raises:
        UnknownViewing: there is no such viewing.
        WrongEvaluation: a field or value that is not allowed; nothing is changed.
    """
    values = checked_viewing(fields)
    row = connection.execute(
        select(viewings).where(viewings.c.id == viewing_id).with_for_update()
    ).mappings().first()  # fmt: skip
    if row is None:
        raise UnknownViewing(f"no viewing {viewing_id}; `sale-sofia viewing list` shows them")
    added = {name: list(dict.fromkeys([*row[name], *values[name]])) for name in LISTS if name in values}
    new = {name: value for name, value in (values | added).items() if value != row[name]}
    if not new:
        return False
    stamps = {"revision": row["revision"] + 1, "changed_at": by.at}
    connection.execute(update(viewings).where(viewings.c.id == viewing_id).values(**new, **stamps))
    write_changes(connection, (row["property_id"], viewing_id), row, new, by)
    return True


def viewings_of(connection: Connection, property_id: int) -> list[Viewing]:
    """The viewings of a property in the order of time, also those under ids of before.

    Raises:
        UnknownProperty: there is no such property.
    """
    return all_viewings(connection, current_property(connection, property_id))


def all_viewings(connection: Connection, property_id: int | None = None) -> list[Viewing]:
    """Every viewing, or those of the property that has this id now, in the order of time."""
    table, current = with_current(viewings.c.property_id)
    columns = [viewings.c[name] for name in Viewing.__dataclass_fields__ if name != "property_id"]
    chosen = select(current.label("property_id"), *columns).select_from(table)
    if property_id is not None:
        chosen = chosen.where(current == property_id)
    rows = connection.execute(chosen.order_by(viewings.c.starts_at, viewings.c.id)).mappings()
    return [Viewing(**{**row, **{name: tuple(row[name]) for name in LISTS}}) for row in rows]


def is_planned(connection: Connection, uid: str, starts_at: float) -> bool:
    """Whether this viewing is still planned for that moment."""
    c = viewings.c
    found = select(c.id).where(c.uid == uid, c.starts_at == starts_at, c.state == "planned")
    return connection.execute(found).first() is not None


# The moment of a viewing as a person writes it: Sofia's clock, also when it changes in spring and autumn.

_LIKE = "2026-11-20 15:30"
ALLOWED = f"write it like {_LIKE}, Sofia's time"


def viewing_moment(text: str) -> float:
    """The moment in seconds since 1970; without an offset it is Sofia's time.

    Raises:
        WrongEvaluation: it is no date with a time, or Sofia's clock never shows it, or shows it twice.
    """
    try:
        written = datetime.fromisoformat(text.strip())
        if ":" in text:
            return (written if written.tzinfo else _in_sofia(written)).timestamp()
    except (ValueError, OverflowError) as error:
        if isinstance(error, WrongEvaluation):
            raise
    raise WrongEvaluation(Said("wrong_viewing.date", text=text, like=_LIKE))


def _in_sofia(written: datetime) -> datetime:
    first, second = (written.replace(tzinfo=SOFIA, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    at = {"hour": f"{written:%H:%M}", "day": f"{written:%Y-%m-%d}"}
    back = first.astimezone(UTC).astimezone(SOFIA).replace(tzinfo=None)
    if back != written:
        raise WrongEvaluation(Said("wrong_viewing.skipped", **at))
    choices = [moment.isoformat(timespec="minutes") for moment in (first, second)]
    raise WrongEvaluation(Said("wrong_viewing.twice", **at, choices=choices))
