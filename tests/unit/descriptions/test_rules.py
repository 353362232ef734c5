"""Every rule is shown to speak where its example speaks, and to be silent where its counter-example is."""

from typing import Any, NamedTuple

import pytest

from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.fields import FIELDS
from sale_sofia.descriptions.patterns import compile_pattern
from sale_sofia.descriptions.rulebook import load_rules
from sale_sofia.descriptions.words import load_rules_file
from tables import each_row


class Shown(NamedTuple):
    name: str
    field: str
    example: str
    gives: Any
    counter: str


SHOWN = [
    *(Shown(rule.name, rule.field, rule.example, rule.gives, rule.counter) for rule in load_rules()),
    *(Shown(**entry) for entry in load_rules_file("examples.yaml")),
]
by_name = each_row("shown", SHOWN)


def value_of(text: str, field: str) -> object:
    attribute = read_description(text).get(field)
    return None if attribute is None else attribute.value


@by_name
def test_a_rule_speaks_in_its_example(shown: Shown) -> None:
    assert value_of(shown.example, shown.field) == shown.gives


@pytest.mark.slow
@by_name
def test_a_rule_is_silent_in_its_counter_example(shown: Shown) -> None:
    assert value_of(shown.counter, shown.field) != shown.gives


def test_what_is_shown_has_names_of_its_own_and_covers_every_field() -> None:
    assert len({one.name for one in SHOWN}) == len(SHOWN)
    assert {one.field for one in SHOWN} == set(FIELDS)


@each_row("text", ["", "a? b", "a{b}", "a  {2}"])
def test_a_text_that_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        compile_pattern(text)
