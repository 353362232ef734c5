"""The three states of a condition on a flat: pass, fail, unknown."""

from collections.abc import Callable

from sale_sofia.insights.costs import Band
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.searching_around import Around

Check = Callable[[Flat, Around], State]
Named = tuple[str, Check]


def said(truth: bool | None) -> State:  # noqa: FBT001 - three states, no switch
    """What a condition that may not be known comes to."""
    if truth is None:
        return State.UNKNOWN
    return State.PASS if truth else State.FAIL


def within(band: Band | None, low: float | None, high: float | None) -> State:
    """Whether a sum that is known from a least to a most lies between two bounds."""
    if band is None:
        return State.UNKNOWN
    if (high is not None and band.least > high) or _below(band.most, low):
        return State.FAIL
    sure = (high is None or (band.most is not None and band.most <= high)) and (
        low is None or band.least >= low
    )
    return said(sure or None)


def _below(most: float | None, low: float | None) -> bool:
    return most is not None and low is not None and most < low
