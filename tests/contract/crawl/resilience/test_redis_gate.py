"""The shared gate among several clients: told twice, cut off, crowded, or slow."""

import asyncio
import math
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import pairwise

import pytest
from redis.exceptions import RedisError

from chaos_proxy import ChaosProxy
from contract.crawl.resilience.backends import Clock
from sale_sofia.crawl.resilience import scripts
from sale_sofia.crawl.resilience.breaker import CircuitState
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.policy import BreakerRules, BulkheadRules, ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate, Unsettled
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import Settings

IMOT = "imot.bg"
RETRY = ResilienceConfig.from_settings(Settings()).retry
QUICK_RESET = BreakerRules(fail_max=1, reset_timeout_seconds=0.2, half_open_calls=2, probe_lease_seconds=0.6)
FAST = 60_000.0


def made(
    url: str,
    *,
    per_minute: float = 10.0,
    limit: int = 2,
    lease: float = 60.0,
    breaker: BreakerRules = QUICK_RESET,
) -> RedisGate:
    config = ResilienceConfig(
        breaker=breaker, retry=RETRY, bulkhead=BulkheadRules(lease_seconds=lease, busy_seconds=2.0)
    )
    return RedisGate(
        redis=connect(url), config=config, rate_of=lambda _: per_minute, limit_of=lambda _: limit
    )


@asynccontextmanager
async def closing(*gates: RedisGate) -> AsyncIterator[None]:
    yield
    for gate in gates:
        await gate.close()


async def admitted(gate: RedisGate) -> Admission:
    entry = await gate.admit(IMOT, math.inf)
    assert isinstance(entry, Admission)
    return entry


async def held(gate: RedisGate) -> int:
    return await gate.redis.zcard("bulkhead:{imot.bg}")


async def open_circuit(gate: RedisGate) -> None:
    await gate.report(await admitted(gate), Outcome.failure())


def test_an_admission_told_twice_holds_one_place_one_probe_and_wastes_one_instant(redis_url: str) -> None:
    async def story() -> tuple[int, list[str], float]:
        gate = made(redis_url, per_minute=60.0)
        async with closing(gate):
            await open_circuit(gate)
            await asyncio.sleep(0.2)
            gate.token = lambda: "again"
            assert await admitted(gate) != await admitted(gate)
            fields = map(str, await gate.redis.hkeys("circuit:{imot.bg}"))
            probes = [name for name in fields if "probe:" in name]
            return await held(gate), probes, await gate.limiter.peek(IMOT, 0.0)

    places, probes, wait = asyncio.run(story())
    assert (places, probes) == (1, ["probe:again"])
    assert 2.0 < wait <= 3.0


@pytest.mark.parametrize("outcome", [Outcome.failure(), Outcome.ok(), Outcome.rate_limited(50.0)])
def test_a_report_told_twice_counts_once(redis_url: str, outcome: Outcome) -> None:
    async def story() -> tuple[object, object]:
        gate = made(redis_url)
        async with closing(gate):
            entry = await admitted(gate)
            await gate.report(entry, outcome)
            before = await state(gate)
            await gate._report(entry, outcome)  # noqa: SLF001
            return before, await state(gate)

    before, after = asyncio.run(story())
    assert before == after


async def state(gate: RedisGate) -> tuple[object, ...]:
    hashes = [await gate.redis.hgetall(key) for key in ("circuit:{imot.bg}", "ratelimit:{imot.bg}")]
    return *hashes, await held(gate)


@pytest.mark.parametrize("lost", ["admission", "report"])
def test_a_lost_reply_costs_no_place_beyond_the_next_request(
    redis_server: RedisServer, redis_url: str, lost: str
) -> None:
    async def story(proxy: ChaosProxy) -> int:
        gate = made(f"{proxy.url[:-1]}{redis_url.rsplit('/', 1)[1]}", per_minute=FAST, limit=1)
        async with closing(gate):
            entry = await admitted(gate)
            if lost == "report":
                proxy.drop_reply(command="EVALSHA")
                with pytest.raises(RedisError):
                    await gate.report(entry, Outcome.ok())
            else:
                await gate.report(entry, Outcome.ok())
                proxy.drop_reply(command="EVALSHA")
                with pytest.raises(RedisError):
                    await gate.admit(IMOT, math.inf)
                assert await held(gate) == 1
            await admitted(gate)
            return await held(gate)

    with ChaosProxy("127.0.0.1", redis_server.port) as proxy:
        assert asyncio.run(story(proxy)) == 1


def test_a_caller_that_was_cancelled_in_mid_question_costs_no_place(
    redis_server: RedisServer, redis_url: str
) -> None:
    async def story(proxy: ChaosProxy) -> int:
        gate = made(f"{proxy.url[:-1]}{redis_url.rsplit('/', 1)[1]}", per_minute=FAST, limit=1)
        async with closing(gate):
            await gate.report(await admitted(gate), Outcome.ok())
            proxy.latency(0.2)
            asking = asyncio.create_task(gate.admit(IMOT, math.inf))
            await asyncio.sleep(0.1)
            asking.cancel()
            await asyncio.wait([asking])
            proxy.pass_on()
            assert await held(gate) == 1
            await admitted(gate)
            return await held(gate)

    with ChaosProxy("127.0.0.1", redis_server.port) as proxy:
        assert asyncio.run(story(proxy)) == 1


@pytest.mark.parametrize("steps", range(1, 25, 2))
def test_a_caller_that_is_called_off_stops_wherever_it_is(redis_url: str, steps: int) -> None:
    async def story() -> bool:
        gate = made(redis_url, per_minute=1.0)
        async with closing(gate):
            await admitted(gate)
            asking = asyncio.create_task(waits_for_a_minute(gate))
            for _ in range(steps):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking], timeout=1.0)
            return asking.cancelled()

    assert asyncio.run(story())


async def waits_for_a_minute(gate: RedisGate) -> None:
    async with gate.request(IMOT, math.inf):
        pass


def test_a_lost_request_is_settled_for_as_long_as_it_may_hold_a_place() -> None:
    clock = Clock()
    unsettled = Unsettled(60.0, clock)
    unsettled.add(BulkheadPlace(IMOT, "one"))
    clock.now += 30.0
    unsettled.add(BulkheadPlace(IMOT, "two"))
    unsettled.add(BulkheadPlace("bazar.bg", "three"))
    assert [unsettled.tokens(IMOT), unsettled.tokens(IMOT)] == [["one", "two"]] * 2
    clock.now += 30.0
    assert [unsettled.tokens(IMOT), unsettled.tokens("bazar.bg")] == [["two"], ["three"]]


def test_a_server_that_slept_and_worked_in_the_wrong_order_keeps_no_place(redis_url: str) -> None:
    async def story() -> int:
        gate = made(redis_url, per_minute=FAST)
        async with closing(gate):
            gate._unsettled.add(BulkheadPlace(IMOT, "of a lost request"))  # noqa: SLF001
            await gate.report(await admitted(gate), Outcome.ok())
            await gate.bulkhead.enter(IMOT, 2, 0.0, "of a lost request")
            await gate.report(await admitted(gate), Outcome.ok())
            return await held(gate)

    assert asyncio.run(story()) == 0


HOLDER = """
import asyncio, math, sys
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.settings.model import Settings

async def hold(url, flags, places):
    shared = {"redis_rate_limiter_enabled": True, "redis_circuit_breaker_enabled": flags == "both"}
    gate = get_gate(Settings().model_copy(update=shared), lambda _: 6000.0, lambda _: 2, url)
    for _ in range(int(places)):
        print(type(await gate.admit("imot.bg", math.inf)).__name__, flush=True)
    await asyncio.sleep(600)

asyncio.run(hold(*sys.argv[1:]))
"""


@contextmanager
def holder(url: str, places: int, flags: str = "both") -> Iterator[subprocess.Popen[str]]:
    """Another process, which has so many places of the portal and sits in them."""
    command = [sys.executable, "-c", HOLDER, url, flags, str(places)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert [process.stdout.readline().strip() for _ in range(places)] == ["Admission"] * places
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("flags", ["both", "limiter"])
def test_places_of_a_killed_process_are_free_at_once_and_those_of_a_stopped_one_are_not(
    redis_url: str, flags: str
) -> None:
    async def ask() -> Admission | Refusal:
        shared = {"redis_rate_limiter_enabled": True, "redis_circuit_breaker_enabled": flags == "both"}
        gate = get_gate(Settings().model_copy(update=shared), lambda _: FAST, lambda _: 2, redis_url)
        try:
            return await gate.admit(IMOT, math.inf)
        finally:
            await gate.close()

    with holder(redis_url, 2, flags) as process:
        os.kill(process.pid, signal.SIGSTOP)
        refused = asyncio.run(ask())
        process.kill()
        process.wait()
        assert isinstance(refused, Refusal)
        assert refused.why == "busy"
        assert isinstance(asyncio.run(ask()), Admission)


@pytest.mark.slow
def test_the_probe_of_a_killed_process_is_given_to_the_next(redis_url: str) -> None:
    async def story(process: subprocess.Popen[str]) -> list[object]:
        gate = made(redis_url, per_minute=FAST, limit=3)
        async with closing(gate):
            entries = [await gate.admit(IMOT, math.inf)]
            process.kill()
            process.wait()
            return [*entries, *[await gate.admit(IMOT, math.inf) for _ in range(3)]]

    async def shut() -> None:
        gate = made(redis_url, per_minute=FAST)
        async with closing(gate):
            await open_circuit(gate)
            await asyncio.sleep(0.2)

    asyncio.run(shut())
    with holder(redis_url, 2) as process:
        entries = asyncio.run(story(process))
    assert [isinstance(one, Admission) and one.permission.probe for one in entries] == [
        False, True, True, False,
    ]  # fmt: skip


def test_places_on_another_machine_come_back_with_their_leases_and_not_before(redis_url: str) -> None:
    async def story() -> tuple[list[str], bool]:
        gate = made(redis_url, per_minute=FAST, limit=1, lease=0.4)
        async with closing(gate):
            await gate.bulkhead.enter(IMOT, 1, 0.0, "elsewhere/pid:[1]|1|0.0|00")
            refused = await gate.admit(IMOT, math.inf)
            assert isinstance(refused, Refusal)
            left = await gate.redis.zrange("bulkhead:{imot.bg}", 0, -1)
            await asyncio.sleep(0.45)
            return [str(one) for one in left], isinstance(await gate.admit(IMOT, math.inf), Admission)

    assert asyncio.run(story()) == (["elsewhere/pid:[1]|1|0.0|00"], True)


def test_of_a_crowd_at_the_end_of_an_open_time_only_so_many_are_probes(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a machine with other things to do, a crowd is answered later than a crawl would wait.
    monkeypatch.setattr(scripts, "REDIS_TIMEOUT_SECONDS", 60.0)
    monkeypatch.setattr(scripts, "REDIS_CONNECT_TIMEOUT_SECONDS", 60.0)

    async def story() -> list[object]:
        # A probe that is not heard of is given away: not while a slow machine still asks for the others.
        patient = replace(QUICK_RESET, probe_lease_seconds=600.0)
        gates = [made(redis_url, per_minute=FAST, limit=100, breaker=patient) for _ in range(8)]
        async with closing(*gates):
            await open_circuit(gates[0])
            await asyncio.sleep(0.2)
            return await asyncio.gather(*(gate.admit(IMOT, math.inf) for gate in gates * 4))

    entries = asyncio.run(story())
    admissions = [entry for entry in entries if isinstance(entry, Admission)]
    assert len(entries) == 32
    assert [entry.permission.probe for entry in admissions] == [True, True]
    assert {entry.why for entry in entries if isinstance(entry, Refusal)} == {"circuit_open"}


def test_the_places_and_the_probe_of_the_dead_come_back(redis_url: str) -> None:
    async def story() -> tuple[object, bool]:
        dead, alive = (made(redis_url, per_minute=FAST, limit=2, lease=0.6) for _ in range(2))
        async with closing(dead, alive):
            await open_circuit(dead)
            await asyncio.sleep(0.2)
            await admitted(dead)
            await admitted(dead)
            refused = await alive.admit(IMOT, 1.0)
            await asyncio.sleep(0.65)
            return refused, (await admitted(alive)).permission.probe

    refused, probe = asyncio.run(story())
    assert isinstance(refused, Refusal)
    assert probe


@pytest.mark.slow
def test_a_request_keeps_its_place_and_its_probe_however_long_it_takes(redis_url: str) -> None:
    async def story() -> tuple[list[Admission | Refusal], CircuitState]:
        gate, other = (made(redis_url, per_minute=FAST, limit=1, lease=0.6) for _ in range(2))
        refusals = []
        async with closing(gate, other):
            await open_circuit(gate)
            await asyncio.sleep(0.2)
            for _ in range(2):
                async with gate.request(IMOT, 1.0) as entry:
                    assert isinstance(entry, Admission)
                    await asyncio.sleep(1.5)
                    refusals.append(await other.admit(IMOT, 1.0))
                    await gate.report(entry, Outcome.ok())
            return refusals, (await gate.breaker.get_state(IMOT)).state

    refusals, now = asyncio.run(story())
    assert [entry.why for entry in refusals if isinstance(entry, Refusal)] == ["busy", "circuit_open"]
    assert now == "CLOSED"


def test_a_penalty_of_one_worker_stops_the_sleeper_of_another(redis_url: str) -> None:
    async def story() -> tuple[object, int]:
        one, other = (made(redis_url, per_minute=30.0) for _ in range(2))
        async with closing(one, other):
            first, second = await admitted(one), await admitted(other)
            assert second.wait_seconds > 0.3
            waiting = asyncio.create_task(other.wait(second))
            await one.report(first, Outcome.rate_limited(30.0))
            return await waiting, await held(one)

    refused, places = asyncio.run(story())
    assert isinstance(refused, Refusal)
    assert (refused.why, places) == ("penalty", 0)
    assert 20.0 < refused.retry_after_seconds < 30.0


def test_a_request_costs_two_round_trips_and_one_more_after_a_wait(own_redis_url: str) -> None:
    """On a server of its own: it counts what all clients send."""

    async def story() -> list[int]:
        gate = made(own_redis_url, per_minute=120.0, limit=5)
        async with closing(gate):
            await gate.report(await admitted(gate), Outcome.neutral())
            async with gate.request(IMOT, 10.0):
                pass  # after it the server knows every script
            counts = [await commands(gate)]
            for _ in range(2):
                async with gate.request(IMOT, 10.0) as entry:
                    assert isinstance(entry, Admission)
                    await gate.report(entry, Outcome.ok())
                counts.append(await commands(gate))
                if entry.wait_seconds > 0:
                    await asyncio.sleep(0.6)
            return [later - earlier - 1 for earlier, later in pairwise(counts)]

    assert asyncio.run(story()) == [3, 2]


async def commands(gate: RedisGate) -> int:
    """Sent to the server by clients so far, those of scripts left out; asking costs one more."""
    stats = await gate.redis.info("commandstats")
    return sum(stats[name]["calls"] for name in stats if name.split("_")[1] in {"evalsha", "eval", "info"})
