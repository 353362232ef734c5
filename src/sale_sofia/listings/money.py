"""Prices as the portals print them: either currency, either order, any separator, or words instead."""

import re
from dataclasses import dataclass
from functools import cache

from sale_sofia.listings.text import match_key, squeeze
from sale_sofia.listings.vocabulary import vocabulary

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
    """The price when the whole text is one price (in one or both currencies), otherwise nothing."""
    whole = _WHOLE.fullmatch(squeeze(text))
    if not whole:
        return None
    return _combine([_read(part) for part in whole.group("first", "second") if part])


def says_no_price(text: str) -> bool:
    """Whether the text is one of the portals' ways to name no price."""
    lines = [match_key(line) for line in text.splitlines() if line.strip()]
    return bool(lines) and all(line in _no_price_words() for line in lines)


def same_sum(one: float, other: float) -> bool:
    """Equal up to the rounding to whole euros, which a page may do in one place and not in another."""
    return abs(one - other) <= _ROUNDING_EUR


def _read(part: str) -> tuple[str, float]:
    found = {match.lastgroup: match[0] for match in _PARTS.finditer(part)}
    currency = "eur" if found["currency"].lower() in {"€", "eur", "euro", "евро"} else "bgn"
    return currency, parse_number(found["amount"])


def parse_number(text: str) -> float:
    """A printed number: a space or a comma of thousands, a point or a comma of decimals."""
    digits = text.replace(" ", "")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        return float(digits.replace(",", ""))
    return float(digits.replace(",", "."))


def _combine(parts: list[tuple[str, float]]) -> Money | None:
    sums = dict(parts)
    if len(sums) != len(parts) or not all(sums.values()):
        return None  # two sums in one currency, or a zero: not a price
    bgn = sums.get("bgn")
    eur = sums.get("eur", round((bgn or 0) / BGN_PER_EUR, 2))
    return Money(eur, bgn, agrees=bgn is None or abs(eur * BGN_PER_EUR - bgn) < _ROUNDING_LEVA)


@cache
def _no_price_words() -> frozenset[str]:
    return frozenset(match_key(word) for word in vocabulary()["no_price"])
