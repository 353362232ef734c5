"""The rules of `rules/*.yaml`: which words say what about a field, in clauses of which owner and mood."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from sale_sofia.descriptions.clauses import same_clause, takes
from sale_sofia.descriptions.patterns import PatternIndex, after, before, tagged
from sale_sofia.descriptions.settings import FAR_WINDOW, RULE_WINDOW
from sale_sofia.descriptions.words import Token, load_rules_file


class Unless(BaseModel):
    """Words near a match that make a rule say nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    within: int = RULE_WINDOW
    far_before: frozenset[str] = frozenset()
    """Words farther before the match: then they, not the flat, are the topic."""
    inside: frozenset[str] = frozenset()
    """Words within the match."""
    clause: frozenset[str] = frozenset()
    """Words anywhere in the clause."""


class ReadingRule(BaseModel):
    """One rule of a file, with an example and a counter-example that a test runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    field: str
    patterns: tuple[str, ...]
    example: str
    gives: Any
    counter: str
    value: Any = None
    fields: tuple[str, ...] = ()
    """The field of each captured value; without it all belong to `field`."""
    one_of: Mapping[int, Any] | None = None
    """What the captured number stands for; other numbers say nothing."""
    most: float | None = None
    """The largest plausible number."""
    rank: int = 1
    """A rule of lower rank takes precedence."""
    unless: Unless = Unless()
    negated: Any = None
    """The value when the clause denies it; left out: nothing."""
    modal: Any = False
    """The value when the clause states a possibility; True: no value yet; left out: nothing."""
    owners: frozenset[str] = frozenset()
    """The owners of the clauses it reads; left out: those of its field."""
    moods: frozenset[str] = frozenset()
    """The moods of the clauses it reads; left out: those of its field."""
    span: bool = False
    decade: bool = False


@cache
def load_rules() -> tuple[ReadingRule, ...]:
    """All rules in the order of their files."""
    names = ("offer.yaml", "building.yaml", "inside.yaml", "around.yaml", "traps.yaml")
    return tuple(ReadingRule.model_validate(entry) for name in names for entry in load_rules_file(name))


@cache
def _patterns() -> PatternIndex[ReadingRule]:
    return PatternIndex((text, rule) for rule in load_rules() for text in rule.patterns)


# What the rules find in a text: candidates, each with its words and status.

Status = Literal["stated", "negated", "optional", "derived", "conflict"]
_TEARING: Final = frozenset({"contrast", "и"})
LIST_FIELDS: Final = frozenset({"heating", "orientation", "parking_type", "storage"})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible value of a field; `first` and `after` are indexes of tokens."""

    field: str
    value: Any
    status: Status
    first: int
    after: int
    rank: int


def find_candidates(tokens: Sequence[Token]) -> list[Candidate]:
    """Everything that any rule finds in the clauses it reads, in the order of the text."""
    index = _patterns()
    candidates: list[Candidate] = []
    for place in range(len(tokens)):
        for rule, end, captured in index.matches(tokens, place):
            if not (_is_torn(tokens, place, end) or _is_excluded(rule.unless, tokens, place, end)):
                candidates += [
                    Candidate(field, value, status, place, end, rule.rank)
                    for field, value, status in _say(rule, tokens, (place, end), captured)
                ]
    return candidates


def _is_torn(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Whether an "а", "но" or "и" begins another clause within the match."""
    if tokens[first].clause == tokens[end - 1].clause:
        return False
    return any(
        here.clause != last.clause and here.tags & _TEARING for last, here in pairwise(tokens[first:end])
    )


def _is_excluded(unless: Unless, tokens: Sequence[Token], first: int, end: int) -> bool:
    here = tokens[first].clause
    ahead = (token for token in after(tokens, end, unless.within) if token.clause == tokens[end - 1].clause)
    back = (token for token in before(tokens, first, unless.within) if token.clause == here)
    return (
        (bool(unless.before) and tagged(back, unless.before))
        or (bool(unless.after) and tagged(ahead, unless.after))
        or (bool(unless.far_before) and tagged(before(tokens, first, FAR_WINDOW), unless.far_before))
        or (bool(unless.inside) and tagged(tokens[first:end], unless.inside))
        or (bool(unless.clause) and tagged(same_clause(tokens, first), unless.clause))
    )


def _say(
    rule: ReadingRule, tokens: Sequence[Token], span: tuple[int, int], captured: Sequence[int]
) -> Iterator[tuple[str, Any, Status]]:
    """What a rule with a match here says: fields, values and statuses."""
    first, end = span
    anchor = tokens[captured[0] if captured else first]
    owners, moods = takes(rule.field)
    if anchor.owner not in (rule.owners or owners):
        return
    if anchor.mood == "denied" and "negated" in rule.model_fields_set:
        # The value a list would have gained, so that it is denied everywhere in the text.
        yield rule.field, rule.value if rule.field in LIST_FIELDS else rule.negated, "negated"
    elif anchor.mood in (rule.moods or moods) and (rule.moods or _is_of_one_mood(tokens[first:end], moods)):
        for field, value in _values(rule, [tokens[place].value for place in captured]):
            yield field, value, "stated"
    elif anchor.mood == "possible" and "modal" in rule.model_fields_set:
        yield rule.field, None if rule.modal is True else rule.modal, "optional"


def _is_of_one_mood(tokens: Sequence[Token], moods: AbstractSet[str]) -> bool:
    """Whether all words of a match are in these moods: "на 2 минути от бъдещата метростанция" is not."""
    return all(token.mood in moods for token in tokens if "end" not in token.tags)


def _values(rule: ReadingRule, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """The fields and values of a rule that captured these numbers."""
    if rule.span:
        yield rule.field, f"{values[0]}-{values[1]}"
    elif rule.decade:
        number = values[0]
        year = number if number > 100 else (2000 if number < 30 else 1900) + number  # noqa: PLR2004
        yield rule.field, f"{year}-{year + 9}"
    elif not values or rule.value is not None:
        yield rule.field, rule.value
    elif rule.fields:
        yield from zip(rule.fields, values, strict=False)
    elif rule.one_of is not None:
        if values[0] in rule.one_of:
            yield rule.field, rule.one_of[values[0]]
    elif rule.most is None or values[0] <= rule.most:
        yield rule.field, values[0]


@cache
def rules_version() -> str:
    """A digest of all rules, words and the code that applies them: everything a read depends on."""
    digest = hashlib.sha256()
    folder = files("sale_sofia.descriptions")
    for place in (folder, folder.joinpath("rules")):
        for file in sorted(place.iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".yaml")):
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()
