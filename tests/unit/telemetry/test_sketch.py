import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.telemetry.metrics import TimeSketch, microseconds
from sale_sofia.telemetry.settings import SKETCH_RELATIVE_ERROR
from tables import each_row

SECONDS = st.floats(min_value=0, max_value=10_000, allow_nan=False)
TIMES = st.lists(SECONDS, max_size=50)


def sketch(times: list[float]) -> TimeSketch:
    made = TimeSketch()
    for time in times:
        made.add(time)
    return made


def merged(*sketches: TimeSketch) -> TimeSketch:
    whole = TimeSketch()
    for part in sketches:
        whole.merge(part)
    return whole


def exact(times: list[float], share: float) -> float:
    return sorted(times)[math.floor(share * (len(times) - 1))]


def test_nothing_has_no_quantile_and_no_mean() -> None:
    assert (TimeSketch().count, TimeSketch().quantile(0.5), TimeSketch().mean()) == (0, None, None)


def test_one_time_is_every_quantile_exactly() -> None:
    single = sketch([0.25])
    assert [single.quantile(share) for share in (0, 0.5, 0.99, 1)] == [0.25] * 4
    assert single.mean() == 0.25


@pytest.mark.slow
@each_row("seed", [1, 2, 3])
@each_row("share", [0, 0.5, 0.95, 0.99, 1])
def test_quantiles_of_many_times_are_right_to_one_per_cent(seed: int, share: float) -> None:
    rng = random.Random(seed)
    times = [rng.lognormvariate(-1, 1.2) + 0.001 for _ in range(20_000)]
    assert sketch(times).quantile(share) == pytest.approx(exact(times, share), rel=0.0101)


@given(st.lists(st.floats(min_value=0.001, max_value=3600), min_size=1, max_size=50), st.floats(0, 1))
def test_any_quantile_is_right_to_one_per_cent(times: list[float], share: float) -> None:
    # One more microsecond for the rounding to whole ones.
    tolerance = SKETCH_RELATIVE_ERROR * exact(times, share) + 2e-6
    assert abs((sketch(times).quantile(share) or 0) - exact(times, share)) <= tolerance


def test_times_beyond_the_ends_are_counted_at_the_ends() -> None:
    both = sketch([0.0, -1.0, 0.0004, 7200.0, 100_000.0])
    assert both.count == 5
    assert len(both.buckets) == 2
    assert (both.quantile(0) or 0) < 0.0011
    assert both.quantile(1) == pytest.approx(3600, rel=0.011)
    assert (both.least, both.most) == (0, 100_000_000_000)


def test_its_size_has_an_end() -> None:
    rng = random.Random(7)
    many = sketch([10 ** rng.uniform(-5, 6) for _ in range(50_000)])
    assert many.count == 50_000
    assert len(many.buckets) <= 757
    assert len(json.dumps(many.to_dict())) < 12_000


@given(TIMES, TIMES, TIMES)
def test_merging_is_the_same_in_any_order_and_loses_nothing(
    first: list[float], second: list[float], third: list[float]
) -> None:
    a, b, c = sketch(first), sketch(second), sketch(third)
    whole = sketch(first + second + third)
    assert merged(a, b, c) == whole
    assert merged(c, a, b) == whole
    assert merged(a, merged(b, c)) == whole
    assert whole.total == sum(map(microseconds, first + second + third))


@given(TIMES)
def test_json_gives_the_same_sketch(times: list[float]) -> None:
    made = sketch(times)
    assert TimeSketch.from_dict(json.loads(json.dumps(made.to_dict()))) == made


def test_merging_changes_only_the_one_merged_into() -> None:
    first, second = sketch([1.0]), sketch([2.0])
    first.merge(second)
    first.add(3.0)
    assert second == sketch([2.0])
