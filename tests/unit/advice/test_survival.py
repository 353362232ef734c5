"""The curve of stays beside its definition; bench/tests/test_lifelines.py has it beside lifelines'."""

from fractions import Fraction
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.advice.market.market import Stay, kaplan_meier

# Few different days, so that many stays end together.
STAYS = st.lists(
    st.builds(Stay, st.integers(0, 12).map(float) | st.floats(0, 400), st.booleans()), min_size=1
)


def still_there(stays: list[Stay], day: float) -> Fraction:
    """Of those watched until the day of each going, the share that did not go then, multiplied."""
    goings = {one.days for one in stays if one.gone and one.days <= day}
    return prod(
        (
            1 - Fraction(stays.count(Stay(then, gone=True)), sum(one.days >= then for one in stays))
            for then in goings
        ),
        start=Fraction(1),
    )


@given(STAYS)
def test_the_curve_is_that_of_kaplan_and_meier(stays: list[Stay]) -> None:
    curve = kaplan_meier(stays)
    assert (curve.flats, curve.gone) == (len(stays), sum(one.gone for one in stays))
    shares = {day: still_there(stays, day) for day in sorted({one.days for one in stays})}
    assert [curve.after(day) for day in shares] == pytest.approx([*map(float, shares.values())], abs=1e-12)
    assert curve.median() == next((day for day, share in shares.items() if share <= Fraction(1, 2)), None)


def test_a_flat_that_is_still_there_counts_for_as_long_as_it_has_been() -> None:
    curve = kaplan_meier(
        [Stay(5, gone=False), Stay(10, gone=True), Stay(20, gone=True), Stay(30, gone=False)]
    )
    assert curve.days == (10, 20)
    assert curve.shares == pytest.approx((2 / 3, 1 / 3))
    assert curve.median() == 20
    assert curve.after(9) == 1.0
    assert curve.after(15) == pytest.approx(2 / 3)


def test_exactly_half_is_the_median() -> None:
    assert kaplan_meier([Stay(1, gone=True), Stay(2, gone=True), Stay(3, gone=False)] * 10).median() == 2
    assert kaplan_meier([Stay(day, gone=day <= 3) for day in range(1, 7)]).median() == 3


def test_nothing_is_told_that_nobody_watched() -> None:
    curve = kaplan_meier([Stay(5, gone=True), Stay(8, gone=False), Stay(8, gone=False)])
    assert curve.after(8) == pytest.approx(2 / 3)
    assert curve.after(8.1) is None
    assert curve.median() is None


def test_no_flat_has_no_curve() -> None:
    curve = kaplan_meier([])
    assert (curve.flats, curve.days, curve.median(), curve.after(1)) == (0, (), None, None)
