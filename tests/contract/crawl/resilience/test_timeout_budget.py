import math

import pytest

from contract.crawl.resilience.backends import Clock
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from tables import each_row


def test_it_runs_out_with_the_clock_and_never_below_nothing() -> None:
    clock = Clock()
    budget = TimeoutBudget(10.0, clock)
    clock.now += 4
    assert (budget.remaining(), budget.expired) == (6.0, False)
    clock.now += 6
    assert (budget.remaining(), budget.expired) == (0.0, True)
    clock.now += 100
    assert budget.remaining() == 0.0


@each_row(("asked", "given"), [(3.0, 3.0), (6.0, 6.0), (7.0, 6.0), (math.inf, 6.0)])
def test_a_child_gets_what_it_asks_within_what_is_left(asked: float, given: float) -> None:
    clock = Clock()
    parent = TimeoutBudget(10.0, clock)
    clock.now += 4
    assert parent.child(asked).remaining() == given


def test_a_child_never_outlives_its_parent_though_the_clock_moves_between() -> None:
    clock = Clock()

    def ticking() -> float:
        clock.now += 0.5
        return clock.now

    parent = TimeoutBudget(10.0, ticking)
    grandchild = parent.child(60.0).child(60.0)
    while not parent.expired:
        pass
    assert grandchild.expired


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_no_time_at_all_is_expired(seconds: float) -> None:
    assert TimeoutBudget(seconds, Clock()).expired
