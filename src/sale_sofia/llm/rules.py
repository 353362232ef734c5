"""The rules of `rules/*.yaml`: which words say what of which field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from sale_sofia.config.llm import RULE_WINDOW
from sale_sofia.llm.patterns import Pattern, compile_pattern
from sale_sofia.llm.vocabulary import load_rules_file

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
