from sale_sofia.crawl.resilience.breaker import FailureWindow
from tables import each_row


def window(*results: tuple[float, bool]) -> FailureWindow:
    """Of 100 seconds in ten buckets, after these results."""
    made = FailureWindow(100.0, 10)
    for now, ok in results:
        made.add(now, ok=ok)
    return made


def test_an_empty_window_has_no_failures() -> None:
    assert (window().volume, window().rate, window().in_a_row) == (0, 0.0, 0)


def test_it_counts_all_and_the_share_that_failed() -> None:
    counted = window((0.0, True), (5.0, False), (50.0, True), (99.9, True))
    assert (counted.volume, counted.rate) == (4, 0.25)


@each_row("old", [True, False])
@each_row(("now", "volume"), [(99.9, 2), (100.0, 1), (1000.0, 1)])
def test_good_and_bad_leave_with_their_bucket(*, old: bool, now: float, volume: int) -> None:
    assert window((9.9, old), (now, True)).volume == volume


def test_a_row_ends_with_a_success_or_with_a_whole_window_between() -> None:
    assert window((0.0, False), (100.0, False)).in_a_row == 2
    assert window((0.0, False), (100.1, False)).in_a_row == 1
    assert window((0.0, False), (1.0, True)).in_a_row == 0
    assert window((0.0, False), (1.0, True), (2.0, False)).in_a_row == 1
