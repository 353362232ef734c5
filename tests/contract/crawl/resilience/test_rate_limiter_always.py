"""What holds for the limiter in every history, and not only in the told ones."""

import math

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from contract.crawl.resilience.backends import BACKENDS
from sale_sofia.crawl.resilience.policy import LimiterRules

IMOT = "imot.bg"
ROUNDING = 1e-6


class LimiterHistory(RuleBasedStateMachine):
    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.backend = BACKENDS[self.kind]()
        self.now = 1000.0
        self.used: list[float] = []
        self.not_before = -math.inf

    @initialize(burst=st.integers(1, 2), rate=st.sampled_from([1.0, 7.0, 10.0, 60.0, 600.0]))
    def begin(self, burst: int, rate: float) -> None:
        self.burst, self.interval = burst, 60 / rate
        self.limiter = self.backend.limiter(LimiterRules(burst=burst), lambda _: rate)

    @rule(intervals=st.floats(0, 3))
    def time_passes(self, intervals: float) -> None:
        self.now += intervals * self.interval

    @rule(patience=st.floats(0, 50))
    def somebody_asks(self, patience: float) -> None:
        expected = self.backend.run(self.limiter.peek(IMOT, self.now))
        got = self.backend.run(self.limiter.reserve(IMOT, patience, self.now))
        assert got.wait_seconds == expected >= 0
        assert got.granted == (expected <= patience)
        if got.granted:
            assert self.now + got.wait_seconds >= self.not_before - ROUNDING
            self.used.append(self.now + got.wait_seconds)

    @rule(retry_after=st.none() | st.floats(0, 100))
    def a_request_is_refused(self, retry_after: float | None) -> None:
        self.backend.run(self.limiter.penalise(IMOT, retry_after, self.now))
        self.not_before = max(self.not_before, self.now + (retry_after or 0))
        self.used = [instant for instant in self.used if instant <= self.now]

    @rule(times=st.integers(1, 20))
    def requests_succeed(self, times: int) -> None:
        for _ in range(times):
            self.backend.run(self.limiter.succeeded(IMOT, self.now))

    @invariant()
    def no_window_holds_more_than_its_share(self) -> None:
        for first, start in enumerate(self.used):
            for last in range(first, len(self.used)):
                window = self.used[last] - start
                assert last - first + 1 <= self.burst + (window + ROUNDING) / self.interval

    def teardown(self) -> None:
        self.backend.close()


@pytest.mark.slow
@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_no_history_is_faster_than_the_rate(backend: str) -> None:
    history = type("History", (LimiterHistory,), {"kind": backend})
    run_state_machine_as_test(history, settings=settings(max_examples=12, deadline=None))
