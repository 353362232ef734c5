"""The server did it, but its answer never came: everything is counted once, and nothing is held twice."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from redis.exceptions import RedisError

from chaos_proxy import ChaosProxy
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.fallback import FallbackGate
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import Settings

IMOT = "imot.bg"
RESET_SECONDS = 0.3
INTERVAL = 0.1
SOON = 0.1
SETTINGS = Settings(
    redis_circuit_breaker_enabled=True,
    redis_rate_limiter_enabled=True,
    circuit_breaker_fail_max=3,
    circuit_breaker_reset_timeout=RESET_SECONDS,
    circuit_breaker_half_open_calls=2,
)


@pytest.fixture
def proxy(redis_server: RedisServer, redis_url: str) -> Iterator[ChaosProxy]:
    with ChaosProxy("127.0.0.1", redis_server.port) as started:
        started.database = redis_url.rsplit("/", 1)[1]  # type: ignore[attr-defined]
        yield started


@asynccontextmanager
async def opened(proxy: ChaosProxy) -> AsyncIterator[tuple[FallbackGate, RedisGate]]:
    """A gate whose scripts the server knows already: the next lost answer is that of a whole operation."""
    url = f"{proxy.url[:-1]}{proxy.database}"  # type: ignore[attr-defined]
    gate = get_gate(SETTINGS, lambda _: 60 / INTERVAL, lambda _: 8, url)
    assert isinstance(gate, FallbackGate)
    assert isinstance(gate.shared, RedisGate)
    gate._outage._retry_seconds = SOON  # noqa: SLF001
    try:
        await finished(gate, Outcome.ok())
        yield gate, gate.shared
    finally:
        await gate.close()


async def finished(gate: FallbackGate, outcome: Outcome) -> None:
    await gate.report(await admitted(gate), outcome)


async def admitted(gate: FallbackGate) -> Admission:
    entry = await gate.admit(IMOT, 5.0)
    assert isinstance(entry, Admission)
    return entry


async def admitted_by_redis(gate: FallbackGate) -> Admission:
    """The next admission that Redis gives, which it does as soon as it is tried again."""
    await asyncio.sleep(SOON)
    entry = await admitted(gate)
    assert entry.place not in gate._local_places  # noqa: SLF001
    return entry


async def held(shared: RedisGate) -> set[str]:
    return set(map(str, await shared.redis.zrange("bulkhead:{imot.bg}", 0, -1)))


async def probes(shared: RedisGate) -> list[str]:
    return [str(name) for name in await shared.redis.hkeys("circuit:{imot.bg}") if "probe:" in str(name)]


async def pace(shared: RedisGate) -> dict[str, float]:
    """The limiter's instants as the server keeps them: they do not move while a busy machine waits."""
    fields = await shared.redis.hgetall("ratelimit:{imot.bg}")
    return {str(name): float(value) for name, value in fields.items()}


def lose_the_answer(proxy: ChaosProxy) -> None:
    proxy.drop_reply(command="EVALSHA")


def test_an_admission_holds_no_place_and_is_allowed_once(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (gate, shared):
            lose_the_answer(proxy)
            alone = await admitted(gate)
            assert len(await held(shared)) == 1
            assert (await shared.breaker.get_state(IMOT)).allowed == 2
            entry = await admitted_by_redis(gate)
            assert await held(shared) == {entry.place.token}
            assert (await shared.breaker.get_state(IMOT)).allowed == 3
            await gate.report(alone, Outcome.ok())

    asyncio.run(story())


def test_an_admitted_probe_is_given_back(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (gate, shared):
            for _ in range(3):
                await finished(gate, Outcome.failure())
            await asyncio.sleep(RESET_SECONDS)
            lose_the_answer(proxy)
            await gate.admit(IMOT, 5.0)
            assert len(await probes(shared)) == 1
            given = [await admitted_by_redis(gate), await admitted_by_redis(gate)]
            assert set(await probes(shared)) == {f"probe:{entry.place.token}" for entry in given}

    asyncio.run(story())


def test_a_confirmation_that_is_lost_stops_the_request_and_frees_its_place(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (gate, shared):
            entry = await admitted(gate)
            assert entry.wait_seconds > 0
            lose_the_answer(proxy)
            refused = await gate.wait(entry)
            assert isinstance(refused, Refusal)
            assert refused.why == "shared_gone"
            again = await admitted_by_redis(gate)
            assert await held(shared) == {again.place.token}

    asyncio.run(story())


def test_a_reported_failure_counts_once(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (gate, shared):
            entry = await admitted(gate)
            lose_the_answer(proxy)
            await gate.report(entry, Outcome.blocked("captcha"))
            again = await admitted_by_redis(gate)
            status = await shared.breaker.get_state(IMOT)
            assert (status.failures, status.last_block, status.state) == (1, "captcha", "CLOSED")
            assert await held(shared) == {again.place.token}

    asyncio.run(story())


def test_a_reported_pause_slows_the_domain_once_and_is_not_made_longer(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (gate, shared):
            entry = await admitted(gate)
            lose_the_answer(proxy)
            await gate.report(entry, Outcome.rate_limited(40.0))
            await asyncio.sleep(SOON)
            refused = await gate.admit(IMOT, 5.0)
            assert isinstance(refused, Refusal)
            assert 30.0 < refused.retry_after_seconds < 40.0
            assert float(await shared.redis.hget("ratelimit:{imot.bg}", "slow") or 0) == 2.0

    asyncio.run(story())


def test_a_reservation_wastes_one_instant(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (_, shared):
            await asyncio.sleep(INTERVAL)
            await shared.limiter.reserve(IMOT, 5.0, 0.0)
            before = await pace(shared)
            lose_the_answer(proxy)
            with pytest.raises(RedisError):
                await shared.limiter.reserve(IMOT, 5.0, 0.0)
            after = await pace(shared)
            assert after["last"] > before["last"]
            expected = max(before["full_at"], after["last"]) + INTERVAL
            assert after["full_at"] == pytest.approx(expected, abs=1e-6)

    asyncio.run(story())


def test_a_recorded_failure_counts_once(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (_, shared):
            breaker = shared.breaker
            permission = await breaker.allow(IMOT, 0.0)
            await breaker.record(IMOT, permission, ok=False, now=0.0)
            lose_the_answer(proxy)
            with pytest.raises(RedisError):
                await breaker.record(IMOT, permission, ok=False, now=0.0)
            status = await breaker.get_state(IMOT)
            assert (status.failures, status.state) == (2, "CLOSED")

    asyncio.run(story())


def test_a_recorded_probe_counts_once_also_when_it_is_told_again(proxy: ChaosProxy) -> None:
    async def story() -> None:
        async with opened(proxy) as (gate, shared):
            breaker = shared.breaker
            for _ in range(3):
                await finished(gate, Outcome.failure())
            await asyncio.sleep(RESET_SECONDS)
            lose_the_answer(proxy)
            with pytest.raises(RedisError):
                await breaker.allow(IMOT, 0.0, "a probe")
            permission = await breaker.allow(IMOT, 0.0, "a probe")
            assert await probes(shared) == ["probe:a probe"]
            lose_the_answer(proxy)
            with pytest.raises(RedisError):
                await breaker.record(IMOT, permission, ok=True, now=0.0)
            await breaker.record(IMOT, permission, ok=True, now=0.0)
            status = await breaker.get_state(IMOT)
            assert (status.state, await probes(shared)) == ("HALF_OPEN", [])

    asyncio.run(story())
