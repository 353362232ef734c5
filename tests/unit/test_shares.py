"""In which order the processes of a run get their tests."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from shares import TESTS, shared_out


class One(NamedTuple):
    path: Path
    number: int


def module(name: str, count: int) -> list[One]:
    return [One(TESTS / f"{name}.py", number) for number in range(count)]


def test_each_begins_with_long_tests_and_ends_with_short_ones() -> None:
    tests = module("contract/a", 3) + module("integration/b", 2) + module("integration/c", 4)
    tests += module("unit/d", 7) + module("unit/e", 1) + module("unit/f", 5)
    ordered = shared_out(tests, 3)
    assert sorted(ordered) == sorted(tests)
    left = iter(ordered)
    pieces = [[one.path.stem for one in islice(left, size)] for size in (7, 7, 8)]
    assert [piece[0] for piece in pieces] == ["b", "c", "a"]
    assert {piece[-1] for piece in pieces} <= {"d", "e", "f"}
    assert [one.number for one in ordered if one.path.stem == "c"] == [0, 1, 2, 3]


def test_tests_that_wait_and_tests_that_do_not_take_turns() -> None:
    tests = [one for name in "abcd" for one in module(f"integration/{name}", 1)]
    tests += [one for name in "pqrstuvw" for one in module(f"unit/{name}", 1)]
    assert "".join(one.path.stem for one in shared_out(tests, 1)) == "apbqrcsdtuvw"
