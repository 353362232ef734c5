"""From many candidates to one answer a field: what is believed, and when a text contradicts itself."""

from collections.abc import Iterable, Mapping, Sequence

from sale_sofia.config.llm import QUOTE_CHARACTERS, WEAK_RANK
from sale_sofia.llm.attributes import FIELDS, LIST_FIELDS, Attribute, Attributes
from sale_sofia.llm.candidates import Candidate
from sale_sofia.llm.prepared import Prepared
from sale_sofia.llm.tokens import Token

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
