"""Values for what is near a flat; `nearby.py`, which needs numpy, computes them."""

from collections.abc import Collection
from typing import Final, Literal, NamedTuple, get_args

RoadClass = Literal["beside", "near", "close", "far"]
ROAD_CLASSES: Final[tuple[RoadClass, ...]] = get_args(RoadClass)
"""How far a big road is: up to 50, 150 and 300 m, and farther."""


class Nearest(NamedTuple):
    """The nearest place of a kind: the range of possible minutes on foot."""

    least: int
    most: int
    name: str | None = None
    """None where it differs between the possible points."""
    ranks: tuple[int, int] | None = None
    """Of a school: its rank in the city by the exam, from the best to the worst possible."""
    lines: tuple[str, ...] = ()
    """Of stops: the lines within a short walk from every possible point."""
    some_lines: tuple[str, ...] = ()
    """Those, and lines within a short walk from only some of the possible points."""


class Road(NamedTuple):
    """How far a big road is, as the range of possible classes."""

    least: int
    most: int

    def is_one_of(self, classes: Collection[RoadClass]) -> bool | None:
        """Whether all possible classes are among these, or none is; None where only some are."""
        possible = {*ROAD_CLASSES[self.least : self.most + 1]}
        return True if possible <= {*classes} else None if possible & {*classes} else False

    @property
    def known(self) -> RoadClass | None:
        """The class, if only one is possible."""
        return ROAD_CLASSES[self.least] if self.least == self.most else None


class Nearby(NamedTuple):
    """What is near a flat; None where unknown."""

    school: Nearest | None
    shop: Nearest | None
    stop: Nearest | None
    road: Road | None


def is_within(least: float, most: float, limit: float) -> bool | None:
    """Whether a range is within a limit; None if only part of it is."""
    return True if most <= limit else None if least <= limit else False


def line_kind(line: str) -> str:
    """The kind of a line: `M`, `b`, `t` or `tb`; empty where its name does not say."""
    return next((kind for kind in ("tb", "t", "b", "M") if line.startswith(kind)), "")


def line_number(line: str) -> str:
    """The number shown on a line; the metro's has its letter."""
    return line if line.startswith("M") else line.removeprefix(line_kind(line))
