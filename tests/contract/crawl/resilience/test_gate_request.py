"""The whole of a request, with tasks that end in every way."""

import asyncio
import time

import pytest

from contract.crawl.resilience.backends import Backend, GatePlan, composed
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.memory import ComposedGate, memory_gate
from sale_sofia.crawl.resilience.policy import BreakerRules, ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.settings.model import Settings

AnyGate = ComposedGate | RedisGate

IMOT = "imot.bg"
CONFIG = ResilienceConfig.from_settings(Settings())
PER_MINUTE = 1200.0
INTERVAL = 0.05


ONE_PLACE = GatePlan(
    breaker=BreakerRules(fail_max=1, reset_timeout_seconds=0.01, half_open_calls=1),
    per_minute=PER_MINUTE,
    limit=1,
    lease_seconds=60.0,
    clock=time.monotonic,
    sleep=asyncio.sleep,
)


@pytest.fixture
def gate(gate_backend: Backend) -> AnyGate:
    """One place, one probe, opens at the first failure, and real time."""
    return gate_backend.gate(ONE_PLACE)


async def places_left(gate: AnyGate) -> bool:
    place = await gate.bulkhead.enter(IMOT, 1, gate.clock())
    if place:
        await gate.bulkhead.leave(place)
    return place is not None


async def entry(gate: AnyGate, outcome: Outcome | None = None) -> Admission | Refusal:
    async with gate.request(IMOT, 10.0) as admission:
        assert not await places_left(gate)
        if outcome and isinstance(admission, Admission):
            await gate.report(admission, outcome)
    return admission


async def cancelled(gate: AnyGate, *, waiting: bool) -> None:
    """Cancelled while it waits for its turn, or at work after it: then it has been admitted for sure."""
    reached = asyncio.Event()

    async def wait(_seconds: float) -> None:
        reached.set()
        await asyncio.Event().wait()

    async def work() -> None:
        async with gate.request(IMOT, 10.0):
            await wait(0.0)

    if waiting:
        gate.sleep = wait
    task = asyncio.create_task(work())
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_request_gives_its_place_back_reported_or_not(gate: AnyGate, gate_backend: Backend) -> None:
    for outcome in (Outcome.ok(), None):
        assert isinstance(gate_backend.run(entry(gate, outcome)), Admission)
        assert gate_backend.run(places_left(gate))
    assert gate_backend.run(gate.breaker.get_state(IMOT)).failures == 0


def test_an_exception_inside_gives_the_place_back_and_comes_through(
    gate: AnyGate, gate_backend: Backend
) -> None:
    async def fails() -> None:
        async with gate.request(IMOT, 10.0):
            raise LookupError

    with pytest.raises(LookupError):
        gate_backend.run(fails())
    assert gate_backend.run(places_left(gate))


def test_cancelled_while_waiting_gives_the_place_back(gate: AnyGate, gate_backend: Backend) -> None:
    gate_backend.run(gate.limiter.penalise(IMOT, 5.0, gate.clock()))
    gate_backend.run(cancelled(gate, waiting=True))
    assert gate_backend.run(places_left(gate))


def test_a_cancelled_probe_leaves_room_for_the_next(gate: AnyGate, gate_backend: Backend) -> None:
    gate_backend.run(entry(gate, Outcome.failure()))
    time.sleep(0.02)
    gate_backend.run(cancelled(gate, waiting=False))
    assert gate_backend.run(places_left(gate))
    assert gate_backend.run(gate.breaker.get_state(IMOT)).state == "HALF_OPEN"
    probe = gate_backend.run(entry(gate, Outcome.ok()))
    assert isinstance(probe, Admission)
    assert probe.permission.probe
    assert gate_backend.run(gate.breaker.get_state(IMOT)).state == "CLOSED"


def test_a_refusal_is_handed_in_and_holds_nothing(gate: AnyGate, gate_backend: Backend) -> None:
    async def two() -> Admission | Refusal:
        async with gate.request(IMOT, 10.0), gate.request(IMOT, 10.0) as second:
            return second

    assert gate_backend.run(two()) == Refusal(2.0, "busy")
    assert gate_backend.run(places_left(gate))


def test_a_broken_limiter_costs_no_place(backend: Backend) -> None:
    gate = composed(backend, ONE_PLACE)

    async def breaks(domain: str, max_wait: float, now: float) -> None:
        raise ConnectionError(domain, max_wait, now)

    gate.limiter.reserve = breaks  # type: ignore[method-assign, assignment]
    with pytest.raises(ConnectionError):
        backend.run(gate.admit(IMOT, 10.0))
    assert backend.run(places_left(gate))


def test_real_tasks_together_keep_the_pace_and_the_places() -> None:
    gate = memory_gate(CONFIG, MemoryRateLimiter(CONFIG.limiter, lambda _: PER_MINUTE), lambda _: 3)
    went: list[float] = []

    async def worker() -> None:
        async with gate.request(IMOT, 10.0) as admission:
            if isinstance(admission, Admission):
                went.append(time.monotonic())
                await asyncio.sleep(INTERVAL)
                await gate.report(admission, Outcome.ok())

    async def crowd() -> None:
        await asyncio.gather(*(worker() for _ in range(5)))

    start = time.monotonic()
    asyncio.run(crowd())
    assert len(went) == 3
    assert 2 * INTERVAL - 0.001 <= went[2] - start < 5.0


def test_who_asks_again_waits_for_another_turn_and_needs_no_second_place(
    gate: AnyGate, gate_backend: Backend
) -> None:
    async def scenario() -> tuple[list[bool], float]:
        async with gate.request(IMOT, 10.0) as admission:
            assert isinstance(admission, Admission)
            started = time.monotonic()
            turns = [isinstance(await gate.further(admission, 10.0), Admission) for _ in range(5)]
            seconds = time.monotonic() - started
            turns.append(isinstance(await gate.further(admission, 0.0), Admission))
            return turns, seconds

    turns, seconds = gate_backend.run(scenario())
    assert turns[:5] == [True] * 5
    assert seconds >= 3 * INTERVAL
