"""Adverts of a table in a file (Parquet), for matching without a database."""

import csv
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter, hashed_phone
from sale_sofia.flats.matching.links import Bands
from sale_sofia.flats.matching.matcher import Matched, Matcher
from sale_sofia.flats.settings import ROWS_AT_ONCE
from sale_sofia.listings.places import SOFIA, find_neighbourhood
from sale_sofia.listings.text import squeeze
from sale_sofia.settings.files import whole_or_not_at_all
from sale_sofia.settings.model import Settings

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


# Matching a table of adverts from one file into pairs in another, without a database.


class PairsWritten(NamedTuple):
    """What was done, and how long each part took."""

    adverts: int
    pairs: int
    input_seconds: float
    matching_seconds: float
    output_seconds: float


def match_file(adverts_path: Path, pairs_path: Path, settings: Settings) -> PairsWritten:
    """Write every two adverts of one property as `site|listing_key`, header a,b; whole or not at all."""
    started = time.perf_counter()
    names: list[str] = []
    records = PropertyFingerprinter(b"").fingerprints(_named(read_adverts(adverts_path), names))
    adverts = Adverts.of(range(len(names)), records)
    read = time.perf_counter()
    bands = Bands(settings.match_link_probability, settings.match_review_probability)
    matched = Matcher.of(bands).match(adverts)
    done = time.perf_counter()
    count = _write(pairs_path, names, matched)
    return PairsWritten(len(names), count, read - started, done - read, time.perf_counter() - done)


def pairs_of(matched: Matched) -> Iterator[tuple[int, int]]:
    """Every two adverts of one group, by their places."""
    order = np.argsort(matched.groups, kind="stable")
    borders = np.flatnonzero(np.diff(matched.groups[order])) + 1
    for members in np.split(order, borders):
        yield from combinations(members.tolist(), 2)


def _named(rows: Iterable[dict[str, Any]], names: list[str]) -> Iterator[dict[str, Any]]:
    """The rows as they come, and their names in the list."""
    for row in rows:
        names.append(f"{row['site']}|{row['external_id']}")
        yield row


def _write(path: Path, names: Sequence[str], matched: Matched) -> int:
    with whole_or_not_at_all(path) as unfinished, unfinished.open("x", encoding="utf-8", newline="") as file:
        return _write_rows(csv.writer(file), names, matched)


def _write_rows(writer: Any, names: Sequence[str], matched: Matched) -> int:  # noqa: ANN401 - csv has no name for it
    writer.writerow(("a", "b"))
    count = 0
    for count, (one, two) in enumerate(pairs_of(matched), 1):  # noqa: B007 - counted
        writer.writerow((names[one], names[two]))
    return count
