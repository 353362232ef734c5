"""The adverts: each flat once, with every change and every price it ever had.

The history is a function of the sightings, not of the order in which they are saved: one that comes late is
put in its place in time (`late_sightings.py`), and one that is saved twice changes nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sqlalchemy import Connection, Executable, RowMapping, bindparam, insert, select, update

from sale_sofia.config.history import HistoryRules
from sale_sofia.data.history_schema import scrape_history
from sale_sofia.data.late_sightings import save_late, withdrawn_adverts
from sale_sofia.data.listing_rows import STORED_FIELDS, VOLATILE_FIELDS, detect_all_changes, listing_from
from sale_sofia.data.listing_schema import listing_changes, listings, price_points
from sale_sofia.data.market import REUSED, SEEN_AGAIN, event, note_events
from sale_sofia.data.quarantine import close_if_settled, report_odd
from sale_sofia.data.sightings import (
    Key,
    Row,
    Sighting,
    change_rows,
    is_back,
    new_row,
    price_rows,
    touch,
    visit_row,
    whole_update,
)
from sale_sofia.data.timeline import HELD_FIELDS, Odd, Step, first_step, is_another_flat, step
from sale_sofia.listings.model import Listing

__all__ = [
    "VOLATILE_FIELDS",
    "SaveResult",
    "Sighting",
    "detect_all_changes",
    "load_listing",
    "save_listing",
    "save_listings",
]

SaveResult = Literal["new", "changed", "unchanged"]
_Pair = tuple[Sighting, RowMapping]
_Results = dict[Key, SaveResult]

DEFAULT_RULES = HistoryRules()
_UPDATE = update(listings).where(listings.c.id == bindparam("of_id"))
_INSERT_LISTINGS = insert(listings).returning(listings.c.id, sort_by_parameter_order=True)
_INSERT_VISITS = insert(scrape_history).returning(scrape_history.c.id, sort_by_parameter_order=True)
_INSERT_QUIET_VISITS = insert(scrape_history)
_INSERT_CHANGES = insert(listing_changes)
_INSERT_PRICES = insert(price_points)
_STATE = (
    "id", "external_id", "content_hash", "last_seen_at", "visited_at", "consecutive_unchanged",
    "revisit_seconds", "odd_visits", "gone_at",
)  # fmt: skip
_SELECT_STATES = (
    select(*(listings.c[name] for name in _STATE))
    .where(listings.c.site == bindparam("of_site"), listings.c.closed_at.is_(None))
    .where(listings.c.external_id.in_(bindparam("of_external_ids", expanding=True)))
    .order_by(listings.c.external_id)  # two writers lock rows in one order, whatever the plan
    .with_for_update()  # for a database that locks rows; SQLite has locked the whole file by now
)
_SELECT_WHOLE = select(listings).where(listings.c.id.in_(bindparam("of_ids", expanding=True)))
_SELECT_ADVERT = select(*(listings.c[name] for name in STORED_FIELDS)).where(
    listings.c.site == bindparam("of_site"),
    listings.c.external_id == bindparam("of_external_id"),
    listings.c.closed_at.is_(None),
)


def save_listing(
    connection: Connection, listing: Listing, *, seen_at: float, job_id: str | None, page_digest: str | None
) -> SaveResult:
    """Store one advert, what changed in it, and its price if that is new. Needs a write transaction."""
    return save_listings(connection, [Sighting(listing, seen_at, job_id, page_digest)])[0]


def save_listings(
    connection: Connection, batch: Sequence[Sighting], rules: HistoryRules = DEFAULT_RULES
) -> list[SaveResult]:
    """Store a batch; what is stored is the same in whatever order, and however often, sightings are saved.

    The results are as if they were saved one by one in this order. Needs a write transaction.
    """
    results: dict[int, SaveResult] = {}
    waiting = list(enumerate(batch))
    while waiting:  # each round takes the first sighting of every advert that is left
        first = {sighting.key: (place, sighting) for place, sighting in reversed(waiting)}
        saved = _save_different(connection, [sighting for _, sighting in first.values()], rules)
        results |= {place: saved[key] for key, (place, _) in first.items()}
        waiting = [(place, sighting) for place, sighting in waiting if place not in results]
    return [results[place] for place in range(len(batch))]


def load_listing(connection: Connection, site: str, external_id: str) -> Listing | None:
    """The flat that the advert shows now, as it was seen last; equal to what was saved."""
    found = connection.execute(_SELECT_ADVERT, {"of_site": site, "of_external_id": external_id})
    row = found.mappings().first()
    return None if row is None else listing_from(row)


def _save_different(connection: Connection, sightings: Sequence[Sighting], rules: HistoryRules) -> _Results:
    # Sorted, so that two writers who lock rows take them in the same order.
    ordered = sorted(sightings, key=lambda sighting: sighting.key)
    stored = _stored_states(connection, ordered)
    known = [(sighting, stored[sighting.key]) for sighting in ordered if sighting.key in stored]
    late = [pair for pair in known if pair[0].seen_at <= pair[1]["visited_at"]]
    later = [pair for pair in known if pair[0].seen_at > pair[1]["visited_at"]]
    results: _Results = {sighting.key: "new" for sighting in ordered if sighting.key not in stored}
    _insert(connection, [(sighting, 1) for sighting in ordered if sighting.key not in stored], rules)
    results |= _touch(connection, [pair for pair in later if _is_still(pair)], rules)
    results |= _update(connection, [pair for pair in later if not _is_still(pair)], rules)
    _note_back(connection, later)
    return results | {sighting.key: _late(connection, sighting, state, rules) for sighting, state in late}


def _is_still(pair: _Pair) -> bool:
    """An advert whose price is in doubt is looked at in full, though it says the same again."""
    sighting, state = pair
    return bool(sighting.content_hash == state["content_hash"]) and not state["odd_visits"]


def _late(connection: Connection, sighting: Sighting, state: RowMapping, rules: HistoryRules) -> SaveResult:
    """One that is saved again, as a rule; otherwise its place is in the past."""
    if (sighting.seen_at, sighting.content_hash) == (state["visited_at"], state["content_hash"]):
        return "unchanged"
    return "changed" if save_late(connection, sighting, rules) else "unchanged"


def _stored_states(connection: Connection, sightings: Iterable[Sighting]) -> dict[Key, RowMapping]:
    by_site: dict[str, list[str]] = {}
    for site, external_id in (sighting.key for sighting in sightings):
        by_site.setdefault(site, []).append(external_id)
    return {
        (site, row["external_id"]): row
        for site, ids in by_site.items()
        for row in connection.execute(_SELECT_STATES, {"of_site": site, "of_external_ids": ids}).mappings()
    }


def _touch(connection: Connection, still: Sequence[_Pair], rules: HistoryRules) -> _Results:
    _run(connection, _UPDATE, [touch(*pair, rules) for pair in still])
    visits = [visit_row(sighting, state["id"], "unchanged") for sighting, state in still]
    _run(connection, _INSERT_QUIET_VISITS, visits)
    return {sighting.key: "unchanged" for sighting, _ in still}


def _insert(connection: Connection, new: Sequence[tuple[Sighting, int]], rules: HistoryRules) -> None:
    """Flats never seen before, each under the generation of its advert's id."""
    firsts = [first_step(sighting.fields, rules, held=sighting.held) for sighting, _ in new]
    taken = [(sighting, number, first) for (sighting, number), first in zip(new, firsts, strict=True)]
    rows = [new_row(sighting, number, first, rules) for sighting, number, first in taken]
    ids = _inserted(connection, _INSERT_LISTINGS, rows)
    seen = [
        visit_row(sighting, own, "new", _odd(sighting, first))
        for (sighting, _, first), own in zip(taken, ids, strict=True)
    ]
    visits = _inserted(connection, _INSERT_VISITS, seen)
    points = [
        price
        for (sighting, _, first), own, visit in zip(taken, ids, visits, strict=True)
        for price in price_rows(own, sighting.under(visit), first)
    ]
    _run(connection, _INSERT_PRICES, points)


def _update(connection: Connection, moved: Sequence[_Pair], rules: HistoryRules) -> _Results:
    """The adverts in which a field changed. A new form of the hash moves it too, and is no change."""
    if not moved:
        return {}
    pairs = _with_whole_rows(connection, moved)
    reused = [pair for pair in pairs if is_another_flat(pair[1], pair[0].fields)]
    taken = withdrawn_adverts(connection, [sighting for sighting, _ in reused])
    for sighting, _ in reused:
        if sighting.key in taken:  # the next generation's number is given out already
            save_late(connection, sighting, rules)
    _reuse(connection, [pair for pair in reused if pair[0].key not in taken], rules)
    others = [pair for pair in pairs if not is_another_flat(pair[1], pair[0].fields)]
    results: _Results = {sighting.key: "new" for sighting, _ in reused}
    return results | _step(connection, others, rules)


def _step(connection: Connection, pairs: Sequence[_Pair], rules: HistoryRules) -> _Results:
    steps = [
        step(old, _odd_before(old), sighting.fields, rules, held=sighting.held) for sighting, old in pairs
    ]
    taken = list(zip(pairs, steps, strict=True))
    rows = [visit_row(sighting, old["id"], one.result, _odd(sighting, one)) for (sighting, old), one in taken]
    visits = _inserted(connection, _INSERT_VISITS, rows)
    seen = [sighting.under(visit) for (sighting, _), visit in zip(pairs, visits, strict=True)]
    whole = [(old["id"], at, one) for ((_, old), one), at in zip(taken, seen, strict=True)]
    _run(connection, _INSERT_CHANGES, [row for one in whole for row in change_rows(*one)])
    _run(connection, _INSERT_PRICES, [row for one in whole for row in price_rows(*one)])
    _run(connection, _UPDATE, [whole_update(*pair, one, rules) for pair, one in taken])
    report_odd(connection, [pair for pair, one in taken if one.odd.visits])
    settled = {sighting for (sighting, old), one in taken if old["odd_visits"] and not one.odd.visits}
    for sighting in settled:
        close_if_settled(connection, {sighting.listing.site}, now=sighting.seen_at)
    return {sighting.key: "changed" if one.changes else "unchanged" for (sighting, _), one in taken}


def _odd_before(old: RowMapping) -> Odd:
    return Odd(old["odd_price_eur"], old["odd_visits"])


def _odd(sighting: Sighting, taken: Step) -> Row | None:
    return {name: sighting.fields[name] for name in HELD_FIELDS} if taken.odd.visits else None


def _reuse(connection: Connection, pairs: Sequence[_Pair], rules: HistoryRules) -> None:
    """The old flat's listing is closed, the new one's begins."""
    closed = [
        {"of_id": old["id"], "closed_at": sighting.seen_at, "closed_reason": REUSED}
        for sighting, old in pairs
    ]
    _run(connection, _UPDATE, closed)
    ends = [
        event(old["id"], "gone", sighting.seen_at, sighting.seen_at, REUSED)
        for sighting, old in pairs
        if old["gone_at"] is None
    ]
    note_events(connection, ends)
    _insert(connection, [(sighting, old["generation"] + 1) for sighting, old in pairs], rules)


def _note_back(connection: Connection, pairs: Sequence[_Pair]) -> None:
    back = [
        event(state["id"], "back", sighting.seen_at, sighting.seen_at, SEEN_AGAIN)
        for sighting, state in pairs
        if is_back(state, sighting.seen_at)
    ]
    note_events(connection, back)


def _with_whole_rows(connection: Connection, pairs: Sequence[_Pair]) -> list[_Pair]:
    found = connection.execute(_SELECT_WHOLE, {"of_ids": [state["id"] for _, state in pairs]}).mappings()
    whole = {row["id"]: row for row in found}
    return [(sighting, whole[state["id"]]) for sighting, state in pairs]


def _inserted(connection: Connection, statement: Executable, rows: Sequence[Row]) -> list[Any]:
    """The numbers of the rows, which are inserted in this order."""
    return list(connection.execute(statement, rows).scalars()) if rows else []


def _run(connection: Connection, statement: Executable, rows: Sequence[Row]) -> None:
    if rows:
        connection.execute(statement, rows)
