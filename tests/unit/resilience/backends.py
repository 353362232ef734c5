"""The backends that every test of this folder can be run on, and a clock that tests move by hand."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Protocol, TypeVar

from sale_sofia.resilience.bulkhead import Bulkhead, MemoryBulkhead
from sale_sofia.resilience.circuit_breaker import CircuitBreaker, MemoryCircuitBreaker
from sale_sofia.resilience.policy import BreakerRules, LimiterRules, RetryBudgetRules
from sale_sofia.resilience.rate_limiter import MemoryRateLimiter, RateLimiter
from sale_sofia.resilience.retry_budget import MemoryRetryBudget, RetryBudget

Result = TypeVar("Result")


class Backend(Protocol):
    """Makes the parts, each empty; `run` waits for what their methods give."""

    def limiter(self, rules: LimiterRules, rate_of: Callable[[str], float]) -> RateLimiter: ...
    def breaker(self, rules: BreakerRules, random: Callable[[], float]) -> CircuitBreaker: ...
    def bulkhead(self, lease_seconds: float) -> Bulkhead: ...
    def retry_budget(self, rules: RetryBudgetRules) -> RetryBudget: ...
    def run(self, work: Coroutine[object, object, Result]) -> Result: ...
    def close(self) -> None: ...


class MemoryBackend:
    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def limiter(self, rules: LimiterRules, rate_of: Callable[[str], float]) -> RateLimiter:
        return MemoryRateLimiter(rules, rate_of)

    def breaker(self, rules: BreakerRules, random: Callable[[], float]) -> CircuitBreaker:
        return MemoryCircuitBreaker(rules, random)

    def bulkhead(self, lease_seconds: float) -> Bulkhead:
        return MemoryBulkhead(lease_seconds)

    def retry_budget(self, rules: RetryBudgetRules) -> RetryBudget:
        return MemoryRetryBudget(rules)

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        return self._runner.run(work)

    def close(self) -> None:
        self._runner.close()


BACKENDS: dict[str, Callable[[], Backend]] = {"memory": MemoryBackend}


class Clock:
    """Time that only moves when told to, or when somebody sleeps; `meanwhile` happens during a sleep."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []
        self.meanwhile: list[Callable[[], Awaitable[object]]] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        while self.meanwhile:
            await self.meanwhile.pop(0)()
        self.now += seconds
