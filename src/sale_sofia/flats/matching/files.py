"""Matching adverts of a Parquet file without a database."""

import csv
import math
import re
import time
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats.matching.clustering import Bands, Matcher
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter, hashed_phone
from sale_sofia.flats.settings import ROWS_AT_ONCE
from sale_sofia.listings.places import SOFIA, find_neighbourhood
from sale_sofia.listings.text import squeeze
from sale_sofia.settings.files import atomic_write, load_arrow
from sale_sofia.settings.model import Settings

COLUMNS: Final = (
    "site", "listing_key", "price", "neighbourhood", "property_type", "area", "floor", "total_floors",
    "phone_hash", "agency_hash", "snippet",
)  # fmt: skip
_NUMBERS: Final = frozenset({"price", "area", "floor", "total_floors"})
_ROOMS: Final = {
    "едностаен": 1, "двустаен": 2, "тристаен": 3, "четиристаен": 4, "многостаен": 5, "мезонет": None,
}  # fmt: skip
_STOREYS: Final = re.compile(r"(?<!\d)(\d{1,2})-\w{2} ет\.?(?: от (\d{1,2})(?!\d))?")
_AREA: Final = re.compile(r"^(\d{2,4}) кв\.м")
_STREET: Final = re.compile(r"\d{2,4} кв\.м, ((?:ул|бул)\. [^,]{2,60}),")
_PROVINCE: Final = re.compile(r"(?:/|софийска).*$", re.DOTALL)


class AdvertsFileError(ValueError):
    """The file is not a table of adverts; the message says why."""


def read_adverts(path: Path) -> Iterator[dict[str, Any]]:
    """The adverts of the file, with the names of a listing's fields. The construction year is never read.

    Only some rows are in memory at a time.

    Raises:
        AdvertsFileError: there is no such file, or it is not such a table.
        ValueError: the package that reads such files is not installed.
    """
    return (_fields(row) for batch in _batches(path) for row in batch.to_pylist())


def _batches(path: Path) -> Iterator[Any]:
    arrow = load_arrow()
    types = [(name, arrow.float64() if name in _NUMBERS else arrow.string()) for name in COLUMNS]
    try:
        with arrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(COLUMNS)):
                yield batch.select(COLUMNS).cast(arrow.schema(types))
    except FileNotFoundError:
        raise AdvertsFileError(f"{path}: there is no such file") from None
    except (arrow.ArrowException, KeyError, ValueError, OSError) as error:
        first_line = str(error).partition("\n")[0]
        raise AdvertsFileError(
            f"{path}: not a Parquet table with the columns {', '.join(COLUMNS)} ({first_line})"
        ) from None


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    snippet = row["snippet"] or ""
    storeys, area, street = _STOREYS.search(snippet), _AREA.search(snippet), _STREET.match(snippet)
    floor, floors = _whole(row["floor"]), _whole(row["total_floors"])
    plain = squeeze(_PROVINCE.sub("", row["neighbourhood"] or "").strip('" '))
    neighbourhood = find_neighbourhood(plain) if plain else None
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
        "neighbourhood": (neighbourhood.name if neighbourhood else plain or None),
        "street": street and street[1],
        "seller_name": row["agency_hash"],
        "phones": (hashed_phone(b"", row["phone_hash"]),) if row["phone_hash"] else (),
        "description": snippet,
    }


def _whole(number: float | None) -> int | None:
    return None if number is None or not math.isfinite(number) else int(number)


# Matching a table of adverts from one file into pairs in another, without a database.


class PairsWritten(NamedTuple):
    """The result of matching a file, and how long each part took."""

    adverts: int
    pairs: int
    input_seconds: float
    matching_seconds: float
    output_seconds: float


def match_file(adverts_path: Path, pairs_path: Path, settings: Settings) -> PairsWritten:
    """Write every pair of adverts of one property as `site|listing_key`, header a,b; atomically."""
    started = time.perf_counter()
    names, adverts = _named_adverts(adverts_path)
    read = time.perf_counter()
    bands = Bands(settings.match_link_probability, settings.match_review_probability)
    matched = Matcher.of(bands).match(adverts)
    done = time.perf_counter()
    count = 0
    with (
        atomic_write(pairs_path) as unfinished,
        unfinished.open("x", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(("a", "b"))
        for first, second in pairs_of(matched.groups):
            writer.writerow((names[first], names[second]))
            count += 1
    return PairsWritten(len(names), count, read - started, done - read, time.perf_counter() - done)


def _named_adverts(path: Path) -> tuple[list[str], Adverts]:
    """What the pairs call each advert, and the adverts; nothing else of the file stays in memory."""
    names: list[str] = []

    def collect_names() -> Iterator[dict[str, Any]]:
        for row in read_adverts(path):
            names.append(f"{row['site']}|{row['external_id']}")
            yield row

    records = PropertyFingerprinter(b"").fingerprints(collect_names())
    return names, Adverts.of(range(len(names)), records)


def pairs_of(groups: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Every pair of adverts in one group, by their indexes."""
    order = np.argsort(groups, kind="stable")
    borders = np.flatnonzero(np.diff(groups[order])) + 1
    for members in np.split(order, borders):
        yield from combinations(members.tolist(), 2)
