"""From an advert to its record: spellings normalised, texts hashed, nothing guessed."""

import hashlib
import hmac
import re
import secrets
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats import settings as fixed
from sale_sofia.listings.text import match_key
from sale_sofia.settings.files import read_yaml, write_new

# What the matcher knows of an advert: one fixed-size record, so that a million of them are plain arrays.

Array = NDArray[Any]

UNKNOWN_FLOOR: Final = -128
RECORD: Final = np.dtype(
    [
        ("identity", "u8"),  # the portal's own id
        ("site", "u8"),
        ("deal", "i1"),
        ("kind", "i1"),
        ("rooms", "i1"),
        ("floor", "i2"),
        ("floors", "i2"),
        ("year", "i2"),
        ("quarter", "u8"),
        ("area", "f8"),
        ("net_area", "f8"),
        ("price", "f8"),
        ("family", "u8"),
        ("agency", "u8"),
        ("phones", "u8", (fixed.PHONES_KEPT,)),
        ("references", "u8", (fixed.REFERENCES_KEPT,)),
        ("addresses", "u8", (fixed.ADDRESSES_KEPT,)),
        ("entrance", "u4"),
        ("flat", "u4"),
        ("photos", "u8", (fixed.PHOTOS_KEPT,)),
        ("pictures", "u8", (fixed.PICTURES_KEPT,)),
        ("text", "u4", (fixed.TEXT_SKETCH,)),
    ]
)
"""Zero is "not known" in every field but the floor (`UNKNOWN_FLOOR`), area and price (NaN)."""

_NAMES: Final = RECORD.names or ()


@dataclass(frozen=True, slots=True)
class Adverts:
    """Adverts in the order of their ids, a column for each field of their records."""

    ids: NDArray[np.int64]
    columns: Mapping[str, Array]

    @classmethod
    def of(cls, ids: Iterable[int], records: Array) -> "Adverts":
        """The adverts of these ids; records in the same order."""
        unordered = np.fromiter(ids, np.int64)
        order = _rising(unordered)
        return cls(unordered[order], {name: np.ascontiguousarray(records[name][order]) for name in _NAMES})

    @classmethod
    def of_bytes(cls, ids: Sequence[int], packed: Sequence[bytes]) -> "Adverts":
        """The adverts of records that were stored as bytes."""
        return cls.of(ids, np.frombuffer(b"".join(packed), RECORD))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def rows_of(self, ids: Array) -> NDArray[np.int64]:
        """The rows of these ids, which must all exist."""
        return np.searchsorted(self.ids, ids).astype(np.int64)

    def take(self, rows: Array) -> "Adverts":
        """The adverts of these rows, which must ascend."""
        return Adverts(self.ids[rows], {name: column[rows] for name, column in self.columns.items()})

    def with_changes(self, changed: "Adverts") -> "Adverts":
        """These adverts with the changed ones added, or replacing those of the same ids."""
        replaced = np.isin(self.ids, changed.ids)
        unchanged = ~replaced if replaced.any() else slice(None)
        ids = np.concatenate((self.ids[unchanged], changed.ids))
        order = _rising(ids)
        columns = {
            name: np.concatenate((column[unchanged], changed[name]))[order]
            for name, column in self.columns.items()
        }
        return Adverts(ids[order], columns)

    def packed(self) -> Array:
        """Their records again, in the order of the ids."""
        records = np.zeros(len(self), RECORD)
        for name, column in self.columns.items():
            records[name] = column
        return records


def _rising(ids: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """What sorts the ids; usually a plain slice, so that a million records are not moved."""
    return slice(None) if (np.diff(ids) > 0).all() else np.argsort(ids, kind="stable")


# How round a number is: equal round numbers say less than equal odd ones.

ROUND_AREAS: Final = ("ten", "five", "whole", "part")
_CHOSEN: Final = (0, 500)
_JUST_BELOW: Final = 900
ROUND_PRICES: Final = ("ten_thousand", "five_thousand", "thousand", "less")


def area_roundness(areas: Array) -> NDArray[np.int64]:
    """The index of each area in `ROUND_AREAS`."""
    return _coarsest(areas, (10, 5, 1))


def price_roundness(prices: Array) -> NDArray[np.int64]:
    """The index of each price in `ROUND_PRICES`."""
    return _coarsest(prices, (10_000, 5_000, 1_000))


def is_chosen_price(prices: Array) -> NDArray[np.bool_]:
    """Whether a seller chose the sum: 215 000, 214 500, 214 999. Others are an area times a price per metre.

    Flats above each other share computed prices, or nearly so; a chosen price is a flat's own.
    """
    rest = np.mod(prices, 1000)
    return np.asarray(np.isin(rest, _CHOSEN) | (rest >= _JUST_BELOW))


def _coarsest(values: Array, steps: tuple[int, ...]) -> NDArray[np.int64]:
    """The index of the first step that divides the value; `len(steps)` if none does."""
    found = np.full(len(values), len(steps), np.int64)
    for number in range(len(steps) - 1, -1, -1):
        found[np.mod(values, steps[number]) == 0] = number
    return found


# The words that matching needs: `words.yaml`, read once.


@dataclass(frozen=True, slots=True)
class MatchingWords:
    """Words that are no evidence, and how agencies and references are written."""

    kinds: Mapping[str, int]
    """Property types by the group that portals mix up; different groups are never one property."""
    stop_words: frozenset[str]
    shortest_photo_name: int
    firm_words: frozenset[str]
    """Words that the names of many agencies share."""
    sisters: tuple[frozenset[str], ...]
    """Agencies of one house, which share their references."""
    reference_patterns: tuple[re.Pattern[str], ...]
    own_portals: dict[str, str]
    """Portals of one agency, and the pattern of its reference in their URLs."""


@cache
def matching_words() -> MatchingWords:
    """The content of `words.yaml`."""
    text = resources.files(__package__).joinpath("words.yaml").read_text("utf-8")
    loaded = read_yaml(text)
    return MatchingWords(
        kinds={kind: number for number, group in enumerate(loaded["kinds"], 1) for kind in group},
        stop_words=frozenset(loaded["stop_words"]),
        shortest_photo_name=loaded["shortest_photo_name"],
        firm_words=frozenset(loaded["firm_words"]),
        sisters=tuple(map(frozenset, loaded["sisters"])),
        reference_patterns=tuple(map(re.compile, loaded["reference_patterns"])),
        own_portals=loaded["own_portals"],
    )


# The seller: an agency's name in one spelling.

_SIGNS: Final = re.compile(r"[\W_]+")
_REMEMBERED: Final = 65_536


@lru_cache(_REMEMBERED)
def agency_key(name: str | None, kind: str | None) -> str | None:
    """The name of an agency, the same for every portal; None for private people."""
    if not name or kind == "private":
        return None
    words = _SIGNS.sub(" ", match_key(name)).split()
    # Some names contain a phone, in parts, as on bazar.bg.
    spoken = [word for word in words if not (word.isdigit() and len(word) > 1)]
    own = [word for word in spoken if word not in matching_words().firm_words]
    return "".join(own or words) or None


def agency_of(row: Mapping[str, Any]) -> str | None:
    """The agency of an advert; on an agency's own portal always that agency."""
    agency = agency_key(row.get("seller_name"), row.get("seller_kind"))
    own_portal = row["site"] in matching_words().own_portals
    return agency_key(row["site"].replace(".bg", ""), None) if own_portal and not agency else agency


@lru_cache(_REMEMBERED)
def house_key(agency: str | None) -> str:
    """The house an agency belongs to: its own name, or the first of its sisters'."""
    sisters = next((house for house in matching_words().sisters if agency in house), None)
    return min(sisters) if sisters else agency or ""


# An agency's reference of a flat, from its words or from the URL on its own portal.

_NUMBER: Final = re.compile(r"\d{3}")


def references(row: Mapping[str, Any], agency: str | None, text: str) -> list[str]:
    """All references of an advert, from its words and its URL.

    A bare number is scoped to its agency; without an agency it is skipped.
    """
    words = matching_words()
    found: list[str] = []
    in_address = words.own_portals.get(row["site"])
    if in_address and (match := re.search(in_address, row.get("url") or "")):
        found.append(match[1])
    if _NUMBER.search(text):  # a quick test: most texts have none
        for pattern in words.reference_patterns:
            found += [match[1].upper() for match in pattern.finditer(text)]
    house = house_key(agency)
    scoped = (code if not code.isdigit() else f"{house}:{code}" if house else None for code in found)
    return list(dict.fromkeys(code for code in scoped if code))


Row = Mapping[Any, Any]
HASHED_PHONE: Final = "hmac:"
"""The prefix of a phone of which only the keyed hash is stored."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_DEALS: Final = {"sale": 1, "rent": 2}
_MOST_ROOMS: Final = 100
_MOST_FLOORS: Final = 120


class PropertyFingerprinter:
    """Makes records. Equal adverts give equal records on every machine with the same secret."""

    def __init__(self, secret: bytes) -> None:
        self._phone = lru_cache(_REMEMBERED)(lambda phone: phone_hash(secret, phone))

    def fingerprints(self, rows: Iterable[Row]) -> Array:
        """A record for each advert, in this order; the adverts are consumed as a stream."""
        return np.fromiter(map(self._record, rows), RECORD)

    def _record(self, row: Row) -> tuple[object, ...]:
        agency = agency_of(row)
        text = words_of(row)
        # Pictures count only in finished buildings; in others they show drawings
        return (
            _hash(f"{row['site']}|{row['external_id']}"),
            _hash(row["site"]),
            _DEALS.get(row.get("deal") or "", 0),
            matching_words().kinds.get(row.get("property_type") or "", 0),
            _within(row.get("rooms"), 0, _MOST_ROOMS, 0),
            _within(row.get("floor"), -10, _MOST_FLOORS, UNKNOWN_FLOOR),
            _within(row.get("floors_total"), 0, _MOST_FLOORS, 0),
            _within(row.get("year_built"), 0, 3000, 0),
            quarter_hash(row.get("city"), row.get("neighbourhood")),
            _area(row.get("area_sqm")),
            _area(row.get("area_net_sqm")),
            row.get("price_eur") or np.nan,
            _hash(_FAMILY_KIND.sub("", row.get("family_id") or "")),
            _hash(agency),
            _several(map(self._phone, row.get("phones") or ()), fixed.PHONES_KEPT),
            _several(map(_hash, references(row, agency, text)), fixed.REFERENCES_KEPT),
            _several(addresses(row, text), fixed.ADDRESSES_KEPT),
            *unit(text),
            _several(map(_hash, photo_names(row.get("photo_urls") or ())), fixed.PHOTOS_KEPT),
            _several(() if row.get("under_construction") else row.get("pictures") or (), fixed.PICTURES_KEPT),
            sketch(row.get("description")),
        )


def phone_hash(secret: bytes, phone: str) -> int:
    """A phone's keyed hash, the same for the phone and for the result of `hashed_phone`."""
    text = phone if phone.startswith(HASHED_PHONE) else hashed_phone(secret, phone)
    return int(text.removeprefix(HASHED_PHONE), 16)


def hashed_phone(secret: bytes, phone: str) -> str:
    """The form in which a phone that may not be stored is: equal phones stay equal, nobody can call them."""
    return HASHED_PHONE + hmac.new(secret, phone.encode(), "sha256").hexdigest()[:16]


@lru_cache(_REMEMBERED)
def quarter_hash(city: str | None, neighbourhood: str | None) -> int:
    """A quarter's number; zero where the advert names none."""
    return _hash(f"{city or ''}|{neighbourhood.casefold()}") if neighbourhood else 0


def photo_names(urls: Iterable[str]) -> list[str]:
    """The names of photo files that are long enough to be unique, unlike `1.jpg`."""
    return [name for name in map(_file_name, urls) if len(name) >= matching_words().shortest_photo_name]


def _file_name(url: str) -> str:
    """The file name without its ending; empty for an invalid URL, which must not stop matching."""
    try:
        return urlsplit(url).path.rpartition("/")[2].partition(".")[0]
    except ValueError:
        return ""


def sketch(text: str | None) -> Array:
    """The smallest hashes of the text's word triples, ascending, padded with zeros. Digits are ignored."""
    hashes = np.zeros(fixed.TEXT_SKETCH, "u4")
    stop = matching_words().stop_words
    spoken = _WORD.findall((text or "")[: fixed.TEXT_CHARACTERS].casefold())
    words = np.array([_word_number(word) for word in spoken if word not in stop], "u4")
    # A number for each three words in a row, none of them zero
    mixed = words[:-2] * _FIRST ^ words[1:-1] * _SECOND ^ words[2:]
    rising = np.sort((mixed ^ (mixed >> _HALF)) * _LAST | _ONE)
    is_new = np.ones(len(rising), bool)
    is_new[1:] = rising[1:] != rising[:-1]  # as np.unique, but in half the time for so few
    smallest = rising[is_new][: fixed.TEXT_SKETCH]
    hashes[: len(smallest)] = smallest
    return hashes


@lru_cache(_REMEMBERED)
def _word_number(word: str) -> int:
    return zlib.crc32(word.encode())


_FIRST, _SECOND, _LAST = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77), np.uint32(0x2C1B3C6D)
_HALF, _ONE = np.uint32(15), np.uint32(1)


_NOTHING: Final = np.zeros(
    max(
        fixed.PHONES_KEPT, fixed.REFERENCES_KEPT, fixed.ADDRESSES_KEPT, fixed.PHOTOS_KEPT, fixed.PICTURES_KEPT
    ),
    "u8",
)


def _several(hashes: Iterable[int], most: int) -> Array:
    """The smallest hashes, padded with zeros, so that their order makes no difference."""
    smallest = sorted(set(hashes))[:most]
    if not smallest:  # the usual case
        return _NOTHING[:most]
    column = np.zeros(most, "u8")
    column[: len(smallest)] = smallest
    return column


def _within(value: int | None, least: int, most: int, unknown: int) -> int:
    return value if value is not None and least <= value <= most else unknown


def _area(value: float | None) -> float:
    return min(value, fixed.LARGEST_AREA_SQM) if value else np.nan


_FAMILY_KIND: Final = re.compile(r"(?<=^[12])[a-z](?=\d{15}$)")
"""The letter of a family id for the kind of flat: an edited kind changes it, photos keep the old one."""


@lru_cache(_REMEMBERED)
def _hash(text: str | None) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) if text else 0


# The key for hashing phones: made once for an installation, readable only by its owner.


def load_secret(data_dir: Path) -> bytes:
    """The key of this installation, created on first use by one of any number of processes."""
    path = data_dir / fixed.SECRET_FILE
    if not path.exists():
        write_new(path, secrets.token_bytes(fixed.SECRET_BYTES))
    key = path.read_bytes()
    if len(key) != fixed.SECRET_BYTES:
        raise ValueError(f"{path}: not a key of {fixed.SECRET_BYTES} bytes; restore the file, or delete it")
    return key


# Where a flat is, down to its door: its street, house, entrance and number.
#
# Only what is written as an address counts. A street without a house is mostly one near by, and a text that
# names two flats says nothing about either.


_DIGIT: Final = re.compile(r"\d")
_STREETS: Final = ("ул.", "улица", "булевард", "Ул", "УЛ", "Бул", "БУЛ")
_BLOCKS: Final = ("бл.", "блок ", "Бл", "БЛ")
_ENTRANCES: Final = ("вх.", "вход ", "Вх", "ВХ")
_NUMBERS: Final = ("№", "номер", "Номер", "НОМЕР")
_STREET_BITS: Final = 32
DOOR_MASK: Final = (1 << _STREET_BITS) - 1
"""The bits of an address's number for the house; the others are for the street."""


class Unit(NamedTuple):
    """The entrance and flat in a house; zero is unknown."""

    entrance: int
    flat: int


@dataclass(frozen=True, slots=True)
class _Patterns:
    street: re.Pattern[str]
    """A street field of a portal: its name, and the house if given."""
    house: re.Pattern[str]
    """A street with its house in a text."""
    block: re.Pattern[str]
    entrance: re.Pattern[str]
    flat: re.Pattern[str]
    no_names: frozenset[str]
    """Words that are no street names, so that a number behind them is no house."""


@cache
def _patterns() -> _Patterns:
    loaded = read_yaml(resources.files(__package__).joinpath("words.yaml").read_text("utf-8"))["addresses"]
    no_names = frozenset(loaded.pop("no_names"))
    return _Patterns(**{name: re.compile(pattern) for name, pattern in loaded.items()}, no_names=no_names)


def addresses(row: Mapping[str, Any], text: str) -> set[int]:
    """The addresses of an advert, each a number of its street (high bits) and its house (low bits)."""
    patterns = _patterns()
    found: set[tuple[str, str]] = set()
    if (street := row.get("street")) and (match := patterns.street.match(street)):
        found.add((match[1], match[2] or ""))
    if _DIGIT.search(text):
        if _may_hold(text, _STREETS):
            found.update((match[1], match[2]) for match in patterns.house.finditer(text))
        if (quarter := row.get("neighbourhood")) and _may_hold(text, _BLOCKS):
            # Each quarter numbers its blocks anew.
            found.update((f"{quarter} блок", match[1]) for match in patterns.block.finditer(text))
    return {number for street, house in found if (number := _number(street, house))}


def unit(text: str) -> Unit:
    """The entrance and the flat of a text, if it names only one of each."""
    patterns = _patterns()
    entrances = patterns.entrance.finditer(text) if _may_hold(text, _ENTRANCES) else ()
    flats = patterns.flat.finditer(text) if _may_hold(text, _NUMBERS) else ()
    return Unit(_only(entrances), _only(flats))


def _may_hold(text: str, words: tuple[str, ...]) -> bool:
    """A quick test whether a pattern is worth trying; for most texts it is not."""
    return any(map(text.__contains__, words))


def words_of(row: Mapping[str, Any]) -> str:
    """The title and the part of the text that is read."""
    return f"{row.get('title') or ''}\n{(row.get('description') or '')[: fixed.TEXT_CHARACTERS]}"


@lru_cache(_REMEMBERED)
def _number(street: str, house: str) -> int:
    words = _SIGNS.sub(" ", match_key(street)).split()
    if not words or not _patterns().no_names.isdisjoint(words):
        return 0
    name = zlib.crc32(" ".join(words).encode()) | 1
    return name << _STREET_BITS | (_code(house) if house else 0)


def _only(matches: Iterable[re.Match[str]]) -> int:
    codes = {_code(match[1]) for match in matches}
    return codes.pop() if len(codes) == 1 else 0


def _code(text: str) -> int:
    return zlib.crc32(match_key(text).encode()) | 1
