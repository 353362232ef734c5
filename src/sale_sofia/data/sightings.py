"""A sighting of an advert, and the rows it leaves in the tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sale_sofia.data.listing_rows import (
    PRICE_FIELDS,
    VOLATILE_FIELDS,
    content_hash,
    detect_all_changes,
    listing_fields,
)
from sale_sofia.listings.model import Listing

Key = tuple[str, str]
Row = dict[str, Any]
Stored = Mapping[Any, Any]


@dataclass(frozen=True)
class Sighting:
    """An advert as it was on its page at one moment (seconds since 1970)."""

    listing: Listing
    seen_at: float
    job_id: str | None = None
    page_digest: str | None = None

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


def new_row(sighting: Sighting) -> Row:
    """The row of an advert that was never seen before."""
    return {
        **sighting.fields,
        "content_hash": sighting.content_hash,
        "first_seen_at": sighting.seen_at,
        "last_seen_at": sighting.seen_at,
        "page_digest": sighting.page_digest,
    }


def whole_update(sighting: Sighting, old: Stored) -> Row:
    """Every value anew."""
    return {**sighting.fields, "content_hash": sighting.content_hash, **_seen(sighting, old)}


def touch(sighting: Sighting, old: Stored) -> Row:
    """Only what moves without the advert changing."""
    return {**{name: sighting.fields[name] for name in VOLATILE_FIELDS}, **_seen(sighting, old)}


def change_rows(sighting: Sighting, old: Stored) -> list[Row]:
    """One row for every field that is not what it was."""
    return [
        {"listing_id": old["id"], "job_id": sighting.job_id, "seen_at": sighting.seen_at, **change._asdict()}
        for change in detect_all_changes(old, sighting.fields)
    ]


def price_rows(sighting: Sighting, old: Stored) -> list[Row]:
    """One row if amount, currency or VAT are not what they were."""
    if all(old[name] == sighting.fields[name] for name in PRICE_FIELDS):
        return []
    return [{"listing_id": old["id"], **_price(sighting)}]


def first_price_row(sighting: Sighting) -> Row:
    """The first price, of an advert whose row has no number yet."""
    site, external_id = sighting.key
    return {"of_site": site, "of_external_id": external_id, **_price(sighting)}


def _price(sighting: Sighting) -> Row:
    return {"seen_at": sighting.seen_at, **{name: sighting.fields[name] for name in PRICE_FIELDS}}


def _seen(sighting: Sighting, old: Stored) -> Row:
    return {
        "of_id": old["id"],
        "first_seen_at": min(old["first_seen_at"], sighting.seen_at),
        "last_seen_at": max(old["last_seen_at"], sighting.seen_at),
        "page_digest": sighting.page_digest,
    }
