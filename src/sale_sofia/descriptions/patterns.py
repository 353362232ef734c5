"""A small pattern language over the words of a text.

A pattern is read from left to right: `tag`, `a|b` (either), `x?` (optional), `x{5}` (up to five), `=x` (its
value is captured). A tag is from words.yaml or clauses.yaml, or the word itself, or one of: word, plain (a
word without meaning), num, whole, year, ordinal, decade, sqm, sign, any (all but the end of a clause), end.
Every step is bounded, so that matching at one place takes constant time.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Generic, TypeVar

from sale_sofia.descriptions.words import Token

_ELEMENT = re.compile(r"(?P<take>=)?(?P<tags>[^\s?{}]{1,99})(?P<many>\?|\{\d+\})?")


@dataclass(frozen=True, slots=True)
class Element:
    """One step of a pattern: which tokens, how many of them, and whether it captures their value."""

    tags: frozenset[str]
    least: int
    most: int
    captures: bool
    anything: bool


Pattern = tuple[Element, ...]
T = TypeVar("T")


def compile_pattern(text: str) -> Pattern:
    """The pattern that a text describes.

    Raises:
        ValueError: the text is not a pattern, or its first step is optional.
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


def match_at(
    pattern: Pattern, tokens: Sequence[Token], place: int, step: int = 0
) -> tuple[int, tuple[int, ...]] | None:
    """The place behind the shortest match and the places of the tokens whose values it captures."""
    if step == len(pattern):
        return place, ()
    element = pattern[step]
    for end in range(place, place + element.most + 1):
        if end - place >= element.least:
            match = match_at(pattern, tokens, end, step + 1)
            if match:
                return (match[0], (place, *match[1])) if element.captures and end > place else match
        if end >= len(tokens):
            return None
        tags = tokens[end].tags
        if "end" in tags if element.anything else element.tags.isdisjoint(tags):
            return None
    return None


class PatternIndex(Generic[T]):
    """Patterns by the tags that can start them, so that few are tried at each token."""

    def __init__(self, entries: Iterable[tuple[str, T]]) -> None:
        """Index patterns, each with its owner."""
        self._by_tag: dict[str, dict[int, tuple[T, Pattern]]] = {}
        for order, (text, owner) in enumerate(entries):
            pattern = compile_pattern(text)
            for tag in pattern[0].tags:
                self._by_tag.setdefault(tag, {})[order] = (owner, pattern)

    def matches(self, tokens: Sequence[Token], place: int) -> Iterator[tuple[T, int, tuple[int, ...]]]:
        """The owner of each pattern that matches here, the place behind the match, and its captures."""
        begun: Mapping[int, tuple[T, Pattern]] = {}
        for tag in tokens[place].tags:
            if tag in self._by_tag:
                begun = {**begun, **self._by_tag[tag]} if begun else self._by_tag[tag]
        for order in sorted(begun):
            owner, pattern = begun[order]
            match = match_at(pattern, tokens, place)
            if match:
                yield owner, *match


def before(tokens: Sequence[Token], place: int, most: int) -> list[Token]:
    """The tokens before a place, back to the end of a sentence or item, the nearest first."""
    found = []
    for token in tokens[max(0, place - most) : place][::-1]:
        if "end" in token.tags:
            break
        found.append(token)
    return found


def after(tokens: Sequence[Token], place: int, most: int) -> list[Token]:
    """The tokens from a place to the end of a sentence or item."""
    found = []
    for token in tokens[place : place + most]:
        if "end" in token.tags:
            break
        found.append(token)
    return found


def tagged(tokens: Iterable[Token], tags: AbstractSet[str]) -> bool:
    """Whether any of the tokens has any of the tags."""
    return any(not token.tags.isdisjoint(tags) for token in tokens)
