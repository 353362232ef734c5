"""Which tests each process of a run gets first."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol, TypeVar

TESTS = Path(__file__).parent
LONGEST_FIRST = ("e2e", "integration", "crash", "contract", "unit")
"""The folders by how long one of their tests takes."""
WAITING = LONGEST_FIRST[:2]
"""Those whose tests wait for half of their time, for servers, browsers and each other."""
WAITING_UNTIL = 0.8
"""By then, as a part of a process's modules, the last of these begins: it ends before the others do."""


class _Test(Protocol):
    @property
    def path(self) -> Path: ...


Test = TypeVar("Test", bound=_Test)
Module = list[Test]


def shared_out(tests: Sequence[Test], processes: int) -> list[Test]:
    """The order that, cut into equal pieces as xdist does, keeps the cores busy to the end.

    Each process has its share of every folder. It begins with a long test and ends with short ones, so that
    all end together; between them tests that wait and tests that do not take turns, so that the processes
    never all wait at once. A module stays whole but where its piece is full.
    """
    modules = [list(found) for _, found in groupby(tests, lambda test: test.path)]
    modules.sort(key=lambda module: LONGEST_FIRST.index(_folder(module)))
    shares: list[list[Module[Test]]] = [[] for _ in range(processes)]
    for module in modules:
        min(shares, key=_count).append(module)
    pieces = [[test for module in _mixed(share) for test in module] for share in shares]
    sizes = [(len(tests) + number) // processes for number in range(processes)]
    spare = [test for piece, size in zip(pieces, sizes, strict=True) for test in piece[size:]]
    ordered: list[Test] = []
    for piece, size in zip(pieces, sizes, strict=True):
        missing = max(0, size - len(piece))
        ordered += piece[:size] + spare[:missing]
        del spare[:missing]
    return ordered


def _folder(module: Module[Test]) -> str:
    return module[0].path.relative_to(TESTS).parts[0]


def _count(share: list[Module[Test]]) -> int:
    return sum(map(len, share))


def _mixed(share: list[Module[Test]]) -> list[Module[Test]]:
    """Each kind in its order, spread evenly among the other."""
    waiting = [module for module in share if _folder(module) in WAITING]
    others = [module for module in share if _folder(module) not in WAITING]
    placed = [(WAITING_UNTIL * place / len(waiting), module) for place, module in enumerate(waiting)]
    placed += [((place + 1) / len(others), module) for place, module in enumerate(others)]
    return [module for _, module in sorted(placed, key=lambda one: one[0])]
