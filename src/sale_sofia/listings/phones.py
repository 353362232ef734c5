"""Telephone numbers in one form, E.164, as a buyer can dial them from anywhere."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import phonenumbers

from sale_sofia.config.reading import PHONES_MOST_PARTS

_REGION = "BG"
_BETWEEN_NUMBERS = re.compile(r"[,;\n]|\sи\s")
_REMEMBERED = 4096  # brokers repeat from advert to advert


def parse_phones(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Every valid number in the texts once, in the order printed; masked and broken ones are left out.

    What comes after the first `PHONES_MOST_PARTS` parts is not looked at.
    """
    parts = (part for text in texts for part in _BETWEEN_NUMBERS.split(text, PHONES_MOST_PARTS))
    tried = islice(parts, PHONES_MOST_PARTS)
    return tuple(dict.fromkeys(number for part in tried for number in _numbers(part)))


def _numbers(part: str) -> Iterator[str]:
    """One number, in which a slash may follow the code of the town, or several with slashes between."""
    whole = parse_phone(part.strip())
    pieces = (
        (whole,) if whole else (parse_phone(piece.strip()) for piece in part.split("/", PHONES_MOST_PARTS))
    )
    yield from filter(None, pieces)


@lru_cache(_REMEMBERED)
def parse_phone(text: str) -> str | None:
    """One number as E.164, or nothing when it is not a valid one."""
    try:
        number = phonenumbers.parse(text, _REGION)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
