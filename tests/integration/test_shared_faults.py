"""Breaker and limiter through what befalls a Redis and its clients: restarts, pauses, sudden deaths."""

import asyncio
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sale_sofia.config.settings import Settings
from sale_sofia.resilience.factory import get_gate
from sale_sofia.resilience.gate import Admission, Gate, Refusal
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.resilience.policy import BreakerRules, BulkheadRules, ResilienceConfig
from sale_sofia.resilience.redis_client import connect
from sale_sofia.resilience.redis_gate import RedisGate
from sale_sofia.services.redis_server import RedisServer

IMOT = "imot.bg"
SHARED = Settings(redis_circuit_breaker_enabled=True, redis_rate_limiter_enabled=True)
FAST = 60_000.0
PAUSE_SECONDS = 5.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer.start(tmp_path) as started:
        yield started


def shared_gate(server: RedisServer, per_minute: float) -> Gate:
    return get_gate(SHARED, lambda _: per_minute, lambda _: 4, server.url)


async def result(gate: Gate, outcome: Outcome) -> Admission | Refusal:
    async with gate.request(IMOT, 5.0) as entry:
        if isinstance(entry, Admission):
            await gate.report(entry, outcome)
    return entry


def test_an_open_circuit_outlives_a_restart_of_the_server(server: RedisServer) -> None:
    async def story() -> list[Admission | Refusal]:
        gate = shared_gate(server, FAST)
        for _ in range(SHARED.circuit_breaker_fail_max):
            await result(gate, Outcome.failure())
        await asyncio.to_thread(server.restart)
        entries = [await result(gate, Outcome.ok()) for _ in range(3)]
        await gate.close()
        return entries

    whys = [entry.why for entry in asyncio.run(story()) if isinstance(entry, Refusal)]
    assert whys == ["circuit_open"] * 3


def test_a_pause_asked_for_by_the_portal_outlives_a_restart_of_the_server(server: RedisServer) -> None:
    async def story() -> list[Admission | Refusal]:
        told, other = shared_gate(server, FAST), shared_gate(server, FAST)
        await result(told, Outcome.rate_limited(60.0))
        await asyncio.to_thread(server.restart)
        entries = [await other.admit(IMOT, 1.0), await told.admit(IMOT, 1.0)]
        await told.close()
        await other.close()
        return entries

    for entry in asyncio.run(story()):
        assert isinstance(entry, Refusal)
        assert 55.0 < entry.retry_after_seconds <= 60.0


def test_a_server_that_sleeps_stops_nobody_and_nobody_gets_faster(server: RedisServer) -> None:
    per_minute, went = 600.0, list[float]()

    async def worker(gate: Gate, end: float) -> None:
        while time.monotonic() < end:
            async with gate.request(IMOT, 2.0) as entry:
                if isinstance(entry, Admission):
                    went.append(time.monotonic())
                    await gate.report(entry, Outcome.ok())
            if isinstance(entry, Refusal):
                await asyncio.sleep(min(entry.retry_after_seconds, 0.2))

    async def story() -> float:
        gates = [shared_gate(server, per_minute) for _ in range(2)]
        start = time.monotonic()
        workers = [asyncio.create_task(worker(gate, start + PAUSE_SECONDS + 9)) for gate in gates]
        await asyncio.sleep(2.0)
        server.process.send(signal.SIGSTOP)
        await asyncio.sleep(PAUSE_SECONDS)
        server.process.send(signal.SIGCONT)
        await asyncio.gather(*workers)
        for gate in gates:
            await gate.close()
        return start

    start = asyncio.run(story())
    for window in (0.5, 1.0, 5.0):
        busiest = max(sum(first <= t < first + window for t in went) for first in went)
        # Where one way of counting meets the other, a process may be one request ahead.
        assert busiest <= per_minute / 60 * window + 1 + 2
    asleep = [t for t in went if start + 4.5 < t < start + 2.0 + PAUSE_SECONDS]
    awake = [t for t in went if t > start + 2.0 + PAUSE_SECONDS + 4]
    assert len(asleep) > 10
    assert len(awake) > 25


DIES_AS_A_PROBE = """
import asyncio, math, os, signal, sys
from integration.test_shared_faults import quick_gate
async def story():
    entry = await quick_gate(sys.argv[1]).admit("imot.bg", math.inf)
    assert entry.permission.probe
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(story())
"""


def quick_gate(url: str) -> RedisGate:
    """One place, one probe, a short lease, and opened by one failure."""
    config = ResilienceConfig(
        breaker=BreakerRules(
            fail_max=1, reset_timeout_seconds=0.1, half_open_calls=1, probe_lease_seconds=2.0
        ),
        retry=ResilienceConfig.from_settings(SHARED).retry,
        bulkhead=BulkheadRules(lease_seconds=2.0),
    )
    return RedisGate(redis=connect(url), config=config, rate_of=lambda _: FAST, limit_of=lambda _: 1)


def test_the_place_and_the_probe_of_a_killed_process_come_back(server: RedisServer) -> None:
    async def story() -> tuple[float, bool]:
        gate = quick_gate(server.url)
        await result(gate, Outcome.failure())
        await asyncio.sleep(0.1)
        killed = subprocess.run(  # noqa: ASYNC221 - nothing else is to happen meanwhile
            [sys.executable, "-c", DIES_AS_A_PROBE, server.url],
            env={"PYTHONPATH": str(Path(__file__).parents[1])},
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL
        start = time.monotonic()
        while isinstance(entry := await gate.admit(IMOT, math.inf), Refusal):  # noqa: ASYNC110
            await asyncio.sleep(min(0.05, entry.retry_after_seconds))
        await gate.close()
        return time.monotonic() - start, entry.permission.probe

    seconds, probe = asyncio.run(story())
    assert probe
    assert 0.5 < seconds < 2.5
