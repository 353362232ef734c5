"""Words that are written otherwise than a dictionary has them: cut short, misspelt, or in Latin letters."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from sale_sofia.descriptions.settings import (
    CUT_SHORT_LETTERS,
    LATIN_SHARE,
    ROOT_LETTERS,
    SLIP_ENDING_LETTERS,
    SLIP_LETTERS,
)

_LATIN: Final = re.compile(r"[a-z]+")
_CYRILLIC: Final = re.compile(r"[а-я]+")
_LETTERS: Final = {
    "sht": "щ", "sh": "ш", "ch": "ч", "zh": "ж", "ts": "ц", "tz": "ц", "yu": "ю", "iu": "ю", "ju": "ю",
    "ya": "я", "ia": "я", "io": "ьо", "yo": "ьо",
    "a": "а", "b": "б", "c": "ц", "d": "д", "e": "е", "f": "ф", "g": "г", "h": "х", "i": "и", "j": "ж",
    "k": "к", "l": "л", "m": "м", "n": "н", "o": "о", "p": "п", "q": "я", "r": "р", "s": "с", "t": "т",
    "u": "у", "v": "в", "w": "в", "x": "х", "y": "ъ", "z": "з",
}  # fmt: skip
_SOUND: Final = re.compile("|".join(_LETTERS))
_OTHERWISE: Final = (("", ""), ("у", "ъ"), ("ъ", "й"), ("а", "ъ"), ("ьо", "ио"), ("я", "иа"), ("ц", "к"))
"""What a letter may stand for too: "vtori etaj", "parvi", "treti"."""


def is_latin(plain: str) -> bool:
    """Whether a text in small letters is written in Latin letters almost throughout."""
    latin = sum(map(len, _LATIN.findall(plain)))
    return latin > LATIN_SHARE * (latin + sum(map(len, _CYRILLIC.findall(plain))))


def spell(word: str, is_known: Callable[[str], bool]) -> str:
    """The Bulgarian word that a Latin one is: the first that is known of those that sound so."""
    sounds = _SOUND.sub(lambda found: _LETTERS[found[0]], word)
    forms = (sounds.replace(old, new) for old, new in _OTHERWISE if old in sounds)
    return next(filter(is_known, forms), sounds)


def complete(cut: str, words: Mapping[str, AbstractSet[str]]) -> str | None:
    """The known word of which "асанс." or "осн." is the beginning.

    None where it begins several that are not of one root, and most of which mean something else.
    """
    begun = [word for word in words if word.startswith(cut)] if len(cut) >= CUT_SHORT_LETTERS else []
    whole = min(begun, key=len, default=None)
    if whole is None or len({word[: len(cut) + ROOT_LETTERS] for word in begun}) == 1:
        return whole
    alike = sum(not words[word].isdisjoint(words[whole]) for word in begun)
    return whole if 2 * alike > len(begun) else None


def index_slips(forms: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Long forms by themselves and by what is left of them without one letter."""
    index: dict[str, list[str]] = {}
    for form in forms:
        whole = form.rstrip("*")
        if len(whole) >= SLIP_LETTERS:
            for part in _without_a_letter(whole):
                index.setdefault(part, []).append(form)
    return index


def _without_a_letter(word: str) -> set[str]:
    """The word, and the word without one letter of its root: another ending is another form, and no slip."""
    return {word} | {word[:place] + word[place + 1 :] for place in range(len(word) - ROOT_LETTERS)}


def correct(word: str, index: Mapping[str, Sequence[str]]) -> set[str]:
    """The forms of which a word is a slip: one letter lost, added, wrong or in the wrong place.

    A stem may go on with a short ending; `index` is that of `index_slips`.
    """
    for letters in range(SLIP_ENDING_LETTERS + 1):
        whole = word[: len(word) - letters]
        if len(whole) < SLIP_LETTERS:
            break
        found = {
            form
            for part in _without_a_letter(whole)
            for form in index.get(part, ())
            if (form.endswith("*") or not letters) and _is_slip(whole, form.rstrip("*"), part)
        }
        if found:
            return found
    return set()


def _is_slip(word: str, form: str, part: str) -> bool:
    """Whether not two letters differ: of words of unlike length the shorter one is part of the other."""
    return len(word) == len(form) or part == min(word, form, key=len)
