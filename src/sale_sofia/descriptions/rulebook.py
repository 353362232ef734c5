"""The rules of `rules/*.yaml`: which words say what of which field.

A pattern is read from left to right: `tag`, `a|b` (either), `x?` (perhaps), `x{5}` (up to five), `=x` (its
value is taken). A tag is of words.yaml, or the word itself, or one of: word, plain (a word that
stands for nothing), num, whole, year, ordinal, decade, sqm, sign, any (all but the end of a clause), end.
Every step is bounded, so that matching at one place takes constant time.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
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
    """One step of a pattern: which tokens, how many of them, and whether their value is taken."""

    tags: frozenset[str]
    least: int
    most: int
    taken: bool
    anything: bool


Pattern = tuple[Element, ...]


def compile_pattern(text: str) -> Pattern:
    """The pattern that a text describes.

    Raises:
        ValueError: the text is no pattern, or its first step is optional.
    """
    pattern = []
    for word in text.split():
        match = _ELEMENT.fullmatch(word)
        if not match:
            raise ValueError(f"no pattern: {text!r}")
        many = match["many"]
        most = 1 if many in {None, "?"} else int(many[1:-1])
        tags = frozenset(match["tags"].split("|"))
        pattern.append(Element(tags, 0 if many else 1, most, bool(match["take"]), tags == {"any"}))
    if not pattern:
        raise ValueError(f"no pattern: {text!r}")
    if not pattern[0].least:
        raise ValueError(f"a pattern begins with a step that must be there: {text!r}")
    return tuple(pattern)


def _match(
    pattern: Pattern, tokens: Sequence[Token], place: int, step: int = 0
) -> tuple[int, tuple[Token, ...]] | None:
    """The place behind the pattern and the tokens whose values it takes: gaps as short as they can be."""
    if step == len(pattern):
        return place, ()
    element = pattern[step]
    for end in range(place, place + element.most + 1):
        if end - place >= element.least:
            found = _match(pattern, tokens, end, step + 1)
            if found:
                return (found[0], (tokens[place], *found[1])) if element.taken and end > place else found
        if end >= len(tokens):
            return None
        tags = tokens[end].tags
        if "end" in tags if element.anything else element.tags.isdisjoint(tags):
            return None
    return None


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
    """What it says when the words are negated; a rule that leaves it out does not heed negation."""
    modal: Any = False
    """What it says when the words are only a possibility; True: nothing; left out: not heeded."""
    span: bool = False
    decade: bool = False


@cache
def load_rules() -> tuple[Rule, ...]:
    """All rules in the order of their files."""
    names = ("offer.yaml", "building.yaml", "inside.yaml", "around.yaml", "traps.yaml")
    return tuple(Rule.model_validate(entry) for name in names for entry in load_rules_file(name))


@cache
def _patterns_by_first_tag() -> Mapping[str, Mapping[int, tuple[Rule, Pattern]]]:
    """The patterns that a token with this tag may begin, by their order: so few are tried at each token."""
    index: dict[str, dict[int, tuple[Rule, Pattern]]] = {}
    patterns = [(rule, compile_pattern(text)) for rule in load_rules() for text in rule.patterns]
    for order, (rule, pattern) in enumerate(patterns):
        for tag in pattern[0].tags:
            index.setdefault(tag, {})[order] = (rule, pattern)
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
    index = _patterns_by_first_tag()
    found: list[Candidate] = []
    for place, token in enumerate(tokens):
        begun: dict[int, tuple[Rule, Pattern]] = {}
        for tag in token.tags:
            if tag in index:
                begun |= index[tag]
        for order in sorted(begun):
            rule, pattern = begun[order]
            match = _match(pattern, tokens, place)
            if match is None:
                continue
            end, taken = match
            if not _is_excluded(rule.unless, tokens, place, end):
                found += [
                    Candidate(field, value, status, place, end, rule.rank)
                    for field, value, status in _say(rule, tokens, place, end, taken)
                ]
    return found


def _is_excluded(unless: Unless, tokens: Sequence[Token], first: int, end: int) -> bool:
    return (
        (bool(unless.before) and tagged(before(tokens, first, unless.within), unless.before))
        or (bool(unless.after) and tagged(after(tokens, end, unless.within), unless.after))
        or (bool(unless.far_before) and tagged(before(tokens, first, FAR_WINDOW), unless.far_before))
    )


def before(tokens: Sequence[Token], place: int, most: int) -> list[Token]:
    """The tokens of the same clause before a place, the nearest first."""
    found = []
    for token in tokens[max(0, place - most) : place][::-1]:
        if "end" in token.tags:
            break
        found.append(token)
    return found


def after(tokens: Sequence[Token], place: int, most: int) -> list[Token]:
    """The tokens of the same clause from a place on."""
    found = []
    for token in tokens[place : place + most]:
        if "end" in token.tags:
            break
        found.append(token)
    return found


def tagged(tokens: Iterable[Token], tags: AbstractSet[str]) -> bool:
    """Whether any of the tokens has any of the tags."""
    return any(not token.tags.isdisjoint(tags) for token in tokens)


def is_negated(tokens: Sequence[Token], first: int, following: int) -> bool:
    """Whether a "без" or "няма" governs the words: before them with nothing else between, or right after."""
    for token in before(tokens, first, NEGATION_WINDOW):
        if token.tags & group("negating"):
            return True
        if token.tags & group("negation_ends"):
            break
    signs = [token.text for token in after(tokens, following, 2) if token.text not in {":", "-"}]
    return len(signs) == 1 and signs[0] in group("denying_after")


def is_possible(tokens: Sequence[Token], first: int, stops: frozenset[str] = _BRACKET) -> bool:
    """Whether the words are only a possibility; a closed bracket ends what was said of another thing."""
    for token in before(tokens, first, MODALITY_WINDOW):
        if token.tags & group("possibility"):
            return True
        if token.text in stops:
            return False
    return False


def _say(
    rule: Rule, tokens: Sequence[Token], first: int, end: int, taken: Sequence[Token]
) -> Iterator[tuple[str, Any, Status]]:
    """What a rule says whose words stand here: fields, their values, and how they are said."""
    values: list[Any] = [token.value for token in taken]
    if "negated" in rule.model_fields_set and is_negated(tokens, first, end):
        yield rule.field, rule.negated, "negated"
    elif "modal" in rule.model_fields_set and is_possible(tokens, first):
        yield rule.field, None if rule.modal is True else rule.modal, "optional"
    elif rule.span:
        yield rule.field, f"{values[0]}-{values[1]}", "stated"
    elif rule.decade:
        number = values[0]
        year = number if number > 100 else (2000 if number < 30 else 1900) + number  # noqa: PLR2004
        yield rule.field, f"{year}-{year + 9}", "stated"
    elif not values or rule.value is not None:
        yield rule.field, rule.value, "stated"
    elif rule.fields:
        yield from ((field, value, "stated") for field, value in zip(rule.fields, values, strict=False))
    elif rule.one_of is not None:
        if values[0] in rule.one_of:
            yield rule.field, rule.one_of[values[0]], "stated"
    elif rule.most is None or values[0] <= rule.most:
        yield rule.field, values[0], "stated"


@cache
def rules_version() -> str:
    """A digest of every rule, every word and the code that applies them: what a reading depends on."""
    digest = hashlib.sha256()
    folder = files("sale_sofia.descriptions")
    for place in (folder, folder.joinpath("rules")):
        for file in sorted(place.iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".yaml")):
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()
