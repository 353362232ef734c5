"""What a description says, by rules and words alone: no network, no model, the same answer every time."""

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
    """Every field the text speaks of, in the order of `FIELDS`, with its status and the words it came from.

    What stands behind the first `DESCRIPTION_MOST_CHARACTERS` is not read.
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
    found = list(candidates)
    # A year that is only an end of "1970 - 1979" is no year.
    inside = {place for one in found if one.field == "year_range" for place in range(one.first, one.after)}
    found = [
        one
        for one in found
        if not (one.field == "year" and one.after - 1 in inside) and not _is_impossible(one)
    ]
    found = [
        one
        for one in found
        if not _is_overruled(one, found, tokens)
        and not is_only_mentioned(one, found, tokens)
        and not is_anothers(one.field, tokens, one.after - 1)
    ]
    has_metro = any(one.field == "metro_near" for one in found)
    for one in found:
        yield one
        if one.field in {"metro_minutes", "metro_distance_m"} and not has_metro:
            yield Candidate("metro_near", True, "derived", one.first, one.after, 1)  # noqa: FBT003


def _is_overruled(one: Candidate, found: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    """Whether a sentence says how the building is heated, and then how the flat is."""
    here = tokens[one.first]
    if one.field != "heating" or not tagged(same_clause(tokens, one.first), {"building"}):
        return False
    return any(
        other.field == "heating"
        and other.value != one.value
        and other.status == "stated"
        and tokens[other.first].sentence == here.sentence
        and tagged(same_clause(tokens, other.first), _OF_THE_FLAT)
        for other in found
    )


def _is_impossible(one: Candidate) -> bool:
    if one.field == "year_range":
        first, _, last = str(one.value).partition("-")
        return not YEAR_FIRST <= int(first) <= int(last) <= YEAR_LAST
    return one.field in {"floor", "total_floors"} and isinstance(one.value, int) and one.value > FLOOR_MOST


def _union(candidates: Sequence[Candidate], tokens: Sequence[Token], prepared: Prepared) -> Attribute:
    """All values of a field that has several."""
    denied = {one.value for one in candidates if one.status == "negated"}
    stated = [one for one in candidates if one.status == "stated" and one.value not in denied]
    first = min(stated or candidates[:1], key=lambda one: one.first)
    quote = _quote(first.first, first.after, tokens, prepared)
    if not stated:
        return Attribute(None, "negated" if denied else first.status, quote)
    last = max(stated, key=lambda one: one.first)
    values = list(dict.fromkeys(one.value for one in stated))
    return Attribute(values, "stated", _quote(first.first, last.after, tokens, prepared) or quote)


def _believe(candidates: Sequence[Candidate], tokens: Sequence[Token], prepared: Prepared) -> Attribute:
    """The value that is believed, and whether the text contradicts itself."""
    known = [one for one in candidates if one.value is not None] or candidates
    corrections = _corrections(known, tokens)
    known = [one for one in known if not _is_corrected(one, corrections, tokens)] or known
    best = min(known, key=lambda one: (_TRUST[one.status], one.rank, one.first))
    quote = _quote(best.first, best.after, tokens, prepared)
    rivals = {one.value for one in known if one.rank == best.rank and one.status != "optional"}
    if best.field == "rooms" and any(_is_beside(best, one, tokens) for one in known):
        return Attribute(None, "conflict", quote)
    if len(rivals) > 1 and best.status != "optional":
        return Attribute(best.value if best.rank < WEAK_RANK else None, "conflict", quote)
    return Attribute(best.value, best.status, quote)


def _is_beside(best: Candidate, one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether one clause names two flats: "разделен на едностаен и двустаен"."""
    same = tokens[best.first].clause == tokens[one.first].clause
    return (
        same and one.value != best.value and one.status == best.status == "stated" and one.rank == best.rank
    )


def _corrections(known: Sequence[Candidate], tokens: Sequence[Token]) -> Mapping[int, Iterable[Candidate]]:
    """By sentence, the last that corrects what stood before, for each value: "…, но е тухлен"."""
    found: dict[int, dict[Any, Candidate]] = {}
    correcting: dict[int, bool] = {}
    for one in sorted((one for one in known if one.status == "stated"), key=lambda one: one.first):
        here = tokens[one.first]
        if here.clause not in correcting:
            correcting[here.clause] = tagged(same_clause(tokens, one.first), _CORRECTING)
        if correcting[here.clause]:
            found.setdefault(here.sentence, {})[one.value] = one
    return {sentence: last.values() for sentence, last in found.items()}


def _is_corrected(
    one: Candidate, corrections: Mapping[int, Iterable[Candidate]], tokens: Sequence[Token]
) -> bool:
    """Whether the sentence goes on to say otherwise: "изглежда панелен, но е тухлен", "…, днес тристаен"."""
    here = tokens[one.first]
    return one.field not in _MEASURES and any(
        other.first > one.first and other.value != one.value and tokens[other.first].clause != here.clause
        for other in corrections.get(here.sentence, ())
    )


def _quote(first: int, after: int, tokens: Sequence[Token], prepared: Prepared) -> str:
    """The words of the text; nothing where they would be too many to show anything."""
    start, end = tokens[first].start, tokens[min(after, len(tokens)) - 1].end
    return prepared.quote(start, end) if end - start <= QUOTE_CHARACTERS else ""
