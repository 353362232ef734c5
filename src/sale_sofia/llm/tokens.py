"""From a comparable text to its words, numbers and signs, each with what it stands for and where it was."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sale_sofia.config.llm import GLUED_LETTERS, NUMBER_CHARACTERS, WORD_LETTERS, YEAR_FIRST, YEAR_LAST
from sale_sofia.llm.prepared import Prepared
from sale_sofia.llm.vocabulary import abbreviations, is_listed, meaning

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
