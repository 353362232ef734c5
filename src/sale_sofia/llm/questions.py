"""What the rules leave open: fields in conflict, and words that no rule explained."""

from collections.abc import Mapping, Sequence
from functools import cache

from sale_sofia.llm.attributes import ATTRIBUTE_FIELDS, Attributes
from sale_sofia.llm.prepared import prepare
from sale_sofia.llm.tokens import Token, tokenize
from sale_sofia.llm.vocabulary import load_rules_file


def open_fields(text: str, attributes: Attributes) -> tuple[str, ...]:
    """The fields worth a question, in the order of `ATTRIBUTE_FIELDS`."""
    tokens = tokenize(prepare(text))
    return tuple(field for field in ATTRIBUTE_FIELDS if _is_open(field, attributes, tokens))


def _is_open(field: str, attributes: Attributes, tokens: Sequence[Token]) -> bool:
    known = attributes.get(field)
    if known is not None:
        return known.status == "conflict"
    return field not in _never_asked() and speaks_of(field, tokens)


def speaks_of(field: str, tokens: Sequence[Token]) -> bool:
    """Whether any word of the tokens is about this field."""
    words = _words()[field]
    return any(not words.isdisjoint(token.tags) for token in tokens)


@cache
def _words() -> Mapping[str, frozenset[str]]:
    data = load_rules_file("questions.yaml")
    return {field: frozenset(data[field]) for field in ATTRIBUTE_FIELDS}


@cache
def _never_asked() -> frozenset[str]:
    return frozenset(load_rules_file("questions.yaml")["never_asked_for_words"])
