"""Which tests each process of a run gets first."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol, TypeVar

TESTS = Path(__file__).parent
LONGEST_FIRST = ("e2e", "integration", "crash", "contract", "unit")
"""The folders by how long one of their tests takes."""


class _Test(Protocol):
    @property
    def path(self) -> Path: ...


Test = TypeVar("Test", bound=_Test)


def shared_out(tests: Sequence[Test], processes: int) -> list[Test]:
    """The order that, cut into equal pieces as xdist does, lets each process begin with long tests.

    Each has its share of every folder and ends with short tests, so that all end together; a module stays
    whole but where its piece is full.
    """
    modules = [list(found) for _, found in groupby(tests, lambda test: test.path)]
    modules.sort(key=lambda module: LONGEST_FIRST.index(module[0].path.relative_to(TESTS).parts[0]))
    shares: list[list[Test]] = [[] for _ in range(processes)]
    for module in modules:
        min(shares, key=len).extend(module)
    sizes = [(len(tests) + number) // processes for number in range(processes)]
    spare = [test for share, size in zip(shares, sizes, strict=True) for test in share[size:]]
    ordered: list[Test] = []
    for share, size in zip(shares, sizes, strict=True):
        missing = max(0, size - len(share))
        ordered += share[:size] + spare[:missing]
        del spare[:missing]
    return ordered
