"""What the rules find in a text: candidates, each with its words, its polarity and its modality."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sale_sofia.config.llm import FAR_WINDOW, MODALITY_WINDOW, NEGATION_WINDOW
from sale_sofia.llm.patterns import Found, find_at
from sale_sofia.llm.rules import Compiled, Rule, rules_by_first_word
from sale_sofia.llm.tokens import Token
from sale_sofia.llm.vocabulary import group

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
