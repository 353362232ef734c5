"""Waiting for one's turn at a rate limiter: one reservation, one sleep, one look at the epoch; no polling."""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self


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


class _Waits(Protocol):
    async def acquire_async(
        self, domain: str, *, blocking: bool = True, max_wait: float | None = None
    ) -> bool: ...


class BlockingRateLimiter:
    """A limiter for code without an event loop, which it brings along; `opened` is entered inside of it."""

    def __init__(self, opened: AbstractAsyncContextManager[_Waits]) -> None:
        self._opened = opened
        self._runner = asyncio.Runner()

    def acquire(self, domain: str, *, blocking: bool = True, max_wait: float | None = None) -> bool:
        """As `acquire_async`."""
        return self._runner.run(self._limiter.acquire_async(domain, blocking=blocking, max_wait=max_wait))

    def __enter__(self) -> Self:
        self._limiter = self._runner.run(self._enter())
        return self

    async def _enter(self) -> _Waits:
        return await self._opened.__aenter__()

    async def _exit(self) -> None:
        await self._opened.__aexit__(None, None, None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._runner:
            self._runner.run(self._exit())
