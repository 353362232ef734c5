"""What cannot be so is left out, and what follows from the rest is added."""

from collections.abc import Iterable, Iterator, Sequence

from sale_sofia.config.llm import FLOOR_MOST, YEAR_FIRST, YEAR_LAST
from sale_sofia.llm.candidates import Candidate


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
