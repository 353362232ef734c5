"""Adverts of flats, of which anything may be missing or contradicted, as crawls and matching store them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from random import Random
from typing import Any

from sqlalchemy import Connection, insert

from sale_sofia.descriptions.tables import description_disagreements, description_reads
from sale_sofia.flats.contradictions import OUTLYING, TEXT_FACTS
from sale_sofia.flats.tables import corrections, listing_sources, outliers, properties
from sale_sofia.history.tables import listings
from sale_sofia.storage.database import Database

NOW = 2_000_000_000.0
DAY = 86_400.0
PLACES = ("Лозенец", "Изток", "Младост 1", None)
DISTRICTS = ("Лозенец", "Изгрев", None)
CHOICES: dict[str, tuple[Any, ...]] = {
    "deal": ("sale", "sale", "sale", "rent", None),
    "property_type": ("apartment", "apartment", "studio", "garage", None),
    "city": ("София", "София", "София", "Варна", None),
    "neighbourhood": PLACES,
    "district": DISTRICTS,
    "rooms": (1, 2, 3, 6, None),
    "price_eur": (90_000.0, 120_000.0, 150_000.0, None),
    "vat": (None, "excluded", "included", "none"),
    "area_sqm": (50.0, 64.5, 80.0, None),
    "area_net_sqm": (44.0, 70.0, None, None),
    "floor": (-1, 0, 1, 5, None),
    "floors_total": (4, 8, None),
    "construction": ("brick", "panel", "epk", None),
    "year_built": (1978, 2015, 2026, None),
    "under_construction": (True, False, None),
    "act_status": ("before_act15", "act16", None, None),
    "condition": ("new", "renovated", "bare", None),
    "furnishing": ("furnished", "unfurnished", None),
    "elevator": (True, False, None),
    "metro_distance_m": (200, 900, None, None),
    "seller_kind": ("private", "agency", "developer", None),
    "site": ("imot.bg", "alo.bg", "bazar.bg"),
    "gone_at": (None, None, None, NOW - DAY, NOW - 60 * DAY),
    "closed_at": (None, None, None, NOW - DAY),
    "heating": (["district"], ["gas", "local"], []),
    "orientation": (["S"], ["W", "SE"], []),
    "parking": (["garage"], ["street"], []),
    "flags": ([], [], [], ["place_conflict"]),
    "description": ("Тиха улица до парка, две тераси.", "Светъл апартамент на юг.", None),
}
SAID = {
    "has_balcony": (True, False),
    "bathrooms": (1, 2),
    "metro_minutes": (4, 15),
    "rooms": (2, 3),
    "bedrooms": (2, 3),
    "floor": (1, 5),
    "area": (64.5, 80.0),
    "area_built": (44.5, 79),
    "year": (1978, 2015),
    "condition": ("renovated",),
}

CORRECTED = (
    ("floor", 2), ("rooms", 2), ("area_sqm", 64.5), ("year_built", 2015), ("construction", "brick"),
    ("price_eur", 120_000.0), ("deal", "sale"), ("seller_kind", "agency"), ("bathrooms", 2),
    ("condition", "new"), ("furnishing", "furnished"),
)  # fmt: skip


def fill(database: Database, rng: Random, flats: int) -> None:
    """So many flats with one to four adverts each; some adverts were never matched."""
    numbers = count(1)
    adverts = [[_advert(next(numbers), rng) for _ in range(rng.randint(1, 4))] for _ in range(flats)]
    rows = [row for flat in adverts for row in flat]
    matched = [flat for flat in adverts if rng.random() < 0.9]
    with database.write() as connection:
        connection.execute(insert(listings), rows)
        connection.execute(insert(properties), [{"id": flat[0]["id"], "made_at": 1.0} for flat in matched])
        connection.execute(insert(listing_sources), list(_sources(matched)))
        read = [_read(row["id"], rng) for row in rows if rng.random() < 0.5]
        connection.execute(insert(description_reads), read)
        _note(connection, [row["id"] for row in rows], rng)


def _note(connection: Connection, ids: list[int], rng: Random) -> None:
    """What changes, or takes away, what adverts print: texts that differ, the market, the buyer's word."""
    for number in rng.sample(ids, len(ids) // 4):
        differing = {"listing_id": number, "field": rng.choice(TEXT_FACTS), "quote": "", "seen_at": 1.0}
        connection.execute(insert(description_disagreements).values(differing))
    for number in rng.sample(ids, len(ids) // 10):
        code = rng.choice(sorted(OUTLYING))
        connection.execute(insert(outliers).values(listing_id=number, code=code, least=2_000, most=9_000))
    for number in rng.sample(ids, len(ids) // 10):
        fact, value = rng.choice(CORRECTED)
        said = {"property_id": number, "fact": fact, "value": value, "said_by": "anna", "said_at": 1.0}
        connection.execute(insert(corrections).values(said))


def _advert(number: int, rng: Random) -> dict[str, Any]:
    first = NOW - rng.randint(0, 100) * DAY
    chosen = {name: rng.choice(choices) for name, choices in CHOICES.items()}
    ends = [chosen[name] for name in ("gone_at", "closed_at") if chosen[name] is not None]
    return {
        **chosen,
        "id": number, "external_id": f"n{number}", "url": f"https://imot.bg/{number}", "title": "Апартамент",
        "phones": [], "photo_urls": [], "features": [], "content_hash": f"{number:064x}",
        "first_seen_at": first, "last_seen_at": max(first, min(ends, default=NOW)),
        "visited_at": NOW, "revisit_seconds": 1e5, "revisit_at": NOW,
        "posted_at": _posted(first, rng), "generation": rng.choice((1, 1, 1, 2)),
    }  # fmt: skip


def _posted(first: float, rng: Random) -> str | None:
    """Before it was seen, as a rule; sometimes at a moment that cannot be."""
    at = first - rng.choice((-5, 1, 30, 500, 20_000)) * DAY
    return rng.choice((None, datetime.fromtimestamp(at, UTC).isoformat()))


def _sources(matched: list[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for flat in matched:
        for row in flat:
            yield {
                "listing_id": row["id"], "property_id": flat[0]["id"], "probability": 1.0,
                "decided_by": "score", "evidence": {}, "decided_at": 1.0,
            }  # fmt: skip


def _read(number: int, rng: Random) -> dict[str, Any]:
    said = {
        name: {"value": rng.choice(choices), "status": "stated", "quote": "две спални", "method": "rules"}
        for name, choices in SAID.items()
        if rng.random() < 0.5
    }
    return {
        "listing_id": number, "content_hash": f"{number:064x}", "rules": "r", "attributes": said,
        "open_fields": [], "open_count": 0, "read_at": 1.0,
    }  # fmt: skip
