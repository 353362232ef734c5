"""What can be near a flat, as values; how it is found is in `nearby.py`, which needs numpy."""

from collections.abc import Collection
from typing import Final, Literal, NamedTuple, get_args

RoadClass = Literal["beside", "near", "close", "far"]
ROAD_CLASSES: Final[tuple[RoadClass, ...]] = get_args(RoadClass)
"""How far a big road is: up to 50, 150 and 300 m, and farther."""


class Nearest(NamedTuple):
    """The nearest of a kind: minutes on foot from the least to the most that they can be."""

    least: int
    most: int
    name: str | None = None
    """None where it is another one from another point that is meant."""
    ranks: tuple[int, int] | None = None
    """Of a school: its place among the city's by the exam, from the best to the worst that it can be."""
    lines: tuple[str, ...] = ()
    """Of stops: the lines of those within a short walk, from wherever."""
    some_lines: tuple[str, ...] = ()
    """Those, and lines that are within it only from some of the points that are meant."""


class Road(NamedTuple):
    """How far a big road is, as classes from the nearest to the farthest that it can be."""

    least: int
    most: int

    def is_one_of(self, wanted: Collection[RoadClass]) -> bool | None:
        """Whether all classes that it can be of are wanted, or none is; None where only some are."""
        possible = {*ROAD_CLASSES[self.least : self.most + 1]}
        return True if possible <= {*wanted} else None if possible & {*wanted} else False

    @property
    def known(self) -> RoadClass | None:
        """The class, where there is one."""
        return ROAD_CLASSES[self.least] if self.least == self.most else None


class Nearby(NamedTuple):
    """What is near a flat; None of what is not known."""

    school: Nearest | None
    shop: Nearest | None
    stop: Nearest | None
    road: Road | None


def is_within(least: float, most: float, limit: float) -> bool | None:
    """Whether a range is within a limit; None where only a part of it is."""
    return True if most <= limit else None if least <= limit else False


def line_kind(line: str) -> str:
    """What runs there: `M`, `b`, `t` or `tb`; empty where the name does not say."""
    return next((kind for kind in ("tb", "t", "b", "M") if line.startswith(kind)), "")


def line_number(line: str) -> str:
    """What stands on it; of the metro with its letter."""
    return line if line.startswith("M") else line.removeprefix(line_kind(line))
