"""Redis goes and comes back: nobody hangs, nobody goes faster than its share, and no pause is forgotten."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from chaos_proxy import ChaosProxy
from sale_sofia.crawl.resilience import fallback, scripts
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.fallback import FallbackGate
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import Settings

IMOT = "imot.bg"
BOTH = Settings(redis_circuit_breaker_enabled=True, redis_rate_limiter_enabled=True)
ONLY_RATES = Settings(redis_circuit_breaker_enabled=False, redis_rate_limiter_enabled=True)
ONLY_BREAKER = Settings(redis_circuit_breaker_enabled=True, redis_rate_limiter_enabled=False)
FAST = 60_000.0
SOON = 0.2
IMPATIENCE = 0.6
"""Seconds for which an answer of a Redis is waited for, where one is silent."""

Proxied = tuple[ChaosProxy, str]


@pytest.fixture
def proxied(redis_server: RedisServer, redis_url: str) -> Iterator[Proxied]:
    with ChaosProxy("127.0.0.1", redis_server.port) as proxy:
        yield proxy, f"redis://127.0.0.1:{proxy.port}/{redis_url.rsplit('/', 1)[1]}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "REDIS_TIMEOUT_SECONDS", IMPATIENCE)


@asynccontextmanager
async def opened(
    url: str, per_minute: float = FAST, settings: Settings = BOTH, limit: int = 8
) -> AsyncIterator[FallbackGate]:
    gate = get_gate(settings, lambda _: per_minute, lambda _: limit, url)
    assert isinstance(gate, FallbackGate)
    gate._outage._retry_seconds = SOON  # noqa: SLF001
    gate.local.random = lambda: 0.0
    yield gate
    await gate.close()


async def request(gate: FallbackGate, outcome: Outcome | None = None) -> Admission | Refusal:
    async with gate.request(IMOT, 5.0) as entry:
        if isinstance(entry, Admission):
            await gate.report(entry, outcome or Outcome.ok())
    return entry


def asked_of_redis(gate: FallbackGate) -> bool:
    return not gate._outage.lasts  # noqa: SLF001


def cut_off(proxy: ChaosProxy) -> None:
    proxy.refuse()
    proxy.reset()


FAULTS: dict[str, Callable[[ChaosProxy], None]] = {
    "half-open connection": ChaosProxy.blackhole,
    "refused": cut_off,
}


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("settings", [BOTH, ONLY_RATES, ONLY_BREAKER], ids=["both", "rates", "breaker"])
def test_requests_go_on_without_redis_and_with_it_again(
    proxied: Proxied, fault: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    proxy, url = proxied

    async def story() -> list[bool]:
        async with opened(url, settings=settings) as gate:
            entries = [await request(gate)]
            shared = [asked_of_redis(gate)]
            FAULTS[fault](proxy)
            entries += [await request(gate) for _ in range(3)]
            shared.append(asked_of_redis(gate))
            proxy.pass_on()
            await asyncio.sleep(SOON)
            entries += [await request(gate) for _ in range(3)]
            shared.append(asked_of_redis(gate))
            assert [type(entry) for entry in entries] == [Admission] * 7
            return shared

    with caplog.at_level(logging.INFO, fallback.__name__):
        assert asyncio.run(story()) == [True, False, True]
    changes = [record.__dict__["change"] for record in caplog.records]
    assert changes == ["shared_gate_lost", "shared_gate_back"]


@pytest.mark.slow
def test_a_silent_redis_is_not_waited_for_by_every_request(proxied: Proxied) -> None:
    proxy, url = proxied

    async def story() -> tuple[float, float]:
        async with opened(url) as gate:
            await request(gate)
            gate._outage._retry_seconds = 60.0  # noqa: SLF001
            proxy.blackhole()
            start = time.monotonic()
            await request(gate)
            first = time.monotonic() - start
            for _ in range(20):
                await request(gate)
            return first, time.monotonic() - start - first

    first, rest = asyncio.run(story())
    assert first < 3.0
    assert rest < 1.0


def test_each_process_keeps_to_its_share_of_the_rate(proxied: Proxied) -> None:
    proxy, url = proxied

    async def story() -> list[float]:
        async with opened(url, 60.0) as one, opened(url, 60.0) as two, opened(url, 60.0) as three:
            for gate in (one, two, three, one, two):
                await gate.admit(IMOT, math.inf)
            cut_off(proxy)
            waits = []
            for gate in (one, two):
                entries = [await gate.admit(IMOT, math.inf) for _ in range(2)]
                waits += [entry.wait_seconds for entry in entries if isinstance(entry, Admission)]
            return [waits[1] - waits[0], waits[3] - waits[2]]

    assert asyncio.run(story()) == pytest.approx([3.0, 3.0], abs=0.5)


def test_without_a_word_from_redis_the_share_is_an_eighth(proxied: Proxied) -> None:
    proxy, url = proxied
    proxy.refuse()

    async def story() -> list[float]:
        async with opened(url, 60.0, limit=16) as gate:
            entries = [await gate.admit(IMOT, math.inf) for _ in range(3)]
            return [
                entry.wait_seconds if isinstance(entry, Admission) else entry.retry_after_seconds
                for entry in entries
            ]

    assert asyncio.run(story()) == pytest.approx([0.0, 8.0, 2.0], abs=0.5)


def test_processes_that_lost_redis_together_do_not_go_on_together(proxied: Proxied) -> None:
    proxy, url = proxied
    proxy.refuse()

    async def story() -> Admission | Refusal:
        async with opened(url, 60.0) as gate:
            gate.local.random = lambda: 0.25
            return await gate.admit(IMOT, math.inf)

    entry = asyncio.run(story())
    assert isinstance(entry, Admission)
    assert entry.wait_seconds == pytest.approx(2.0, abs=0.5)


@pytest.mark.parametrize("heard", ["told by this worker", "told by another", "waited for"])
def test_a_pause_holds_though_redis_dies_in_it(proxied: Proxied, heard: str) -> None:
    proxy, url = proxied

    async def story() -> Admission | Refusal:
        async with opened(url) as gate, opened(url) as other:
            await request(gate)
            await request(gate if heard == "told by this worker" else other, Outcome.rate_limited(40.0))
            if heard == "told by another":
                assert isinstance(await gate.admit(IMOT, 5.0), Refusal)
            elif heard == "waited for":
                assert isinstance(await gate.admit(IMOT, 50.0), Admission)
            cut_off(proxy)
            return await gate.admit(IMOT, 5.0)

    refused = asyncio.run(story())
    assert isinstance(refused, Refusal)
    assert refused.why == "rate_limit"
    assert 30.0 < refused.retry_after_seconds < 41.0


def test_a_circuit_that_this_process_saw_open_stays_open_though_redis_dies(proxied: Proxied) -> None:
    proxy, url = proxied

    async def story() -> Admission | Refusal:
        async with opened(url) as gate:
            for _ in range(BOTH.circuit_breaker_fail_max):
                await request(gate, Outcome.failure())
            cut_off(proxy)
            return await gate.admit(IMOT, 5.0)

    refused = asyncio.run(story())
    assert isinstance(refused, Refusal)
    assert refused.why == "circuit_open"


@pytest.mark.parametrize("admitted_by", ["redis", "the local gate"])
def test_a_pause_that_redis_was_not_told_of_is_told_when_it_is_back(
    proxied: Proxied, admitted_by: str
) -> None:
    proxy, url = proxied

    async def story() -> Admission | Refusal:
        async with opened(url) as gate, opened(url) as other:
            entry = await gate.admit(IMOT, 5.0)
            cut_off(proxy)
            if admitted_by == "the local gate":
                entry = await gate.admit(IMOT, 5.0)
            assert isinstance(entry, Admission)
            await gate.report(entry, Outcome.rate_limited(40.0))
            proxy.pass_on()
            await asyncio.sleep(SOON)
            assert isinstance(await gate.admit(IMOT, 5.0), Refusal)
            return await other.admit(IMOT, 5.0)

    refused = asyncio.run(story())
    assert isinstance(refused, Refusal)
    assert 30.0 < refused.retry_after_seconds < 41.0


def test_a_long_request_is_kept_by_the_gate_that_admitted_it(proxied: Proxied) -> None:
    proxy, url = proxied

    async def story() -> list[bool]:
        async with opened(url) as gate:
            shared = await gate.admit(IMOT, 5.0)
            assert isinstance(shared, Admission)
            kept = [await gate.keep(shared.place)]
            await gate.report(shared, Outcome.ok())
            kept.append(await gate.keep(shared.place))
            cut_off(proxy)
            local = await gate.admit(IMOT, 5.0)
            assert isinstance(local, Admission)
            return [*kept, await gate.keep(local.place)]

    assert asyncio.run(story()) == [True, False, True]


def test_a_request_without_redis_that_is_refused_after_its_wait_is_forgotten(proxied: Proxied) -> None:
    proxy, url = proxied
    cut_off(proxy)

    async def story() -> tuple[Admission | Refusal, set[BulkheadPlace]]:
        async with opened(url, limit=16) as gate:
            gate.local.gate.sleep = lambda _: asyncio.sleep(0)
            first, second = [await gate.admit(IMOT, 5.0) for _ in range(2)]
            assert isinstance(first, Admission)
            assert isinstance(second, Admission)
            await gate.report(first, Outcome.rate_limited(30.0))
            return await gate.wait(second), gate._local_places  # noqa: SLF001

    refused, left = asyncio.run(story())
    assert isinstance(refused, Refusal)
    assert (refused.why, left) == ("penalty", set())


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_sleeper_that_cannot_ask_whether_it_may_go_stays(proxied: Proxied, fault: str) -> None:
    proxy, url = proxied

    async def story() -> tuple[Admission | Refusal, float]:
        async with opened(url, 120.0) as gate:
            # The third waits a second, so some of it is left on a busy machine too.
            *_, entry = [await gate.admit(IMOT, 5.0) for _ in range(3)]
            assert isinstance(entry, Admission)
            FAULTS[fault](proxy)
            start = time.monotonic()
            return await gate.wait(entry), time.monotonic() - start

    refused, seconds = asyncio.run(story())
    assert isinstance(refused, Refusal)
    assert refused.why == "shared_gone"
    assert seconds < 15.0


def test_places_of_requests_that_ended_without_redis_are_given_back_at_once_when_it_is_there(
    proxied: Proxied,
) -> None:
    proxy, url = proxied

    async def story() -> int:
        async with opened(url) as gate:
            entries = [await gate.admit(IMOT, 5.0) for _ in range(3)]
            cut_off(proxy)
            for entry in entries:
                assert isinstance(entry, Admission)
                await gate.report(entry, Outcome.ok())
            proxy.pass_on()
            await asyncio.sleep(SOON)
            assert isinstance(await gate.admit(IMOT, 5.0), Admission)
            assert isinstance(gate.shared, RedisGate)
            return await gate.shared.redis.zcard("bulkhead:{imot.bg}")

    assert asyncio.run(story()) == 1


def test_a_key_that_is_not_ours_and_a_full_server_leave_a_process_to_its_share(
    own_redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    url = own_redis_url

    async def story() -> list[Admission | Refusal]:
        async with connect(url) as redis, opened(url) as gate, opened(url) as other:
            await redis.set("bulkhead:{imot.bg}", "not ours")
            entries = [await request(gate)]
            await redis.delete("bulkhead:{imot.bg}")
            await redis.config_set("maxmemory", "1")
            try:
                entries.append(await request(other))
            finally:
                await redis.config_set("maxmemory", "0")
            return entries

    assert [type(entry) for entry in asyncio.run(story())] == [Admission, Admission]
    told = [record.__dict__["error"] for record in caplog.records if "error" in record.__dict__]
    assert "bulkhead:{imot.bg} holds a string where a zset belongs" in told[0]
    assert told[1].startswith("OutOfMemoryError")


def test_a_pause_holds_though_redis_came_back_empty_in_it(redis_url: str) -> None:
    async def story() -> list[tuple[str, float]]:
        async with connect(redis_url) as redis, opened(redis_url) as gate, opened(redis_url) as other:
            await request(gate, Outcome.rate_limited(40.0))
            await redis.flushdb()
            entries = [await gate.admit(IMOT, 5.0), await other.admit(IMOT, 5.0)]
            assert await redis.zcard("bulkhead:{imot.bg}") == 0
            return [(one.why, one.retry_after_seconds) for one in entries if isinstance(one, Refusal)]

    (own, own_wait), (others, others_wait) = asyncio.run(story())
    assert (own, others) == ("penalty", "rate_limit")
    assert 39.0 < own_wait <= 40.0
    assert 39.0 < others_wait < 41.0


@pytest.mark.parametrize("forgotten", [False, True], ids=["kept", "forgotten"])
def test_a_pause_slows_a_domain_once_and_is_over_when_it_is_over(redis_url: str, *, forgotten: bool) -> None:
    async def story() -> tuple[str, list[type]]:
        async with connect(redis_url) as redis, opened(redis_url) as gate:
            await request(gate, Outcome.rate_limited(0.5))
            if forgotten:
                await redis.flushdb()
            entries = [await gate.admit(IMOT, 0.0)]
            await asyncio.sleep(0.6)
            entries += [await gate.admit(IMOT, 5.0), await gate.admit(IMOT, 5.0)]
            return str(await redis.hget("ratelimit:{imot.bg}", "slow")), [type(one) for one in entries]

    assert asyncio.run(story()) == ("2", [Refusal, Admission, Admission])
