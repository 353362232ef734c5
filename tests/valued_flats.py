"""Flats with prices that follow a rule and some chance, for fair prices to be told of."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from sale_sofia.flats.flat import Flat
from sale_sofia.listings.model import Listing

PLACES = {
    "Лозенец": 3600, "Докторски паметник": 5000, "Младост 1": 2700, "Люлин 5": 1900, "Борово": 2900,
    "Надежда 1": 1800, "Овча купел": 2200,
}  # fmt: skip
"""EUR for each m²."""
CONDITIONS = {"needs_renovation": 0.85, "good": 1.0, "renovated": 1.1, None: 1.0}
NOISE = 0.12
ROOMS = {1: "едностаен", 2: "двустаен", 3: "тристаен", 4: "четиристаен", 5: "многостаен"}
Fields = dict[str, Any]


def some_fields(count: int, seed: int) -> list[Fields]:
    """The fields of so many adverts, no two of one flat."""
    rng = Random(seed)
    return [_fields(rng, number) for number in range(count)]


def _fields(rng: Random, number: int) -> Fields:
    place, area = rng.choice(list(PLACES)), round(rng.uniform(35, 160), 1)
    condition, floor = rng.choice(list(CONDITIONS)), rng.randint(0, 9)
    eur_sqm = PLACES[place] * CONDITIONS[condition] * (100 / area) ** 0.1 * (0.92 if floor == 0 else 1.0)
    return {
        "deal": "sale",
        "property_type": "apartment",
        "city": "София",
        "neighbourhood": place,
        "rooms": min(5, 1 + int(area // 35)),
        "area_sqm": area,
        "floor": floor,
        "floors_total": max(floor, rng.randint(4, 10)),
        "condition": condition,
        "year_built": rng.choice([1965, 1985, 2008, 2020]),
        "price_eur": round(eur_sqm * area * rng.lognormvariate(0, NOISE), 2) + number,
    }


def some_flats(count: int, seed: int = 1) -> list[Flat]:
    """So many flats, their ids from 1 on, seen now."""
    bare = Flat(0, (), offered=True, price_eur=None, vat=None, first_seen_at=0.0, last_seen_at=1.0)
    return [
        replace(bare, property_id=number, **fields)
        for number, fields in enumerate(some_fields(count, seed), 1)
    ]


def some_adverts(count: int, seed: int = 1) -> list[Listing]:
    """The same as adverts of a portal."""
    return [
        Listing.model_validate(
            {**fields, "site": "imot.bg", "external_id": f"v{number}", "url": f"https://imot.bg/v{number}"}
        )
        for number, fields in enumerate(some_fields(count, seed), 1)
    ]


def write_table(path: Path, count: int, seed: int) -> None:
    """The same as a Parquet table, as `match --adverts` and `value --adverts` read them."""
    rows = [_row(number, fields) for number, fields in enumerate(some_fields(count, seed))]
    pq.write_table(pa.Table.from_pylist(rows), path)


def _row(number: int, fields: Fields) -> Fields:
    return {
        "site": "imotbg",
        "listing_key": f"k{number}",
        "price": fields["price_eur"],
        "neighbourhood": fields["neighbourhood"].lower(),
        "property_type": ROOMS[fields["rooms"]],
        "area": fields["area_sqm"],
        "floor": fields["floor"],
        "total_floors": fields["floors_total"],
        "phone_hash": None,
        "agency_hash": None,
        "snippet": "Апартаментът е за основен ремонт." if fields["condition"] == "needs_renovation" else None,
    }
