import asyncio
import math

import pytest

from contract.crawl.resilience.backends import Clock
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.memory import LocalShare, memory_gate
from sale_sofia.crawl.resilience.policy import RateShare, ResilienceConfig
from sale_sofia.settings.model import Settings

IMOT = "imot.bg"
CONFIG = ResilienceConfig.from_settings(Settings())


class Alone:
    """A process at 60 a minute, shared with three others; its chance is one half."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.share = RateShare(60.0, 4)
        limiter = MemoryRateLimiter(CONFIG.limiter, lambda _: 15.0)
        gate = memory_gate(CONFIG, limiter, lambda _: 9, self.clock, self.clock.sleep)
        self.local = LocalShare(
            gate=gate,
            limiter=limiter,
            share_of=lambda _: self.share,
            clock=self.clock,
            random=lambda: 0.5,
        )

    def wait(self) -> float:
        entry = asyncio.run(self.local.admit(IMOT, math.inf))
        assert isinstance(entry, Admission)
        return entry.wait_seconds


def test_the_first_request_of_every_outage_waits_by_chance_and_the_next_its_turn() -> None:
    alone = Alone()
    assert [alone.wait(), alone.wait()] == [2.0, 6.0]
    alone.clock.now += 100.0
    assert alone.wait() == 0.0
    alone.clock.now += 100.0
    alone.local.begin()
    assert alone.wait() == 2.0


def test_another_share_counts_at_once() -> None:
    alone = Alone()
    alone.wait()
    alone.share = RateShare(60.0, 10)
    assert alone.wait() == 2.0 + 10.0


@pytest.mark.parametrize(
    ("heard", "wait"),
    [(Refusal(50.0, "circuit_open"), 50.0), (Refusal(7.0, "rate_limit"), 7.0), (Refusal(90.0, "busy"), 2.0)],
)
def test_what_the_shared_gate_refused_is_refused_here(heard: Refusal, wait: float) -> None:
    alone = Alone()
    alone.local.heard(IMOT, heard)
    assert alone.wait() == wait


def test_a_neutral_end_teaches_nothing() -> None:
    alone = Alone()
    asyncio.run(alone.local.learn(IMOT, Outcome.failure()))
    asyncio.run(alone.local.learn(IMOT, Outcome.neutral()))
    assert asyncio.run(alone.local.gate.breaker.get_state(IMOT)).failures == 1
    asyncio.run(alone.local.learn(IMOT, Outcome.ok()))
    assert asyncio.run(alone.local.gate.breaker.get_state(IMOT)).failures == 0
