"""What each person of the household thinks of a flat, and what follows from it for all of them.

A flat that anyone likes is on the household's shortlist; one that all reject is rejected. One that some
reject and nobody likes is gone for those alone, and still open for the others. The first person takes over
all evaluations from the time before there were people.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final, Literal

from sqlalchemy import Connection, Row, Select, delete, insert, select

from sale_sofia.buyer.changes import note_change
from sale_sofia.buyer.evaluations import (
    STATUSES,
    By,
    GivenStatus,
    WrongEvaluation,
    checked_word,
    clean_text,
    evaluation_of,
    evaluations,
    given_statuses,
    hold,
    mark,
    statuses,
    write_changes,
)
from sale_sofia.buyer.people import Person, add_person, all_people, remove_person
from sale_sofia.buyer.settings import MOST_STARS
from sale_sofia.buyer.tables import opinions, people
from sale_sofia.buyer.visitors import forget_visitor, visitor_of
from sale_sofia.flats.store import rows_of, with_current
from sale_sofia.flats.tables import listing_sources
from sale_sofia.settings.words import Said

Liking = Literal["liked", "rejected"]
AS_STATUS: Final[Mapping[str | None, str]] = {"liked": "shortlist", "rejected": "rejected", None: "new"}
"""An opinion as the status that a single buyer would have given."""
BY_STATUS: Final[Mapping[str, Liking | None]] = {"shortlist": "liked", "rejected": "rejected", "new": None}

MATCHING: Final = "match"
"""Who is recorded where a status follows from flats being joined or parted."""
_MATCHED: Final = select(listing_sources.c.listing_id, listing_sources.c.decided_at)
REASONS: Final = ("price", "place", "noise", "floor", "building", "layout", "condition", "doubt")
"""Why flats are rejected, as the pages offer it; their words are those of `reject.…`."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one person thinks; the moment in seconds since 1970."""

    person: str
    opinion: Liking | None = None
    reason: str | None = None
    stars: int | None = None
    """Rating from one to five, whether liked or not."""
    said_at: float = 0.0


def say_status(
    connection: Connection, property_id: int, status: str, person: Person, reason: str | None, *, now: float
) -> None:
    """Set a person's opinion (★, ✗ or neither), given as a status; any other status is the household's.

    Raises:
        UnknownProperty: there is no such property.
        WrongEvaluation: no such status.
    """
    because = None if reason is None else clean_text(reason, "reason")
    status = checked_word(status, STATUSES, f"no status {status!r}")
    if status not in BY_STATUS:
        mark(connection, property_id, status, By(person.name, now), reason)
        return
    found = hold(connection, property_id)
    before = _own(connection, found, person)
    _write(connection, found, person, before, replace(before, opinion=BY_STATUS[status], reason=because), now)
    household = _household(connection, found, unhide=status != "rejected")
    if household != evaluation_of(connection, found).status:
        mark(connection, found, household, By(person.name, now), reason)


def say_stars(
    connection: Connection, property_id: int, stars: int | None, person: Person, *, now: float
) -> None:
    """Set a person's rating of a flat; None takes it back.

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
    """This person's present opinion of a flat."""
    by_flat = _summed(connection.execute(_select_opinions([property_id], person)))
    return by_flat[property_id][0] if by_flat else Opinion(person.name)


def _write(
    connection: Connection, found: int, person: Person, old: Opinion, new: Opinion, now: float
) -> None:
    """Store a person's new opinion, and the change in the flat's history; without a change nothing."""
    columns = {"opinion": "opinion", "reason": "opinion_reason", "stars": "stars"}
    changed = {name: getattr(new, name) for name in columns if getattr(new, name) != getattr(old, name)}
    if not changed:
        return
    values = {name: getattr(new, name) for name in columns}
    connection.execute(insert(opinions).values(**values, property_id=found, person_id=person.id, said_at=now))
    before = {columns[name]: getattr(old, name) for name in changed}
    after = {columns[name]: value for name, value in changed.items()}
    write_changes(connection, (found, None), before, after, By(person.name, now))


def _household(connection: Connection, property_id: int, *, unhide: bool = False) -> str:
    """The status that follows from all opinions; a flat that is further than the shortlist keeps its own.

    A hidden one stays hidden unless all reject it, or somebody wants to see it again (`unhide`).
    """
    on_flat = opinions_on(connection, [property_id]).get(property_id, ())
    now = evaluation_of(connection, property_id).status
    return _following(on_flat, now, len(all_people(connection)), unhide=unhide)


def _following(on_flat: Sequence[Opinion], now: str, everybody: int, *, unhide: bool = False) -> str:
    likings = [opinion.opinion for opinion in on_flat if opinion.opinion]
    if set(likings) == {"rejected"} and len(likings) == everybody:
        return "rejected"
    if now not in BY_STATUS and not (unhide and now == "hidden"):
        return now
    return "shortlist" if "liked" in likings else "new"


def agree(connection: Connection, *, now: float) -> None:
    """Give flats that matching joined or parted the status that follows from the opinions on each.

    A status that somebody gave since then stays, and so does one beyond the shortlist, like an offer. Without
    people all stays as it is.
    """
    if not (everybody := len(all_people(connection))):
        return
    rows = connection.execute(_select_opinions(None)).all()
    by_flat, given = _summed(rows), given_statuses(connection)
    ids = defaultdict(set)
    for row in rows:
        ids[row.current_id].add(row.property_id)
    said_of = set[int]().union(*ids.values())
    matched = {row[0]: row[1] for row in rows_of(connection, _MATCHED, listing_sources.c.listing_id, said_of)}
    by_match = {number for number, last in given.items() if last.who == MATCHING}
    for number in sorted(by_flat.keys() | by_match):
        before = given.get(number, GivenStatus())
        last_matched = max((matched.get(property_id, 0.0) for property_id in ids[number]), default=0.0)
        joined = len(ids[number]) > 1 and last_matched > before.at
        if before.status in BY_STATUS and (joined or number in by_match):
            status = _following(by_flat.get(number, ()), before.status, everybody)
            if status == before.status:
                continue
            hold(connection, number)  # of what somebody said since all was read, the next run takes account
            last = given_statuses(connection, number).get(number, GivenStatus())
            if (last, _household(connection, number)) == (before, status):
                mark(connection, number, status, By(MATCHING, now))


def opinions_on(connection: Connection, property_ids: Sequence[int]) -> Mapping[int, Sequence[Opinion]]:
    """The opinions of these flats, by the id each has now; in the order in which people joined."""
    return _summed(connection.execute(_select_opinions(property_ids)))


def statuses_for(connection: Connection, person: Person | None) -> Mapping[int, str]:
    """The status of each flat for this person: their own opinion, unless the flat is past the shortlist."""
    household = statuses(connection)
    if person is None:
        return household
    by_flat = _summed(connection.execute(_select_opinions(None, person)))
    own = {number: AS_STATUS[on_flat[0].opinion] for number, on_flat in by_flat.items()}
    undecided = {number for number, status in household.items() if status in BY_STATUS}
    begun = {number: status for number, status in household.items() if number not in undecided}
    # A flat without an opinion of this person is new to them, whatever others think of it.
    return dict.fromkeys(undecided, "new") | own | begun


def liked_by_all(connection: Connection) -> frozenset[int]:
    """The flats that everybody of the household likes; none while there are no people."""
    return _of_all(connection, "liked")


def _of_all(connection: Connection, liking: Liking) -> frozenset[int]:
    """The flats of which everybody has this opinion."""
    everybody = len(all_people(connection))
    by_flat = _summed(connection.execute(_select_opinions(None)))
    return frozenset(
        number
        for number, on_flat in by_flat.items()
        if [opinion.opinion for opinion in on_flat].count(liking) == everybody
    )


def waiting_for(connection: Connection, person: Person | None) -> frozenset[int]:
    """Flats that somebody likes and this person (or, without a person, anybody) has no opinion on."""
    household, awaited = statuses(connection), [person] if person else all_people(connection)
    found = set()
    for number, on_flat in _summed(connection.execute(_select_opinions(None))).items():
        likings = {opinion.person: opinion.opinion for opinion in on_flat if opinion.opinion}
        if household.get(number, "new") in BY_STATUS and "liked" in likings.values():
            found |= {number for reader in awaited if reader.name not in likings}
    return frozenset(found)


def rejections(connection: Connection) -> Mapping[int, Sequence[str]]:
    """The flats that somebody rejects, by the id each has now, with the stated reasons."""
    found = {
        evaluation.property_id: [evaluation.reason] if evaluation.reason else []
        for evaluation in evaluations(connection).values()
        if evaluation.status == "rejected"
    }
    for number, on_flat in _summed(connection.execute(_select_opinions(None))).items():
        if against := [opinion for opinion in on_flat if opinion.opinion == "rejected"]:
            found[number] = [opinion.reason for opinion in against if opinion.reason]
    return found


def welcome(
    connection: Connection, name: str, language: str, role: str | None, *, now: float, by: str | None = None
) -> Person:
    """Add a person as `add_person` does; the first takes over the evaluations of the time before.

    `by` is who adds them; None: they do so themselves.
    """
    first = not all_people(connection)
    person = add_person(connection, name, language, role, now=now)
    note_change(connection, "person", person.name, "made", By(by or person.name, now))
    if first:
        rows = [
            {
                "property_id": evaluation.property_id,
                "person_id": person.id,
                "opinion": BY_STATUS[evaluation.status],
                "reason": evaluation.reason,
                "said_at": evaluation.changed_at or now,
            }
            for evaluation in evaluations(connection).values()
            if BY_STATUS.get(evaluation.status)
        ]
        if rows:
            connection.execute(insert(opinions), rows)
    return person


def dismiss(connection: Connection, person: Person, by: By) -> None:
    """Remove a person with their sign-ins and opinions; what they wrote stays, with their name.

    Statuses of the household follow from the other opinions now. The last person leaves all as it is, for
    the single buyer to go on with.

    Raises:
        WrongEvaluation: they are the last operator, and others would be left without one.
    """
    spoken = _summed(connection.execute(_select_opinions(None, person)))
    connection.execute(delete(opinions).where(opinions.c.person_id == person.id))
    # An id may be given again, and its next owner has not visited yet.
    forget_visitor(connection, visitor_of(person.id))
    remove_person(connection, person)
    note_change(connection, "person", person.name, "removed", by)
    if not all_people(connection):
        return
    # Of what they said nothing about, only what all the others reject changes.
    for number in sorted({*spoken, *_of_all(connection, "rejected")}):
        hold(connection, number)
        household = _household(connection, number)
        if household != evaluation_of(connection, number).status:
            mark(connection, number, household, by)


def _select_opinions(property_ids: Sequence[int] | None, person: Person | None = None) -> Select[Any]:
    """All opinions with their persons, in the order in which they were given."""
    table, current = with_current(opinions.c.property_id)
    chosen = select(current.label("current_id"), people.c.id.label("whose"), people.c.name, *opinions.c)
    chosen = chosen.select_from(table.join(people, people.c.id == opinions.c.person_id))
    if property_ids is not None:
        chosen = chosen.where(current.in_(property_ids))
    if person is not None:
        chosen = chosen.where(opinions.c.person_id == person.id)
    return chosen.order_by(opinions.c.id)


def _summed(rows: Iterable[Row[Any]]) -> dict[int, list[Opinion]]:
    """By property, the last opinion of each person, unless they took it back."""
    last: dict[int, dict[int, Row[Any]]] = defaultdict(dict)
    for row in rows:
        last[row.current_id][row.whose] = row
    found = {
        number: [
            Opinion(row.name, row.opinion, row.reason, row.stars, row.said_at)
            for _, row in sorted(by_person.items(), key=itemgetter(0))
            if row.opinion is not None or row.stars is not None
        ]
        for number, by_person in last.items()
    }
    return {number: on_flat for number, on_flat in found.items() if on_flat}
