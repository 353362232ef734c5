"""One property out of its adverts: for each fact who says so and since when, and who says otherwise."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sale_sofia.listings.model import compared

Row = Mapping[Any, Any]
View = dict[str, Any]

MERGED: Final = (
    "deal", "property_type", "rooms", "area_sqm", "area_net_sqm", "yard_sqm", "floor", "floors_total",
    "construction", "year_built", "under_construction", "act_status", "heating", "elevator", "furnishing",
    "condition", "orientation", "parking", "city", "district", "neighbourhood", "street", "metro_station",
    "metro_distance_m",
)  # fmt: skip
"""The facts of a flat. What belongs to an advert (its price, words, photos and seller) stays with it."""


class PropertyMerger:
    """Merges the adverts of one property. Nothing is averaged: every value is one that somebody printed."""

    def merge(self, property_id: int, adverts: Sequence[Row]) -> View:
        """The property: its facts, and its offers as printed."""
        return {
            "id": property_id,
            "fields": {name: told for name in MERGED if (told := self.field(name, adverts))},
            "offers": self.offers(adverts),
            "portals": sorted({row["site"] for row in adverts}),
            "first_seen_at": min(row["first_seen_at"] for row in adverts),
            "last_seen_at": max(row["last_seen_at"] for row in adverts),
        }

    def field(self, name: str, adverts: Sequence[Row]) -> View | None:
        """The value that most adverts print, of equally many the newest advert's, beside all others."""
        said: dict[str, list[Row]] = defaultdict(list)
        for row in adverts:
            if row[name] not in (None, [], ()):
                said[repr(compared(name, row[name]))].append(row)
        if not said:
            return None
        chosen, *others = sorted(
            said.values(), key=lambda rows: (len(rows), max(map(newness, rows))), reverse=True
        )
        return _told(name, chosen) | {"others": [_told(name, rows) for rows in others]}

    def offers(self, adverts: Sequence[Row]) -> list[View]:
        """Each advert with its price, the cheapest first; last those without one and those that are gone."""
        return [_offer(row) for row in sorted(adverts, key=offer_order)]


def is_offered(row: Row) -> bool:
    """Whether an advert is still there, as far as is known."""
    return row["gone_at"] is None and row["closed_at"] is None


def newness(row: Row) -> tuple[bool, int]:
    """Which of two adverts is believed: the one still offered, then the one that was found later.

    Not the one that was seen last: every crawl sees them in another order, and facts must not flip with it.
    """
    return is_offered(row), row["id"]


def _told(name: str, rows: Iterable[Row]) -> View:
    newest = max(rows, key=newness)
    return {
        "value": newest[name],
        "site": newest["site"],
        "listing_id": newest["id"],
        "seen_at": newest["last_seen_at"],
        "adverts": sorted(row["id"] for row in rows),
    }


def offer_order(row: Row) -> tuple[bool, bool, float, int]:
    """The cheapest first; last those without a price and those that are gone."""
    return not is_offered(row), row["price_eur"] is None, row["price_eur"] or 0.0, row["id"]


def _offer(row: Row) -> View:
    return {
        "listing_id": row["id"],
        "site": row["site"],
        "external_id": row["external_id"],
        "url": row["url"],
        "title": row["title"],
        "price_eur": row["price_eur"],
        "vat": row["vat"],
        "offered": is_offered(row),
        "opened": row["opened_at"] is not None,
        "copy_of": row["copy_of"] if row["opened_at"] is None else None,
        "seller_kind": row["seller_kind"],
        "seller_name": row["seller_name"],
        "phones": list(row["phones"]),
        "first_seen_at": row["first_seen_at"],
        "last_seen_at": row["last_seen_at"],
    }
