"""The settings choose the backend, and a server that cannot serve is refused in one sentence."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from sale_sofia.crawl.resilience.breaker import MemoryCircuitBreaker
from sale_sofia.crawl.resilience.bulkhead import MemoryBulkhead
from sale_sofia.crawl.resilience.errors import ServiceRedis
from sale_sofia.crawl.resilience.factory import (
    get_bulkhead,
    get_circuit_breaker,
    get_gate,
    get_rate_limiter,
    needs_redis,
)
from sale_sofia.crawl.resilience.fallback import FallbackGate
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.memory import ComposedGate
from sale_sofia.crawl.resilience.policy import RateShare
from sale_sofia.crawl.resilience.redis_gate import RedisGate
from sale_sofia.crawl.resilience.redis_parts import RedisBulkhead, RedisCircuitBreaker, RedisRateLimiter
from sale_sofia.crawl.resilience.scripts import check_usable, connect
from sale_sofia.crawl.resilience.settings import FALLBACK_WORKERS
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import Settings

CHOICES: dict[tuple[bool, bool], tuple[type, type, type]] = {
    (False, False): (MemoryCircuitBreaker, MemoryRateLimiter, MemoryBulkhead),
    (True, False): (RedisCircuitBreaker, MemoryRateLimiter, MemoryBulkhead),
    (False, True): (MemoryCircuitBreaker, RedisRateLimiter, RedisBulkhead),
    (True, True): (RedisCircuitBreaker, RedisRateLimiter, RedisBulkhead),
}


def settings(flags: tuple[bool, bool]) -> Settings:
    return Settings(redis_circuit_breaker_enabled=flags[0], redis_rate_limiter_enabled=flags[1])


@pytest.mark.parametrize("flags", CHOICES)
def test_each_part_lives_where_its_setting_says(redis_url: str, flags: tuple[bool, bool]) -> None:
    async def parts() -> tuple[type, type, type]:
        async with connect(redis_url) as client:
            chosen = settings(flags)
            return (
                type(get_circuit_breaker(chosen, client)),
                type(get_rate_limiter(chosen, lambda _: 10.0, client)),
                type(get_bulkhead(chosen, client)),
            )

    assert asyncio.run(parts()) == CHOICES[flags]


@pytest.mark.parametrize("heard", [RateShare(60.0, 3), None], ids=["a rate that was set", "nothing yet"])
def test_without_redis_the_share_of_a_process_keeps_within_the_crawl_delay(
    redis_url: str, heard: RateShare | None
) -> None:
    async def share() -> RateShare:
        gate = get_gate(settings((True, True)), lambda _: 60.0, lambda _: 2, redis_url, lambda _: 30.0)
        assert isinstance(gate, FallbackGate)
        assert isinstance(gate.shared, RedisGate)
        if heard:
            gate.shared.shares["imot.bg"] = heard
        found = gate.local.share_of("imot.bg")
        await gate.close()
        return found

    assert asyncio.run(share()) == RateShare(2.0, heard.workers if heard else FALLBACK_WORKERS)


@pytest.mark.parametrize("flags", CHOICES)
def test_a_gate_has_the_parts_that_the_settings_ask_for(redis_url: str, flags: tuple[bool, bool]) -> None:
    async def parts() -> tuple[type, tuple[type, type, type]]:
        gate = get_gate(settings(flags), lambda _: 10.0, lambda _: 2, redis_url)
        inner = gate.shared if isinstance(gate, FallbackGate) else gate
        await gate.close()
        assert isinstance(inner, ComposedGate | RedisGate)
        assert isinstance(gate, FallbackGate) == needs_redis(settings(flags)) == any(flags)
        return type(inner), (type(inner.breaker), type(inner.limiter), type(inner.bulkhead))

    kind, found = asyncio.run(parts())
    assert found == CHOICES[flags]
    assert (kind is RedisGate) == all(flags)


def test_the_mode_decides_where_nothing_is_said() -> None:
    assert [needs_redis(Settings(parallel_scraping=mode)) for mode in (False, True)] == [False, True]


def test_shared_parts_need_a_redis() -> None:
    with pytest.raises(ValueError, match="no Redis was given"):
        get_gate(settings((True, True)), lambda _: 10.0, lambda _: 2, None)
    with pytest.raises(ValueError, match="no Redis was given"):
        get_circuit_breaker(settings((True, True)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer.start(tmp_path) as started:
        yield started


BAD = {
    "password": ("CONFIG SET requirepass secret", "wants a user name and password"),
    "read-only": ("REPLICAOF 127.0.0.1 1", "is a read-only copy"),
    "full": ("CONFIG SET maxmemory 1", r"is full \(maxmemory\)"),
}


@pytest.mark.parametrize("wrong", BAD)
def test_a_server_that_cannot_be_used_is_named_at_once(server: RedisServer, wrong: str) -> None:
    command, sentence = BAD[wrong]
    asyncio.run(check_usable(server.url))
    with redis.Redis.from_url(server.url) as client:
        client.execute_command(*command.split())
    start = time.monotonic()
    with pytest.raises(ServiceRedis, match=rf"^Redis at 127.0.0.1:{server.port} {sentence}"):
        asyncio.run(check_usable(server.url))
    assert time.monotonic() - start < 15.0


def test_a_server_that_is_not_there_is_named_too(server: RedisServer) -> None:
    server.stop()
    with pytest.raises(ServiceRedis, match=r"cannot be used \(ConnectionError\)"):
        asyncio.run(check_usable(server.url))
