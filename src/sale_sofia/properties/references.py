"""The reference under which an agency keeps a flat, from its text or from the address on its own portal."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from sale_sofia.config.matching import TEXT_CHARACTERS
from sale_sofia.properties.sellers import house_key
from sale_sofia.properties.vocabulary import matching_words

_NUMBER: Final = re.compile(r"\d{4}")


def references(row: Mapping[str, Any], agency: str | None) -> list[str]:
    """All references an advert names. A bare number is its agency's; without an agency it is nothing."""
    found = [*_in_address(row), *_in_text(row.get("description"))]
    house = house_key(agency)
    scoped = (code if not code.isdigit() else f"{house}:{code}" if house else None for code in found)
    return list(dict.fromkeys(code for code in scoped if code))


def _in_text(text: str | None) -> Iterator[str]:
    if not text or not _NUMBER.search(text):  # most texts hold none, and this is the quickest way to know
        return
    for pattern in _patterns():
        for match in pattern.finditer(text[:TEXT_CHARACTERS]):
            yield match[1].upper()


def _in_address(row: Mapping[str, Any]) -> Iterator[str]:
    pattern = matching_words().own_portals.get(row["site"])
    if pattern and (match := re.search(pattern, row.get("url") or "")):
        yield match[1]


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, matching_words().reference_patterns))
