"""Prices, areas and floors in all the spellings the portals use."""

import re
from dataclasses import dataclass
from functools import cache

from sale_sofia.listings.text import match_key, squeeze
from sale_sofia.listings.vocabulary import meanings, vocabulary

# Prices as the portals print them: either currency, either order, any separator, or words instead.

BGN_PER_EUR = 1.95583
_ROUNDING_LEVA = 1.0  # imoti.net and others print whole leva
_ROUNDING_EUR = 1.0

_AMOUNT = (  # up to 999 999 999 999: no property costs more, and longer numbers would end in infinity
    r"\d{1,3}(?: \d{3}){1,3}(?:[.,]\d{1,2})?|\d{1,3}(?:,\d{3}){1,3}(?:\.\d{1,2})?|\d{1,12}(?:[.,]\d{1,2})?"
)
_CURRENCY = r"€|eur|euro|евро|лв\.?|лева|bgn"
_PRICE = rf"(?:(?:{_AMOUNT}) ?(?:{_CURRENCY})|(?:{_CURRENCY}) ?(?:{_AMOUNT}))"
_PER_MONTH = r"(?: ?/ ?(?:месец|мес\.?)| на месец)?"
_VAT = r"(?: ?\(?(?:без|с)(?: вкл(?:\.|ючен[оа]?))? ддс\)?)?"
_NOTES = rf"{_PER_MONTH}{_VAT}{_PER_MONTH}"
_WHOLE = re.compile(
    rf"(?:(?:цена|наем):? ?)?(?P<first>{_PRICE}){_NOTES}"
    rf"(?:[ /,|()»]*(?P<second>{_PRICE}))? ?\)?{_NOTES}",
    re.IGNORECASE,
)
_PARTS = re.compile(rf"(?P<amount>{_AMOUNT})|(?P<currency>{_CURRENCY})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Money:
    """One price. `eur` is the printed sum, or the printed leva at the fixed rate."""

    eur: float
    bgn: float | None
    agrees: bool
    """False where both currencies are printed and are not the same sum."""


def parse_money(text: str) -> Money | None:
    """Parse a text that is one price, in one or both currencies; None for any other."""
    whole = _WHOLE.fullmatch(squeeze(text))
    if not whole:
        return None
    parts = [_read(part) for part in whole.group("first", "second") if part]
    sums = dict(parts)
    if len(sums) != len(parts) or not all(sums.values()):
        return None  # two sums in one currency, or a zero: not a price
    bgn = sums.get("bgn")
    eur = sums.get("eur", round((bgn or 0) / BGN_PER_EUR, 2))
    return Money(eur, bgn, agrees=bgn is None or abs(eur * BGN_PER_EUR - bgn) < _ROUNDING_LEVA)


def says_no_price(text: str) -> bool:
    """Whether the text is one of the portals' phrases for no price."""
    lines = [match_key(line) for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line in _no_price_words() for line in lines)


def same_sum(first: float, second: float) -> bool:
    """Whether sums are equal up to whole euros, as a page may round in one place and not in another."""
    return abs(first - second) <= _ROUNDING_EUR


def _read(part: str) -> tuple[str, float]:
    groups = {match.lastgroup: match[0] for match in _PARTS.finditer(part)}
    currency = "eur" if groups["currency"].lower() in {"€", "eur", "euro", "евро"} else "bgn"
    return currency, parse_number(groups["amount"])


def parse_number(text: str) -> float:
    """Parse a printed number: thousands by space or comma, decimals by point or comma."""
    digits = text.replace(" ", "")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        return float(digits.replace(",", ""))
    return float(digits.replace(",", "."))


@cache
def _no_price_words() -> frozenset[str]:
    return frozenset(match_key(word) for word in vocabulary()["no_price"])


_SQM_PER_DECARE = 1000
_DECARE_DECIMALS = 3
_SMALLEST_FIELD_SQM = 100  # no field that is sold has less
_AREA = re.compile(
    r"(?P<number>\d{1,3}(?: \d{3}){1,3}(?:[.,]\d+)?|\d{1,12}(?:[.,]\d+)?) ?"
    r"(?P<unit>кв\.? ?м(?:етра)?\.?|[mм] ?[2²]|дка\.?|декара)",
    re.IGNORECASE,
)
_THOUSANDS_OR_PARTS = re.compile(r"\d{1,3}[.,]\d{3}")
_LONGEST_COUNT = 9  # digits: more fit into no column, and nothing that is counted on a page has them
_ORDINAL = r"\d{1,2}(?: ?-? ?(?:ви|ри|ти|ми))?"
_FLOOR_WORD = r"(?: ?(?:ет\.?|етаж))?"
_FLOOR = re.compile(
    rf"(?:(?:ет\.?|етаж):? ?)?(?P<floor>{_ORDINAL}|[а-я]+){_FLOOR_WORD}(?: ?(?:от|/) ?(?P<total>\d{{1,2}}))?"
)
_HALF_FLOOR = re.compile(rf"(?P<floor>{_ORDINAL})? ?от ?(?P<total>\d{{1,2}})?")
"""The floor, or the storeys, left out: "от 6", "2 от"."""


def parse_area(text: str) -> float | None:
    """Parse a text that is one area, in square metres; None for any other."""
    match = _AREA.fullmatch(squeeze(text))
    if not match:
        return None
    number, in_decares = match["number"], match["unit"].lower().startswith("д")
    if _THOUSANDS_OR_PARTS.fullmatch(number) and not (in_decares and "." in number):
        return None  # 80,125 square metres: some portals separate thousands so, others decimals
    return parse_number(number) * (_SQM_PER_DECARE if in_decares else 1) or None


def parse_farmland(text: str) -> float | None:
    """Parse an area of farmland whose printed "кв. м" may be decares; None where it may be either.

    From a thousand on it is square metres. Below, three decimals are the square metres of a decare, and a
    fraction of a number too small for any field is in decares too. All else may be either.
    """
    match = _AREA.fullmatch(squeeze(text))
    if not match or match["unit"].lower().startswith("д"):
        return parse_area(text)
    number = match["number"].replace(" ", "").replace(",", ".")
    whole, _, decimals = number.partition(".")
    if int(whole) >= _SQM_PER_DECARE:
        return float(number)
    in_decares = len(decimals) == _DECARE_DECIMALS or (decimals and int(whole) < _SMALLEST_FIELD_SQM)
    return (round(float(number) * _SQM_PER_DECARE, 2) or None) if in_decares else None


def parse_count(text: str) -> int | None:
    """Parse a whole number, with or without spaces for thousands."""
    digits = squeeze(text).replace(" ", "")
    return int(digits) if digits.isdecimal() and len(digits) <= _LONGEST_COUNT else None


@dataclass(frozen=True, slots=True)
class FloorNumbers:
    """A floor and the storeys of its building; `bare` is a lone number, which for a house counts storeys."""

    floor: int | None
    total: int | None
    bare: bool = False


def parse_floor(text: str) -> FloorNumbers | None:
    """Parse a text that is one floor (0 is the ground floor, -1 the basement); None for any other."""
    key = match_key(text)
    if half := _half_floor(key):
        return half
    match = _FLOOR.fullmatch(key)
    floor = _storey(match["floor"]) if match else None
    if match is None or floor is None:
        return None
    total = int(match["total"]) if match["total"] else None
    if total is not None and (floor > total or not total):
        return None  # the eighth floor of five: one of the two is wrong, and nothing says which
    return FloorNumbers(floor, total, bare=squeeze(text).isdigit())


def _half_floor(key: str) -> FloorNumbers | None:
    match = _HALF_FLOOR.fullmatch(key)
    if not match or (match["floor"] is None) == (match["total"] is None):
        return None
    if match["floor"] is None:
        return FloorNumbers(None, int(match["total"])) if int(match["total"]) else None
    return FloorNumbers(_storey(match["floor"]), None)


def _storey(word: str) -> int | None:
    digits = re.match(r"\d+", word)
    floor: int | None = int(digits[0]) if digits else meanings("ground_floors").get(word)
    return floor
