"""The backends that every test of this folder can be run on, and a clock that tests move by hand."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Protocol, TypeVar

from redis_servers import fresh_database, shared_server
from sale_sofia.crawl.resilience.breaker import MemoryCircuitBreaker
from sale_sofia.crawl.resilience.bulkhead import MemoryBulkhead
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.memory import ComposedGate
from sale_sofia.crawl.resilience.owners import new_token
from sale_sofia.crawl.resilience.policy import (
    BreakerRules,
    BulkheadRules,
    LimiterRules,
    ResilienceConfig,
    RetryBudgetRules,
)
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.redis_parts import (
    Bulkhead,
    CircuitBreaker,
    RateLimiter,
    RedisBulkhead,
    RedisCircuitBreaker,
    RedisRateLimiter,
)
from sale_sofia.crawl.resilience.retry import RetryBudget
from sale_sofia.crawl.resilience.scripts import CallerTime, connect
from sale_sofia.settings.model import Settings

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class GatePlan:
    """What a gate is to be like."""

    breaker: BreakerRules
    per_minute: float = 10.0
    limit: int = 2
    lease_seconds: float = 100.0
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[object]]
    token: Callable[[], str] = new_token
    random: Callable[[], float] = lambda: 0.0

    @property
    def config(self) -> ResilienceConfig:
        return ResilienceConfig(
            breaker=self.breaker,
            retry=ResilienceConfig.from_settings(Settings()).retry,
            bulkhead=BulkheadRules(lease_seconds=self.lease_seconds, busy_seconds=2.0),
        )


class Backend(Protocol):
    """Makes the parts, each empty; `run` waits for what their methods give."""

    def limiter(self, rules: LimiterRules, rate_of: Callable[[str], float]) -> RateLimiter: ...
    def breaker(self, rules: BreakerRules, random: Callable[[], float]) -> CircuitBreaker: ...
    def bulkhead(self, lease_seconds: float) -> Bulkhead: ...
    def retry_budget(self, rules: RetryBudgetRules) -> RetryBudget: ...
    def gate(self, plan: "GatePlan") -> ComposedGate | RedisGate: ...
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
        return RetryBudget(rules)

    def gate(self, plan: GatePlan) -> ComposedGate | RedisGate:
        return composed(self, plan)

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        return self._runner.run(work)

    def close(self) -> None:
        self._runner.close()


class RedisBackend:
    """Parts on an empty database of a real server, which is told the time as the memory's are."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self.url = fresh_database(shared_server())
        self.redis = connect(self.url)
        self.caller_time = CallerTime()

    def limiter(self, rules: LimiterRules, rate_of: Callable[[str], float]) -> RateLimiter:
        return RedisRateLimiter(self.redis, rules, rate_of, caller_time=self.caller_time)

    def breaker(self, rules: BreakerRules, random: Callable[[], float]) -> CircuitBreaker:
        return RedisCircuitBreaker(self.redis, rules, random, caller_time=self.caller_time)

    def bulkhead(self, lease_seconds: float) -> Bulkhead:
        return RedisBulkhead(self.redis, lease_seconds, caller_time=self.caller_time)

    def retry_budget(self, rules: RetryBudgetRules) -> RetryBudget:
        return RetryBudget(rules)

    def gate(self, plan: GatePlan) -> ComposedGate | RedisGate:
        return RedisGate(
            redis=self.redis,
            config=plan.config,
            rate_of=lambda _: plan.per_minute,
            limit_of=lambda _: plan.limit,
            random=plan.random,
            clock=plan.clock,
            sleep=plan.sleep,
            token=plan.token,
            caller_time=self.caller_time,
        )

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        return self._runner.run(work)

    def close(self) -> None:
        self._runner.run(self.redis.aclose())
        self._runner.close()


class ComposedRedisBackend(RedisBackend):
    """The same, but the gate asks its parts one after the other."""

    def gate(self, plan: GatePlan) -> ComposedGate | RedisGate:
        return composed(self, plan)


def composed(backend: Backend, plan: GatePlan) -> ComposedGate:
    return ComposedGate(
        limiter=backend.limiter(plan.config.limiter, lambda _: plan.per_minute),
        breaker=backend.breaker(plan.breaker, plan.random),
        bulkhead=backend.bulkhead(plan.lease_seconds),
        limit_of=lambda _: plan.limit,
        busy_seconds=plan.config.bulkhead.busy_seconds,
        clock=plan.clock,
        sleep=plan.sleep,
        token=plan.token,
    )


AnyGate = ComposedGate | RedisGate
BACKENDS: dict[str, Callable[[], Backend]] = {"memory": MemoryBackend, "redis": RedisBackend}
GATE_BACKENDS: dict[str, Callable[[], Backend]] = {**BACKENDS, "redis in parts": ComposedRedisBackend}


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
