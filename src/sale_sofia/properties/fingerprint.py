"""From an advert to its record: every spelling settled, every text a hash, nothing guessed."""

import hashlib
import hmac
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from sale_sofia.config.matching import (
    LARGEST_AREA_SQM,
    PHONES_KEPT,
    PHOTOS_KEPT,
    REFERENCES_KEPT,
    ROWS_AT_ONCE,
    TEXT_CHARACTERS,
    TEXT_SKETCH,
)
from sale_sofia.properties.records import RECORD, UNKNOWN_FLOOR, Array
from sale_sofia.properties.references import references
from sale_sofia.properties.sellers import agency_of
from sale_sofia.properties.vocabulary import matching_words

Row = Mapping[Any, Any]
HASHED_PHONE: Final = "hmac:"
"""What stands before a phone of which only the keyed hash was kept."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_DEALS: Final = {"sale": 1, "rent": 2}
_MOST_ROOMS: Final = 100
_MOST_FLOORS: Final = 120
_REMEMBERED: Final = 65_536


class PropertyFingerprinter:
    """Makes records. Equal adverts give equal records on every machine that has the same secret."""

    def __init__(self, secret: bytes) -> None:
        self._phone = lru_cache(_REMEMBERED)(lambda phone: phone_hash(secret, phone))

    def fingerprints(self, rows: Iterable[Row]) -> Array:
        """A record for each advert, in this order; the adverts themselves are let go of one by one."""
        parts = [np.zeros(0, RECORD)]
        waiting = iter(rows)
        while some := [self._record(row) for row in islice(waiting, ROWS_AT_ONCE)]:
            parts.append(np.array(some, RECORD))
        return np.concatenate(parts)

    def _record(self, row: Row) -> tuple[object, ...]:
        agency = agency_of(row)
        return (
            _hash(f"{row['site']}|{row['external_id']}"),
            _hash(row["site"]),
            _DEALS.get(row.get("deal") or "", 0),
            _kinds().get(row.get("property_type") or "", 0),
            _within(row.get("rooms"), 0, _MOST_ROOMS, 0),
            _within(row.get("floor"), -10, _MOST_FLOORS, UNKNOWN_FLOOR),
            _within(row.get("floors_total"), 0, _MOST_FLOORS, 0),
            _within(row.get("year_built"), 0, 3000, 0),
            quarter_hash(row.get("city"), row.get("neighbourhood")),
            _area(row.get("area_sqm")),
            _area(row.get("area_net_sqm")),
            row.get("price_eur") or np.nan,
            _hash(row.get("family_id")),
            _hash(agency),
            _several(row.get("phones") or (), self._phone, PHONES_KEPT),
            _several(references(row, agency), _hash, REFERENCES_KEPT),
            _several(photo_names(row.get("photo_urls") or ()), _hash, PHOTOS_KEPT),
            sketch(row.get("description")),
        )


def phone_hash(secret: bytes, phone: str) -> int:
    """A phone's keyed hash, the same for the phone itself and for what `hashed_phone` left of it."""
    text = phone if phone.startswith(HASHED_PHONE) else hashed_phone(secret, phone)
    return int(text.removeprefix(HASHED_PHONE), 16)


def hashed_phone(secret: bytes, phone: str) -> str:
    """What is kept of a phone that may not be kept: equal phones stay equal, nobody can call them."""
    return HASHED_PHONE + hmac.new(secret, phone.encode(), "sha256").hexdigest()[:16]


@lru_cache(_REMEMBERED)
def quarter_hash(city: str | None, neighbourhood: str | None) -> int:
    """A quarter's number; zero where the advert names none."""
    return _hash(f"{city or ''}|{neighbourhood.casefold()}") if neighbourhood else 0


def photo_names(urls: Iterable[str]) -> list[str]:
    """The names of photo files that are names: long enough not to be `1.jpg` on every portal."""
    return [name for name in map(_file_name, urls) if len(name) >= matching_words().shortest_photo_name]


def _file_name(url: str) -> str:
    """Without its ending; nothing where a page wrote what is no address: one such must not end matching."""
    try:
        return urlsplit(url).path.rpartition("/")[2].partition(".")[0]
    except ValueError:
        return ""


def sketch(text: str | None) -> Array:
    """The smallest hashes of the text's word triples, rising, zeros at the end. Digits say nothing here."""
    kept = np.zeros(TEXT_SKETCH, "u4")
    words = np.array(_word_numbers((text or "")[:TEXT_CHARACTERS]), "u4")
    smallest = np.unique(_triples(words))[:TEXT_SKETCH]
    kept[: len(smallest)] = smallest
    return kept


def _word_numbers(text: str) -> list[int]:
    stop = matching_words().stop_words
    return [_word_number(word) for word in _WORD.findall(text.casefold()) if word not in stop]


@lru_cache(_REMEMBERED)
def _word_number(word: str) -> int:
    return zlib.crc32(word.encode())


def _triples(words: Array) -> Array:
    """A number for each three words in a row, none of them zero."""
    mixed = words[:-2] * np.uint32(0x9E3779B1) ^ words[1:-1] * np.uint32(0x85EBCA77) ^ words[2:]
    return (mixed ^ (mixed >> np.uint32(15))) * np.uint32(0x2C1B3C6D) | np.uint32(1)


@cache
def _kinds() -> Mapping[str, int]:
    groups = matching_words().kinds
    return {kind: number for number, group in enumerate(groups, 1) for kind in group}


def _several(values: Iterable[str], number: Callable[[str], int], most: int) -> Array:
    """The smallest of their hashes, so that the order in which they are printed makes no difference."""
    kept = np.zeros(most, "u8")
    hashes = sorted({number(value) for value in values})[:most]
    kept[: len(hashes)] = hashes
    return kept


def _within(value: int | None, least: int, most: int, unknown: int) -> int:
    return value if value is not None and least <= value <= most else unknown


def _area(value: float | None) -> float:
    return min(value, LARGEST_AREA_SQM) if value else np.nan


@lru_cache(_REMEMBERED)
def _hash(text: str | None) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) if text else 0
