"""Reads a description by rules and words alone: no network, no model, the same result every time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from sale_sofia.descriptions.clauses import is_anothers, read_clauses, same_clause
from sale_sofia.descriptions.fields import FIELDS, Attribute, Attributes
from sale_sofia.descriptions.mentions import is_only_mentioned
from sale_sofia.descriptions.patterns import tagged
from sale_sofia.descriptions.readers import (
    find_areas,
    find_counts,
    find_parking,
    find_winds,
    settle_acts,
)
from sale_sofia.descriptions.rulebook import LIST_FIELDS, Candidate, find_candidates
from sale_sofia.descriptions.settings import (
    DESCRIPTION_MOST_CHARACTERS,
    FLOOR_MOST,
    QUOTE_CHARACTERS,
    WEAK_RANK,
    YEAR_FIRST,
    YEAR_LAST,
)
from sale_sofia.descriptions.words import Prepared, Token, prepare

_CORRECTING: Final = frozenset({"contrast", "now"})
_OF_THE_FLAT: Final = frozenset({"contrast", "flat", "ours"})
_MEASURES: Final = frozenset({"area", "area_built"})
_TRUST: Final[Mapping[str, int]] = {"negated": 0, "stated": 0, "derived": 1, "optional": 2, "conflict": 3}


def read_description(text: str) -> Attributes:
    """Every field the text gives, in the order of `FIELDS`, with its status and the words it came from.

    Reads only the first `DESCRIPTION_MOST_CHARACTERS`.
    """
    prepared = prepare(text[:DESCRIPTION_MOST_CHARACTERS])
    tokens = read_clauses(prepared)
    found = find_candidates(tokens)
    acts = [candidate for candidate in found if candidate.field == "act"]
    others = (candidate for candidate in found if candidate.field != "act")
    by_field: dict[str, list[Candidate]] = {}
    for candidate in _keep_consistent(
        chain(
            others,
            settle_acts(acts, tokens),
            find_counts(tokens),
            find_areas(tokens),
            find_winds(tokens),
            find_parking(tokens),
        ),
        tokens,
    ):
        by_field.setdefault(candidate.field, []).append(candidate)
    return {
        field: (_union if field in LIST_FIELDS else _believe)(by_field[field], tokens, prepared)
        for field in FIELDS
        if field in by_field
    }


def _keep_consistent(candidates: Iterable[Candidate], tokens: Sequence[Token]) -> Iterator[Candidate]:
    """The candidates that can be true together, and the metro that its minutes imply."""
    facts = list(candidates)
    # A year that is part of "1970 - 1979" is not a year by itself.
    inside = {
        place for fact in facts if fact.field == "year_range" for place in range(fact.first, fact.after)
    }
    facts = [
        fact
        for fact in facts
        if not (fact.field == "year" and fact.after - 1 in inside) and not _is_impossible(fact)
    ]
    facts = [
        fact
        for fact in facts
        if not _is_overruled(fact, facts, tokens)
        and not is_only_mentioned(fact, facts, tokens)
        and not is_anothers(fact.field, tokens, fact.after - 1)
    ]
    has_metro = any(fact.field == "metro_near" for fact in facts)
    for fact in facts:
        yield fact
        if fact.field in {"metro_minutes", "metro_distance_m"} and not has_metro:
            yield Candidate("metro_near", True, "derived", fact.first, fact.after, 1)  # noqa: FBT003


def _is_overruled(fact: Candidate, facts: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    """Whether a sentence gives the heating of the building, and then another one of the flat."""
    here = tokens[fact.first]
    if fact.field != "heating" or not tagged(same_clause(tokens, fact.first), {"building"}):
        return False
    return any(
        other.field == "heating"
        and other.value != fact.value
        and other.status == "stated"
        and tokens[other.first].sentence == here.sentence
        and tagged(same_clause(tokens, other.first), _OF_THE_FLAT)
        for other in facts
    )


def _is_impossible(fact: Candidate) -> bool:
    if fact.field == "year_range":
        first, _, last = str(fact.value).partition("-")
        return not YEAR_FIRST <= int(first) <= int(last) <= YEAR_LAST
    return fact.field in {"floor", "total_floors"} and isinstance(fact.value, int) and fact.value > FLOOR_MOST


def _union(candidates: Sequence[Candidate], tokens: Sequence[Token], prepared: Prepared) -> Attribute:
    """All values of a list field."""
    denied = {fact.value for fact in candidates if fact.status == "negated"}
    stated = [fact for fact in candidates if fact.status == "stated" and fact.value not in denied]
    first = min(stated or candidates[:1], key=lambda fact: fact.first)
    quote = _quote(first.first, first.after, tokens, prepared)
    if not stated:
        return Attribute(None, "negated" if denied else first.status, quote)
    last = max(stated, key=lambda fact: fact.first)
    values = list(dict.fromkeys(fact.value for fact in stated))
    return Attribute(values, "stated", _quote(first.first, last.after, tokens, prepared) or quote)


def _believe(candidates: Sequence[Candidate], tokens: Sequence[Token], prepared: Prepared) -> Attribute:
    """The most trusted value, or a conflict if the text contradicts itself."""
    facts = [fact for fact in candidates if fact.value is not None] or candidates
    corrections = _corrections(facts, tokens)
    facts = [fact for fact in facts if not _is_corrected(fact, corrections, tokens)] or facts
    best = min(facts, key=lambda fact: (_TRUST[fact.status], fact.rank, fact.first))
    quote = _quote(best.first, best.after, tokens, prepared)
    rivals = {fact.value for fact in facts if fact.rank == best.rank and fact.status != "optional"}
    if best.field == "rooms" and any(_is_beside(best, fact, tokens) for fact in facts):
        return Attribute(None, "conflict", quote)
    if len(rivals) > 1 and best.status != "optional":
        return Attribute(best.value if best.rank < WEAK_RANK else None, "conflict", quote)
    return Attribute(best.value, best.status, quote)


def _is_beside(best: Candidate, other: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether one clause names two flats: "разделен на едностаен и двустаен"."""
    same = tokens[best.first].clause == tokens[other.first].clause
    return (
        same
        and other.value != best.value
        and other.status == best.status == "stated"
        and other.rank == best.rank
    )


def _corrections(facts: Sequence[Candidate], tokens: Sequence[Token]) -> Mapping[int, Iterable[Candidate]]:
    """By sentence, the last correction for each value: "…, но е тухлен"."""
    found: dict[int, dict[Any, Candidate]] = {}
    correcting: dict[int, bool] = {}
    for fact in sorted((fact for fact in facts if fact.status == "stated"), key=lambda fact: fact.first):
        here = tokens[fact.first]
        if here.clause not in correcting:
            correcting[here.clause] = tagged(same_clause(tokens, fact.first), _CORRECTING)
        if correcting[here.clause]:
            found.setdefault(here.sentence, {})[fact.value] = fact
    return {sentence: last.values() for sentence, last in found.items()}


def _is_corrected(
    fact: Candidate, corrections: Mapping[int, Iterable[Candidate]], tokens: Sequence[Token]
) -> bool:
    """Whether the sentence then says otherwise: "изглежда панелен, но е тухлен", "…, днес тристаен"."""
    here = tokens[fact.first]
    return fact.field not in _MEASURES and any(
        other.first > fact.first and other.value != fact.value and tokens[other.first].clause != here.clause
        for other in corrections.get(here.sentence, ())
    )


def _quote(first: int, after: int, tokens: Sequence[Token], prepared: Prepared) -> str:
    """The words of the text; empty if longer than `QUOTE_CHARACTERS`."""
    start, end = tokens[first].start, tokens[min(after, len(tokens)) - 1].end
    return prepared.quote(start, end) if end - start <= QUOTE_CHARACTERS else ""
