"""Adverts in a database, as a crawl, the matching and the reading of descriptions leave them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any

from sqlalchemy import insert

from sale_sofia.descriptions.tables import description_reads
from sale_sofia.flats.tables import listing_sources, properties
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

SEED = 20261115
ROWS_AT_ONCE = 5_000
PLACES = tuple(f"квартал {number}" for number in range(120))
WINDS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
MANY_ADVERTS = 0.3
"""Share of the flats with two to five adverts."""


def fill(database: Database, adverts: int) -> int:
    """That many adverts; how many properties they are of."""
    initialize_database(database)
    rng = Random(SEED)
    numbers, count = iter(range(1, adverts + 1)), 0
    while flats := list(islice(_flats(rng, numbers), ROWS_AT_ONCE)):
        count += len(flats)
        with database.write() as connection:
            connection.execute(insert(listings), [row for flat in flats for row in flat])
            firsts = [{"id": flat[0]["id"], "made_at": 1.0} for flat in flats]
            connection.execute(insert(properties), firsts)
            connection.execute(insert(listing_sources), [one for flat in flats for one in _sources(flat)])
            read = [_read(row["id"], rng) for flat in flats for row in flat if rng.random() < 0.6]
            connection.execute(insert(description_reads), read)
            touch(connection, [row["id"] for flat in flats for row in flat])
    return count


def _flats(rng: Random, numbers: Iterator[int]) -> Iterator[Sequence[dict[str, Any]]]:
    """Each flat as the rows of its adverts."""
    while True:
        wanted = rng.randint(2, 5) if rng.random() < MANY_ADVERTS else 1
        ids = list(islice(numbers, wanted))
        if not ids:
            return
        flat = _flat(rng)
        yield [_advert(one, flat, rng) for one in ids]


def _flat(rng: Random) -> dict[str, Any]:
    rooms = rng.choice((1, 2, 2, 3, 3, 3, 4, 5))
    area = round(rng.gauss(28, 3) * rooms + 15)
    place = rng.randrange(len(PLACES))
    rent = rng.random() < 0.15
    price = round(area * rng.gauss(1400 + 15 * place, 250), -2)
    return {
        "deal": "rent" if rent else "sale", "property_type": "apartment", "rooms": rooms,
        "area_sqm": float(area), "price_eur": round(price / 280) if rent else price,
        "area_net_sqm": round(area * 0.86) if rng.random() < 0.4 else None, "city": "София",
        "neighbourhood": PLACES[place], "floor": rng.randint(0, 8), "floors_total": 8,
        "construction": rng.choice(("brick", "brick", "panel", "epk", None)),
        "year_built": rng.choice((None, 1965, 1985, 2008, 2024)), "heating": ["district"],
        "act_status": rng.choice((None, None, "act16", "before_act15")),
        "elevator": rng.choice((True, True, False, None)),
        "condition": rng.choice((None, "renovated", "needs_renovation", "new")),
        "orientation": rng.sample(WINDS, rng.randint(0, 2)), "parking": rng.choice(([], ["garage"])),
        "metro_distance_m": rng.choice((None, 300, 900)), "vat": rng.choice((None, None, "included")),
    }  # fmt: skip


def _advert(number: int, flat: dict[str, Any], rng: Random) -> dict[str, Any]:
    return {
        **flat, "id": number, "external_id": f"n{number}",
        "site": rng.choice(("imot.bg", "alo.bg", "olx.bg")),
        "price_eur": flat["price_eur"] * rng.choice((1, 1, 1.02)), "url": f"https://imot.bg/{number}",
        "title": "Апартамент", "description": "Слънчево жилище до парка. " * 20, "seller_kind": "agency",
        "phones": [], "photo_urls": [f"https://x/{number}/{one}.jpg" for one in range(8)],
        "features": rng.sample(("Асансьор", "Климатик", "Саниран", "Мазе"), 2), "flags": [],
        "content_hash": f"{number:064x}", "first_seen_at": float(number), "last_seen_at": 2e9,
        "visited_at": 2e9, "revisit_seconds": 1e5, "revisit_at": 2.1e9,
    }  # fmt: skip


def _sources(flat: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in flat:
        yield {
            "listing_id": row["id"], "property_id": flat[0]["id"], "probability": 1.0, "decided_by": "score",
            "evidence": {}, "decided_at": 1.0,
        }  # fmt: skip


def _read(listing_id: int, rng: Random) -> dict[str, Any]:
    said: dict[str, Any] = {
        "rooms": 3, "bedrooms": 2, "bathrooms": rng.choice((1, 2)), "has_balcony": True,
        "condition": "renovated", "storage": ["basement"], "metro_minutes": rng.randint(3, 20),
        "orientation": ["S", "E"],
    }  # fmt: skip
    said |= {"mortgage": True} if rng.random() < 0.02 else {}
    fields = {
        name: {"value": value, "status": "stated", "quote": "така е написано в обявата", "method": "rules"}
        for name, value in said.items()
    }
    return {
        "listing_id": listing_id, "content_hash": f"{listing_id:064x}", "rules": "r", "attributes": fields,
        "open_fields": [], "open_count": 0, "read_at": 1.0,
    }  # fmt: skip
