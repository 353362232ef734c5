"""Virtual time: an event loop whose clock jumps to the next event, and stations that serve in turn.

Everything asynchronous runs on it unchanged; an hour of waiting costs nothing, and the same program with
the same seed gives the same events in the same order.
"""

import asyncio
import heapq
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumps(selectors.SelectSelector):
    """Where a loop would sleep until its next event, time passes at once."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Nothing ever comes from outside.

        Raises:
            RuntimeError: everybody waits for somebody.
        """
        if timeout is None:
            raise RuntimeError("nothing will ever happen again: everybody waits for somebody")
        self.now += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, which begins at 0."""

    def __init__(self) -> None:
        self._jumps = _Jumps()
        super().__init__(self._jumps)

    def time(self) -> float:
        """Seconds since the beginning."""
        return self._jumps.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """What `main` gives, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    """The virtual time."""
    return asyncio.get_running_loop().time()


class Station:
    """Serves whoever comes, first come first served, `places` at a time; it knows how busy it was."""

    def __init__(self, seconds: Mapping[str, float], places: int = 1) -> None:
        self._seconds = seconds
        self._free_at = [0.0] * places
        self.busy_seconds = 0.0
        self.longest_wait = 0.0

    async def serve(self, what: str) -> None:
        """Be served: wait for a place, then for as long as this takes."""
        seconds, moment = self._seconds[what], now()
        if seconds <= 0:
            return
        begins = max(moment, self._free_at[0])
        heapq.heapreplace(self._free_at, begins + seconds)
        self.busy_seconds += seconds
        self.longest_wait = max(self.longest_wait, begins - moment)
        await asyncio.sleep(begins + seconds - moment)

    def busy_share(self, seconds: float) -> float:
        """How much of its capacity was used."""
        return self.busy_seconds / (seconds * len(self._free_at))
