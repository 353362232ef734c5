"""Waiting for one's turn at a rate limiter: one reservation, one sleep, one look at the epoch; no polling."""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reservation:
    """Granted: go after `wait_seconds`, if the epoch is still this one. Else: nothing was reserved."""

    granted: bool
    wait_seconds: float
    """Granted: until the reserved instant. Not granted: how long it would have been."""
    epoch: int


class Acquiring(ABC):
    """The waiting face of a limiter. Who gives up or dies while waiting wastes one instant and no more."""

    clock: Callable[[], float] = staticmethod(time.monotonic)
    sleep: Callable[[float], Awaitable[object]] = staticmethod(asyncio.sleep)

    @abstractmethod
    async def reserve(self, domain: str, max_wait: float, now: float) -> Reservation:
        """See `RateLimiter`."""

    @abstractmethod
    async def epoch(self, domain: str) -> int:
        """See `RateLimiter`."""

    async def acquire_async(
        self, domain: str, *, blocking: bool = True, max_wait: float | None = None
    ) -> bool:
        """See `RateLimiter`. A penalty during the wait makes it reserve anew, within what is left of it."""
        end = self.clock() + _patience(max_wait, blocking=blocking)
        while True:
            slot = await self.reserve(domain, max(0.0, end - self.clock()), self.clock())
            if not slot.granted or slot.wait_seconds <= 0:
                return slot.granted
            await self.sleep(slot.wait_seconds)
            if await self.epoch(domain) == slot.epoch:
                return True


def _patience(max_wait: float | None, *, blocking: bool) -> float:
    if not blocking:
        return 0.0
    return math.inf if max_wait is None else max_wait
