"""Where a flat is, to its own door: what an advert says of its street, house, entrance and number.

Only what is written as an address counts. A street that a text names without a house is mostly one near by,
and a text that names two flats says nothing of either: then nothing is known.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final, NamedTuple

from sale_sofia.flats.settings import TEXT_CHARACTERS
from sale_sofia.listings.text import match_key
from sale_sofia.settings.files import read_yaml

_SIGNS: Final = re.compile(r"[\W_]+")
_DIGIT: Final = re.compile(r"\d")
_STREETS: Final = ("ул.", "улица", "булевард", "Ул", "УЛ", "Бул", "БУЛ")
_BLOCKS: Final = ("бл.", "блок ", "Бл", "БЛ")
_ENTRANCES: Final = ("вх.", "вход ", "Вх", "ВХ")
_NUMBERS: Final = ("№", "номер", "Номер", "НОМЕР")
_REMEMBERED: Final = 65_536
_STREET_BITS: Final = 32
DOOR_MASK: Final = (1 << _STREET_BITS) - 1
"""The bits of an address's number that tell the house; the others tell the street."""


class Unit(NamedTuple):
    """Which of a house's flats; zero is not known."""

    entrance: int
    flat: int


@dataclass(frozen=True, slots=True)
class _Patterns:
    street: re.Pattern[str]
    """A whole street as a portal prints it: its name, and its house if that is said."""
    house: re.Pattern[str]
    """A street with its house in a text."""
    block: re.Pattern[str]
    entrance: re.Pattern[str]
    flat: re.Pattern[str]
    no_names: frozenset[str]
    """Words that no street is called, so that a number behind them is no house."""


@cache
def _patterns() -> _Patterns:
    loaded = read_yaml(resources.files(__package__).joinpath("words.yaml").read_text("utf-8"))["addresses"]
    no_names = frozenset(loaded.pop("no_names"))
    return _Patterns(**{name: re.compile(one) for name, one in loaded.items()}, no_names=no_names)


def addresses(row: Mapping[str, Any], text: str) -> set[int]:
    """The addresses an advert names, each a number of its street (high bits) and its house (low bits)."""
    known = _patterns()
    found: set[tuple[str, str]] = set()
    if (street := row.get("street")) and (match := known.street.match(street)):
        found.add((match[1], match[2] or ""))
    if _DIGIT.search(text):
        if _may_hold(text, _STREETS):
            found.update((match[1], match[2]) for match in known.house.finditer(text))
        if (quarter := row.get("neighbourhood")) and _may_hold(text, _BLOCKS):
            # Each quarter numbers its blocks anew.
            found.update((f"{quarter} блок", match[1]) for match in known.block.finditer(text))
    return {number for street, house in found if (number := _number(street, house))}


def unit(text: str) -> Unit:
    """The entrance and the flat a text names, where it names one alone."""
    known = _patterns()
    entrances = known.entrance.finditer(text) if _may_hold(text, _ENTRANCES) else ()
    flats = known.flat.finditer(text) if _may_hold(text, _NUMBERS) else ()
    return Unit(_only(entrances), _only(flats))


def _may_hold(text: str, words: tuple[str, ...]) -> bool:
    """Whether a pattern is worth trying; most texts hold none, and this is the quickest way to know."""
    return any(map(text.__contains__, words))


def words_of(row: Mapping[str, Any]) -> str:
    """The title and as much of the text as is read."""
    return f"{row.get('title') or ''}\n{(row.get('description') or '')[:TEXT_CHARACTERS]}"


@lru_cache(_REMEMBERED)
def _number(street: str, house: str) -> int:
    words = _SIGNS.sub(" ", match_key(street)).split()
    if not words or not _patterns().no_names.isdisjoint(words):
        return 0
    name = zlib.crc32(" ".join(words).encode()) | 1
    return name << _STREET_BITS | (_code(house) if house else 0)


def _only(matches: Iterable[re.Match[str]]) -> int:
    named = {_code(match[1]) for match in matches}
    return named.pop() if len(named) == 1 else 0


def _code(text: str) -> int:
    return zlib.crc32(match_key(text).encode()) | 1
