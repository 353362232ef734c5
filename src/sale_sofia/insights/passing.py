"""How many flats pass a buyer's conditions, and how many only one of them keeps out."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sale_sofia.insights.judging import State
from sale_sofia.insights.scoring import Score


@dataclass(frozen=True, slots=True)
class Passing:
    """Of the flats that are offered and of the right kind."""

    candidates: int = 0
    passing: int = 0
    unknown: int = 0
    """Neither in nor out: a condition that must be known is not."""
    failing: int = 0
    only: Mapping[str, int] = field(default_factory=dict)
    """Breaker → flats that fail by it and by nothing else; the most first."""


def count_passing(scores: Iterable[Score]) -> Passing:
    """Count the verdicts."""
    states: Counter[State] = Counter()
    only: Counter[str] = Counter()
    for score in scores:
        states[score.verdict] += 1
        if len(failed := score.named(State.FAIL)) == 1:
            only[failed[0]] += 1
    return Passing(
        candidates=states.total(),
        passing=states[State.PASS],
        unknown=states[State.UNKNOWN],
        failing=states[State.FAIL],
        only=dict(only.most_common()),
    )
