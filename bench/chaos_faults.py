"""Which faults a run under fire meets, in which order and when: all from one number, to be repeated by it."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HOUR, DAY = 3600, 86_400
CLOCKS = (-DAY, -HOUR, HOUR, DAY, 0)
"""How far a host's clock is set from the true time; 0 sets it right again."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 1.5
SHARE_AT_WORK = 0.4

KILLS = {
    "kill pool": 10,
    "kill worker": 5,
    "kill beat": 3,
    "kill up": 3,
    "kill redis": 4,
    "wipe redis": 1,
    "kill everything": 3,
}
STOPS = {"stop pool": 4, "stop worker": 3, "stop redis": 2, "stop everything": 2}
STARTS = {"start, kill redis": 3, "start, kill worker": 2, "start, kill beat": 2, "start, kill up": 2}
CLOCK = {"set clock": 5}
POSTGRES = {"kill postgres": 3}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: what, where, how long after the one before, and how it is done."""

    kind: str
    host: int
    pause: float
    chance: float
    """Chooses among several victims, and moments; from 0 to 1."""
    ahead: int = 0
    """Seconds, of a clock that is set."""
    at_work: bool = False
    """Whether it waits, not for long, until pages are fetched; else it may disturb what is just coming up."""

    def between(self, least: float, most: float) -> float:
        """This fault's own moment in a span."""
        return least + self.chance * (most - least)

    def __str__(self) -> str:
        return f"{self.kind} {self.ahead:+d} s" if self.kind in CLOCK else self.kind


def weights(*, clocks: bool, postgres: bool) -> dict[str, int]:
    """How often each kind comes beside the others."""
    return KILLS | STOPS | STARTS | (CLOCK if clocks else {}) | (POSTGRES if postgres else {})


def draw(seed: int, count: int, kinds: Mapping[str, int], hosts: int) -> list[Fault]:
    """So many faults, the same for the same seed; each kind as often as its weight says."""
    rng = random.Random(seed)
    chosen = shares(kinds, count)
    rng.shuffle(chosen)
    return [_fault(rng, kind, hosts) for kind in chosen]


def shares(kinds: Mapping[str, int], count: int) -> list[str]:
    """So many kinds; where there are enough of them, each at least once."""
    ideal = {kind: count * weight / sum(kinds.values()) for kind, weight in kinds.items()}
    given = dict.fromkeys(kinds, 1 if count >= len(kinds) else 0)
    while sum(given.values()) < count:
        given[max(given, key=lambda one: ideal[one] - given[one])] += 1
    return [kind for kind, times in given.items() for _ in range(times)]


def _fault(rng: random.Random, kind: str, hosts: int) -> Fault:
    pause = rng.uniform(SHORTEST_PAUSE, LONGEST_PAUSE)
    ahead = rng.choice(CLOCKS) if kind in CLOCK else 0
    return Fault(kind, rng.randrange(hosts), pause, rng.random(), ahead, rng.random() < SHARE_AT_WORK)


def in_rounds(faults: Sequence[Fault], size: int) -> list[Sequence[Fault]]:
    """The faults of one world after the other; each world is judged by itself."""
    return [faults[start : start + size] for start in range(0, len(faults), size)]
