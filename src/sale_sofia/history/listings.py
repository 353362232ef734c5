"""The adverts: each flat once, with every change and every price it ever had.

The history is a function of the sightings, not of the order in which they are saved: a late one is put in its
place in time (`save_late`), and one that is saved twice changes nothing.
"""

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
from sale_sofia.history.market_events import REUSED, event, note_events, note_returns
from sale_sofia.history.prices import close_if_settled, report_odd
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.sightings import (
    UNCHANGED_STEP,
    Key,
    Row,
    Sighting,
    Stored,
    change_rows,
    doubts_of,
    is_another_year,
    is_back,
    is_ended_by_reuse,
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
    has_other_vat,
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
_asking = price_points.alias("asked")
_COMPLETE_PRICE = Quick(
    update(price_points)
    .where(
        price_points.c.id
        == select(_asking.c.id)
        .where(_asking.c.listing_id == bindparam("of_listing"), _asking.c.kind != PRINTED_BEFORE)
        .order_by(_asking.c.seen_at.desc(), _asking.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    .values({name: bindparam(f"new_{name}") for name in PRICE_FIELDS})
)
_STATE_COLUMNS = (
    "id", "external_id", "url", "content_hash", "last_seen_at", "visited_at", "consecutive_unchanged",
    "revisit_seconds", "odd_visits", "unseen", "gone_at", "opened_at", "price_by_card",
)  # fmt: skip
_SELECT_STATES = Quick(
    select(*(listings.c[name] for name in _STATE_COLUMNS))
    .where(listings.c.site == bindparam("of_site"), listings.c.closed_at.is_(None))
    .where(listings.c.external_id.in_(bindparam("of_external_ids", expanding=True)))
    .order_by(listings.c.external_id)  # two writers lock rows in one order, whatever the plan
    .with_for_update()  # for a database that locks rows; SQLite has locked the whole file by now
)
_SELECT_ROWS = Quick(select(listings).where(listings.c.id.in_(bindparam("of_ids", expanding=True))))
_SELECT_ADVERT = select(*(listings.c[name] for name in STORED_FIELDS)).where(
    listings.c.site == bindparam("of_site"),
    listings.c.external_id == bindparam("of_external_id"),
    listings.c.closed_at.is_(None),
)


def save_listing(
    connection: Connection, listing: Listing, *, seen_at: float, job_id: str | None, page_digest: str | None
) -> SaveResult:
    """Store one advert, its changes, and its price if that is new. Needs a write transaction."""
    return save_listings(connection, [Sighting(listing, seen_at, job_id, page_digest)])[0]


def save_listings(
    connection: Connection, batch: Sequence[Sighting], rules: HistoryRules = DEFAULT_RULES
) -> list[SaveResult]:
    """Store a batch. The stored history does not depend on the order of sightings, nor on repeated ones.

    The results are as if they were saved one by one in this order. Needs a write transaction.
    """
    results: dict[int, SaveResult] = {}
    remaining = list(enumerate(batch))
    while remaining:  # each round takes the first remaining sighting of every advert
        first = {sighting.key: (place, sighting) for place, sighting in reversed(remaining)}
        saved = _save_distinct(connection, [sighting for _, sighting in first.values()], rules)
        results |= {place: saved[key] for key, (place, _) in first.items()}
        remaining = [(place, sighting) for place, sighting in remaining if place not in results]
    return [results[place] for place in range(len(batch))]


def load_listing(connection: Connection, site: str, external_id: str) -> Listing | None:
    """The flat that the advert shows now, as last seen and equal to what was saved; None if never seen."""
    result = connection.execute(_SELECT_ADVERT, {"of_site": site, "of_external_id": external_id})
    row = result.mappings().first()
    return None if row is None else listing_from(row)


def _save_distinct(connection: Connection, sightings: Sequence[Sighting], rules: HistoryRules) -> _Results:
    # Sorted, so that two writers lock rows in the same order.
    ordered = sorted(sightings, key=lambda sighting: sighting.key)
    stored = _stored_states(connection, ordered)
    new = [sighting for sighting in ordered if sighting.key not in stored]
    pairs = [(sighting, stored[sighting.key]) for sighting in ordered if sighting.key in stored]
    late = [pair for pair in pairs if pair[0].seen_at <= pair[1]["visited_at"]]
    newer = [pair for pair in pairs if pair[0].seen_at > pair[1]["visited_at"]]
    unchanged = [pair for pair in newer if _is_unchanged(*pair)]
    _insert_flats(connection, [(sighting, 1) for sighting in new], rules)
    _UPDATE.run(connection, [updated(*pair, UNCHANGED_STEP, rules) for pair in unchanged])
    _touch_in_new_year(connection, [(state, sighting.seen_at) for sighting, state in unchanged])
    # Another address is no change, but flats link to it.
    moved = [state["id"] for sighting, state in unchanged if sighting.listing.url != state["url"]]
    revisions.touch(connection, moved)
    visits = [visit_row(sighting, state["id"], "unchanged") for sighting, state in unchanged]
    _INSERT_VISITS.run(connection, visits)
    results: _Results = {sighting.key: "new" for sighting in new}
    results |= {sighting.key: "unchanged" for sighting, _ in unchanged}
    _note_returns(connection, [(state, sighting.seen_at) for sighting, state in unchanged])
    results |= _compare_and_save(connection, [pair for pair in newer if not _is_unchanged(*pair)], rules)
    return results | {
        sighting.key: _save_and_recompute(connection, sighting, state, rules) for sighting, state in late
    }


def _is_unchanged(sighting: Sighting, state: Stored) -> bool:
    """Whether an advert's page says the same as before, and nothing about the advert is in doubt.

    In doubt is a price that is odd or comes from a card, a value not shown, and an advert seen only on cards.
    """
    if sighting.card or state["opened_at"] is None or state["price_by_card"]:
        return False
    settled = not state["odd_visits"] and not state["unseen"]
    return bool(sighting.content_hash == state["content_hash"]) and settled


def _touch_in_new_year(connection: Connection, sightings: Iterable[tuple[Stored, float]]) -> None:
    """Touch the adverts last seen in another year: their building may no longer be a future one."""
    revisions.touch(connection, [row["id"] for row, at in sightings if is_another_year(row, at)])


def _save_and_recompute(
    connection: Connection, sighting: Sighting, state: Stored, rules: HistoryRules
) -> SaveResult:
    """Recompute the history with this sighting, unless it is the last reading saved again, as most are."""
    read_at = state["visited_at"] if state["opened_at"] is None else state["opened_at"]
    if (sighting.seen_at, sighting.content_hash) == (read_at, state["content_hash"]):
        return "unchanged"
    is_first_read = not sighting.card and state["opened_at"] is None
    changed = _recompute(connection, sighting, state, rules)
    if is_first_read and sighting.held_news:
        _UPDATE.run(connection, [{"of_id": state["id"], "held_by": sighting.job_id}])
    return "new" if is_first_read else "changed" if changed else "unchanged"


def _recompute(connection: Connection, sighting: Sighting, old: Stored, rules: HistoryRules) -> bool:
    """As `save_late`; the newest page also leaves its validators, and its doubted price an incident."""
    changed = save_late(connection, sighting, rules)
    site, external_id = sighting.key
    current = select(listings).where(
        listings.c.site == site, listings.c.external_id == external_id, listings.c.closed_at.is_(None)
    )
    row = connection.execute(current).mappings().one()
    read = (row["opened_at"], row["content_hash"])
    if not sighting.card and read == (sighting.seen_at, sighting.content_hash):
        own = {"etag": sighting.etag, "last_modified": sighting.last_modified}
        _UPDATE.run(connection, [{"of_id": row["id"], **own}])
        if row["odd_visits"]:
            report_odd(connection, [(sighting, row)])
    if old["odd_visits"] and not row["odd_visits"]:
        close_if_settled(connection, {site}, now=sighting.seen_at)
    return changed


def _stored_states(connection: Connection, sightings: Iterable[Sighting]) -> dict[Key, Stored]:
    by_site: dict[str, list[str]] = {}
    for site, external_id in (sighting.key for sighting in sightings):
        by_site.setdefault(site, []).append(external_id)
    return {
        (site, row["external_id"]): row
        for site, ids in by_site.items()
        for row in _SELECT_STATES.mappings(connection, {"of_site": site, "of_external_ids": ids})
    }


def _insert_flats(
    connection: Connection, sightings: Sequence[tuple[Sighting, int]], rules: HistoryRules
) -> None:
    """Store flats that were not seen before, each with its generation of the advert's id."""
    flats = [
        (sighting, generation, first_step(sighting.fields, rules, held=sighting.held, card=sighting.card))
        for sighting, generation in sightings
    ]
    ids = insert_numbered(connection, listings, [new_row(*flat, rules) for flat in flats])
    revisions.touch(connection, ids)
    rows = [
        visit_row(sighting, listing_id, "new", _doubted_price(sighting, first))
        for (sighting, _, first), listing_id in zip(flats, ids, strict=True)
    ]
    visit_ids = insert_numbered(connection, scrape_history, rows)
    points = [
        point
        for (sighting, _, first), listing_id, visit_id in zip(flats, ids, visit_ids, strict=True)
        for point in price_rows(listing_id, sighting.under(visit_id), first)
    ]
    _INSERT_PRICES.run(connection, points)


def _compare_and_save(connection: Connection, sightings: Sequence[_Pair], rules: HistoryRules) -> _Results:
    """Compare sightings field by field and store them: another hash may be only a new form of it."""
    if not sightings:
        return {}
    rows = _SELECT_ROWS.mappings(connection, {"of_ids": [state["id"] for _, state in sightings]})
    row_of = {row["id"]: row for row in rows}
    pairs = [(sighting, row_of[state["id"]]) for sighting, state in sightings]
    reused = [pair for pair in pairs if _is_reused(*pair)]
    corrected = [pair for pair in pairs if not _is_reused(*pair) and _corrects_card(*pair)]
    withdrawn = withdrawn_adverts(connection, [sighting for sighting, _ in reused])
    for sighting, old in reused:
        if sighting.key in withdrawn:  # the number of the next generation is in use
            _recompute(connection, sighting, old, rules)
    _start_next_generation(connection, [pair for pair in reused if pair[0].key not in withdrawn], rules)
    handled = {sighting.key for sighting, _ in (*reused, *corrected)}
    others = [pair for pair in pairs if pair[0].key not in handled]
    # The flat of a reused id does not return: another one has its advert.
    returned = [(old, sighting.seen_at) for sighting, old in (*corrected, *others)]
    _note_returns(connection, returned)
    results: _Results = {sighting.key: "new" for sighting, _ in reused}
    results |= {
        sighting.key: _save_and_recompute(connection, sighting, old, rules) for sighting, old in corrected
    }
    return results | _save_steps(connection, others, rules)


def _is_reused(sighting: Sighting, old: Stored) -> bool:
    """Whether another flat is seen. Only page and page, or card and card, say the same things."""
    comparable = sighting.card == (old["opened_at"] is None)
    return comparable and is_another_flat(old, sighting.fields)


def _corrects_card(sighting: Sighting, old: Stored) -> bool:
    """Whether a page changes what the card before it meant."""
    known = (old, doubts_of(old), sighting.unstored)
    return is_disproved(*known) or has_other_vat(*known)


def _save_steps(connection: Connection, pairs: Sequence[_Pair], rules: HistoryRules) -> _Results:
    steps = [
        ((sighting, old), step(old, doubts_of(old), sighting.unstored, rules)) for sighting, old in pairs
    ]
    steps = _drop_known_prints(connection, steps)
    _complete_prices(connection, steps)
    rows = [
        visit_row(
            sighting, old["id"], next_step.result, _doubted_price(sighting, next_step), next_step.unseen
        )
        for (sighting, old), next_step in steps
    ]
    visit_ids = insert_numbered(connection, scrape_history, rows)
    sightings = [sighting.under(visit_id) for (sighting, _), visit_id in zip(pairs, visit_ids, strict=True)]
    entries = [
        (old["id"], seen, next_step) for ((_, old), next_step), seen in zip(steps, sightings, strict=True)
    ]
    _INSERT_CHANGES.run(connection, [row for entry in entries for row in change_rows(*entry)])
    _INSERT_PRICES.run(connection, [row for entry in entries for row in price_rows(*entry)])
    page_steps = [(pair, next_step) for pair, next_step in steps if not pair[0].card]
    values = [updated(*pair, next_step, rules) for pair, next_step in page_steps]
    values += [updated_by_card(*pair, next_step) for pair, next_step in steps if pair[0].card]
    for _, same_columns in groupby(sorted(values, key=len), key=tuple):
        _UPDATE.run(connection, list(same_columns))
    revisions.touch(connection, [old["id"] for _, old in pairs])
    report_odd(connection, [pair for pair, next_step in page_steps if next_step.odd.visits])
    settled = {
        sighting for (sighting, old), next_step in steps if old["odd_visits"] and not next_step.odd.visits
    }
    for sighting in settled:
        close_if_settled(connection, {sighting.listing.site}, now=sighting.seen_at)
    return {sighting.key: _save_result(sighting, old, next_step) for (sighting, old), next_step in steps}


def _save_result(sighting: Sighting, old: Stored, next_step: Step) -> SaveResult:
    """The result as runs count it: a price that a card changed counts when the advert's page is read."""
    if next_step.result == "new":
        return "new"
    known_from_card = bool(old["price_by_card"]) and not sighting.card
    return "changed" if next_step.changes or known_from_card else "unchanged"


def _complete_prices(connection: Connection, steps: Sequence[tuple[_Pair, Step]]) -> None:
    """Add the VAT and the leva of a confirming page, which a card may lack, to the card's price point."""
    rows = [
        {"of_listing": old["id"], **{f"new_{name}": next_step.fields[name] for name in PRICE_FIELDS}}
        for (sighting, old), next_step in steps
        if old["price_by_card"] and not sighting.card and not next_step.price
        if any(old[name] != next_step.fields[name] for name in PRICE_FIELDS)
    ]
    _COMPLETE_PRICE.run(connection, rows)


def _drop_known_prints(connection: Connection, steps: list[tuple[_Pair, Step]]) -> list[tuple[_Pair, Step]]:
    """The steps without printed earlier prices that are stored: each sum is a price point only once."""
    ids = [old["id"] for (_, old), next_step in steps if next_step.printed is not None]
    if not ids:
        return steps
    query = select(price_points.c.listing_id, price_points.c.price_eur)
    rows = connection.execute(query.where(price_points.c.listing_id.in_(ids), ~WAS_ASKED))
    prints = {tuple(row) for row in rows}
    return [
        (
            pair,
            next_step._replace(printed=None) if (pair[1]["id"], next_step.printed) in prints else next_step,
        )
        for pair, next_step in steps
    ]


def _doubted_price(sighting: Sighting, step: Step) -> Row | None:
    doubted = step.odd.visits and not sighting.card  # a card's visit stores all that it said
    return {name: sighting.fields[name] for name in HELD_FIELDS} if doubted else None


def _start_next_generation(connection: Connection, pairs: Sequence[_Pair], rules: HistoryRules) -> None:
    """Close the listings of the old flats and insert those of the new ones."""
    closings = [
        {"of_id": old["id"], "closed_at": sighting.seen_at, "closed_reason": REUSED}
        for sighting, old in pairs
    ]
    _UPDATE.run(connection, closings)
    revisions.touch(connection, [old["id"] for _, old in pairs])
    end_events = [
        event(old["id"], "gone", sighting.seen_at, sighting.seen_at, REUSED)
        for sighting, old in pairs
        if is_ended_by_reuse(old["gone_at"], sighting.seen_at)
    ]
    note_events(connection, end_events)
    _insert_flats(connection, [(sighting, old["generation"] + 1) for sighting, old in pairs], rules)


def _note_returns(connection: Connection, sightings: Iterable[tuple[Stored, float]]) -> None:
    """Note the adverts that were gone and are back, of these seen at these moments."""
    note_returns(connection, {row["id"]: at for row, at in sightings if is_back(row, at)})


# Adverts that the portal says are not modified: the headers to ask with, and what the answer updates.


@dataclass(frozen=True, slots=True)
class SameAgain:
    """An advert that was requested and is not modified."""

    external_id: str
    at: float
    seconds: float | None = None


def validators(
    connection: Connection, site: str, external_ids: Sequence[str]
) -> Mapping[str, Mapping[str, str]]:
    """The headers that ask whether an advert was modified, by its id.

    There are none for an advert that sent no validator, nor for one whose price is in doubt or a card's, or
    that does not show a stored value: each of its visits counts, and must be whole.
    """
    query = select(listings.c.external_id, listings.c.etag, listings.c.last_modified).where(
        listings.c.site == site,
        listings.c.external_id.in_(external_ids),
        listings.c.closed_at.is_(None),
        listings.c.odd_visits == 0,
        listings.c.unseen.is_(None),
        listings.c.price_by_card.is_(False),
        or_(listings.c.etag.is_not(None), listings.c.last_modified.is_not(None)),
    )
    headers_of: dict[str, dict[str, str]] = {}
    for row in connection.execute(query):
        headers = {"If-None-Match": row.etag, "If-Modified-Since": row.last_modified}
        headers_of[row.external_id] = {name: value for name, value in headers.items() if value is not None}
    return headers_of


def save_unmodified(
    connection: Connection, site: str, same: Sequence[SameAgain], *, job_id: str, rules: HistoryRules
) -> int:
    """Store that these adverts were seen unchanged; returns how many of them are known."""
    if not same:
        return 0
    by_id = {advert.external_id: advert for advert in same}
    query = select(listings).where(
        listings.c.site == site, listings.c.external_id.in_(sorted(by_id)), listings.c.closed_at.is_(None)
    )
    rows = connection.execute(query.order_by(listings.c.id).with_for_update()).mappings().all()
    newer = [
        (row, by_id[row["external_id"]]) for row in rows if by_id[row["external_id"]].at > row["visited_at"]
    ]
    if newer:
        _UPDATE.run(connection, [visited(row, advert.at, UNCHANGED_STEP, rules) for row, advert in newer])
        visits = [
            {
                "site": site,
                "job_id": job_id,
                "fetched_at": advert.at,
                "verdict": "not_modified",
                "seconds": advert.seconds,
                "content_hash": row["content_hash"],
                "listing_id": row["id"],
                "result": "unchanged",
            }
            for row, advert in newer
        ]
        _INSERT_VISITS.run(connection, visits)
    _touch_in_new_year(connection, [(row, advert.at) for row, advert in newer])
    _note_returns(connection, [(row, advert.at) for row, advert in newer])
    return len(rows)


# Known prices of adverts, to be compared with what their pages say now.


class KnownPrice(NamedTuple):
    """The believed price of an advert, and its area."""

    price_eur: float | None
    area_sqm: float | None


_SELECT_PRICES = Quick(
    select(listings.c.external_id, listings.c.price_eur, listings.c.area_sqm).where(
        listings.c.site == bindparam("of_site"),
        listings.c.closed_at.is_(None),
        listings.c.opened_at.is_not(None),  # a card of the same run does not show how its pages are read
        listings.c.external_id.in_(bindparam("ids", expanding=True)),
    )
)


def known_prices(connection: Connection, site: str, external_ids: Sequence[str]) -> dict[str, KnownPrice]:
    """The prices of those of these adverts whose pages were read before."""
    if not external_ids:
        return {}
    rows = _SELECT_PRICES.rows(connection, {"of_site": site, "ids": sorted(set(external_ids))})
    return {external_id: KnownPrice(price_eur, area_sqm) for external_id, price_eur, area_sqm in rows}


# The log of requested pages: the result of each visit.

_LONGEST_KEY: Final = 500
_LONGEST_VERDICT: Final = 40


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that was requested and gave no advert: a search, a removed advert, a failure."""

    site: str
    url_key: str
    job_id: str | None
    fetched_at: float
    verdict: str
    seconds: float | None = None
    page_digest: str | None = None


def record_visits(connection: Connection, visits: Sequence[Visit]) -> None:
    """Store visits. Those that saw an advert are stored with its sighting."""
    rows = [
        asdict(visit) | {"url_key": visit.url_key[:_LONGEST_KEY], "verdict": visit.verdict[:_LONGEST_VERDICT]}
        for visit in visits
    ]
    _INSERT_VISITS.run(connection, rows)


def removed_since(connection: Connection, site: str, keys: Sequence[str], since: float) -> dict[str, float]:
    """Those of these pages that said since then that they are removed, with the first such moment."""
    first = func.min(scrape_history.c.fetched_at).label("first")
    query = (
        select(scrape_history.c.url_key, first)
        .where(
            scrape_history.c.site == site,
            scrape_history.c.url_key.in_(keys),
            scrape_history.c.listing_id.is_(None),  # which the index is limited to
            scrape_history.c.verdict == "removed",
            scrape_history.c.fetched_at >= since,
        )
        .group_by(scrape_history.c.url_key)
    )
    return {row.url_key: row.first for row in connection.execute(query)}
