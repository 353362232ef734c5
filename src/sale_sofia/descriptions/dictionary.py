"""What a description says, by rules and words alone: no network, no model, the same answer every time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from sale_sofia.descriptions.fields import FIELDS, LIST_FIELDS, Attribute, Attributes
from sale_sofia.descriptions.readers import find_areas, find_counts, find_parking, find_winds, settle_acts
from sale_sofia.descriptions.rulebook import Candidate, find_candidates
from sale_sofia.descriptions.settings import (
    DESCRIPTION_MOST_CHARACTERS,
    FLOOR_MOST,
    QUOTE_CHARACTERS,
    WEAK_RANK,
    YEAR_FIRST,
    YEAR_LAST,
)
from sale_sofia.descriptions.words import Prepared, Token, prepare, tokenize

# From many candidates to one answer a field: what is believed, and when a text contradicts itself.

_FIELDS: Sequence[str] = FIELDS


def resolve(candidates: Iterable[Candidate], tokens: Sequence[Token], prepared: Prepared) -> Attributes:
    """The answer of every field that the text speaks of, in the order of `FIELDS`."""
    by_field: dict[str, list[Candidate]] = {}
    for one in candidates:
        by_field.setdefault(one.field, []).append(one)
    return {
        field: (_union if field in LIST_FIELDS else _single)(by_field[field], tokens, prepared)
        for field in _FIELDS
        if field in by_field
    }


def _union(candidates: Sequence[Candidate], tokens: Sequence[Token], prepared: Prepared) -> Attribute:
    stated = [one for one in candidates if one.status == "stated"]
    if not stated:
        return _answer(candidates[0], tokens, prepared)
    values = list(dict.fromkeys(one.value for one in stated))
    first, last = min(stated, key=_place), max(stated, key=_place)
    quote = _quote(first.first, last.after, tokens, prepared)
    return Attribute(values, "stated", quote or _quote(first.first, first.after, tokens, prepared))


def _place(one: Candidate) -> int:
    return one.first


def _single(candidates: Sequence[Candidate], tokens: Sequence[Token], prepared: Prepared) -> Attribute:
    known = [one for one in candidates if one.value is not None] or list(candidates)
    best = min(known, key=_belief)
    rivals = {one.value for one in known if one.rank == best.rank and one.status != "optional"}
    answer = _answer(best, tokens, prepared)
    if len(rivals) > 1 and best.status != "optional":
        value = answer.value if best.rank < WEAK_RANK else None
        return Attribute(value, "conflict", answer.quote)
    return answer


_TRUST: Mapping[str, int] = {"negated": 0, "stated": 0, "derived": 1, "optional": 2, "conflict": 3}


def _belief(one: Candidate) -> tuple[int, int, int]:
    return (_TRUST[one.status], one.rank, one.first)


def _answer(one: Candidate, tokens: Sequence[Token], prepared: Prepared) -> Attribute:
    return Attribute(one.value, one.status, _quote(one.first, one.after, tokens, prepared))


def _quote(first: int, after: int, tokens: Sequence[Token], prepared: Prepared) -> str:
    """The words of the text; nothing where they would be too many to show anything."""
    start, end = tokens[first].start, tokens[min(after, len(tokens)) - 1].end
    return prepared.quote(start, end) if end - start <= QUOTE_CHARACTERS else ""


# What cannot be so is left out, and what follows from the rest is added.


def keep_consistent(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """The candidates that can be true together, and the metro that its minutes imply."""
    found = [one for one in _without_halves_of_spans(list(candidates)) if not _is_impossible(one)]
    has_metro = any(one.field == "metro_near" for one in found)
    for one in found:
        yield one
        if one.field in {"metro_minutes", "metro_distance_m"} and not has_metro:
            yield Candidate("metro_near", True, "derived", one.first, one.after, 1)  # noqa: FBT003


def _without_halves_of_spans(found: Sequence[Candidate]) -> list[Candidate]:
    """A year that is only an end of "1970 - 1979" is no year."""
    inside = {place for one in found if one.field == "year_range" for place in range(one.first, one.after)}
    return [one for one in found if one.field != "year" or one.after - 1 not in inside]


def _is_impossible(one: Candidate) -> bool:
    if one.field == "year_range":
        first, _, last = str(one.value).partition("-")
        return not YEAR_FIRST <= int(first) <= int(last) <= YEAR_LAST
    return one.field in {"floor", "total_floors"} and isinstance(one.value, int) and one.value > FLOOR_MOST


def read_description(text: str) -> Attributes:
    """Every field the text speaks of, each with its status and the words it came from.

    What stands behind the first `DESCRIPTION_MOST_CHARACTERS` is not read.
    """
    prepared = prepare(text[:DESCRIPTION_MOST_CHARACTERS])
    tokens = tokenize(prepared)
    return resolve(_all_candidates(tokens), tokens, prepared)


def _all_candidates(tokens: Sequence[Token]) -> Iterator[Candidate]:
    found = find_candidates(tokens)
    acts = [one for one in found if one.field == "act"]
    others = (one for one in found if one.field != "act")
    return keep_consistent(
        chain(
            others,
            settle_acts(acts, tokens),
            find_counts(tokens),
            find_areas(tokens),
            find_winds(tokens),
            find_parking(tokens),
        )
    )
