"""A sighting of an advert, and the rows it leaves in the tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sale_sofia.config.history import HistoryRules
from sale_sofia.data.listing_rows import PRICE_FIELDS, VOLATILE_FIELDS, content_hash, listing_fields
from sale_sofia.data.timeline import Seen, Step, VisitResult, next_interval, revisit_at
from sale_sofia.listings.model import Listing

Key = tuple[str, str]
Row = dict[str, Any]
Stored = Mapping[Any, Any]
STILL = Step("unchanged", {}, [], None)
"""Nothing but time has moved."""


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

    @property
    def key(self) -> Key:
        """What makes it this advert."""
        return self.listing.site, self.listing.external_id

    @cached_property
    def fields(self) -> Row:
        """The values to store."""
        return listing_fields(self.listing)

    @cached_property
    def content_hash(self) -> str:
        """Moves when the advert does."""
        return content_hash(self.fields)

    def prepared(self) -> "Sighting":
        """The same, with all worked out that needs no database: best before the write lock is taken."""
        _ = self.content_hash
        return self

    def under(self, visit_id: int) -> Seen:
        """The same for the advert's timeline."""
        return Seen(self.seen_at, self.content_hash, self.fields, visit_id, self.page_digest, held=self.held)


def listing_key(external_id: str) -> str:
    """The key of an advert's page, however its address is spelled."""
    return f"listing:{external_id}"


def visit_row(
    sighting: Sighting, listing_id: int, result: VisitResult, odd: Row | None = None, verdict: str = "ok"
) -> Row:
    """The sighting as a visit of its page."""
    return {
        "site": sighting.listing.site,
        "url_key": listing_key(sighting.listing.external_id),
        "job_id": sighting.job_id,
        "fetched_at": sighting.seen_at,
        "verdict": verdict,
        "seconds": sighting.seconds,
        "content_hash": sighting.content_hash,
        "page_digest": sighting.page_digest,
        "listing_id": listing_id,
        "result": result,
        "odd": odd,
        "held": sighting.held,
    }


def new_row(sighting: Sighting, generation: int, first: Step, rules: HistoryRules) -> Row:
    """The row of a flat that was never seen before."""
    interval = rules.first_seconds
    return {
        **first.fields,
        "generation": generation,
        "content_hash": sighting.content_hash,
        "first_seen_at": sighting.seen_at,
        "last_seen_at": sighting.seen_at,
        "visited_at": sighting.seen_at,
        "page_digest": sighting.page_digest,
        "revisit_seconds": interval,
        "revisit_at": revisit_at(sighting.listing.external_id, sighting.seen_at, interval, first.odd),
        "odd_price_eur": first.odd.price_eur,
        "odd_visits": first.odd.visits,
        "etag": sighting.etag,
        "last_modified": sighting.last_modified,
        "held_by": sighting.job_id if sighting.held_news else None,
    }


def touch(sighting: Sighting, old: Stored, rules: HistoryRules) -> Row:
    """Only what moves without the advert changing."""
    return {**{name: sighting.fields[name] for name in VOLATILE_FIELDS}, **_seen(sighting, old, STILL, rules)}


def whole_update(sighting: Sighting, old: Stored, step: Step, rules: HistoryRules) -> Row:
    """Every value that is believed, anew."""
    return {**step.fields, "content_hash": sighting.content_hash, **_seen(sighting, old, step, rules)}


def _seen(sighting: Sighting, old: Stored, step: Step, rules: HistoryRules) -> Row:
    return {
        **visited(old, sighting.seen_at, step, rules),
        "page_digest": sighting.page_digest,
        "odd_price_eur": step.odd.price_eur,
        "odd_visits": step.odd.visits,
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
    """One row if amount, currency or VAT are not what they were."""
    if step.price is None:
        return []
    price = {name: step.fields[name] for name in PRICE_FIELDS}
    point = {"listing_id": listing_id, "visit_id": seen.visit_id, "seen_at": seen.at}
    return [{**point, "kind": step.price, **price}]
