"""Waiting for a turn: no polling, within one's patience, at a rate that may change for everybody."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext

import pytest

from contract.crawl.resilience.backends import Backend, Clock
from sale_sofia.crawl.resilience.gate import Admission
from sale_sofia.crawl.resilience.limiter import Acquiring, BlockingRateLimiter, MemoryRateLimiter, Reservation
from sale_sofia.crawl.resilience.policy import LimiterRules, ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.redis_parts import RateLimiter, RedisRateLimiter
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.settings.model import Settings

IMOT = "imot.bg"


class Queue:
    """A limiter of ten a minute whose waiters sleep on a clock that is moved by hand."""

    def __init__(self, backend: Backend) -> None:
        self.clock = Clock()
        self.limiter: RateLimiter = backend.limiter(LimiterRules(), lambda _: 10.0)
        assert isinstance(self.limiter, Acquiring)
        self.limiter.clock = self.clock
        self.limiter.sleep = self.clock.sleep
        self.run = backend.run

    def acquire(self, *, blocking: bool = True, max_wait: float | None = None) -> bool:
        return self.run(self.limiter.acquire_async(IMOT, blocking=blocking, max_wait=max_wait))

    def peek(self) -> float:
        return self.run(self.limiter.peek(IMOT, self.clock.now))


@pytest.fixture
def queue(backend: Backend) -> Queue:
    return Queue(backend)


def test_who_waits_sleeps_once_until_its_instant(queue: Queue) -> None:
    assert [queue.acquire(), queue.acquire(), queue.acquire()] == [True] * 3
    assert queue.clock.slept == [6.0, 6.0]


def test_who_will_not_wait_goes_now_or_takes_nothing(queue: Queue) -> None:
    assert [queue.acquire(blocking=False), queue.acquire(blocking=False)] == [True, False]
    assert (queue.clock.slept, queue.peek()) == ([], 6.0)


def test_patience_that_is_too_short_takes_nothing(queue: Queue) -> None:
    queue.acquire()
    assert not queue.acquire(max_wait=5.9)
    assert (queue.clock.slept, queue.peek()) == ([], 6.0)
    assert queue.acquire(max_wait=6.0)


def test_a_penalty_during_the_wait_makes_it_longer_within_the_patience(queue: Queue) -> None:
    queue.acquire()
    queue.clock.meanwhile.append(lambda: queue.limiter.penalise(IMOT, 20.0, queue.clock.now))
    assert queue.acquire(max_wait=30.0)
    assert queue.clock.slept == [6.0, 14.0]


def test_a_penalty_beyond_the_patience_ends_the_wait(queue: Queue) -> None:
    queue.acquire()
    queue.clock.meanwhile.append(lambda: queue.limiter.penalise(IMOT, 30.0, queue.clock.now))
    assert not queue.acquire(max_wait=29.0)
    assert queue.clock.slept == [6.0]


def test_a_cancelled_waiter_wastes_its_own_instant_and_no_more(queue: Queue) -> None:
    async def story() -> Reservation:
        await queue.limiter.acquire_async(IMOT)
        asleep, never = asyncio.Event(), asyncio.Event()
        queue.clock.meanwhile += [lambda: _call(asleep.set), never.wait]
        waiting = asyncio.create_task(queue.limiter.acquire_async(IMOT))
        await asleep.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        return await queue.limiter.reserve(IMOT, math.inf, queue.clock.now)

    assert queue.run(story()) == Reservation(granted=True, wait_seconds=12.0, epoch=0)


async def _call(function: Callable[[], None]) -> None:
    function()


@pytest.mark.parametrize(("rate", "wait"), [(60.0, 1.0), (1.0, 60.0), (10.0, 6.0)])
def test_another_rate_counts_from_the_last_request_on(queue: Queue, rate: float, wait: float) -> None:
    queue.acquire()
    queue.run(queue.limiter.set_rate(IMOT, rate))
    assert queue.peek() == pytest.approx(wait)
    queue.run(queue.limiter.set_rate(IMOT, None))
    assert queue.peek() == pytest.approx(6.0)


def test_another_rate_shortens_no_pause(queue: Queue) -> None:
    queue.acquire()
    queue.run(queue.limiter.penalise(IMOT, 100.0, queue.clock.now))
    queue.run(queue.limiter.set_rate(IMOT, 6000.0))
    assert queue.peek() == 100.0


@pytest.mark.parametrize(("rate", "wait"), [(1.0, 100.0), (0.5, 119.0)])
def test_a_slower_rate_lengthens_no_pause(queue: Queue, rate: float, wait: float) -> None:
    """Only the distance from the last request grows with it, here to two minutes at most."""
    queue.acquire()
    queue.clock.now += 1.0
    queue.run(queue.limiter.penalise(IMOT, 100.0, queue.clock.now, seen_epoch=-1))
    queue.run(queue.limiter.set_rate(IMOT, rate))
    assert queue.peek() == pytest.approx(wait)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf, 60_000.5])
def test_a_rate_without_sense_is_refused_in_one_sentence(queue: Queue, rate: float) -> None:
    queue.acquire()
    with pytest.raises(ValueError, match=r"rate of imot.bg is .*; allowed are .* above 0, up to 60000"):
        queue.run(queue.limiter.set_rate(IMOT, rate))
    assert queue.peek() == 6.0


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf, 1e9])
def test_a_configured_rate_without_sense_is_refused_too(backend: Backend, rate: float) -> None:
    limiter = backend.limiter(LimiterRules(), lambda _: rate)
    with pytest.raises(ValueError, match=r"rate of imot.bg is"):
        backend.run(limiter.reserve(IMOT, 1.0, 0.0))


def test_a_rate_changed_by_one_client_counts_for_the_other_at_once(redis_url: str) -> None:
    async def story() -> list[float]:
        async with connect(redis_url) as first, connect(redis_url) as second:
            one = RedisRateLimiter(first, LimiterRules(), lambda _: 10.0)
            other = RedisRateLimiter(second, LimiterRules(), lambda _: 10.0)
            await one.reserve(IMOT, 1.0, 0.0)
            await one.set_rate(IMOT, 60.0)
            return [(await other.reserve(IMOT, 10.0, 0.0)).wait_seconds for _ in range(3)]

    assert asyncio.run(story()) == pytest.approx([1.0, 2.0, 3.0], abs=0.5)


def test_a_rate_set_for_all_is_no_faster_than_the_crawl_delay(redis_url: str) -> None:
    async def story() -> list[float]:
        async with connect(redis_url) as first, connect(redis_url) as second:
            worker = RedisRateLimiter(first, LimiterRules(), lambda _: 3.0, delay_of=lambda _: 20.0)
            person = RedisRateLimiter(second, LimiterRules(), lambda _: 10.0)
            await worker.reserve(IMOT, 1.0, 0.0)
            await person.set_rate(IMOT, 60.0)
            waits = [(await worker.reserve(IMOT, 100.0, 0.0)).wait_seconds for _ in range(2)]
            await person.set_rate(IMOT, 1.0)
            return [*waits, (await worker.reserve(IMOT, 200.0, 0.0)).wait_seconds]

    assert asyncio.run(story()) == pytest.approx([20.0, 40.0, 100.0], abs=1.0)


def test_the_gate_too_keeps_the_crawl_delay(redis_url: str) -> None:
    async def story() -> float:
        async with connect(redis_url) as one, connect(redis_url) as other:
            gate = RedisGate(
                redis=one,
                config=ResilienceConfig.from_settings(Settings()),
                rate_of=lambda _: 3.0,
                limit_of=lambda _: 9,
                delay_of=lambda _: 20.0,
            )
            await RedisRateLimiter(other, LimiterRules(), lambda _: 10.0).set_rate(IMOT, 60.0)
            await gate.admit(IMOT, 1.0)
            entry = await gate.admit(IMOT, 100.0)
            assert isinstance(entry, Admission)
            return entry.wait_seconds

    assert asyncio.run(story()) == pytest.approx(20.0, abs=1.0)


@asynccontextmanager
async def in_redis(url: str) -> AsyncIterator[RedisRateLimiter]:
    async with connect(url) as redis:
        yield RedisRateLimiter(redis, LimiterRules(), lambda _: 300.0)


def test_code_without_a_loop_waits_as_well(redis_url: str) -> None:
    for opened in (in_redis(redis_url), nullcontext(MemoryRateLimiter(LimiterRules(), lambda _: 300.0))):
        with BlockingRateLimiter(opened) as limiter:
            start = time.monotonic()
            assert [limiter.acquire(IMOT) for _ in range(4)] == [True] * 4
            assert time.monotonic() - start >= 0.6
            assert not limiter.acquire(IMOT, blocking=False)
