"""What each person of the household thinks of a flat, and what follows from it for all of them.

A flat that anyone likes is on the household's shortlist; one that all reject is rejected. One that some
reject and nobody likes is gone for those alone, and still asked of the others. Who was the one buyer before
there were people has said all that was said until then.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sqlalchemy import Connection, Row, Select, insert, select

from sale_sofia.buyer.evaluations import By, checked, evaluation_of, evaluations, hold, mark, statuses
from sale_sofia.buyer.people import Person, add_person, all_people
from sale_sofia.buyer.tables import opinions, people
from sale_sofia.flats.store import with_current

Liking = Literal["liked", "rejected"]
AS_STATUS: Final[Mapping[str | None, str]] = {"liked": "shortlist", "rejected": "rejected", None: "new"}
"""What an opinion is for its person: a status as the one buyer would have given it."""
BY_STATUS: Final[Mapping[str, Liking | None]] = {"shortlist": "liked", "rejected": "rejected", "new": None}

REASONS: Final = ("price", "place", "noise", "floor", "building", "layout", "condition", "doubt")
"""Why flats are rejected, as the pages offer it; their words are those of `reject.…`."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person thinks; the moment in seconds since 1970."""

    person: str
    opinion: Liking
    reason: str | None
    said_at: float


def say_status(
    connection: Connection, property_id: int, status: str, person: Person, reason: str | None, *, now: float
) -> None:
    """A person's ★, ✗ or neither, said as a status; any other status is the household's own.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such status.
    """
    because, by = checked("reason", reason), By(person.name, now)
    if status not in BY_STATUS:
        mark(connection, property_id, status, by, reason)
        return
    found = hold(connection, property_id)
    values = {"property_id": found, "person_id": person.id, "opinion": BY_STATUS[status]}
    connection.execute(insert(opinions).values(**values, reason=because, said_at=now))
    household = _household(connection, found)
    if household != evaluation_of(connection, found).status:
        mark(connection, found, household, by, reason)


def _household(connection: Connection, property_id: int) -> str:
    """The status that follows from what all of them said; what they have begun with the flat goes on."""
    said = {one.person: one.opinion for one in opinions_on(connection, [property_id]).get(property_id, ())}
    now = evaluation_of(connection, property_id).status
    if said and set(said.values()) == {"rejected"} and len(said) == len(all_people(connection)):
        return "rejected"
    if now not in {*BY_STATUS, "hidden"}:
        return now
    return "shortlist" if "liked" in said.values() else "new"


def opinions_on(connection: Connection, property_ids: Sequence[int]) -> Mapping[int, Sequence[Opinion]]:
    """What is thought of these flats, by the id each has now; the first who came to the household first."""
    return _summed(connection.execute(_said(property_ids)))


def statuses_for(connection: Connection, person: Person | None) -> Mapping[int, str]:
    """The status of each flat as this person sees it: their own word, where nothing was begun with it yet."""
    household = statuses(connection)
    if person is None:
        return household
    said = _summed(connection.execute(_said(None, person)))
    own = {number: AS_STATUS[some[0].opinion] for number, some in said.items()}
    open_ones = {number for number, status in household.items() if status in BY_STATUS}
    begun = {number: status for number, status in household.items() if number not in open_ones}
    # Who said nothing of a flat is still asked, whatever others think of it.
    return dict.fromkeys(open_ones, "new") | own | begun


def rejections(connection: Connection) -> Mapping[int, Sequence[str]]:
    """The flats that somebody rejects now, by the id each has now, with the reasons that were given."""
    found = {
        one.property_id: [one.reason] if one.reason else []
        for one in evaluations(connection).values()
        if one.status == "rejected"
    }
    for number, said in _summed(connection.execute(_said(None))).items():
        if against := [one for one in said if one.opinion == "rejected"]:
            found[number] = [one.reason for one in against if one.reason]
    return found


def welcome(connection: Connection, name: str, language: str, role: str | None, *, now: float) -> Person:
    """Somebody new, as `add_person` makes them; the first has said what was said before there were people."""
    first = not all_people(connection)
    person = add_person(connection, name, language, role, now=now)
    if first:
        _adopt(connection, person, now)
    return person


def _adopt(connection: Connection, person: Person, now: float) -> None:
    said = [one for one in evaluations(connection).values() if BY_STATUS.get(one.status)]
    rows = [
        {
            "property_id": one.property_id,
            "person_id": person.id,
            "opinion": BY_STATUS[one.status],
            "reason": one.reason,
            "said_at": one.changed_at or now,
        }
        for one in said
    ]
    if rows:
        connection.execute(insert(opinions), rows)


def _said(property_ids: Sequence[int] | None, person: Person | None = None) -> Select[Any]:
    """All that was said, by whom, in its order."""
    table, current = with_current(opinions.c.property_id)
    chosen = select(current.label("current_id"), people.c.id.label("whose"), people.c.name, *opinions.c)
    chosen = chosen.select_from(table.join(people, people.c.id == opinions.c.person_id))
    if property_ids is not None:
        chosen = chosen.where(current.in_(property_ids))
    if person is not None:
        chosen = chosen.where(opinions.c.person_id == person.id)
    return chosen.order_by(opinions.c.id)


def _summed(rows: Iterable[Row[Any]]) -> dict[int, list[Opinion]]:
    """By property, the last word of each person, unless they took it back."""
    last: dict[int, dict[int, Row[Any]]] = defaultdict(dict)
    for row in rows:
        last[row.current_id][row.whose] = row
    found = {
        number: [
            Opinion(row.name, row.opinion, row.reason, row.said_at)
            for _, row in sorted(said.items())
            if row.opinion is not None
        ]
        for number, said in last.items()
    }
    return {number: said for number, said in found.items() if said}
