"""A sighting of an advert, and the rows it leaves in the tables."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Table, bindparam, delete, insert, select, update

from sale_sofia.history.listing_rows import (
    PRICE_FIELDS,
    STORED_FIELDS,
    VOLATILE_FIELDS,
    content_hash,
    listing_fields,
    shortened,
)
from sale_sofia.history.market_events import REUSED, WITHDRAWN, event
from sale_sofia.history.revisions import touch
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import (
    PRINTED_BEFORE,
    listing_changes,
    listings,
    market_events,
    price_points,
    scrape_history,
)
from sale_sofia.history.timeline import (
    BLANK,
    Doubts,
    Generation,
    Odd,
    Seen,
    Step,
    Unseen,
    VisitResult,
    fold,
    in_order,
    is_by_card,
    next_interval,
    revisit_at,
    said_otherwise,
    without_unseen,
)
from sale_sofia.listings.model import Listing

Key = tuple[str, str]
Row = dict[str, Any]
Stored = Mapping[Any, Any]
UNCHANGED_STEP = Step("unchanged", {}, [], None)
"""The step of a visit that found the advert unchanged."""
INDEXED: Final = frozenset({"site", "external_id", "family_id", "neighbourhood"})
CARD: Final = "card"
"""The verdict of a visit that saw the advert on a page of results."""


@dataclass(frozen=True)
class Sighting:
    """An advert as seen at one moment (seconds since 1970), on its page or on a card."""

    listing: Listing
    seen_at: float
    job_id: str | None = None
    page_digest: str | None = None
    seconds: float | None = None
    """How long the portal took to answer."""
    etag: str | None = None
    last_modified: str | None = None
    held: bool = False
    """Whether its price is disregarded: the portal's pages are not read correctly."""
    held_news: bool = False
    """Whether a first sighting is not reported as new: its run does not read the required facts."""
    held_gaps: bool = False
    """Whether its missing values are disregarded: the portal's pages are not read correctly."""
    card: bool = False
    """Whether it was seen on a page of results, which is then the page of `page_digest`."""

    @property
    def key(self) -> Key:
        """The portal and the advert's id there."""
        return self.listing.site, self.listing.external_id

    @property
    def page(self) -> str | None:
        """The page it was seen on, by which a visit knows it again."""
        return None if self.page_digest is None else shortened(self.page_digest)

    @cached_property
    def fields(self) -> Row:
        """The values to store."""
        return listing_fields(self.listing)

    @cached_property
    def content_hash(self) -> str:
        """Changes when the advert does; a card's differs from that of a page that says the same."""
        return content_hash(self.said if self.card else self.fields, card=self.card)

    def prepared(self) -> "Sighting":
        """Compute what needs no database, best before the write lock is taken; returns itself."""
        _ = self.content_hash
        return self

    @cached_property
    def unstored(self) -> Seen:
        """The sighting for the advert's timeline, before its visit has an id."""
        flags = {"held": self.held, "held_gaps": self.held_gaps, "card": self.card}
        fields = self.said if self.card else self.fields
        return Seen(self.seen_at, self.content_hash, fields, 0, self.page, **flags)

    def under(self, visit_id: int) -> Seen:
        """The same with the id of its visit."""
        return self.unstored._replace(visit_id=visit_id)

    @cached_property
    def said(self) -> Row:
        """The values to store, without the empty ones."""
        return {name: value for name, value in self.fields.items() if value != BLANK[name]}


def listing_key(external_id: str) -> str:
    """The key of an advert's page, however its address is spelled."""
    return f"listing:{external_id}"


def visit_row(
    sighting: Sighting,
    listing_id: int,
    result: VisitResult,
    odd: Row | None = None,
    unseen: Unseen | None = None,
) -> Row:
    """The sighting as a row of `scrape_history`."""
    return {
        "site": sighting.listing.site,
        "job_id": sighting.job_id,
        "fetched_at": sighting.seen_at,
        "verdict": CARD if sighting.card else "ok",
        "seconds": sighting.seconds,
        "content_hash": sighting.content_hash,
        "said": sighting.said if sighting.card else None,
        "page_digest": sighting.page,
        "listing_id": listing_id,
        "result": result,
        "odd": odd,
        "unseen": sorted(unseen or ()) or None,
        "held": sighting.held,
        "held_gaps": sighting.held_gaps,
    }


def new_row(sighting: Sighting, generation: int, first: Step, rules: HistoryRules) -> Row:
    """The row of a flat that was never seen before."""
    interval = rules.first_seconds
    due = revisit_at(sighting.listing.external_id, sighting.seen_at, interval, first.odd)
    return {
        **first.fields,
        "generation": generation,
        "content_hash": sighting.content_hash,
        "first_seen_at": sighting.seen_at,
        "last_seen_at": sighting.seen_at,
        "visited_at": sighting.seen_at,
        "revisit_seconds": interval,
        "revisit_at": sighting.seen_at if sighting.card else due,
        "opened_at": None if sighting.card else sighting.seen_at,
        "price_by_card": sighting.card and first.price is not None,
        "odd_price_eur": first.odd.price_eur,
        "odd_visits": first.odd.visits,
        "etag": sighting.etag,
        "last_modified": sighting.last_modified,
        "held_by": sighting.job_id if sighting.held_news else None,
    }


def doubts_of(row: Stored) -> Doubts:
    """How certain the values of a listing are."""
    odd = Odd(row["odd_price_eur"], row["odd_visits"])
    return Doubts(odd, row["unseen"] or {}, row["opened_at"] is not None, row["price_by_card"])


def _fields_to_write(old: Stored, step: Step) -> Row:
    """The believed values, without the indexed columns that are unchanged.

    A database rewrites the index of a column that it is given, even if the value is the same.
    """
    fields = dict(step.fields)
    for name in INDEXED:
        if old[name] == fields[name]:
            del fields[name]
    return fields


def updated_by_card(sighting: Sighting, old: Stored, step: Step) -> Row:
    """The listing's values after a card, which does not move the next visit of an opened advert."""
    opened = old["opened_at"] is not None
    return {
        **_fields_to_write(old, step),
        "of_id": old["id"],
        "content_hash": old["content_hash"] if opened else sighting.content_hash,
        "last_seen_at": max(old["last_seen_at"], sighting.seen_at),
        "visited_at": sighting.seen_at,
        "revisit_at": old["revisit_at"] if opened else sighting.seen_at,
        "gone_at": None if is_back(old, sighting.seen_at) else old["gone_at"],
        "price_by_card": is_by_card(doubts_of(old), sighting.unstored, step),
    }


def updated(sighting: Sighting, old: Stored, step: Step, rules: HistoryRules) -> Row:
    """The listing's values after its page; for `UNCHANGED_STEP`, of its fields only the volatile ones."""
    if step is UNCHANGED_STEP:
        fields = {name: sighting.fields[name] for name in VOLATILE_FIELDS}
    else:
        is_first_read = old["opened_at"] is None
        fields = _fields_to_write(old, step) | {
            "content_hash": sighting.content_hash,
            "held_by": sighting.job_id if is_first_read and sighting.held_news else old["held_by"],
            "price_by_card": is_by_card(doubts_of(old), sighting.unstored, step),
        }
    return {
        **fields,
        **visited(old, sighting.seen_at, step, rules),
        "odd_price_eur": step.odd.price_eur,
        "odd_visits": step.odd.visits,
        "unseen": step.unseen or None,
        "etag": sighting.etag,
        "last_modified": sighting.last_modified,
    }


def visited(old: Stored, at: float, step: Step, rules: HistoryRules) -> Row:
    """The values that every visit of the page updates, whatever it saw."""
    interval = next_interval(old["revisit_seconds"], step.result, rules)
    return {
        "of_id": old["id"],
        "last_seen_at": max(old["last_seen_at"], at),
        "visited_at": at,
        "opened_at": at,
        "consecutive_unchanged": old["consecutive_unchanged"] + 1 if step.result == "unchanged" else 0,
        "revisit_seconds": interval,
        "revisit_at": revisit_at(old["external_id"], at, interval, step.odd),
        "gone_at": None if is_back(old, at) else old["gone_at"],
    }


def is_back(old: Stored, at: float) -> bool:
    """Whether an advert that was gone is seen again."""
    return old["gone_at"] is not None and at > old["gone_at"]


def is_another_year(old: Stored, at: float) -> bool:
    """Whether an advert was last seen in another year than this moment's."""
    return time.gmtime(at).tm_year != time.gmtime(old["last_seen_at"]).tm_year


def is_ended_by_reuse(gone_at: float | None, closed_at: float) -> bool:
    """Whether a flat left the market when its advert's id was reused; False if it was gone before."""
    return gone_at is None or gone_at >= closed_at


def change_rows(listing_id: int, seen: Seen, step: Step) -> list[Row]:
    """One row for every changed field."""
    return [
        {"listing_id": listing_id, "visit_id": seen.visit_id, "seen_at": seen.at, **change._asdict()}
        for change in step.changes
    ]


def price_rows(listing_id: int, seen: Seen, step: Step) -> list[Row]:
    """One row if amount, currency or VAT changed, and one for an earlier price that is printed."""
    point = {"listing_id": listing_id, "visit_id": seen.visit_id, "seen_at": seen.at}
    points = []
    if step.printed is not None:
        earlier = dict.fromkeys(PRICE_FIELDS) | {"price_eur": step.printed}
        points.append({**point, "kind": PRINTED_BEFORE, **earlier})
    if step.price is not None:
        points.append({**point, "kind": step.price, **{name: step.fields[name] for name in PRICE_FIELDS}})
    return points


# A late sighting is put in its place in time, and the history is recomputed. What each visit saw is not
# stored whole: it is the listing as it is now, with all later changes undone, with the price that was not
# believed, and without the values that were not shown. Its visit stores both.

_Rows = Sequence[RowMapping]
Marks = Mapping[str, Any]
"""What is held back of a visit: `held`, `held_type`, `held_gaps`."""
_UPDATE_VISIT = update(scrape_history).where(scrape_history.c.id == bindparam("of_id"))


def save_late(connection: Connection, sighting: Sighting, rules: HistoryRules) -> bool:
    """Recompute the advert's history with this sighting in its place, unless it is stored already.

    Returns whether that adds or removes a change, a price or a market event.
    """
    rows, sightings = _read_advert(connection, sighting.key)
    if any((seen.at, seen.hash) == (sighting.seen_at, sighting.content_hash) for seen in sightings):
        return False
    # The same page from a better reader replaces what was read before.
    page_key = (sighting.seen_at, sighting.page)
    same_page = [seen for seen in sightings if seen.digest is not None and (seen.at, seen.digest) == page_key]
    replaced = [seen for seen in same_page if seen.card == sighting.card]
    if replaced:
        visit_id = replaced[0].visit_id
    else:
        newest_id = next(row["id"] for row in reversed(rows) if row["closed_reason"] != WITHDRAWN)
        insertion = insert(scrape_history).values(visit_row(sighting, newest_id, "unchanged"))
        visit_id = int(connection.execute(insertion.returning(scrape_history.c.id)).scalar_one())
    others = [seen for seen in sightings if seen not in replaced]
    held_gaps = sighting.held_gaps or any(seen.held_gaps for seen in replaced)
    new = sighting.under(visit_id)._replace(held_gaps=held_gaps)
    return _store_generations(connection, rows, fold([*others, new], rules), at=sighting.seen_at)


def work_out_anew(
    connection: Connection, key: Key, rules: HistoryRules, marks: Mapping[int, Marks], *, now: float
) -> bool:
    """Recompute the advert's history with these marks, by visit id; returns the same as `save_late`."""
    rows, sightings = _read_advert(connection, key)
    marked = [seen._replace(**marks.get(seen.visit_id, {})) for seen in sightings]
    return _store_generations(connection, rows, fold(marked, rules), at=now)


def withdrawn_adverts(connection: Connection, sightings: Sequence[Sighting]) -> set[Key]:
    """Those of these adverts that have a withdrawn generation: one without a history."""
    if not sightings:
        return set()
    ids = {sighting.listing.external_id for sighting in sightings}
    query = select(listings.c.site, listings.c.external_id).where(
        listings.c.external_id.in_(sorted(ids)), listings.c.closed_reason == WITHDRAWN
    )
    return {(row.site, row.external_id) for row in connection.execute(query)}


def _read_advert(connection: Connection, key: Key) -> tuple[_Rows, list[Seen]]:
    """The advert's listings by generation, locked against other writers, and all its sightings."""
    site, external_id = key
    query = select(listings).where(listings.c.site == site, listings.c.external_id == external_id)
    rows = connection.execute(query.order_by(listings.c.generation).with_for_update()).mappings().all()
    live_rows = [row for row in rows if row["closed_reason"] != WITHDRAWN]
    live_ids = [row["id"] for row in live_rows]
    newest_first = sorted(
        _select_rows(connection, scrape_history, live_ids),
        key=lambda row: in_order(row["fetched_at"], row["content_hash"] or "", card=row["verdict"] == CARD),
        reverse=True,
    )
    changes = _select_rows(connection, listing_changes, live_ids)
    sightings: list[Seen] = []
    for row in live_rows:
        visits = [visit for visit in newest_first if visit["listing_id"] == row["id"]]
        sightings += _restore_sightings(
            row, visits, [change for change in changes if change["listing_id"] == row["id"]]
        )
    return rows, sightings


def _restore_sightings(row: RowMapping, newest_first: _Rows, changes: _Rows) -> Iterator[Seen]:
    """What each visit saw, the newest first: the listing with the changes of later visits undone."""
    fields = {name: row[name] for name in STORED_FIELDS}
    for visit in newest_first:
        card = visit["verdict"] == CARD
        shown = without_unseen(fields | (visit["odd"] or {}), visit["unseen"] or ())
        shown = visit["said"] if card else shown
        digest = visit["content_hash"] or content_hash(shown)
        marks = {name: visit[name] for name in ("held", "held_type", "held_gaps")}
        yield Seen(visit["fetched_at"], digest, shown, visit["id"], visit["page_digest"], **marks, card=card)
        old = {change["field"]: change["old"] for change in changes if change["visit_id"] == visit["id"]}
        fields = fields | old


def _store_generations(
    connection: Connection, rows: _Rows, generations: Sequence[Generation], *, at: float
) -> bool:
    """Make the advert's rows match its generations; returns the same as `save_late`."""
    if surplus := [row["id"] for row in rows[len(generations) :]]:
        # A listing is never deleted, since others may hold its id: it only loses its history.
        withdrawal = update(listings).where(listings.c.id.in_(surplus))
        connection.execute(withdrawal.values(closed_at=listings.c.first_seen_at, closed_reason=WITHDRAWN))
        touch(connection, surplus)
    row_of = {row["id"]: row for row in rows}
    ids = []
    for number, generation in enumerate(generations):
        if number < len(rows):
            row = rows[number]
            values = _row_values(generation, row, at)
            connection.execute(update(listings).where(listings.c.id == row["id"]).values(values))
            ids.append(int(row["id"]))
        else:
            insertion = insert(listings).values(**_row_values(generation, None, at), generation=number + 1)
            ids.append(int(connection.execute(insertion.returning(listings.c.id)).scalar_one()))
    touch(connection, ids)
    steps = [
        (listing_id, *entry)
        for listing_id, generation in zip(ids, generations, strict=True)
        for entry in generation.seen
    ]
    visits = [
        {
            "of_id": seen.visit_id,
            "listing_id": listing_id,
            "result": step.result,
            "content_hash": seen.hash,
            "odd": said_otherwise(seen, step),
            "unseen": sorted(step.unseen) or None,
            "held": seen.held,
            "held_type": seen.held_type,
            "held_gaps": seen.held_gaps,
        }
        for listing_id, seen, step in steps
    ]
    connection.execute(_UPDATE_VISIT, visits)
    end_events = [
        event(listing_id, "gone", generation.closed_at, at, REUSED)
        for listing_id, generation in zip(ids, generations, strict=True)
        if generation.closed_at is not None
        and is_ended_by_reuse(_gone_at(generation, row_of.get(listing_id), at), generation.closed_at)
    ]
    all_ids = sorted({*ids, *(row["id"] for row in rows)})
    corrected = [
        _correct(
            connection, listing_changes, all_ids, [row for entry in steps for row in change_rows(*entry)]
        ),
        _correct(connection, price_points, all_ids, [row for entry in steps for row in price_rows(*entry)]),
        _correct(connection, market_events, all_ids, end_events),
    ]
    return any(corrected)


def _row_values(generation: Generation, row: RowMapping | None, at: float) -> Row:
    last, external_id = generation.last, generation.fields["external_id"]
    newest = generation.seen[-1][0].at
    opened = generation.opened_at is not None
    due = revisit_at(external_id, last.at, generation.interval, generation.odd)
    on_card = row is not None and generation.closed_at is None and row["last_seen_at"] > row["visited_at"]
    # What is stored is not what the page says: its next visit must be whole, and compared with that.
    unlike_page = {"content_hash": content_hash(generation.fields), "etag": None, "last_modified": None}
    return {
        **generation.fields,
        **(unlike_page if last.held_type else {"content_hash": last.hash}),
        "first_seen_at": generation.seen[0][0].at,
        "last_seen_at": max(newest, row["last_seen_at"]) if row is not None and on_card else newest,
        "visited_at": newest,
        "opened_at": generation.opened_at,
        "price_by_card": generation.by_card,
        "consecutive_unchanged": generation.unchanged,
        "revisit_seconds": generation.interval,
        "revisit_at": due if opened else last.at,
        "odd_price_eur": generation.odd.price_eur,
        "odd_visits": generation.odd.visits,
        "unseen": generation.unseen or None,
        "gone_at": _gone_at(generation, row, at),
        "closed_at": generation.closed_at,
        "closed_reason": None if generation.closed_at is None else REUSED,
    }


def _gone_at(generation: Generation, row: RowMapping | None, at: float) -> float | None:
    """When the listing was gone; None if it is new, was withdrawn, or was seen again since."""
    if row is None or row["closed_reason"] == WITHDRAWN or row["gone_at"] is None:
        return None
    gone_at = float(row["gone_at"])
    seen_again = generation.closed_at is None and min(at, generation.seen[-1][0].at) > gone_at
    return None if seen_again else gone_at


def _correct(connection: Connection, table: Table, ids: Sequence[int], right_rows: Sequence[Row]) -> bool:
    """Delete wrong rows and add missing ones; right ones stay. Returns whether any was wrong or missing."""

    def plain(row: Mapping[str, Any]) -> Row:
        return {name: value for name, value in row.items() if name not in ("id", "noted_at")}

    stored_rows = [row for row in _select_rows(connection, table, ids) if row.get("reason", REUSED) == REUSED]
    right = [plain(row) for row in right_rows]
    stored = [plain(dict(row)) for row in stored_rows]
    wrong = [row["id"] for row, values in zip(stored_rows, stored, strict=True) if values not in right]
    missing = [row for row in right_rows if plain(row) not in stored]
    if wrong:
        connection.execute(delete(table).where(table.c.id.in_(wrong)))
    if missing:
        connection.execute(insert(table), missing)
    return bool(wrong or missing)


def _select_rows(connection: Connection, table: Table, ids: Sequence[int]) -> _Rows:
    query = select(table).where(table.c.listing_id.in_(ids)).order_by(table.c.id)
    return connection.execute(query).mappings().all()
