"""Adverts of a table in a file (Parquet), for matching without a database."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from sale_sofia.config.matching import ROWS_AT_ONCE
from sale_sofia.listings.places import SOFIA, find_neighbourhood
from sale_sofia.listings.text import squeeze
from sale_sofia.properties.fingerprint import hashed_phone

COLUMNS: Final = (
    "site", "listing_key", "price", "neighbourhood", "property_type", "area", "floor", "total_floors",
    "phone_hash", "agency_hash", "snippet",
)  # fmt: skip
_NUMBERS: Final = frozenset({"price", "area", "floor", "total_floors"})
_TYPES: Final = pa.schema([(name, pa.float64() if name in _NUMBERS else pa.string()) for name in COLUMNS])
_ROOMS: Final = {
    "едностаен": 1, "двустаен": 2, "тристаен": 3, "четиристаен": 4, "многостаен": 5, "мезонет": None,
}  # fmt: skip
_STOREYS: Final = re.compile(r"(?<!\d)(\d{1,2})-\w{2} ет\.?(?: от (\d{1,2})(?!\d))?")
_AREA: Final = re.compile(r"^(\d{2,4}) кв\.м")
_PROVINCE: Final = re.compile(r"(?:/|софийска).*$", re.DOTALL)


class AdvertsFileError(ValueError):
    """The file is no table of adverts; one sentence says why."""


def read_adverts(path: Path) -> Iterator[dict[str, Any]]:
    """The adverts of the file, with the names of a listing's fields. The construction year is never read."""
    return (_fields(row) for row in _rows(_table(path)))


def _table(path: Path) -> pa.Table:
    try:
        return pq.read_table(path, columns=list(COLUMNS)).cast(_TYPES)
    except FileNotFoundError:
        raise AdvertsFileError(f"{path}: there is no such file") from None
    except (pa.ArrowException, ValueError, OSError) as error:
        raise AdvertsFileError(
            f"{path}: not a Parquet table with the columns {', '.join(COLUMNS)} ({_first_line(error)})"
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _rows(table: pa.Table) -> Iterator[Mapping[str, Any]]:
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    snippet = row["snippet"] or ""
    storeys, area = _STOREYS.search(snippet), _AREA.search(snippet)
    floor, floors = _whole(row["floor"]), _whole(row["total_floors"])
    return {
        "site": row["site"],
        "external_id": row["listing_key"],
        "url": row["listing_key"],
        "deal": "sale",
        "property_type": "apartment",
        "rooms": _ROOMS.get(row["property_type"]),
        "price_eur": row["price"],
        "area_sqm": row["area"] or (float(area[1]) if area else None),
        "floor": floor if floor is not None else storeys and int(storeys[1]),
        "floors_total": floors or (storeys and storeys[2] and int(storeys[2])),
        "city": SOFIA,
        "neighbourhood": _neighbourhood(row["neighbourhood"]),
        "seller_name": row["agency_hash"],
        "phones": (hashed_phone(b"", row["phone_hash"]),) if row["phone_hash"] else (),
        "description": snippet,
    }


def _whole(number: float | None) -> int | None:
    return None if number is None or not math.isfinite(number) else int(number)


def _neighbourhood(name: str | None) -> str | None:
    plain = squeeze(_PROVINCE.sub("", name or "").strip('" '))
    found = find_neighbourhood(plain) if plain else None
    return found.name if found else plain or None
