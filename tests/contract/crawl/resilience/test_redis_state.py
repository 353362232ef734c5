"""What Redis holds: kept for a while, on the server's clock, never mixed up with what is not ours."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Connection, Redis
from redis.exceptions import ConnectionError as ConnectionLost

from sale_sofia.crawl.resilience.errors import ServiceRedis
from sale_sofia.crawl.resilience.gate import Admission, Gate, Outcome, Refusal
from sale_sofia.crawl.resilience.policy import ResilienceConfig
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.resilience.settings import STATE_TTL_SECONDS
from sale_sofia.settings.model import Settings

IMOT = "imot.bg"
CONFIG = ResilienceConfig.from_settings(Settings())
CIRCUIT, PLACES, PACE = "circuit:{imot.bg}", "bulkhead:{imot.bg}", "ratelimit:{imot.bg}"
HOUR = 3600.0


def gate_on(redis: Redis, per_minute: float = 10.0) -> RedisGate:
    return RedisGate(redis=redis, config=CONFIG, rate_of=lambda _: per_minute, limit_of=lambda _: 3)


@asynccontextmanager
async def opened(url: str, per_minute: float = 10.0) -> AsyncIterator[RedisGate]:
    gate = gate_on(connect(url), per_minute)
    yield gate
    await gate.close()


async def admitted(gate: Gate, max_wait: float = math.inf) -> Admission:
    entry = await gate.admit(IMOT, max_wait)
    assert isinstance(entry, Admission)
    return entry


def test_a_connection_lost_between_the_look_at_it_and_the_command_is_an_error_of_redis(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.12 raised AttributeError, which nobody took for a Redis that is gone."""

    async def lost(connection: Connection) -> bool:
        assert connection._writer  # noqa: SLF001
        connection._writer.transport.abort()  # noqa: SLF001 - as when the peer resets it
        await asyncio.sleep(0)
        return False

    async def story() -> None:
        client = connect(redis_url)
        await client.ping()
        monkeypatch.setattr(Connection, "can_read", lost)
        with pytest.raises(ConnectionLost):
            await client.get("anything")
        await client.aclose()

    asyncio.run(story())


def test_scripts_that_the_server_forgot_are_loaded_again(own_redis_url: str) -> None:
    async def story() -> list[float]:
        waits = []
        async with opened(own_redis_url) as gate:
            for _ in range(3):
                await gate.redis.script_flush()
                waits.append((await admitted(gate)).wait_seconds)
        return waits

    assert asyncio.run(story()) == pytest.approx([0.0, 6.0, 12.0], abs=1.0)


def test_every_key_has_the_name_of_the_design_and_an_end(redis_url: str) -> None:
    async def story() -> dict[str, int]:
        async with opened(redis_url) as gate:
            entry = await admitted(gate)
            await admitted(gate)
            await gate.report(entry, Outcome.failure(retry_after=1.0))
            return {str(key): await gate.redis.ttl(key) for key in await gate.redis.keys("*")}

    lives = asyncio.run(story())
    assert lives.keys() == {CIRCUIT, PLACES, PACE, f"{PACE}:askers", "circuit:index"}
    assert all(STATE_TTL_SECONDS - 5 <= life <= 2 * STATE_TTL_SECONDS for life in lives.values())


@pytest.mark.parametrize("error", [-HOUR, HOUR])
def test_a_wrong_clock_of_a_client_changes_nothing(redis_url: str, error: float) -> None:
    async def story() -> tuple[float, float, float]:
        async with opened(redis_url) as right, opened(redis_url) as wrong:
            wrong.clock = lambda: right.clock() + error
            waits = [(await admitted(gate)).wait_seconds for gate in (right, wrong, right)]
            return waits[0], waits[1], waits[2]

    assert asyncio.run(story()) == pytest.approx((0.0, 6.0, 12.0), abs=1.0)


def test_a_server_whose_clock_is_set_back_does_not_stall(redis_url: str) -> None:
    async def story() -> float:
        async with opened(redis_url) as gate:
            await admitted(gate)
            await admitted(gate)
            await _noted_in_the_future(gate.redis, PACE, HOUR)
            return (await admitted(gate)).wait_seconds

    assert asyncio.run(story()) == pytest.approx(12.0, abs=1.0)


def test_a_place_from_before_the_clock_was_set_back_is_held_no_longer_than_a_lease(redis_url: str) -> None:
    async def story() -> float | None:
        async with opened(redis_url) as gate:
            await gate.redis.zadd(PLACES, {"of yore": time.time() + HOUR})
            await admitted(gate)
            return await gate.redis.zscore(PLACES, "of yore")

    assert asyncio.run(story()) == pytest.approx(time.time() + CONFIG.bulkhead.lease_seconds, abs=5.0)


def test_an_open_circuit_ends_as_planned_though_the_clock_is_set_back(redis_url: str) -> None:
    async def story() -> object:
        async with opened(redis_url, 60_000.0) as gate:
            for _ in range(CONFIG.breaker.fail_max):
                await gate.report(await admitted(gate), Outcome.failure())
            await _noted_in_the_future(gate.redis, CIRCUIT, HOUR)
            return await gate.admit(IMOT, math.inf)

    refusal = asyncio.run(story())
    assert isinstance(refusal, Refusal)
    assert refusal.why == "circuit_open"
    assert refusal.retry_after_seconds == pytest.approx(60.0, abs=2.0)


async def _noted_in_the_future(redis: Redis, key: str, seconds: float) -> None:
    for name in ("seen", "full_at", "last", "not_before", "opened_at", "last_failure"):
        if (value := await redis.hget(key, name)) is not None:
            await redis.hset(key, name, str(float(value) + seconds))


USES: dict[str, tuple[str, Callable[[RedisGate], Awaitable[object]]]] = {
    "allow": (CIRCUIT, lambda gate: gate.breaker.allow(IMOT, 0.0)),
    "state": (CIRCUIT, lambda gate: gate.breaker.get_state(IMOT)),
    "reserve": (PACE, lambda gate: gate.limiter.reserve(IMOT, 1.0, 0.0)),
    "epoch": (PACE, lambda gate: gate.limiter.epoch(IMOT)),
    "enter": (PLACES, lambda gate: gate.bulkhead.enter(IMOT, 1, 0.0)),
    "admit, circuit": (CIRCUIT, lambda gate: gate.admit(IMOT, 1.0)),
    "admit, places": (PLACES, lambda gate: gate.admit(IMOT, 1.0)),
    "admit, pace": (PACE, lambda gate: gate.admit(IMOT, 1.0)),
}


@pytest.mark.parametrize("use", USES)
def test_a_key_that_is_not_ours_is_named_and_nothing_is_changed(redis_url: str, use: str) -> None:
    key, ask = USES[use]

    async def story() -> tuple[str, list[str]]:
        async with opened(redis_url) as gate:
            await gate.redis.set(key, "somebody's text")
            with pytest.raises(ServiceRedis) as error:
                await ask(gate)
            assert await gate.redis.get(key) == "somebody's text"
            return str(error.value), list(map(str, await gate.redis.keys("*")))

    sentence, keys = asyncio.run(story())
    assert sentence.startswith(f"Redis: {key} holds a")
    assert sentence.endswith("; delete the key, or name another database in REDIS_URL.")
    assert keys == [key]


def test_a_forgetful_server_starts_anew_and_knows_its_domains_again(redis_url: str) -> None:
    async def story() -> tuple[float, list[str]]:
        async with opened(redis_url) as gate:
            await admitted(gate)
            await gate.redis.flushdb()
            entry = await admitted(gate)
            return entry.wait_seconds, list(await gate.breaker.get_all_states())

    assert asyncio.run(story()) == (0.0, [IMOT])
