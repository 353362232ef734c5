import random

from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.telemetry.metrics import TimeSpans
from sale_sofia.telemetry.settings import OPEN_SPANS_MAX

SPANS = st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40)), max_size=20)


def spans(stretches: list[tuple[int, int]]) -> TimeSpans:
    made = TimeSpans()
    for start, seconds in stretches:
        made.add(start, seconds)
    return made


def merged(*many: TimeSpans) -> TimeSpans:
    whole = TimeSpans()
    for part in many:
        whole.merge(part)
    return whole


def test_what_many_saw_counts_once() -> None:
    seen = spans([(100, 60), (100, 60), (130, 30), (159, 1)])
    assert seen.spans == ((100_000, 160_000),)
    assert seen.seconds_within(0, 1000) == 60.0


def test_two_openings_are_two_and_touching_ones_are_one() -> None:
    assert spans([(200, 10), (100, 60)]).spans == ((100_000, 160_000), (200_000, 210_000))
    assert spans([(100, 60), (160, 40)]).spans == ((100_000, 200_000),)


def test_only_the_time_of_the_run_counts() -> None:
    seen = spans([(100, 60), (200, 60)])
    assert seen.seconds_within(150, 230) == 40.0
    assert seen.seconds_within(161, 199) == 0.0


def test_no_time_is_no_span() -> None:
    assert spans([(100, 0)]).spans == ()
    assert spans([(100, -5)]).spans == ()


@given(SPANS, SPANS, SPANS)
def test_merging_is_the_union_in_any_order(
    first: list[tuple[int, int]], second: list[tuple[int, int]], third: list[tuple[int, int]]
) -> None:
    a, b, c = spans(first), spans(second), spans(third)
    covered = {moment for start, length in first + second + third for moment in range(start, start + length)}
    whole = merged(a, b, c)
    assert whole.seconds_within(0, 1000) == len(covered)
    assert merged(c, b, a) == whole
    assert merged(a, merged(b, c)) == whole
    assert merged(whole, whole) == whole
    assert TimeSpans.from_list(whole.to_list()) == whole


def test_their_number_has_an_end_and_the_smallest_gaps_are_filled() -> None:
    rng = random.Random(5)
    # Openings a hundred seconds apart; ten times, only two seconds after the one before.
    starts = [100 * number for number in range(OPEN_SPANS_MAX)]
    made = spans([(start, 10) for start in starts])
    assert len(made.spans) == OPEN_SPANS_MAX
    close = rng.sample(starts, 10)
    for start in close:
        made.add(start + 12, 10)
    assert len(made.spans) == OPEN_SPANS_MAX
    assert made.seconds_within(0, 1_000_000) == 10 * OPEN_SPANS_MAX + 10 * 12
