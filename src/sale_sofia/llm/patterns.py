"""Patterns over tokens: a few words in a row, some of them optional, some of them giving a value.

A pattern is read from left to right: `tag`, `a|b` (either), `x?` (perhaps), `x{5}` (up to five), `=x` (its
value is taken). A tag is of words.yaml, or the word itself, or one of: word, plain (a word that
stands for nothing), num, whole, year, ordinal, decade, sqm, sign, any (all but the end of a clause), end.
Every step is bounded, so that matching at one place takes constant time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sale_sofia.llm.tokens import Token

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
