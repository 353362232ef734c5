"""Which writings are the same place name: keys, kinds of place, Latin spellings."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product
from typing import Any

from sale_sofia.config.yaml_text import read_yaml
from sale_sofia.listings.text import LOOKALIKES, match_key, squeeze

LONGEST = 60
"""Characters. A longer text is a sentence, not a place."""

SETTLEMENTS = frozenset({"town", "village", "resort"})

_SIGNS = str.maketrans(dict.fromkeys('.-"()', " "))
_CYRILLIC = re.compile(r"[Ѐ-ӿ]")
_SEAM = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_NUMBERED = re.compile(r"(?<!\d)\d+$")
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


@cache
def place_data() -> Mapping[str, Any]:
    """All of `places.yaml`, read once."""
    text = resources.files("sale_sofia.listings").joinpath("places.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = read_yaml(text)
    return loaded


def place_key(text: str) -> str:
    """The key of a place name: case, dots, dashes, quotes, brackets, spaces and look-alikes do not count."""
    plain = text.translate(LOOKALIKES) if _CYRILLIC.search(text) else text
    return squeeze(_SEAM.sub(" ", match_key(plain).translate(_SIGNS)))


@dataclass(frozen=True, slots=True)
class Name:
    """A place name taken apart. `kind` is empty for a plain name and for one that only says "quarter"."""

    kind: str
    core: str


def split_name(text: str) -> Name:
    """The name without the words that say its kind; a name that has none is its own core."""
    key = place_key(text)
    for pattern, kinds in _kind_patterns():
        if found := pattern.fullmatch(key):
            return Name(kinds[found["word"]], found["core"])
    return Name("", key)


def spellings(name: str) -> Iterator[str]:
    """Every way the rules know to write a Bulgarian name: as it is, with a Roman number, in Latin letters."""
    for text in (name, *_with_roman(name)):
        yield text
        yield from _in_latin(text.casefold())


def any_of(words: Iterable[str]) -> str:
    """A pattern for any of these words."""
    return "|".join(map(re.escape, words))


def _with_roman(name: str) -> Iterator[str]:
    number = _NUMBERED.search(name)
    if number and int(number[0]) < len(_ROMAN):
        yield name[: number.start()] + _ROMAN[int(number[0])]


def _in_latin(text: str) -> Iterator[str]:
    rules = place_data()["transliteration"]
    used = [rule for rule in rules["variants"] if rule["letter"] in text]
    letters = str.maketrans(rules["letters"])
    for choice in product(*(rule["spellings"] for rule in used)):
        yield _replaced(text, zip(used, choice, strict=True)).translate(letters)


def _replaced(text: str, choices: Iterable[tuple[Mapping[str, str], str]]) -> str:
    for rule, spelling in choices:
        text = text.replace(rule["letter"], spelling)
    return text


@cache
def _kind_patterns() -> tuple[tuple[re.Pattern[str], Mapping[str, str]], ...]:
    before, after = _kind_words("before"), _kind_words("after")
    return (
        (re.compile(rf"(?P<word>{any_of(before)}) (?P<core>.+)"), before),
        (re.compile(rf"(?P<core>.+) (?P<word>{any_of(after)})"), after),
    )


def _kind_words(side: str) -> Mapping[str, str]:
    kinds = place_data()["kinds"].items()
    return {
        place_key(word): "" if kind == "quarter" else kind for kind, words in kinds for word in words[side]
    }
