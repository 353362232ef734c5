"""What a score is made of: parts of criteria and findings of deal breakers, each with its reason."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sale_sofia.advice.scoring.settings import PART_SHARES


class State(StrEnum):
    """The state of a condition. Unknown is a state of its own, never taken for pass or fail."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    UNKNOWN = "unknown"


VERDICTS: Final = (State.PASS, State.UNKNOWN, State.FAIL)
"""The best first."""
YesNo = bool | None
"""Yes, no, or not known (None)."""
SentenceValues = Mapping[str, Any]


class CriterionPart(NamedTuple):
    """One fact of a criterion: what it is worth from 0 to 5, None when it is not known."""

    name: str
    value: float | None
    say: str
    """The key of its sentence in words.yaml."""
    values: SentenceValues
    """What fills the placeholders of the sentence."""
    share: float
    """Of its criterion."""


class Criterion(NamedTuple):
    """One criterion. `value` counts only what is known; None when nothing is."""

    name: str
    value: float | None
    known: float
    """The share of it that is known, from 0 to 1."""
    parts: tuple[CriterionPart, ...]
    stored: str
    """As it is stored with a score: a pair of a JSON object."""


class BreakerFinding(NamedTuple):
    """One deal breaker: its state, why, and the advert's own words where there are any."""

    name: str
    state: State
    say: str
    values: SentenceValues
    quote: str | None = None
    only_text: tuple[str, ...] = ()
    """Facts it passes by that only a description states, and no portal prints."""


def known_part(criterion: str, name: str, value: float, say: str, **values: object) -> CriterionPart:
    """A known fact of a criterion, with its worth."""
    return CriterionPart(name, value, f"{criterion}.{say}", values, PART_SHARES[criterion][name])


def unknown_part(criterion: str, name: str, say: str | None = None, **values: object) -> CriterionPart:
    """A fact of a criterion that no advert states."""
    return CriterionPart(
        name, None, f"{criterion}.{say or f'{name}_unknown'}", values, PART_SHARES[criterion][name]
    )


def weigh(name: str, parts: Sequence[CriterionPart]) -> Criterion:
    """A criterion out of its parts: the mean of those that are known, by their shares."""
    share = points = 0.0
    for part in parts:
        if part.value is not None:
            share += part.share
            points += part.share * part.value
    if not share:
        return Criterion(name, None, 0.0, tuple(parts), f'"{name}":[null,0.0]')
    value, share = points / share, min(share, 1.0)
    return Criterion(name, value, share, tuple(parts), f'"{name}":[{value},{share}]')


def passes(name: str, say: str, **values: object) -> BreakerFinding:
    """The condition is met."""
    return BreakerFinding(name, State.PASS, f"{name}.{say}", values)


def fails(name: str, say: str, **values: object) -> BreakerFinding:
    """The condition is not met."""
    return BreakerFinding(name, State.FAIL, f"{name}.{say}", values)


def not_known(name: str, say: str = "unknown", **values: object) -> BreakerFinding:
    """It is not known whether the condition is met."""
    return BreakerFinding(name, State.UNKNOWN, f"{name}.{say}", values)
