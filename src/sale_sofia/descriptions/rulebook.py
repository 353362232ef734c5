"""Patterns over tokens: a few words in a row, some of them optional, some of them giving a value.

A pattern is read from left to right: `tag`, `a|b` (either), `x?` (perhaps), `x{5}` (up to five), `=x` (its
value is taken). A tag is of words.yaml, or the word itself, or one of: word, plain (a word that
stands for nothing), num, whole, year, ordinal, decade, sqm, sign, any (all but the end of a clause), end.
Every step is bounded, so that matching at one place takes constant time.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from sale_sofia.descriptions.settings import FAR_WINDOW, MODALITY_WINDOW, NEGATION_WINDOW, RULE_WINDOW
from sale_sofia.descriptions.words import Token, group, load_rules_file

_ELEMENT = re.compile(r"(?P<take>=)?(?P<tags>[^\s?{}]{1,99})(?P<many>\?|\{\d+\})?")


@dataclass(frozen=True, slots=True)
class Element:
    """One step of a pattern: which tokens, and how many of them."""

    tags: frozenset[str]
    least: int
    most: int
    taken: bool
    anything: bool

    def fits(self, token: Token) -> bool:
        """Whether the token may stand here."""
        if self.anything:
            return "end" not in token.tags
        return not self.tags.isdisjoint(token.tags)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a pattern was found, and the tokens whose values it takes."""

    first: int
    after: int
    taken: tuple[Token, ...]


Pattern = tuple[Element, ...]


def compile_pattern(text: str) -> Pattern:
    """The pattern that a text describes.

    Raises:
        ValueError: the text is no pattern, or its first step is optional.
    """
    words = text.split()
    found = [match for word in words if (match := _ELEMENT.fullmatch(word))]
    if len(found) < len(words) or not found:
        raise ValueError(f"no pattern: {text!r}")
    pattern = tuple(map(_element, found))
    if not pattern[0].least:
        raise ValueError(f"a pattern begins with a step that must be there: {text!r}")
    return pattern


def _element(match: re.Match[str]) -> Element:
    many = match["many"]
    most = 1 if many in {None, "?"} else int(many[1:-1])
    tags = frozenset(match["tags"].split("|"))
    return Element(tags, 0 if many else 1, most, bool(match["take"]), tags == {"any"})


def find_at(pattern: Pattern, tokens: Sequence[Token], place: int) -> Found | None:
    """The pattern where it begins with this token: gaps as short as they can be."""
    return _step(pattern, tokens, (place, place), 0, ())


def _step(
    pattern: Pattern, tokens: Sequence[Token], span: tuple[int, int], step: int, taken: tuple[Token, ...]
) -> Found | None:
    first, place = span
    if step == len(pattern):
        return Found(first, place, taken)
    element = pattern[step]
    for count in range(element.most + 1):
        if count >= element.least:
            found = _step(
                pattern, tokens, (first, place + count), step + 1, _with(taken, element, tokens, place, count)
            )
            if found:
                return found
        if place + count >= len(tokens) or not element.fits(tokens[place + count]):
            return None
    return None


def _with(
    taken: tuple[Token, ...], element: Element, tokens: Sequence[Token], place: int, count: int
) -> tuple[Token, ...]:
    return (*taken, tokens[place]) if element.taken and count else taken


# The rules of `rules/*.yaml`: which words say what of which field.

RULE_FILES: Final = ("offer.yaml", "building.yaml", "inside.yaml", "around.yaml", "traps.yaml")


class Unless(BaseModel):
    """Words close by that make a rule say nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    within: int = RULE_WINDOW
    far_before: frozenset[str] = frozenset()
    """Words that do so from farther away: what is told of them, not of the flat."""


class Rule(BaseModel):
    """One rule as its file has it, with an example and a counter-example that a test runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    field: str
    patterns: tuple[str, ...]
    example: str
    gives: Any
    counter: str
    value: Any = None
    fields: tuple[str, ...] = ()
    """Which field each taken value belongs to; without it all belong to `field`."""
    one_of: Mapping[int, Any] | None = None
    """What the taken number stands for; another number says nothing."""
    most: float | None = None
    """The largest number that can be meant."""
    rank: int = 1
    """A rule of lower rank is believed before one of higher rank."""
    unless: Unless = Unless()
    negated: Any = None
    """What it says when the words are negated; a rule without it says nothing then."""
    modal: Any = False
    """What it says when the words are only a possibility; True: nothing."""
    span: bool = False
    decade: bool = False
    floor: bool = False

    @property
    def heeds_negation(self) -> bool:
        """Whether a "без" or "няма" before its words turns it round."""
        return "negated" in self.model_fields_set

    @property
    def heeds_modality(self) -> bool:
        """Whether a "възможност за" before its words weakens it."""
        return "modal" in self.model_fields_set


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule and one of its patterns."""

    rule: Rule
    pattern: Pattern
    order: int
    """Its place among all patterns: what is found is told in this order."""


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rules in the order of their files."""
    return tuple(Rule.model_validate(entry) for name in RULE_FILES for entry in load_rules_file(name))


@cache
def rules_by_first_word() -> Mapping[str, Sequence[Compiled]]:
    """The patterns that a token with this tag may begin: so few are tried at each token."""
    index: dict[str, list[Compiled]] = {}
    patterns = [(rule, text) for rule in load_rules() for text in rule.patterns]
    for order, (rule, text) in enumerate(patterns):
        compiled = Compiled(rule, compile_pattern(text), order)
        for tag in compiled.pattern[0].tags:
            index.setdefault(tag, []).append(compiled)
    return index


# What the rules find in a text: candidates, each with its words, its polarity and its modality.

Status = Literal["stated", "negated", "optional", "derived", "conflict"]
_BRACKET: Final = frozenset({")"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that a text says of one field; `first` and `after` are numbers of tokens."""

    field: str
    value: Any
    status: Status
    first: int
    after: int
    rank: int


def find_candidates(tokens: Sequence[Token]) -> list[Candidate]:
    """Everything that any rule finds, in the order of the text."""
    index = rules_by_first_word()
    found: list[Candidate] = []
    for place, token in enumerate(tokens):
        begun = {one.order: one for tag in token.tags if tag in index for one in index[tag]}
        for order in sorted(begun):
            found.extend(_try(begun[order], tokens, place))
    return found


def _try(compiled: Compiled, tokens: Sequence[Token], place: int) -> Iterator[Candidate]:
    match = find_at(compiled.pattern, tokens, place)
    if match and not _is_excluded(compiled.rule, tokens, match):
        yield from _say(compiled.rule, tokens, match)


def _is_excluded(rule: Rule, tokens: Sequence[Token], match: Found) -> bool:
    unless = rule.unless
    return (
        _any_of(unless.before, before(tokens, match.first, unless.within))
        or _any_of(unless.after, after(tokens, match.after, unless.within))
        or _any_of(unless.far_before, before(tokens, match.first, FAR_WINDOW))
    )


def _any_of(tags: frozenset[str], near: Iterator[Token]) -> bool:
    return bool(tags) and any(not tags.isdisjoint(token.tags) for token in near)


def before(tokens: Sequence[Token], place: int, most: int) -> Iterator[Token]:
    """The tokens of the same clause before a place, the nearest first."""
    for token in tokens[max(0, place - most) : place][::-1]:
        if "end" in token.tags:
            return
        yield token


def after(tokens: Sequence[Token], place: int, most: int) -> Iterator[Token]:
    """The tokens of the same clause from a place on."""
    for token in tokens[place : place + most]:
        if "end" in token.tags:
            return
        yield token


def is_negated(tokens: Sequence[Token], first: int, following: int) -> bool:
    """Whether a "без" or "няма" governs the words: before them with nothing else between, or right after."""
    for token in before(tokens, first, NEGATION_WINDOW):
        if not group("negating").isdisjoint(token.tags):
            return True
        if not group("negation_ends").isdisjoint(token.tags):
            break
    signs = [token for token in after(tokens, following, 2) if token.text not in {":", "-"}]
    return bool(signs) and signs[0].text in group("denying_after") and len(signs) == 1


def is_possible(tokens: Sequence[Token], first: int, stops: frozenset[str] = _BRACKET) -> bool:
    """Whether the words are only a possibility; a closed bracket ends what was said of another thing."""
    for token in before(tokens, first, MODALITY_WINDOW):
        if not group("possibility").isdisjoint(token.tags):
            return True
        if token.text in stops:
            return False
    return False


def _say(rule: Rule, tokens: Sequence[Token], match: Found) -> Iterator[Candidate]:
    if rule.heeds_negation and is_negated(tokens, match.first, match.after):
        yield _candidate(rule, rule.field, rule.negated, "negated", match)
    elif rule.heeds_modality and is_possible(tokens, match.first):
        yield _candidate(rule, rule.field, rule.modal if rule.modal is not True else None, "optional", match)
    else:
        for field, value in _values(rule, match):
            yield _candidate(rule, field, value, "stated", match)


def _candidate(rule: Rule, field: str, value: Any, status: Status, match: Found) -> Candidate:  # noqa: ANN401
    return Candidate(field, value, status, match.first, match.after, rule.rank)


def _values(rule: Rule, match: Found) -> Iterator[tuple[str, Any]]:
    values = [token.value for token in match.taken]
    if rule.span:
        yield rule.field, f"{values[0]}-{values[1]}"
    elif rule.decade:
        yield rule.field, _decade(values[0])
    elif not values or rule.value is not None:
        yield rule.field, rule.value
    elif rule.fields:
        yield from ((field, value) for field, value in zip(rule.fields, values, strict=False))
    else:
        yield from ((rule.field, value) for value in _known(rule, values[0]))


def _known(rule: Rule, value: Any) -> Iterator[Any]:  # noqa: ANN401
    if rule.one_of is not None:
        if value in rule.one_of:
            yield rule.one_of[value]
    elif rule.most is None or value <= rule.most:
        yield value


def _decade(number: Any) -> str:  # noqa: ANN401
    first = number if number > 100 else (2000 if number < 30 else 1900) + number  # noqa: PLR2004
    return f"{first}-{first + 9}"


# What a reading depends on, as one short text: when a rule, a word or the code changes, it changes.


@cache
def rules_version() -> str:
    """A digest of every rule, every word and the code that applies them."""
    digest = hashlib.sha256()
    folder = files("sale_sofia.descriptions")
    for place in (folder, folder.joinpath("rules")):
        for file in sorted(place.iterdir(), key=lambda one: one.name):
            if file.name.endswith((".py", ".yaml")):
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()
