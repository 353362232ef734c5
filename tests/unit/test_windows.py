from windows import excess, most_in


def test_windows_are_counted_wherever_they_begin() -> None:
    times = [0.0, 0.5, 0.9, 1.0, 1.4]
    assert most_in(times, 1.0) == 4  # from 0.5 up to, not including, 1.5
    assert most_in(times, 0.4) == 2
    assert most_in([], 1.0) == 0


def test_what_is_over_the_limit_is_told() -> None:
    steady = [number * 0.1 for number in range(100)]
    assert excess(steady, per_minute=600, burst=1) == {}
    assert excess([*steady, 5.05, 5.06], per_minute=600, burst=1) == {0.1: 1.0, 1.0: 1.0, 10.0: 1.0}
