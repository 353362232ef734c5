"""Who changed what the household shares and no flat has: searches, profiles, rules, channels, links, people.

Every change is kept with its person and moment, for ever. What is in the database is changed and noted by
one commit; what is a file (profiles, rules, channels) is written first and noted directly after it. What is
said of flats has a history of its own: see `buyer/evaluations.py`, and below for facts and pairs of adverts.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, func, insert, or_, select

from sale_sofia.buyer.evaluations import By
from sale_sofia.buyer.tables import household_changes
from sale_sofia.flats.store import with_current
from sale_sofia.flats.tables import corrections, match_decisions

About = Literal["search", "profile", "rule", "channel", "share", "person", "pair"]
What = Literal["made", "changed", "removed", "same", "different", "unsure"]
"""The last three are said of a pair of flats."""


@dataclass(frozen=True, slots=True)
class SharedChange:
    """One change; the moment in seconds since 1970."""

    about: About
    name: str
    what: What
    changed_by: str
    changed_at: float


def note_change(connection: Connection, about: About, name: str, what: What, by: By) -> None:
    """Record who made, changed or removed the thing of this name."""
    values = {"about": about, "name": name, "what": what, "changed_by": by.who, "changed_at": by.at}
    connection.execute(insert(household_changes).values(values))


def changes_of(connection: Connection, about: About) -> Mapping[str, SharedChange]:
    """The last change of each thing of this kind, by its name."""
    last = select(func.max(household_changes.c.id)).where(household_changes.c.about == about)
    changes = _read(connection, household_changes.c.id.in_(last.group_by(household_changes.c.name)))
    return {change.name: change for change in changes}


def latest_changes(connection: Connection, limit: int) -> list[SharedChange]:
    """The last so many changes of all, the newest first."""
    return _read(connection, household_changes.c.id > 0, limit)


def _read(connection: Connection, which: Any, limit: int | None = None) -> list[SharedChange]:  # noqa: ANN401 - a condition
    names = SharedChange.__dataclass_fields__
    chosen = select(*(household_changes.c[name] for name in names)).where(which)
    rows = connection.execute(chosen.order_by(household_changes.c.id.desc()).limit(limit))
    return [SharedChange(*row) for row in rows]


# Corrections of facts and answers about pairs of adverts: stored by their users, read here with the authors.


@dataclass(frozen=True, slots=True)
class SaidFact:
    """A correction of a fact by a person; the value None takes it back."""

    fact: str
    value: Any
    said_by: str
    said_at: float


def facts_said(connection: Connection, property_id: int) -> list[SaidFact]:
    """All corrections of the flat that has this id now, the oldest first."""
    table, current = with_current(corrections.c.property_id)
    columns = (corrections.c[name] for name in SaidFact.__dataclass_fields__)
    chosen = select(*columns).select_from(table).where(current == property_id).order_by(corrections.c.id)
    return [SaidFact(*row) for row in connection.execute(chosen)]


@dataclass(frozen=True, slots=True)
class SaidPair:
    """An answer about two adverts; without a name where that was not recorded yet."""

    low: int
    high: int
    same: bool
    said_by: str | None
    said_at: float


def pairs_said(connection: Connection, listing_ids: Collection[int]) -> list[SaidPair]:
    """The valid answers about pairs with these adverts, the oldest first; one pair for each answer."""
    table = match_decisions.c
    columns = (table.low, table.high, table.same, table.said_by, table.decided_at)
    touching = or_(table.low.in_(listing_ids), table.high.in_(listing_ids))
    rows = connection.execute(
        select(*columns).where(touching).order_by(table.decided_at, table.low, table.high)
    )
    answers: dict[tuple[Any, ...], SaidPair] = {}
    for row in rows:
        answers.setdefault((row.decided_at, row.said_by, row.same), SaidPair(*row))
    return list(answers.values())
