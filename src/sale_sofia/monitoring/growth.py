"""How the time of a reading grows with what is read: in proportion, or worse.

Each reading is made in a child process, which is ended where it takes too long: one that hangs costs its own
verdict and no other.
"""

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

from sale_sofia.config.monitoring import (
    GROWTH_FLOOR_SECONDS,
    GROWTH_KEPT_BYTES,
    GROWTH_LIMIT_SECONDS,
    GROWTH_MEGABYTE_SECONDS,
    GROWTH_MOST,
    GROWTH_SIZES,
    GROWTH_TRIES,
)
from sale_sofia.services.apart_process import keep_memory

_MEGABYTE = 1_000_000
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Trial:
    """One reader and one shape of what it reads."""

    name: str
    make: Callable[[int], Any]
    read: Callable[[Any], object]


@dataclass(slots=True)
class Growth:
    """The CPU time of a trial for each size, and what is wrong with it."""

    name: str
    seconds: dict[int, float] = field(default_factory=dict)
    fault: str | None = None


def growths(trials: Sequence[Trial], sizes: Sequence[int] = GROWTH_SIZES) -> Iterator[Growth]:
    """The verdict on each trial, in their order.

    What looks slow is tried once more, in another process: on a machine that others use every moment may be
    a bad one, but what is slow is slow twice.
    """
    done, again = 0, False
    while done < len(trials):
        for growth in _by_a_child(trials[done:], sizes):
            again = growth.fault is not None and not again
            if not again:
                done += 1
                yield growth


def _by_a_child(trials: Sequence[Trial], sizes: Sequence[int]) -> Iterator[Growth]:
    """As many verdicts as one child comes to; the last may be that it was ended."""
    ours, theirs = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_measure_all, args=(trials, sizes, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        for trial in trials:
            growth = _received(ours, trial)
            yield growth
            if growth.fault:  # whatever it left behind is left with the child
                return
    finally:
        child.kill()
        child.join()
        ours.close()


def _received(told: Connection, trial: Trial) -> Growth:
    growth = Growth(trial.name)
    try:
        if told.poll(GROWTH_LIMIT_SECONDS):
            given: Growth = told.recv()
            return given
    except EOFError:
        growth.fault = "its process died"
        return growth
    growth.fault = f"took more than {GROWTH_LIMIT_SECONDS:g} s and was ended"
    return growth


def _measure_all(trials: Sequence[Trial], sizes: Sequence[int], told: Connection) -> None:
    gc.freeze()  # what is loaded is not looked through between the readings
    keep_memory(GROWTH_KEPT_BYTES)  # the size from which on it is given back would be a leap in time
    for trial in trials:
        told.send(measured(trial, sizes))


def measured(trial: Trial, sizes: Sequence[int]) -> Growth:
    """The trial at each size, until something is wrong."""
    growth = Growth(trial.name)
    for size in sizes:
        given = trial.make(size)
        growth.seconds[size] = _seconds(trial, given)
        growth.fault = fault_of(growth.seconds)
        for _ in range(GROWTH_TRIES - 1):
            if growth.fault and growth.seconds[size] < GROWTH_MEGABYTE_SECONDS:
                growth.seconds[size] = min(growth.seconds[size], _seconds(trial, given))
                growth.fault = fault_of(growth.seconds)
        if growth.fault:
            break
    return growth


def _seconds(trial: Trial, given: object) -> float:
    gc.collect()
    gc.disable()  # its rounds come by leaps that are no growth of the reading's
    began = time.process_time()
    trial.read(given)
    taken = time.process_time() - began
    gc.enable()
    return taken


def fault_of(seconds: dict[int, float]) -> str | None:
    """What is wrong with these times; None where they grow as they may."""
    for (less, shorter), (more, longer) in pairwise(seconds.items()):
        times = longer / max(shorter, GROWTH_FLOOR_SECONDS)
        if times > GROWTH_MOST:
            return f"{more} bytes take {times:.1f} times as long as {less}"
    for size, taken in seconds.items():
        if taken > GROWTH_MEGABYTE_SECONDS * max(1, size / _MEGABYTE):
            return f"{size} bytes take {taken:.1f} s"
    return None
