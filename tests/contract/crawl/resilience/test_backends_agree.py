"""Memory and Redis driven side by side: the same questions, clock and chance give the same answers."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contract.crawl.resilience.backends import GATE_BACKENDS, Clock, GatePlan
from sale_sofia.crawl.resilience.breaker import Permission
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.policy import BreakerRules, LimiterRules
from sale_sofia.crawl.resilience.redis_parts import Bulkhead, CircuitBreaker, RateLimiter

IMOT = "imot.bg"
LEASE = 35.0
RESET = 10.0
SECONDS = st.sampled_from([0.0, 0.1, 1.0, 2.5, RESET, LEASE, 61.7]) | st.floats(0, 90)
RATES = st.sampled_from([0.5, 7.0, 10.0, 60.0, 600.0])
CHANCE = st.floats(0, 1)
OUTCOMES = st.sampled_from(
    [
        Outcome.ok(),
        Outcome.ok(),
        Outcome.failure(),
        Outcome.failure(3.3),
        Outcome.rate_limited(),
        Outcome.rate_limited(7.25),
        Outcome.blocked("captcha"),
        Outcome.neutral(),
    ]
)


def breaker_rules(fail_max: int, probes: int) -> BreakerRules:
    return BreakerRules(
        fail_max=fail_max,
        reset_timeout_seconds=RESET,
        half_open_calls=probes,
        window_seconds=30.0,
        window_buckets=7,
        min_volume=4,
        reset_max_seconds=70.0,
        probe_lease_seconds=LEASE,
    )


@dataclass(frozen=True)
class Parts:
    breaker: CircuitBreaker
    limiter: RateLimiter
    bulkhead: Bulkhead


class Pair(RuleBasedStateMachine):
    """Two backends that must not differ in anything."""

    other = "redis"

    def __init__(self) -> None:
        super().__init__()
        self.backends = [GATE_BACKENDS["memory"](), GATE_BACKENDS[self.other]()]
        self.clock = Clock(1000.0)
        self.sides: list[Any] = []

    def both(self, ask: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:  # noqa: ANN401
        memory, other = (
            backend.run(ask(side)) for backend, side in zip(self.backends, self.sides, strict=True)
        )
        assert other == memory
        return memory

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule(rate=st.none() | RATES)
    def somebody_changes_the_rate(self, rate: float | None) -> None:
        self.both(lambda side: side.limiter.set_rate(IMOT, rate))

    @invariant()
    def they_are_in_the_same_state(self) -> None:
        if self.sides:
            self.both(lambda side: side.breaker.get_state(IMOT))
            self.both(lambda side: side.breaker.get_all_states())
            self.both(lambda side: side.limiter.peek(IMOT, self.clock.now))
            self.both(lambda side: side.limiter.epoch(IMOT))

    def teardown(self) -> None:
        for backend in self.backends:
            backend.close()


class PartsPair(Pair):
    """Breaker, limiter and bulkhead, each asked by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Permission] = []
        self.places: list[BulkheadPlace] = []
        self.names = count()

    @initialize(
        fail_max=st.integers(1, 4),
        probes=st.integers(1, 3),
        burst=st.integers(1, 3),
        rate=RATES,
        chance=CHANCE,
    )
    def begin(self, fail_max: int, probes: int, burst: int, rate: float, chance: float) -> None:
        for backend in self.backends:
            breaker = backend.breaker(breaker_rules(fail_max, probes), lambda: chance)
            limiter = backend.limiter(LimiterRules(burst=burst), lambda _: rate)
            self.sides.append(Parts(breaker, limiter, backend.bulkhead(LEASE)))

    @rule(name=st.sampled_from(["unnamed", "new", "told before"]))
    def somebody_asks_the_breaker(self, name: str) -> None:
        told = [one.token for one in self.given if one.token]
        tokens = {"unnamed": None, "new": f"t{next(self.names)}", "told before": told[-1] if told else None}
        token = tokens[name]
        self.given.append(self.both(lambda side: side.breaker.allow(IMOT, self.clock.now, token)))

    @precondition(lambda self: self.given)
    @rule(data=st.data(), ok=st.booleans(), block=st.sampled_from([None, "captcha"]))
    def a_result_comes(self, data: st.DataObject, *, ok: bool, block: str | None) -> None:
        one = data.draw(st.sampled_from(self.given))
        self.both(lambda side: side.breaker.record(IMOT, one, ok=ok, now=self.clock.now, block_kind=block))

    @precondition(lambda self: self.given)
    @rule(data=st.data(), named=st.booleans())
    def somebody_makes_sure(self, data: st.DataObject, *, named: bool) -> None:
        one = data.draw(st.sampled_from(self.given))
        token = one.token or "sure" if named else None
        self.given.append(self.both(lambda side: side.breaker.confirm(IMOT, one, self.clock.now, token)))

    @precondition(lambda self: self.given)
    @rule(data=st.data(), renew=st.booleans())
    def somebody_renews_or_gives_up(self, data: st.DataObject, *, renew: bool) -> None:
        one = data.draw(st.sampled_from(self.given))
        if renew:
            self.both(lambda side: side.breaker.renew(IMOT, one.token or "none", self.clock.now))
        else:
            self.both(lambda side: side.breaker.cancel(IMOT, one))

    @rule(patience=st.sampled_from([0.0, 1.0, 30.0, 1e9]))
    def somebody_asks_the_limiter(self, patience: float) -> None:
        self.both(lambda side: side.limiter.reserve(IMOT, patience, self.clock.now))

    @rule(retry_after=st.none() | st.floats(-1, 100), seen=st.none() | st.integers(0, 3))
    def a_request_is_refused(self, retry_after: float | None, seen: int | None) -> None:
        self.both(lambda side: side.limiter.penalise(IMOT, retry_after, self.clock.now, seen_epoch=seen))

    @rule(times=st.integers(1, 7))
    def requests_succeed(self, times: int) -> None:
        for _ in range(times):
            self.both(lambda side: side.limiter.succeeded(IMOT, self.clock.now))

    @rule(limit=st.integers(0, 3), again=st.booleans())
    def somebody_enters(self, limit: int, *, again: bool) -> None:
        token = self.places[-1].token if again and self.places else f"p{next(self.names)}"
        place = self.both(lambda side: side.bulkhead.enter(IMOT, limit, self.clock.now, token))
        self.places += [place] if place else []

    @precondition(lambda self: self.places)
    @rule(data=st.data(), renew=st.booleans())
    def somebody_renews_or_leaves(self, data: st.DataObject, *, renew: bool) -> None:
        place = data.draw(st.sampled_from(self.places))
        if renew:
            self.both(lambda side: side.bulkhead.renew(place, self.clock.now))
        else:
            self.both(lambda side: side.bulkhead.leave(place))


class GatePair(Pair):
    """Whole gates, from admission to report, with leases that end and reports told twice."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Admission] = []

    @initialize(
        fail_max=st.integers(1, 3),
        probes=st.integers(1, 2),
        limit=st.integers(1, 3),
        rate=RATES,
        chance=CHANCE,
    )
    def begin(self, fail_max: int, probes: int, limit: int, rate: float, chance: float) -> None:
        for backend in self.backends:
            names = map(str, count())
            plan = GatePlan(
                breaker=breaker_rules(fail_max, probes),
                per_minute=rate,
                limit=limit,
                lease_seconds=LEASE,
                clock=self.clock,
                sleep=no_sleep,
                token=names.__next__,
                random=lambda: chance,
            )
            self.sides.append(backend.gate(plan))

    @rule(patience=st.sampled_from([0.0, 5.0, 30.0, 1e9]))
    def somebody_asks(self, patience: float) -> None:
        entry = self.both(lambda gate: gate.admit(IMOT, patience))
        if isinstance(entry, Admission):
            self.entries.append(entry)

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), late=st.sampled_from([0.0, 0.0, 3.0, LEASE]))
    def somebody_waited(self, data: st.DataObject, late: float) -> None:
        number = data.draw(st.integers(0, len(self.entries) - 1))
        entry = self.entries[number]
        self.clock.now += min(entry.wait_seconds, LEASE / 2) + late
        woken = self.both(lambda gate: gate.wait(entry))
        self.entries[number] = entry if isinstance(woken, Refusal) else woken

    @precondition(lambda self: self.entries)
    @rule(data=st.data(), outcome=OUTCOMES, replayed=st.booleans())
    def an_answer_comes(self, data: st.DataObject, outcome: Outcome, *, replayed: bool) -> None:
        entry = data.draw(st.sampled_from(self.entries))
        self.both(lambda gate: gate.report(entry, outcome))
        if replayed:
            self.both(lambda gate: gate._report(entry, outcome))  # noqa: SLF001

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def somebody_takes_long(self, data: st.DataObject) -> None:
        place = data.draw(st.sampled_from(self.entries)).place
        self.both(lambda gate: gate.keep(place))


async def no_sleep(_: float) -> None:
    pass


def run(machine: type[Pair], other: str) -> None:
    history = type("History", (machine,), {"other": other})
    run_state_machine_as_test(
        history, settings=settings(max_examples=6, stateful_step_count=40, deadline=None)
    )


@pytest.mark.slow
def test_the_parts_agree_in_every_history() -> None:
    run(PartsPair, "redis")


@pytest.mark.slow
@pytest.mark.parametrize("other", sorted(GATE_BACKENDS.keys() - {"memory"}))
def test_the_gates_agree_in_every_history(other: str) -> None:
    run(GatePair, other)
