"""A description normalised into tokens; each token leads back to the words as written."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final, TypeVar

import simplemma

from sale_sofia.descriptions.settings import (
    CUT_SHORT_LETTERS,
    ENDING_LETTERS,
    GLUED_LETTERS,
    LATIN_SHARE,
    NUMBER_CHARACTERS,
    ROOT_LETTERS,
    SLIP_ENDING_LETTERS,
    SLIP_LETTERS,
    STEM_LETTERS,
    WORD_LETTERS,
    WORDS_REMEMBERED,
    YEAR_FIRST,
    YEAR_LAST,
)
from sale_sofia.listings.text import LOOKALIKES, fold_lookalikes
from sale_sofia.settings.files import read_yaml

# Words in a spelling that no dictionary has: cut short, misspelt, or in Latin letters.

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
"""Other readings of a letter: "vtori etaj", "parvi", "treti"."""


def spell(word: str, is_known: Callable[[str], bool]) -> str:
    """The Bulgarian word for one in Latin letters: the first known one of its possible readings."""
    sounds = _SOUND.sub(lambda match: _LETTERS[match[0]], word)
    forms = (sounds.replace(old, new) for old, new in _OTHERWISE if old in sounds)
    return next(filter(is_known, forms), sounds)


def complete(cut: str, words: Mapping[str, AbstractSet[str]]) -> str | None:
    """The known word that "асанс." or "осн." abbreviates.

    None if it begins several words of different roots, most of which mean something else.
    """
    begun = [word for word in words if word.startswith(cut)] if len(cut) >= CUT_SHORT_LETTERS else []
    whole = min(begun, key=len, default=None)
    if whole is None or len({word[: len(cut) + ROOT_LETTERS] for word in begun}) == 1:
        return whole
    alike = sum(not words[word].isdisjoint(words[whole]) for word in begun)
    return whole if 2 * alike > len(begun) else None


def _without_a_letter(word: str) -> set[str]:
    """The word, and the word without one letter of its root: another ending is another form, not a slip."""
    return {word} | {word[:place] + word[place + 1 :] for place in range(len(word) - ROOT_LETTERS)}


def correct(word: str, index: Mapping[str, Sequence[str]]) -> set[str]:
    """The forms that a word misspells: one letter lost, added, wrong or in the wrong place.

    A stem may have a short ending; `index` is that of `_slips`.
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
    """Whether fewer than two letters differ: of words of unequal length the shorter is part of the other."""
    return len(word) == len(form) or part == min(word, form, key=len)


_WIDTHLESS = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_LATIN_OR_NOT = re.compile("(?P<latin>[a-z]+)|[^a-z]+")
_SIGNS = str.maketrans(
    dict.fromkeys("„“”‟«»‹›'‘’‚‛`´′″", '"') | dict.fromkeys("‐‑‒–—―−", "-") | {"²": "2", "\u00a0": " "}
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text and its normalised form. `starts` maps indexes of `plain` to `text`; None: they are equal."""

    text: str
    plain: str
    starts: list[int] | None

    def quote(self, start: int, end: int) -> str:
        """The words of the text between two indexes of the normalised form."""
        if self.starts is None:
            return self.text[start:end]
        return self.text[self.starts[start] : self.starts[end]]


def prepare(text: str) -> Prepared:
    """The text in lower case, with look-alike letters folded and uniform quotes and dashes."""
    place_by_place = unicodedata.is_normalized("NFC", text) and _WIDTHLESS.isdisjoint(text)
    composed, starts = (text, None) if place_by_place else _compose(text)
    folded = fold_lookalikes(composed.translate(_SIGNS))
    plain = folded.lower()
    if len(plain) != len(folded):  # keep a letter whose lower case has another length
        plain = "".join(small if len(small := sign.lower()) == 1 else sign for sign in folded)
    # Written in Latin letters almost throughout?
    latin = sum(map(len, _LATIN.findall(plain)))
    if latin > LATIN_SHARE * (latin + sum(map(len, _CYRILLIC.findall(plain)))):
        plain, places = _in_cyrillic(plain)
        starts = [starts[place] for place in places] if starts else places
    return Prepared(text, plain, starts)


def _in_cyrillic(plain: str) -> tuple[str, list[int]]:
    """A text in Latin letters transliterated to Cyrillic, and where each of its characters was."""
    parts: list[str] = []
    starts: list[int] = []
    for match in _LATIN_OR_NOT.finditer(plain):
        part, start = match[0], match.start()
        written = spell(part, _is_known) if match["latin"] else part
        parts.append(written)
        starts.extend(min(start + place, match.end() - 1) for place in range(len(written)))
    return "".join(parts), [*starts, len(plain)]


def _is_known(word: str) -> bool:
    return "plain" not in meaning(word)[0] or word in _cue_words()


def _compose(text: str) -> tuple[str, list[int]]:
    """The composed text without zero-width characters, and where each of its characters was."""
    signs: list[str] = []
    starts: list[int] = []
    # Each character stays with its combining marks.
    bounds = [place for place in range(1, len(text)) if not unicodedata.combining(text[place])]
    for start, end in pairwise([0, *bounds, len(text)]):
        cluster = unicodedata.normalize("NFC", text[start:end])
        composed = "".join(sign for sign in cluster if sign not in _WIDTHLESS)
        signs.append(composed)
        starts.extend([start] * len(composed))
    return "".join(signs), [*starts, len(text)]


# The words of `rules/words.yaml`: the meaning of each form, found by form, by stem and by lemma.

T = TypeVar("T")
Value = int | str | None
Meaning = tuple[frozenset[str], Value]
"""The tags of a word, the word itself among them, and its value."""


@cache
def load_rules_file(name: str) -> Any:  # noqa: ANN401 - each file has a shape of its own
    """The content of a YAML file of `rules/`; must not be changed."""
    text = files("sale_sofia.descriptions").joinpath("rules", name).read_text("utf-8")
    return read_yaml(text)


@cache
def group(name: str) -> frozenset[str]:
    """A group of tags and words of `rules/groups.yaml`."""
    return frozenset(load_rules_file("groups.yaml")[name])


@lru_cache(maxsize=WORDS_REMEMBERED)
def meaning(word: str) -> Meaning:
    """The meaning of a word in lower case: by its form, else by its stem, else by its lemma."""
    forms = _forms()
    found = forms.get(word) or _by_stem(word, forms) or forms.get(simplemma.lemmatize(word, lang="bg"))
    if found is None:
        found = forms.get(word.translate(LOOKALIKES)) if word.isascii() else _misspelt(word, forms)
    tags, value = found or (frozenset({"plain"}), None)
    own = {"word"} if word.isascii() else {"word", word}  # a Latin word could be taken for a tag
    cues = _cue_words()
    by_stem = _by_stem(word, cues) or frozenset()
    return tags | own | cues.get(word, frozenset()) | by_stem, value


def _misspelt(word: str, forms: Mapping[str, Meaning]) -> Meaning | None:
    """The meaning of the known word that this one, which no dictionary has, misspells: "апратамент"."""
    cues = _cue_words()
    if word in cues or _by_stem(word, cues) is not None or simplemma.is_known(word, lang="bg"):
        return None
    meant = {forms[form] for form in correct(word, _slips())}
    return meant.pop() if len(meant) == 1 else None


@cache
def _slips() -> Mapping[str, Sequence[str]]:
    """Long forms, by themselves and by each version without one letter."""
    index: dict[str, list[str]] = {}
    for form in _forms():
        whole = form.rstrip("*")
        if len(whole) >= SLIP_LETTERS:
            for part in _without_a_letter(whole):
                index.setdefault(part, []).append(form)
    return index


def _by_stem(word: str, forms: Mapping[str, T]) -> T | None:
    for length in range(len(word), max(STEM_LETTERS, len(word) - ENDING_LETTERS) - 1, -1):
        if found := forms.get(f"{word[:length]}*"):
            return found
    return None


@cache
def _forms() -> Mapping[str, Meaning]:
    """The entries of `rules/words.yaml`; one that ends in * is a stem."""
    data = load_rules_file("words.yaml")
    forms: dict[str, Meaning] = {}
    for tag, words in (data["words"] | data["valued"]).items():
        for word in words:
            tags, _ = forms.get(word, (frozenset(), None))
            forms[word] = (tags | {tag}, words[word] if isinstance(words, dict) else None)
    return forms


@cache
def _cue_words() -> Mapping[str, frozenset[str]]:
    """The words of `rules/clauses.yaml`, which may be in words.yaml too."""
    cues: dict[str, frozenset[str]] = {}
    for tag, words in load_rules_file("clauses.yaml")["words"].items():
        for word in words:
            cues[word] = cues.get(word, frozenset()) | {tag}
    return cues


# From a normalised text to its words, numbers and signs, each with its meaning and place.

_ENDINGS: Final = "вия|рия|тия|мия|ият|ия|ви|ри|ти|ми|и|я"
_SCAN = re.compile(
    r"(?P<sqm>(?:кв ?[.,]? ?м(?:2|етра|етър|етри)?(?![^\W\d_])|[мm] ?2(?![\d\w])|квм(?![^\W_])"
    r"|(?:(?<=\d)|(?<=\d ))кв(?![^\W_])|sq\.? ?m\b|квадрат(?:а|ни метра|ни метри|ни м)?(?![^\W_])))"
    rf"|(?P<ordinal>\d{{1,2}}(?: ?- ?)?(?:{_ENDINGS})(?![^\W_])|\d{{1,2}} (?:ви|ри|ти|ми)(?![^\W_])"
    r"|\d{1,2}-(?:ва|ра|та|а)(?![^\W_]))"
    r"|(?P<decade>\d{2}(?:\d{2})? ?- ?те(?![^\W_]))"
    r"|(?P<below>(?:(?<=етаж )|(?<=етаж: )|(?<=ет\. )|(?<=на ))-1(?![\w-]|[.,]\d))"
    r"|(?P<number>\d+(?:[.,]\d+)?)"
    r"|(?P<word>[^\W\d_]+)"
    r"|(?P<end>\.{2,}|\*{3,}|[.!?…;\n\r•|✓✔➤►▪●■◆🔷✅📏🛏🛁🚾🧭]+)"
    r"|(?P<sign>[^\s\w*]|_)"
)
_DIGITS = re.compile(r"\d+")
_PARAGRAPH: Final = ("\n\n", ".", "!", "?", "…")
_UNITS: Final = frozenset({"sqm", "year_word", "metre", "minute"})
_NO_WORD: Final = frozenset({"word", "plain"})
_NUMBER: Final = frozenset({"num"})
_WHOLE: Final = frozenset({"num", "whole"})
_YEAR: Final = frozenset({"num", "whole", "year"})


@dataclass(slots=True)
class Token:
    """A word, number or sign. `clauses.py` sets its clause, owner and mood."""

    text: str
    tags: frozenset[str]
    value: float | int | str | None
    start: int
    end: int
    sentence: int
    clause: int = 0
    owner: str = "flat"
    mood: str = "stated"
    is_capital: bool = False
    """Whether it begins with a capital."""


def tokenize(prepared: Prepared) -> list[Token]:
    """All tokens in order, in time linear in the text."""
    tokens: list[Token] = []
    sentence = 0
    for match in _SCAN.finditer(prepared.plain):
        kind = match.lastgroup or ""
        text, start, end = match[0], match.start(), match.end()
        if kind == "word":
            for word, first in _parts(text, start, prepared):
                is_cut = prepared.plain.startswith(".", end)
                tags, value = _meaning(word, is_cut=is_cut) if len(text) <= WORD_LETTERS else (_NO_WORD, None)
                token = Token(word, tags, value, first, first + len(word), sentence)
                token.is_capital = prepared.quote(first, first + 1).isupper()
                tokens.append(token)
        elif kind == "number":
            tokens.append(Token(text, *_number(text), start, end, sentence))
        elif kind == "below":
            tokens.append(Token(text, frozenset({kind}), -1, start, end, sentence))
        elif kind in {"ordinal", "decade"}:
            number = int(_DIGITS.findall(text)[0])
            tokens.append(Token(text, frozenset({kind}), number, start, end, sentence))
        elif kind != "end" or not _is_abbreviated(tokens, text, start, prepared):
            is_answered = text == "?" and bool(prepared.plain[end : end + 2].strip())
            sign = ":" if is_answered and _is_bare_question(tokens, sentence) else text
            tokens.append(
                Token(sign, frozenset({kind if sign == text else "sign", sign}), None, start, end, sentence)
            )
            sentence += "end" in tokens[-1].tags and any(mark in text for mark in _PARAGRAPH)
    if tokens and "end" not in tokens[-1].tags:  # a text without a final full stop
        end = len(prepared.plain)
        tokens.append(Token(".", frozenset({"end", "."}), None, end, end, sentence))
    return tokens


def _is_bare_question(tokens: Sequence[Token], sentence: int) -> bool:
    """Whether a question only names a thing, which the next words are about: "Метрото? На 3 минути."."""
    question = [token for token in tokens[-3:] if token.sentence == sentence and token.text != "а"]
    return len(question) == 1 and not question[0].tags.isdisjoint(group("asked_by_name"))


def _meaning(word: str, *, is_cut: bool) -> Meaning:
    found = meaning(word)
    return (_cut_short(word) or found) if is_cut and "plain" in found[0] else found


@lru_cache(maxsize=WORDS_REMEMBERED)
def _cut_short(word: str) -> Meaning | None:
    """The meaning of the known word that this one abbreviates: "асанс.", "възм."."""
    forms = _forms()
    whole = complete(word, {form: tags for form, (tags, _) in forms.items()})
    if (
        whole is None
        or word in _cue_words()
        or word in _abbreviations()
        or simplemma.is_known(word, lang="bg")
    ):
        return None
    tags, value = forms[whole]
    return tags | {"word", "cut", whole.rstrip("*")}, value


def _is_abbreviated(tokens: list[Token], stop: str, start: int, prepared: Prepared) -> bool:
    """Whether the full stop belongs to the word before it and ends nothing."""
    if stop != "." or not tokens or tokens[-1].end != start:
        return False
    last = tokens[-1]
    if "cut" in last.tags:
        return True
    # After a unit, a floor and "и др." it may end the sentence too: a capital follows, and not only capitals.
    written = prepared.quote(start + 1, min(start + 5, len(prepared.plain))).strip()
    is_begun = written[:1].isupper() and not written[:3].isupper()
    if not last.tags.isdisjoint(_UNITS) or last.text == "др":
        return not written[:1].isupper()
    if last.text == "ет" and tokens[-2:-1] and "word" not in tokens[-2].tags:  # "на 2 ет. Над нас …"
        return not is_begun
    if "ordinal" in last.tags:  # "на 3. етаж", and not "жилището е на третия."
        return last.text[0].isdecimal() and bool(written) and not is_begun
    return last.text in _abbreviations()


@cache
def _abbreviations() -> frozenset[str]:
    return frozenset(load_rules_file("words.yaml")["abbreviations"])


def _number(text: str) -> tuple[frozenset[str], float | int]:
    if len(text) > NUMBER_CHARACTERS:
        return _NUMBER, 0.0  # perhaps an identifier; not a size
    if not text.isdecimal():
        return _NUMBER, float(text.replace(",", "."))
    value = int(text)
    return (_YEAR if YEAR_FIRST <= value <= YEAR_LAST else _WHOLE), value


def _parts(word: str, start: int, prepared: Prepared) -> Sequence[tuple[str, int]]:
    """The word, or the two words glued together in it, separated by a capital or a final "без"."""
    cut = 0
    if GLUED_LETTERS <= len(word) <= WORD_LETTERS and word not in _forms():
        cut = _seam(word, start, prepared)
    return ((word[:cut], start), (word[cut:], start + cut)) if cut else ((word, start),)


def _seam(word: str, start: int, prepared: Prepared) -> int:
    if word.endswith("без") and "plain" not in meaning(word[:-3])[0]:
        return len(word) - 3
    written = prepared.quote(start, start + len(word))
    if len(written) != len(word) or written.isupper() or written.islower():
        return 0
    for cut in range(2, len(word) - 1):
        if written[cut].isupper() and written[cut - 1].islower():
            return cut
    return 0
