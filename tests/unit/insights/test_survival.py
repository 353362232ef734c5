"""The curve of stays beside lifelines' on the same data."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sale_sofia.advice.market.flats import Stay, kaplan_meier

# Few different days, so that many stays end together.
STAYS = st.lists(
    st.builds(Stay, st.integers(0, 12).map(float) | st.floats(0, 400), st.booleans()), min_size=1
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(STAYS)
def test_the_curve_is_that_of_lifelines(stays: list[Stay]) -> None:
    from lifelines import KaplanMeierFitter  # noqa: PLC0415 - too long for whoever collects the tests

    curve = kaplan_meier(stays)
    fitted = KaplanMeierFitter().fit([one.days for one in stays], [one.gone for one in stays])
    assert (curve.flats, curve.gone) == (len(stays), sum(one.gone for one in stays))
    table = fitted.survival_function_["KM_estimate"]
    days = sorted({one.days for one in stays})
    assert [curve.after(day) for day in days] == pytest.approx([table[day] for day in days], abs=1e-12)
    half = {round(share, 9) for share in curve.shares}
    if 0.5 not in half:  # there lifelines' own rounding decides
        median = fitted.median_survival_time_
        assert curve.median() == (None if median == float("inf") else pytest.approx(median))


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
