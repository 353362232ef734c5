"""What workers share at this moment, from a real Redis; and that without one nothing is claimed."""

import asyncio
import time
from pathlib import Path

import redis
from pydantic import SecretStr

from sale_sofia.crawl.resilience.breaker import CircuitState
from sale_sofia.crawl.resilience.factory import get_circuit_breaker
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.runners.progress import LiveState, proxy_rows, read_live_state
from sale_sofia.crawl.settings import APP_NAME
from sale_sofia.settings.model import Settings

SITES = ["imot.bg", "olx.bg"]


def settings(folder: Path, url: str | None) -> Settings:
    rates = {"imot.bg": 30.0, "default": 12.0}
    found = Settings(data_dir=folder, domain_rate_limits=rates, circuit_breaker_fail_max=1)
    return found.model_copy(update={"redis_url": SecretStr(url)}) if url else found


async def open_circuit(url: str, found: Settings) -> None:
    shared = found.model_copy(update={"redis_circuit_breaker_enabled": True})
    async with connect(url) as client:
        breaker = get_circuit_breaker(shared, client)
        permission = await breaker.allow("imot.bg", time.monotonic())
        await breaker.record("imot.bg", permission, ok=False, now=time.monotonic(), block_kind="captcha")


def test_circuits_queue_and_rates_are_those_of_redis(tmp_path: Path, redis_url: str) -> None:
    found = settings(tmp_path, redis_url)
    asyncio.run(open_circuit(redis_url, found))
    with redis.Redis.from_url(redis_url) as client:
        client.rpush(APP_NAME, "one", "two")
    live = read_live_state(found, SITES)
    assert (live.redis, live.waiting, live.workers) == (True, 2, ())
    circuit = live.circuits["imot.bg"]
    assert (circuit.state, circuit.last_block) == (CircuitState.OPEN, "captcha")
    assert live.rates["imot.bg"] == 30.0
    assert set(live.waits) == set(SITES)


def test_without_redis_only_the_configured_rates_are_known(tmp_path: Path) -> None:
    live = read_live_state(settings(tmp_path, None), SITES)
    assert live == LiveState(rates=live.rates)
    assert live.rates["imot.bg"] == 30.0
    assert proxy_rows(settings(tmp_path, None)) == ()


def test_a_redis_that_does_not_answer_is_none(tmp_path: Path) -> None:
    assert not read_live_state(settings(tmp_path, "redis://127.0.0.1:1/0"), SITES).redis
