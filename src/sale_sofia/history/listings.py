"""The adverts: each flat once, with every change and every price it ever had.

The history is a function of the sightings, not of the order in which they are saved: one that comes late is
put in its place in time (`save_late`), and one that is saved twice changes nothing.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Final, Literal, NamedTuple

from sqlalchemy import Connection, bindparam, func, insert, or_, select, update

from sale_sofia.history import revisions
from sale_sofia.history.listing_rows import (
    PRICE_FIELDS,
    STORED_FIELDS,
    VOLATILE_FIELDS,
    detect_all_changes,
    listing_from,
)
from sale_sofia.history.market_events import REUSED, SEEN_AGAIN, event, note_events
from sale_sofia.history.prices import close_if_settled, report_odd
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.sightings import (
    STILL,
    Key,
    Row,
    Sighting,
    Stored,
    change_rows,
    doubts_of,
    is_back,
    listing_key,
    new_row,
    price_rows,
    save_late,
    updated,
    updated_by_card,
    visit_row,
    visited,
    withdrawn_adverts,
)
from sale_sofia.history.tables import (
    PRINTED_BEFORE,
    WAS_ASKED,
    listing_changes,
    listings,
    price_points,
    scrape_history,
)
from sale_sofia.history.timeline import (
    HELD_FIELDS,
    Step,
    first_step,
    is_another_flat,
    is_disproved,
    step,
)
from sale_sofia.listings.model import Listing
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_numbered

__all__ = ["VOLATILE_FIELDS", "Sighting", "detect_all_changes"]

SaveResult = Literal["new", "changed", "unchanged"]
_Pair = tuple[Sighting, Stored]
_Results = dict[Key, SaveResult]

DEFAULT_RULES = HistoryRules()
_UPDATE = Quick(update(listings).where(listings.c.id == bindparam("of_id")))
_INSERT_VISITS = Quick(insert(scrape_history))
_INSERT_CHANGES = Quick(insert(listing_changes))
_INSERT_PRICES = Quick(insert(price_points))
_asked = price_points.alias("asked")
_COMPLETE_PRICE = Quick(
    update(price_points)
    .where(
        price_points.c.id
        == select(_asked.c.id)
        .where(_asked.c.listing_id == bindparam("of_listing"), _asked.c.kind != PRINTED_BEFORE)
        .order_by(_asked.c.seen_at.desc(), _asked.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    .values({name: bindparam(f"new_{name}") for name in PRICE_FIELDS})
)
_STATE = (
    "id", "external_id", "content_hash", "last_seen_at", "visited_at", "consecutive_unchanged",
    "revisit_seconds", "odd_visits", "unseen", "gone_at", "opened_at", "price_by_card",
)  # fmt: skip
_SELECT_STATES = Quick(
    select(*(listings.c[name] for name in _STATE))
    .where(listings.c.site == bindparam("of_site"), listings.c.closed_at.is_(None))
    .where(listings.c.external_id.in_(bindparam("of_external_ids", expanding=True)))
    .order_by(listings.c.external_id)  # two writers lock rows in one order, whatever the plan
    .with_for_update()  # for a database that locks rows; SQLite has locked the whole file by now
)
_SELECT_WHOLE = Quick(select(listings).where(listings.c.id.in_(bindparam("of_ids", expanding=True))))
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
    new = [sighting for sighting in ordered if sighting.key not in stored]
    known = [(sighting, stored[sighting.key]) for sighting in ordered if sighting.key in stored]
    late = [pair for pair in known if pair[0].seen_at <= pair[1]["visited_at"]]
    later = [pair for pair in known if pair[0].seen_at > pair[1]["visited_at"]]
    still = [pair for pair in later if _is_still(*pair)]
    _insert(connection, [(sighting, 1) for sighting in new], rules)
    _UPDATE.run(connection, [updated(*pair, STILL, rules) for pair in still])
    # Seen once more is no change, but in another year a building of it is none of the future any more.
    revisions.touch(
        connection, [state["id"] for sighting, state in still if _in_another_year(sighting, state)]
    )
    visits = [visit_row(sighting, state["id"], "unchanged") for sighting, state in still]
    _INSERT_VISITS.run(connection, visits)
    results: _Results = {sighting.key: "new" for sighting in new}
    results |= {sighting.key: "unchanged" for sighting, _ in still}
    results |= _update(connection, [pair for pair in later if not _is_still(*pair)], rules)
    _note_back(connection, [(state, sighting.seen_at) for sighting, state in later])
    return results | {sighting.key: _late(connection, sighting, state, rules) for sighting, state in late}


def _is_still(sighting: Sighting, state: Stored) -> bool:
    """An advert with a price in doubt, or values not shown, is looked at in full, though it says the same.

    So is one of which only cards were seen, or that has its price from one.
    """
    if sighting.card or state["opened_at"] is None or state["price_by_card"]:
        return False
    settled = not state["odd_visits"] and not state["unseen"]
    return bool(sighting.content_hash == state["content_hash"]) and settled


def _in_another_year(sighting: Sighting, state: Stored) -> bool:
    return time.gmtime(sighting.seen_at).tm_year != time.gmtime(state["last_seen_at"]).tm_year


def _late(connection: Connection, sighting: Sighting, state: Stored, rules: HistoryRules) -> SaveResult:
    """One that is saved again, as a rule; otherwise its place is in the past."""
    read_at = state["visited_at"] if state["opened_at"] is None else state["opened_at"]
    if (sighting.seen_at, sighting.content_hash) == (read_at, state["content_hash"]):
        return "unchanged"
    opened = not sighting.card and state["opened_at"] is None
    changed = save_late(connection, sighting, rules)
    if opened and sighting.held_news:
        _UPDATE.run(connection, [{"of_id": state["id"], "held_by": sighting.job_id}])
    return "new" if opened else "changed" if changed else "unchanged"


def _stored_states(connection: Connection, sightings: Iterable[Sighting]) -> dict[Key, Stored]:
    by_site: dict[str, list[str]] = {}
    for site, external_id in (sighting.key for sighting in sightings):
        by_site.setdefault(site, []).append(external_id)
    return {
        (site, row["external_id"]): row
        for site, ids in by_site.items()
        for row in _SELECT_STATES.mappings(connection, {"of_site": site, "of_external_ids": ids})
    }


def _insert(connection: Connection, new: Sequence[tuple[Sighting, int]], rules: HistoryRules) -> None:
    """Flats never seen before, each under the generation of its advert's id."""
    taken = [
        (sighting, number, first_step(sighting.fields, rules, held=sighting.held, card=sighting.card))
        for sighting, number in new
    ]
    ids = insert_numbered(connection, listings, [new_row(*one, rules) for one in taken])
    revisions.touch(connection, ids)
    seen = [
        visit_row(sighting, own, "new", _odd(sighting, first))
        for (sighting, _, first), own in zip(taken, ids, strict=True)
    ]
    visits = insert_numbered(connection, scrape_history, seen)
    points = [
        price
        for (sighting, _, first), own, visit in zip(taken, ids, visits, strict=True)
        for price in price_rows(own, sighting.under(visit), first)
    ]
    _INSERT_PRICES.run(connection, points)


def _update(connection: Connection, moved: Sequence[_Pair], rules: HistoryRules) -> _Results:
    """The adverts in which a field changed. A new form of the hash moves it too, and is no change."""
    if not moved:
        return {}
    found = _SELECT_WHOLE.mappings(connection, {"of_ids": [state["id"] for _, state in moved]})
    whole = {row["id"]: row for row in found}
    pairs = [(sighting, whole[state["id"]]) for sighting, state in moved]
    reused = [pair for pair in pairs if _is_reused(*pair)]
    disproved = [
        pair
        for pair in pairs
        if not _is_reused(*pair) and is_disproved(pair[1], doubts_of(pair[1]), pair[0].unstored)
    ]
    taken = withdrawn_adverts(connection, [sighting for sighting, _ in reused])
    for sighting, _ in reused:
        if sighting.key in taken:  # the next generation's number is given out already
            save_late(connection, sighting, rules)
    _reuse(connection, [pair for pair in reused if pair[0].key not in taken], rules)
    apart = {sighting.key for sighting, _ in (*reused, *disproved)}
    others = [pair for pair in pairs if pair[0].key not in apart]
    results: _Results = {sighting.key: "new" for sighting, _ in reused}
    results |= {sighting.key: _late(connection, sighting, old, rules) for sighting, old in disproved}
    return results | _step(connection, others, rules)


def _is_reused(sighting: Sighting, old: Stored) -> bool:
    """Page is compared with page, and card with card: only they say the same things."""
    alike = sighting.card == (old["opened_at"] is None)
    return alike and is_another_flat(old, sighting.fields)


def _step(connection: Connection, pairs: Sequence[_Pair], rules: HistoryRules) -> _Results:
    taken = [
        ((sighting, old), step(old, doubts_of(old), sighting.unstored, rules)) for sighting, old in pairs
    ]
    taken = _print_once(connection, taken)
    _complete_prices(connection, taken)
    rows = [
        visit_row(sighting, old["id"], one.result, _odd(sighting, one), one.unseen)
        for (sighting, old), one in taken
    ]
    visits = insert_numbered(connection, scrape_history, rows)
    seen = [sighting.under(visit) for (sighting, _), visit in zip(pairs, visits, strict=True)]
    whole = [(old["id"], at, one) for ((_, old), one), at in zip(taken, seen, strict=True)]
    _INSERT_CHANGES.run(connection, [row for one in whole for row in change_rows(*one)])
    _INSERT_PRICES.run(connection, [row for one in whole for row in price_rows(*one)])
    pages = [(pair, one) for pair, one in taken if not pair[0].card]
    moved = [updated(*pair, one, rules) for pair, one in pages]
    moved += [updated_by_card(*pair, one) for pair, one in taken if pair[0].card]
    for _, alike in groupby(sorted(moved, key=len), key=tuple):
        _UPDATE.run(connection, list(alike))
    revisions.touch(connection, [old["id"] for _, old in pairs])
    report_odd(connection, [pair for pair, one in pages if one.odd.visits])
    settled = {sighting for (sighting, old), one in taken if old["odd_visits"] and not one.odd.visits}
    for sighting in settled:
        close_if_settled(connection, {sighting.listing.site}, now=sighting.seen_at)
    return {sighting.key: _result(sighting, old, one) for (sighting, old), one in taken}


def _result(sighting: Sighting, old: Stored, taken: Step) -> SaveResult:
    """What came of it, as runs count it; what the advert's card told already counts when its page is read."""
    if taken.result == "new":
        return "new"
    told = bool(old["price_by_card"]) and not sighting.card
    return "changed" if taken.changes or told else "unchanged"


def _complete_prices(connection: Connection, taken: Sequence[tuple[_Pair, Step]]) -> None:
    """A page that confirms a card's price gives its point the VAT and the leva that the card may lack."""
    rows = [
        {"of_listing": old["id"], **{f"new_{name}": one.fields[name] for name in PRICE_FIELDS}}
        for (sighting, old), one in taken
        if old["price_by_card"] and not sighting.card and not one.price
        if any(old[name] != one.fields[name] for name in PRICE_FIELDS)
    ]
    _COMPLETE_PRICE.run(connection, rows)


def _print_once(connection: Connection, taken: list[tuple[_Pair, Step]]) -> list[tuple[_Pair, Step]]:
    """The same without earlier prices that were in print before: each sum is a price point once."""
    ids = [old["id"] for (_, old), one in taken if one.printed is not None]
    if not ids:
        return taken
    points = select(price_points.c.listing_id, price_points.c.price_eur)
    found = connection.execute(points.where(price_points.c.listing_id.in_(ids), ~WAS_ASKED))
    known = {tuple(row) for row in found}
    return [
        (pair, one._replace(printed=None) if (pair[1]["id"], one.printed) in known else one)
        for pair, one in taken
    ]


def _odd(sighting: Sighting, taken: Step) -> Row | None:
    doubted = taken.odd.visits and not sighting.card  # all that a card said is kept
    return {name: sighting.fields[name] for name in HELD_FIELDS} if doubted else None


def _reuse(connection: Connection, pairs: Sequence[_Pair], rules: HistoryRules) -> None:
    """The old flat's listing is closed, the new one's begins."""
    closed = [
        {"of_id": old["id"], "closed_at": sighting.seen_at, "closed_reason": REUSED}
        for sighting, old in pairs
    ]
    _UPDATE.run(connection, closed)
    revisions.touch(connection, [old["id"] for _, old in pairs])
    ends = [
        event(old["id"], "gone", sighting.seen_at, sighting.seen_at, REUSED)
        for sighting, old in pairs
        if old["gone_at"] is None
    ]
    note_events(connection, ends)
    _insert(connection, [(sighting, old["generation"] + 1) for sighting, old in pairs], rules)


def _note_back(connection: Connection, seen: Iterable[tuple[Stored, float]]) -> None:
    """Which of these adverts, seen at these moments, were gone."""
    note_events(
        connection, [event(row["id"], "back", at, at, SEEN_AGAIN) for row, at in seen if is_back(row, at)]
    )


# Adverts whose portal says that they are as they were: what to ask it, and what its word leaves behind.


@dataclass(frozen=True, slots=True)
class SameAgain:
    """An advert that was asked for and had not moved."""

    external_id: str
    at: float
    seconds: float | None = None


def validators(
    connection: Connection, site: str, external_ids: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """The headers that ask whether an advert is as we know it, by its id.

    None for one whose price is in doubt, or that does not show what it did: each visit of it counts, and must
    be whole.
    """
    known = select(listings.c.external_id, listings.c.etag, listings.c.last_modified).where(
        listings.c.site == site,
        listings.c.external_id.in_(external_ids),
        listings.c.closed_at.is_(None),
        listings.c.odd_visits == 0,
        listings.c.unseen.is_(None),
        or_(listings.c.etag.is_not(None), listings.c.last_modified.is_not(None)),
    )
    found: dict[str, dict[str, str]] = {}
    for row in connection.execute(known):
        headers = {"If-None-Match": row.etag, "If-Modified-Since": row.last_modified}
        found[row.external_id] = {name: value for name, value in headers.items() if value is not None}
    return found


def save_unmodified(
    connection: Connection, site: str, same: Sequence[SameAgain], *, job_id: str, rules: HistoryRules
) -> int:
    """Store that these adverts were seen again as they were; how many we knew."""
    if not same:
        return 0
    asked = {one.external_id: one for one in same}
    known = select(listings).where(
        listings.c.site == site, listings.c.external_id.in_(sorted(asked)), listings.c.closed_at.is_(None)
    )
    rows = connection.execute(known.order_by(listings.c.id).with_for_update()).mappings().all()
    seen = [
        (row, asked[row["external_id"]]) for row in rows if asked[row["external_id"]].at > row["visited_at"]
    ]
    if seen:
        _UPDATE.run(connection, [visited(row, one.at, STILL, rules) for row, one in seen])
        visits = [
            {
                "site": site,
                "url_key": listing_key(one.external_id),
                "job_id": job_id,
                "fetched_at": one.at,
                "verdict": "not_modified",
                "seconds": one.seconds,
                "content_hash": row["content_hash"],
                "listing_id": row["id"],
                "result": "unchanged",
            }
            for row, one in seen
        ]
        _INSERT_VISITS.run(connection, visits)
    _note_back(connection, [(row, one.at) for row, one in seen])
    return len(rows)


# What adverts cost as far as is known: to be compared with what their pages say now.


class KnownPrice(NamedTuple):
    """The price that is believed of an advert, and the area it is for."""

    price_eur: float | None
    area_sqm: float | None


_SELECT_PRICES = Quick(
    select(listings.c.external_id, listings.c.price_eur, listings.c.area_sqm).where(
        listings.c.site == bindparam("of_site"),
        listings.c.closed_at.is_(None),
        listings.c.opened_at.is_not(None),  # a card of the same run is no word on how its pages are read
        listings.c.external_id.in_(bindparam("ids", expanding=True)),
    )
)


def known_prices(connection: Connection, site: str, external_ids: Sequence[str]) -> dict[str, KnownPrice]:
    """The prices of those of these adverts that were seen before."""
    if not external_ids:
        return {}
    rows = _SELECT_PRICES.rows(connection, {"of_site": site, "ids": sorted(set(external_ids))})
    return {external_id: KnownPrice(price_eur, area_sqm) for external_id, price_eur, area_sqm in rows}


# The log of pages asked for: what came of each visit.

_LONGEST_KEY: Final = 500
_LONGEST_VERDICT: Final = 40


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that was asked for and gave no advert: a search, a removed advert, a failure."""

    site: str
    url_key: str
    job_id: str | None
    fetched_at: float
    verdict: str
    seconds: float | None = None
    page_digest: str | None = None


def record_visits(connection: Connection, visits: Sequence[Visit]) -> None:
    """Remember visits. Those that saw an advert are remembered with its sighting."""
    rows = [
        asdict(visit) | {"url_key": visit.url_key[:_LONGEST_KEY], "verdict": visit.verdict[:_LONGEST_VERDICT]}
        for visit in visits
    ]
    _INSERT_VISITS.run(connection, rows)


def removed_since(connection: Connection, site: str, keys: Sequence[str], since: float) -> dict[str, float]:
    """Of these pages, those that said themselves to be removed, with the first moment since then."""
    first = func.min(scrape_history.c.fetched_at).label("first")
    said = (
        select(scrape_history.c.url_key, first)
        .where(
            scrape_history.c.site == site,
            scrape_history.c.url_key.in_(keys),
            scrape_history.c.verdict == "removed",
            scrape_history.c.fetched_at >= since,
        )
        .group_by(scrape_history.c.url_key)
    )
    return {row.url_key: row.first for row in connection.execute(said)}
