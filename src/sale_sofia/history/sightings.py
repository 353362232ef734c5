"""A sighting of an advert, and the rows it leaves in the tables."""

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
STILL = Step("unchanged", {}, [], None)
"""Nothing but time has moved."""
INDEXED: Final = frozenset({"site", "external_id", "family_id", "neighbourhood"})
CARD: Final = "card"
"""The verdict of a visit that saw the advert on a page of results."""


@dataclass(frozen=True)
class Sighting:
    """An advert as it was on its page at one moment (seconds since 1970)."""

    listing: Listing
    seen_at: float
    job_id: str | None = None
    page_digest: str | None = None
    seconds: float | None = None
    """How long the portal took to answer."""
    etag: str | None = None
    last_modified: str | None = None
    held: bool = False
    """Whether its price says nothing: the portal's pages are not read as they are."""
    held_news: bool = False
    """Whether it is not new, should it be the first: its run does not read what adverts have."""
    held_gaps: bool = False
    """Whether what it does not show says nothing: the portal's pages are not read as they are."""
    card: bool = False
    """Whether it was seen on a page of results, which is then the page of `page_digest`."""

    @cached_property
    def key(self) -> Key:
        """What makes it this advert."""
        return self.listing.site, self.listing.external_id

    @cached_property
    def fields(self) -> Row:
        """The values to store."""
        return listing_fields(self.listing)

    @cached_property
    def content_hash(self) -> str:
        """Moves when the advert does; of a card it is another than of a page that says as little."""
        return content_hash(self.said if self.card else self.fields, card=self.card)

    def prepared(self) -> "Sighting":
        """The same, with all worked out that needs no database: best before the write lock is taken."""
        _ = self.content_hash
        return self

    @cached_property
    def unstored(self) -> Seen:
        """The same for the advert's timeline, before its visit has a number."""
        held = {"held": self.held, "held_gaps": self.held_gaps, "card": self.card}
        fields = self.said if self.card else self.fields
        return Seen(self.seen_at, self.content_hash, fields, 0, self.page_digest, **held)

    def under(self, visit_id: int) -> Seen:
        """The same under the number of its visit."""
        return self.unstored._replace(visit_id=visit_id)

    @cached_property
    def said(self) -> Row:
        """What it says, without what it says nothing of."""
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
    """The sighting as a visit of its page."""
    return {
        "site": sighting.listing.site,
        "url_key": listing_key(sighting.listing.external_id),
        "job_id": sighting.job_id,
        "fetched_at": sighting.seen_at,
        "verdict": CARD if sighting.card else "ok",
        "seconds": sighting.seconds,
        "content_hash": sighting.content_hash,
        "said": sighting.said if sighting.card else None,
        "page_digest": sighting.page_digest,
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
        "page_digest": sighting.page_digest,
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
    """How sure is what a listing says."""
    odd = Odd(row["odd_price_eur"], row["odd_visits"])
    return Doubts(odd, row["unseen"] or {}, row["opened_at"] is not None, row["price_by_card"])


def _believed(old: Stored, step: Step) -> Row:
    """What is believed, without what an advert's indexes are made of where it is as it was.

    A database writes an index anew for a column that it is given, whatever is in it.
    """
    believed = dict(step.fields)
    for name in INDEXED:
        if old[name] == believed[name]:
            del believed[name]
    return believed


def updated_by_card(sighting: Sighting, old: Stored, step: Step) -> Row:
    """Every value that is believed after a card; when to look at the page again is not for it to say."""
    opened = old["opened_at"] is not None
    return {
        **_believed(old, step),
        "of_id": old["id"],
        "content_hash": old["content_hash"] if opened else sighting.content_hash,
        "page_digest": old["page_digest"] if opened else sighting.page_digest,
        "last_seen_at": max(old["last_seen_at"], sighting.seen_at),
        "visited_at": sighting.seen_at,
        "revisit_at": old["revisit_at"] if opened else sighting.seen_at,
        "gone_at": None if is_back(old, sighting.seen_at) else old["gone_at"],
        "price_by_card": is_by_card(doubts_of(old), sighting.unstored, step),
    }


def updated(sighting: Sighting, old: Stored, step: Step, rules: HistoryRules) -> Row:
    """Every value that is believed, anew; after no step, only what moves without the advert changing."""
    if step is STILL:
        fields = {name: sighting.fields[name] for name in VOLATILE_FIELDS}
    else:
        new = old["opened_at"] is None
        fields = _believed(old, step) | {
            "content_hash": sighting.content_hash,
            "held_by": sighting.job_id if new and sighting.held_news else old["held_by"],
            "price_by_card": is_by_card(doubts_of(old), sighting.unstored, step),
        }
    return {
        **fields,
        **visited(old, sighting.seen_at, step, rules),
        "page_digest": sighting.page_digest,
        "odd_price_eur": step.odd.price_eur,
        "odd_visits": step.odd.visits,
        "unseen": step.unseen or None,
        "etag": sighting.etag,
        "last_modified": sighting.last_modified,
    }


def visited(old: Stored, at: float, step: Step, rules: HistoryRules) -> Row:
    """What a visit moves, whatever it saw."""
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
    """Whether an advert that was gone is there again."""
    return old["gone_at"] is not None and at > old["gone_at"]


def change_rows(listing_id: int, seen: Seen, step: Step) -> list[Row]:
    """One row for every field that is not what it was."""
    return [
        {"listing_id": listing_id, "visit_id": seen.visit_id, "seen_at": seen.at, **change._asdict()}
        for change in step.changes
    ]


def price_rows(listing_id: int, seen: Seen, step: Step) -> list[Row]:
    """One row if amount, currency or VAT are not what they were, and one for an earlier price in print."""
    point = {"listing_id": listing_id, "visit_id": seen.visit_id, "seen_at": seen.at}
    points = []
    if step.printed is not None:
        earlier = dict.fromkeys(PRICE_FIELDS) | {"price_eur": step.printed}
        points.append({**point, "kind": PRINTED_BEFORE, **earlier})
    if step.price is not None:
        points.append({**point, "kind": step.price, **{name: step.fields[name] for name in PRICE_FIELDS}})
    return points


# A sighting that comes after later ones: it is put in its place, and the history is worked out anew. What
# each visit saw is not stored whole. It is what the listing says now, with all later changes taken back,
# with the price that was not believed then, and without what was not shown: its visit keeps both.

_Rows = Sequence[RowMapping]
Marks = Mapping[str, Any]
"""What of a visit is held back: `held`, `held_type`, `held_gaps`."""
_SET_VISIT = update(scrape_history).where(scrape_history.c.id == bindparam("of_id"))


def save_late(connection: Connection, sighting: Sighting, rules: HistoryRules) -> bool:
    """Store what the advert's sightings, with this one in its place, mean together; whether that is new."""
    stored, seen = _read_advert(connection, sighting.key)
    if any((one.at, one.hash) == (sighting.seen_at, sighting.content_hash) for one in seen):
        return False
    # The same page read by a better reader takes the place of what was read before.
    page = (sighting.seen_at, sighting.page_digest)
    same = [one for one in seen if one.digest is not None and (one.at, one.digest) == page]
    replaced = [one for one in same if one.card == sighting.card]
    if replaced:
        visit_id = replaced[0].visit_id
    else:
        newest = next(row["id"] for row in reversed(stored) if row["closed_reason"] != WITHDRAWN)
        added = insert(scrape_history).values(visit_row(sighting, newest, "unchanged"))
        visit_id = int(connection.execute(added.returning(scrape_history.c.id)).scalar_one())
    kept = [one for one in seen if one not in replaced]
    held_gaps = sighting.held_gaps or any(one.held_gaps for one in replaced)
    own = sighting.under(visit_id)._replace(held_gaps=held_gaps)
    return _store_all(connection, stored, fold([*kept, own], rules), at=sighting.seen_at)


def work_out_anew(
    connection: Connection, key: Key, rules: HistoryRules, marks: Mapping[int, Marks], *, now: float
) -> bool:
    """Store what the advert's sightings mean when these visits are held back, or no longer are."""
    stored, before = _read_advert(connection, key)
    seen = [one._replace(**marks.get(one.visit_id, {})) for one in before]
    return _store_all(connection, stored, fold(seen, rules), at=now)


def withdrawn_adverts(connection: Connection, sightings: Sequence[Sighting]) -> set[Key]:
    """Of these adverts, those with a generation that has no history any more."""
    if not sightings:
        return set()
    ids = {sighting.listing.external_id for sighting in sightings}
    found = select(listings.c.site, listings.c.external_id).where(
        listings.c.external_id.in_(sorted(ids)), listings.c.closed_reason == WITHDRAWN
    )
    return {(row.site, row.external_id) for row in connection.execute(found)}


def _read_advert(connection: Connection, key: Key) -> tuple[_Rows, list[Seen]]:
    """The advert's listings by generation, which nobody else changes meanwhile, and all its sightings."""
    site, external_id = key
    chosen = select(listings).where(listings.c.site == site, listings.c.external_id == external_id)
    stored = connection.execute(chosen.order_by(listings.c.generation).with_for_update()).mappings().all()
    visits = select(scrape_history).where(
        scrape_history.c.site == site,
        scrape_history.c.url_key == listing_key(external_id),
        scrape_history.c.listing_id.is_not(None),
    )
    newest_first = sorted(
        connection.execute(visits).mappings(),
        key=lambda one: in_order(one["fetched_at"], one["content_hash"] or "", card=one["verdict"] == CARD),
        reverse=True,
    )
    live = [row for row in stored if row["closed_reason"] != WITHDRAWN]
    changes = _history(connection, listing_changes, [row["id"] for row in live])
    seen: list[Seen] = []
    for row in live:
        own = [visit for visit in newest_first if visit["listing_id"] == row["id"]]
        seen += _undone(row, own, [change for change in changes if change["listing_id"] == row["id"]])
    return stored, seen


def _undone(row: RowMapping, newest_first: _Rows, changes: _Rows) -> Iterator[Seen]:
    """What each visit saw, the newest first: the listing with the changes of later visits taken back."""
    fields = {name: row[name] for name in STORED_FIELDS}
    for visit in newest_first:
        card = visit["verdict"] == CARD
        saw = without_unseen(fields | (visit["odd"] or {}), visit["unseen"] or ())
        saw = visit["said"] if card else saw
        digest = visit["content_hash"] or content_hash(saw)
        held = {name: visit[name] for name in ("held", "held_type", "held_gaps")}
        yield Seen(visit["fetched_at"], digest, saw, visit["id"], visit["page_digest"], **held, card=card)
        back = {change["field"]: change["old"] for change in changes if change["visit_id"] == visit["id"]}
        fields = fields | back


def _store_all(
    connection: Connection, stored: _Rows, generations: Sequence[Generation], *, at: float
) -> bool:
    """Bring the rows of an advert to what its sightings mean; whether that is new."""
    if surplus := [row["id"] for row in stored[len(generations) :]]:
        # A listing's number is never taken back: others may know it. It only has no history any more.
        emptied = update(listings).where(listings.c.id.in_(surplus))
        connection.execute(emptied.values(closed_at=listings.c.first_seen_at, closed_reason=WITHDRAWN))
        touch(connection, surplus)
    ids = []
    for number, generation in enumerate(generations):
        if number < len(stored):
            row = stored[number]
            values = _values(generation, row, at)
            connection.execute(update(listings).where(listings.c.id == row["id"]).values(values))
            ids.append(int(row["id"]))
        else:
            added = insert(listings).values(**_values(generation, None, at), generation=number + 1)
            ids.append(int(connection.execute(added.returning(listings.c.id)).scalar_one()))
    touch(connection, ids)
    steps = [(own, *one) for own, generation in zip(ids, generations, strict=True) for one in generation.seen]
    visits = [
        {
            "of_id": seen.visit_id,
            "listing_id": own,
            "result": step.result,
            "content_hash": seen.hash,
            "odd": said_otherwise(seen, step),
            "unseen": sorted(step.unseen) or None,
            "held": seen.held,
            "held_type": seen.held_type,
            "held_gaps": seen.held_gaps,
        }
        for own, seen, step in steps
    ]
    connection.execute(_SET_VISIT, visits)
    ends = [
        event(own, "gone", generation.closed_at, at, REUSED)
        for own, generation in zip(ids, generations, strict=True)
        if generation.closed_at is not None
    ]
    everybody = sorted({*ids, *(row["id"] for row in stored)})
    corrected = [
        _correct(connection, listing_changes, everybody, [row for one in steps for row in change_rows(*one)]),
        _correct(connection, price_points, everybody, [row for one in steps for row in price_rows(*one)]),
        _correct(connection, market_events, everybody, ends),
    ]
    return any(corrected)


def _values(generation: Generation, row: RowMapping | None, at: float) -> Row:
    last, external_id = generation.last, generation.fields["external_id"]
    newest = generation.seen[-1][0].at
    opened = generation.opened_at is not None
    due = revisit_at(external_id, last.at, generation.interval, generation.odd)
    by_card = row is not None and generation.closed_at is None and row["last_seen_at"] > row["visited_at"]
    return {
        **generation.fields,
        "content_hash": last.hash,
        "first_seen_at": generation.seen[0][0].at,
        "last_seen_at": max(newest, row["last_seen_at"]) if row is not None and by_card else newest,
        "visited_at": newest,
        "opened_at": generation.opened_at,
        "price_by_card": generation.by_card,
        "page_digest": last.digest,
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
    """An open listing may be gone; one that was only now found to be another flat never was."""
    if row is None or row["closed_reason"] == WITHDRAWN or row["gone_at"] is None:
        return None
    gone_at = float(row["gone_at"])
    there_again = generation.closed_at is None and min(at, generation.seen[-1][0].at) > gone_at
    return None if there_again else gone_at


def _correct(connection: Connection, table: Table, ids: Sequence[int], wanted: Sequence[Row]) -> bool:
    """Rows that are right stay, whenever they were noted; whether any was not."""

    def plain(row: Mapping[str, Any]) -> Row:
        return {name: value for name, value in row.items() if name not in ("id", "noted_at")}

    there = [row for row in _history(connection, table, ids) if row.get("reason", REUSED) == REUSED]
    right = [plain(row) for row in wanted]
    stored = [plain(dict(row)) for row in there]
    wrong = [row["id"] for row, was in zip(there, stored, strict=True) if was not in right]
    missing = [row for row in wanted if plain(row) not in stored]
    if wrong:
        connection.execute(delete(table).where(table.c.id.in_(wrong)))
    if missing:
        connection.execute(insert(table), missing)
    return bool(wrong or missing)


def _history(connection: Connection, table: Table, ids: Sequence[int]) -> _Rows:
    chosen = select(table).where(table.c.listing_id.in_(ids)).order_by(table.c.id)
    return connection.execute(chosen).mappings().all()
