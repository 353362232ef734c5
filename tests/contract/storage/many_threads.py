"""Many at once in one process: each thread has a connection of its own."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_SECONDS = 120


def in_threads(work: Callable[[int], T], count: int) -> list[T]:
    """What the work gives for 0, 1, 2 …, each in its own thread; none begins before all are there."""
    barrier = threading.Barrier(count)
    results: dict[int, T] = {}
    failures: list[BaseException] = []

    def begin(number: int) -> None:
        try:
            barrier.wait(PATIENCE_SECONDS)
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE_SECONDS)
    assert failures == []
    return [results[number] for number in range(count)]
