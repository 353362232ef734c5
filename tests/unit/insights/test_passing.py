"""How many flats pass, and how many only one condition keeps out."""

from sale_sofia.advice.scoring.judging import State, fails, not_known, passes
from sale_sofia.advice.scoring.scoring import Passing, Score, count_passing


def score(*findings: State) -> Score:
    makers = {State.PASS: passes, State.FAIL: fails, State.UNKNOWN: not_known}
    found = tuple(makers[one](name, "x") for one, name in zip(findings, ("metro", "panel"), strict=False))
    order = (State.FAIL, State.UNKNOWN, State.PASS)
    verdict = min(findings, key=order.index, default=State.PASS)
    return Score(1, None, 0.0, 0.0, verdict, (), found)


def test_verdicts_are_counted_and_the_only_reasons() -> None:
    scores = [
        score(State.PASS, State.PASS), score(State.FAIL, State.PASS), score(State.FAIL, State.UNKNOWN),
        score(State.FAIL, State.FAIL), score(State.PASS, State.FAIL), score(State.UNKNOWN, State.PASS),
    ]  # fmt: skip
    assert count_passing(scores) == Passing(6, 1, 1, 4, {"metro": 2, "panel": 1})


def test_nothing_is_counted_of_nothing() -> None:
    assert count_passing([]) == Passing()
