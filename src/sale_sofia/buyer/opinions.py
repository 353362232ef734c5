"""What each person of the household thinks of a flat, and what follows from it for all of them.

A flat that anyone likes is on the household's shortlist; one that all reject is rejected. One that some
reject and nobody likes is gone for those alone, and still asked of the others. Who was the one buyer before
there were people has said all that was said until then.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from sqlalchemy import Connection, Row, Select, delete, insert, select

from sale_sofia.buyer.changes import note_change
from sale_sofia.buyer.evaluations import (
    By,
    WrongEvaluation,
    clean_text,
    evaluation_of,
    evaluations,
    hold,
    mark,
    statuses,
    write_changes,
)
from sale_sofia.buyer.people import Person, add_person, all_people, remove_person
from sale_sofia.buyer.settings import MOST_STARS
from sale_sofia.buyer.tables import opinions, people
from sale_sofia.buyer.visitors import forget_visitor, visitor_of
from sale_sofia.flats.store import with_current
from sale_sofia.settings.words import Said

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
    opinion: Liking | None = None
    reason: str | None = None
    stars: int | None = None
    """From one to five: how good they find it, liked or not."""
    said_at: float = 0.0


def say_status(
    connection: Connection, property_id: int, status: str, person: Person, reason: str | None, *, now: float
) -> None:
    """A person's ★, ✗ or neither, said as a status; any other status is the household's own.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such status.
    """
    because = None if reason is None else clean_text(reason, "reason")
    if status not in BY_STATUS:
        mark(connection, property_id, status, By(person.name, now), reason)
        return
    found = hold(connection, property_id)
    before = _own(connection, found, person)
    _write(connection, found, person, before, replace(before, opinion=BY_STATUS[status], reason=because), now)
    household = _household(connection, found)
    if household != evaluation_of(connection, found).status:
        mark(connection, found, household, By(person.name, now), reason)


def say_stars(
    connection: Connection, property_id: int, stars: int | None, person: Person, *, now: float
) -> None:
    """How good a person finds a flat; None takes it back.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such number of stars.
    """
    if stars is not None and not 1 <= stars <= MOST_STARS:
        raise WrongEvaluation(Said("people.stars_wrong", most=MOST_STARS))
    found = hold(connection, property_id)
    before = _own(connection, found, person)
    _write(connection, found, person, before, replace(before, stars=stars), now)


def _own(connection: Connection, property_id: int, person: Person) -> Opinion:
    """What this person has said of a flat so far."""
    said = _summed(connection.execute(_said([property_id], person)))
    return said[property_id][0] if said else Opinion(person.name)


def _write(
    connection: Connection, found: int, person: Person, old: Opinion, new: Opinion, now: float
) -> None:
    """Keep what a person thinks now, and in the flat's history what changed; the same again is nothing."""
    columns = {"opinion": "opinion", "reason": "opinion_reason", "stars": "stars"}
    changed = {name: getattr(new, name) for name in columns if getattr(new, name) != getattr(old, name)}
    if not changed:
        return
    values = {name: getattr(new, name) for name in columns}
    connection.execute(insert(opinions).values(**values, property_id=found, person_id=person.id, said_at=now))
    before = {columns[name]: getattr(old, name) for name in changed}
    after = {columns[name]: value for name, value in changed.items()}
    write_changes(connection, (found, None), before, after, By(person.name, now))


def _household(connection: Connection, property_id: int) -> str:
    """The status that follows from what all of them said; what they have begun with the flat goes on."""
    all_said = opinions_on(connection, [property_id]).get(property_id, ())
    said = {one.person: one.opinion for one in all_said if one.opinion}
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


def liked_by_all(connection: Connection) -> frozenset[int]:
    """The flats that everybody of the household likes; none while there are no people."""
    everybody = len(all_people(connection))
    said = _summed(connection.execute(_said(None)))
    return frozenset(
        number for number, some in said.items() if [one.opinion for one in some].count("liked") == everybody
    )


def waiting_for(connection: Connection, person: Person | None) -> frozenset[int]:
    """The flats that others like and this person has not spoken of; without a person, anybody has not."""
    household, asked = statuses(connection), [person] if person else all_people(connection)
    found = set()
    for number, some in _summed(connection.execute(_said(None))).items():
        spoken = {one.person for one in some if one.opinion}
        if household.get(number, "new") in BY_STATUS and any(one.opinion == "liked" for one in some):
            found |= {number for one in asked if one.name not in spoken}
    return frozenset(found)


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


def welcome(
    connection: Connection, name: str, language: str, role: str | None, *, now: float, by: str | None = None
) -> Person:
    """Somebody new, as `add_person` makes them; the first has said what was said before there were people.

    `by` is who adds them; None: they do so themselves.
    """
    first = not all_people(connection)
    person = add_person(connection, name, language, role, now=now)
    note_change(connection, "person", person.name, "made", By(by or person.name, now))
    if first:
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
    return person


def dismiss(connection: Connection, person: Person, by: By) -> None:
    """They can no longer come in, and what they think counts no more; what they wrote stays, with their name.

    What the household made of their word, it makes of the others' now. The last one leaves all as it is: who
    is then the one buyer goes on with it.

    Raises:
        WrongEvaluation: they are the last operator, and others would be left without one.
    """
    spoken = sorted(_summed(connection.execute(_said(None, person))))
    connection.execute(delete(opinions).where(opinions.c.person_id == person.id))
    # A number may be given again, and whoever has it next has not been here yet.
    forget_visitor(connection, visitor_of(person.id))
    remove_person(connection, person)
    note_change(connection, "person", person.name, "removed", by)
    if not all_people(connection):
        return
    for number in spoken:
        hold(connection, number)
        household = _household(connection, number)
        if household != evaluation_of(connection, number).status:
            mark(connection, number, household, by)


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
            Opinion(row.name, row.opinion, row.reason, row.stars, row.said_at)
            for _, row in sorted(said.items(), key=lambda one: one[0])
            if row.opinion is not None or row.stars is not None
        ]
        for number, said in last.items()
    }
    return {number: said for number, said in found.items() if said}
