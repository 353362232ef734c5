"""How many flats pass, and how many only one condition keeps out."""

from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.scoring import Passing, count_passing


def test_verdicts_are_counted_and_the_only_reasons() -> None:
    scores: list[tuple[State, list[str], int]] = [
        (State.PASS, [], 1), (State.FAIL, ["panel"], 1), (State.FAIL, ["metro"], 2),
        (State.FAIL, ["metro", "panel"], 1), (State.UNKNOWN, [], 1),
    ]  # fmt: skip
    found = count_passing(scores)
    assert found == Passing(6, 1, 1, 4, {"metro": 2, "panel": 1})
    assert list(found.only) == ["metro", "panel"]


def test_nothing_is_counted_of_nothing() -> None:
    assert count_passing([]) == Passing()
