"""The curve of stays beside lifelines' on the same data."""

import pytest
from hypothesis import given, settings
from lifelines import KaplanMeierFitter

from sale_sofia.advice.market.market import Stay, kaplan_meier
from unit.advice.test_survival import STAYS


@settings(max_examples=40, deadline=None)
@given(STAYS)
def test_the_curve_is_that_of_lifelines(stays: list[Stay]) -> None:
    curve = kaplan_meier(stays)
    fitted = KaplanMeierFitter().fit([one.days for one in stays], [one.gone for one in stays])
    table = fitted.survival_function_["KM_estimate"]
    days = sorted({one.days for one in stays})
    assert [curve.after(day) for day in days] == pytest.approx([table[day] for day in days], abs=1e-12)
    half = {round(share, 9) for share in curve.shares}
    if 0.5 not in half:  # there lifelines' own rounding decides
        median = fitted.median_survival_time_
        assert curve.median() == (None if median == float("inf") else pytest.approx(median))
