import pytest

from tables import each_row


def test_every_wrong_row_is_told_and_no_other() -> None:
    @each_row(("given", "expected"), [(1, 1), (2, 3), (3, 3), (4, 5)])
    def same(given: int, expected: int) -> None:
        assert given == expected

    with pytest.raises(ExceptionGroup, match="2 of 4 rows are wrong") as told:
        same()
    notes = [note for error in told.value.exceptions for note in error.__notes__]
    assert notes == ["row: {'expected': 3, 'given': 2}", "row: {'expected': 5, 'given': 4}"]


def test_tables_are_crossed_and_fixtures_passed_on() -> None:
    seen = []

    @each_row("one", "ab")
    @each_row("two", [1, 2])
    def note(one: str, two: int, three: str) -> None:
        seen.append((one, two, three))

    note(three="x")
    assert seen == [("a", 1, "x"), ("a", 2, "x"), ("b", 1, "x"), ("b", 2, "x")]


def test_a_table_without_rows_is_a_mistake() -> None:
    @each_row("one", [])
    def nothing(one: str) -> None:
        assert one

    with pytest.raises(AssertionError, match="without rows"):
        nothing()
