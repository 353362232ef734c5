"""A description made comparable, with the way back: each place in it leads to the words as written."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

import simplemma

from sale_sofia.descriptions.settings import (
    ENDING_LETTERS,
    GLUED_LETTERS,
    NUMBER_CHARACTERS,
    STEM_LETTERS,
    WORD_LETTERS,
    WORDS_REMEMBERED,
    YEAR_FIRST,
    YEAR_LAST,
)
from sale_sofia.listings.text import LOOKALIKES, fold_lookalikes
from sale_sofia.settings.files import read_yaml

_WIDTHLESS = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_SIGNS = str.maketrans(
    dict.fromkeys("„“”‟«»‹›'‘’‚‛`´′″", '"') | dict.fromkeys("‐‑‒–—―−", "-") | {"²": "2", "\u00a0": " "}
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text and its comparable form. `starts` leads from the second to the first; None: place by place."""

    text: str
    plain: str
    starts: list[int] | None

    def quote(self, start: int, end: int) -> str:
        """The words of the text between two places of the comparable form."""
        if self.starts is None:
            return self.text[start:end]
        return self.text[self.starts[start] : self.starts[end]]


def prepare(text: str) -> Prepared:
    """The text in small letters, look-alike letters folded, quotes and dashes of one shape."""
    if _place_by_place(text):
        plain, starts = text, None
    else:
        plain, starts = _composed(text)
    return Prepared(text, _lowered(fold_lookalikes(plain.translate(_SIGNS))), starts)


def _place_by_place(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text) and _WIDTHLESS.isdisjoint(text)


def _composed(text: str) -> tuple[str, list[int]]:
    """The composed text without characters that have no width, and where each of its characters was."""
    signs: list[str] = []
    starts: list[int] = []
    for start, cluster in _clusters(text):
        composed = "".join(sign for sign in unicodedata.normalize("NFC", cluster) if sign not in _WIDTHLESS)
        signs.append(composed)
        starts.extend([start] * len(composed))
    return "".join(signs), [*starts, len(text)]


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Each character with the marks that go on it."""
    start = 0
    for place in range(1, len(text)):
        if not unicodedata.combining(text[place]):
            yield start, text[start:place]
            start = place
    if text:
        yield start, text[start:]


def _lowered(text: str) -> str:
    """Small letters; a letter whose small form is of another length stays as it is."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := sign.lower()) == 1 else sign for sign in text)


# The words of `rules/words.yaml`: what each form stands for, found by form, by lemma and by stem.

Value = int | str | None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word may stand for, the word itself among it, and the value it carries."""

    tags: frozenset[str]
    value: Value = None


@cache
def load_rules_file(name: str) -> Any:  # noqa: ANN401 - each file has a shape of its own
    """One of the YAML files of `rules/`, for reading only."""
    text = files("sale_sofia.descriptions").joinpath("rules", name).read_text("utf-8")
    return read_yaml(text)


@cache
def abbreviations() -> frozenset[str]:
    """Words after which a full stop ends nothing."""
    return frozenset(load_rules_file("words.yaml")["abbreviations"])


@cache
def group(name: str) -> frozenset[str]:
    """A group of tags and words of `rules/groups.yaml`."""
    return frozenset(load_rules_file("groups.yaml")[name])


@lru_cache(maxsize=WORDS_REMEMBERED)
def meaning(word: str) -> Meaning:
    """What a word in small letters stands for: by its form, else by its lemma, else by its stem."""
    table = _table()
    found = table.get(word) or _by_stem(word) or table.get(simplemma.lemmatize(word, lang="bg"))
    if found is None and word.isascii():
        found = table.get(word.translate(LOOKALIKES))
    tags, value = found or (frozenset({"plain"}), None)
    own = {"word"} if word.isascii() else {"word", word}  # a Latin word could be taken for a tag
    return Meaning(tags | own, value)


def is_listed(word: str) -> bool:
    """Whether exactly this form is in the list."""
    return word in _table()


def _by_stem(word: str) -> tuple[frozenset[str], Value] | None:
    stems = _stems()
    shortest = max(STEM_LETTERS, len(word) - ENDING_LETTERS)
    for length in range(len(word), shortest - 1, -1):
        if found := stems.get(word[:length]):
            return found
    return None


@cache
def _table() -> Mapping[str, tuple[frozenset[str], Value]]:
    return {word: found for word, found in _entries().items() if not word.endswith("*")}


@cache
def _stems() -> Mapping[str, tuple[frozenset[str], Value]]:
    return {word[:-1]: found for word, found in _entries().items() if word.endswith("*")}


@cache
def _entries() -> Mapping[str, tuple[frozenset[str], Value]]:
    data = load_rules_file("words.yaml")
    entries: dict[str, tuple[frozenset[str], Value]] = {}
    for tag, words in data["words"].items():
        for word in words:
            entries[word] = (_tags(entries, word) | {tag}, None)
    for tag, values in data["valued"].items():
        for word, value in values.items():
            entries[word] = (_tags(entries, word) | {tag}, value)
    return entries


def _tags(entries: Mapping[str, tuple[frozenset[str], Value]], word: str) -> frozenset[str]:
    return entries[word][0] if word in entries else frozenset()


# From a comparable text to its words, numbers and signs, each with what it stands for and where it was.

_ENDINGS: Final = "вия|рия|тия|мия|ият|ия|ви|ри|ти|ми|и|я"
_SCAN = re.compile(
    r"(?P<sqm>(?:кв ?[.,]? ?м(?:2|етра|етър|етри)?(?![^\W\d_])|[мm] ?2(?![\d\w])|квм(?![^\W_])"
    r"|(?:(?<=\d)|(?<=\d ))кв(?![^\W_])|sq\.? ?m\b|квадрат(?:а|ни метра|ни метри|ни м)?(?![^\W_])))"
    rf"|(?P<ordinal>\d{{1,2}}(?: ?- ?)?(?:{_ENDINGS})(?![^\W_])|\d{{1,2}} (?:ви|ри|ти|ми)(?![^\W_])"
    r"|\d{1,2}-(?:ва|ра|та|а)(?![^\W_]))"
    r"|(?P<decade>\d{2}(?:\d{2})? ?- ?те(?![^\W_]))"
    r"|(?P<number>\d+(?:[.,]\d+)?)"
    r"|(?P<word>[^\W\d_]+)"
    r"|(?P<end>\.{2,}|\*{3,}|[.!?…;\n\r•|✓✔➤►▪●■◆🔷✅📏🛏🛁🚾🧭]+)"
    r"|(?P<sign>[^\s\w*]|_)"
)
_DIGITS = re.compile(r"\d+")
_PARAGRAPH: Final = ("\n\n", ".", "!", "?", "…")
_UNITS: Final = frozenset({"year_word", "metre", "minute"})
_NO_WORD: Final = frozenset({"word", "plain"})
_NUMBER: Final = frozenset({"num"})
_WHOLE: Final = frozenset({"num", "whole"})
_YEAR: Final = frozenset({"num", "whole", "year"})
_YEARS: Final = range(YEAR_FIRST, YEAR_LAST + 1)


@dataclass(slots=True)
class Token:
    """A word, number or sign. Tokens of tag `end` part clauses; sentences are numbered."""

    text: str
    tags: frozenset[str]
    value: float | int | str | None
    start: int
    end: int
    sentence: int


def tokenize(prepared: Prepared) -> list[Token]:
    """All tokens in their order, in time that grows with the text and not faster."""
    tokens: list[Token] = []
    sentence = 0
    for found in _SCAN.finditer(prepared.plain):
        kind = found.lastgroup or ""
        read = list(_read(kind, found, prepared, sentence))
        if kind == "end" and _is_abbreviated(tokens, read[0], prepared):
            continue
        tokens.extend(read)
        if kind == "end" and any(sign in found[0] for sign in _PARAGRAPH):
            sentence += 1
    return tokens


def _is_abbreviated(tokens: list[Token], stop: Token, prepared: Prepared) -> bool:
    if stop.text != "." or not tokens or tokens[-1].end != stop.start:
        return False
    last = tokens[-1]
    if "sqm" in last.tags or not last.tags.isdisjoint(_UNITS):
        return not _begins_anew(prepared, stop.end)
    return last.text in abbreviations() or "ordinal" in last.tags


def _begins_anew(prepared: Prepared, place: int) -> bool:
    """Whether the next letter is a capital: after a unit its stop may also be the sentence's."""
    written = prepared.quote(place, min(place + 2, len(prepared.plain))).strip()
    return written[:1].isupper()


def _read(kind: str, found: re.Match[str], prepared: Prepared, sentence: int) -> Iterator[Token]:
    text, start, end = found[0], found.start(), found.end()
    if kind == "word" and len(text) > WORD_LETTERS:
        yield Token(text, _NO_WORD, None, start, end, sentence)
    elif kind == "word":
        for word, first in _parts(text, start, prepared):
            known = meaning(word)
            yield Token(word, known.tags, known.value, first, first + len(word), sentence)
    elif kind == "number":
        yield Token(text, *_number(text), start, end, sentence)
    elif kind in {"ordinal", "decade"}:
        number = _DIGITS.match(text)
        yield Token(text, frozenset({kind}), int(number[0]) if number else None, start, end, sentence)
    else:
        yield Token(text, frozenset({kind, text}), None, start, end, sentence)


def _number(text: str) -> tuple[frozenset[str], float | int]:
    if len(text) > NUMBER_CHARACTERS:
        return _NUMBER, 0.0  # an identifier, perhaps; no size of anything
    if not text.isdecimal():
        return _NUMBER, float(text.replace(",", "."))
    value = int(text)
    return (_YEAR if value in _YEARS else _WHOLE), value


def _parts(word: str, start: int, prepared: Prepared) -> Iterator[tuple[str, int]]:
    """The word, or the two that were glued together: known words with a capital or a "без" between them."""
    if len(word) >= GLUED_LETTERS and not is_listed(word):
        cut = _seam(word, start, prepared)
        if cut:
            yield from ((word[:cut], start), (word[cut:], start + cut))
            return
    yield word, start


def _seam(word: str, start: int, prepared: Prepared) -> int:
    if word.endswith("без") and not _unknown(word[:-3]):
        return len(word) - 3
    written = prepared.quote(start, start + len(word))
    if len(written) != len(word) or written.isupper() or written.islower():
        return 0
    for cut in range(2, len(word) - 1):
        if written[cut].isupper() and written[cut - 1].islower():
            return cut
    return 0


def _unknown(word: str) -> bool:
    return "plain" in meaning(word).tags
