"""What a score is made of: parts of criteria and findings of deal breakers, each with its reason."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sale_sofia.advice.scoring.settings import PART_SHARES


class State(StrEnum):
    """What is found of a condition. Unknown is neither of the others, and never taken for one."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    UNKNOWN = "unknown"


VERDICTS: Final = (State.PASS, State.UNKNOWN, State.FAIL)
"""The best first."""
YesNo = bool | None
"""A fact that is so, is not so, or is not known."""
Told = Mapping[str, Any]


class Part(NamedTuple):
    """One fact of a criterion: what it is worth from 0 to 5, None when it is not known."""

    name: str
    value: float | None
    say: str
    """The key of its sentence in words.yaml."""
    told: Told
    """What the sentence is filled with."""
    share: float
    """Of its criterion."""


class Criterion(NamedTuple):
    """One criterion. `value` is of what is known of it; None when nothing is."""

    name: str
    value: float | None
    known: float
    """The share of it that is known, from 0 to 1."""
    parts: tuple[Part, ...]
    stored: str
    """As it is stored with a score: a pair of a JSON object."""


class Finding(NamedTuple):
    """One deal breaker: its state, why, and the advert's own words where there are any."""

    name: str
    state: State
    say: str
    told: Told
    quote: str | None = None
    only_text: tuple[str, ...] = ()
    """Facts by which it passes that no portal prints: only a description says so."""


def known(criterion: str, name: str, value: float, say: str, **told: object) -> Part:
    """A fact of a criterion, and its worth."""
    return Part(name, value, f"{criterion}.{say}", told, PART_SHARES[criterion][name])


def unknown(criterion: str, name: str, say: str | None = None, **told: object) -> Part:
    """A fact of a criterion that nobody tells."""
    return Part(name, None, f"{criterion}.{say or f'{name}_unknown'}", told, PART_SHARES[criterion][name])


def weigh(name: str, parts: Sequence[Part]) -> Criterion:
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


def passes(name: str, say: str, **told: object) -> Finding:
    """The condition is met."""
    return Finding(name, State.PASS, f"{name}.{say}", told)


def fails(name: str, say: str, **told: object) -> Finding:
    """The condition is not met."""
    return Finding(name, State.FAIL, f"{name}.{say}", told)


def not_known(name: str, say: str = "unknown", **told: object) -> Finding:
    """Nobody tells what the condition asks."""
    return Finding(name, State.UNKNOWN, f"{name}.{say}", told)
