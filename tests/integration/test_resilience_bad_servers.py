"""Wrong rates, keys that are not ours, servers that cannot be used: a clear sentence, or no harm done."""

import asyncio
import json
import math
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import redis

from command_server import Begun
from crawls import ALONE, FAST, crawl_arguments, end_of, in_background, requests, run, stored
from forked_simulators import start_forked
from parallel_crawls import until
from ready_files import put_ready_file
from redis_servers import fresh_database
from sale_sofia.crawl.resilience.factory import get_gate, get_rate_limiter
from sale_sofia.crawl.resilience.fallback import FallbackGate
from sale_sofia.crawl.resilience.gate import Admission, Refusal
from sale_sofia.crawl.resilience.redis_parts import RateLimiter
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import DATABASE_FILE, Settings
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

IMOT = "imot.bg"
ADVERTS = 6
PASSWORD = "hunter2"  # noqa: S105 - of a server that lives as long as a test
SHARED = {**ALONE, "REDIS_CIRCUIT_BREAKER_ENABLED": "true", "REDIS_RATE_LIMITER_ENABLED": "true"}
PATIENCE = 60.0
"""Seconds within which a command must have ended, on a machine that is busy otherwise."""
AT_ONCE = 60.0
"""Seconds within which a command says that it cannot begin; no time-out of Redis is nearly as long."""


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSimulator]:
    log = tmp_path_factory.mktemp("portal") / "log"
    config = SimulatorConfig(sites=(IMOT,), properties=ADVERTS, seed=3, port=0, log=log)
    with start_forked(config) as running:
        yield running


def ready(data: Path) -> Path:
    """A data folder with an empty database."""
    put_ready_file(data / DATABASE_FILE)
    return data


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer.start(tmp_path / "redis") as started:
        yield started


def tell(server: RedisServer, *command: str) -> None:
    with redis.Redis.from_url(server.url, password=None) as client:
        client.execute_command(*command)


# Rates.

WRONG_RATES = ["-1", "0", "1e9", "NaN", "Infinity"]


@pytest.mark.parametrize("rate", WRONG_RATES)
def test_a_wrong_rate_in_the_settings_is_named_before_anything_begins(
    tmp_path: Path, simulator: RunningSimulator, rate: str
) -> None:
    limits = f'{{"{IMOT}": {rate}}}'
    told = run(tmp_path, *crawl_arguments(simulator, IMOT), DOMAIN_RATE_LIMITS=limits)
    assert told.returncode == 2
    sentence = " ".join(told.stderr.split())
    assert sentence.startswith("sale-sofia: DOMAIN_RATE_LIMITS: ")
    assert (
        f"for '{IMOT}' is not allowed; a JSON object of lower-case domain: number above 0, up to" in sentence
    )
    assert list(tmp_path.iterdir()) == []
    assert simulator.log is not None
    assert requests(simulator.log) == []


@pytest.mark.parametrize("rate", [-1.0, 0.0, math.nan, math.inf, -math.inf, 1e9])
def test_a_wrong_rate_at_run_time_is_refused_and_the_old_one_stays(redis_url: str, rate: float) -> None:
    async def wait_after(limiter: RateLimiter) -> float:
        await limiter.reserve(IMOT, 0.0, 1000.0)
        with pytest.raises(ValueError, match=r"^The rate of imot\.bg is .*; allowed are requests per minute"):
            await limiter.set_rate(IMOT, rate)
        return await limiter.peek(IMOT, 1000.0)

    async def waits() -> list[float]:
        async with connect(redis_url) as client:
            memory = get_rate_limiter(Settings(), lambda _: 10.0)
            shared = get_rate_limiter(Settings(redis_rate_limiter_enabled=True), lambda _: 10.0, client)
            return [await wait_after(memory), await wait_after(shared)]

    assert asyncio.run(waits()) == pytest.approx([6.0, 6.0], abs=1.0)


# Servers that are wrong from the beginning: a sentence, at once.


def needs_a_password(server: RedisServer) -> None:
    tell(server, "CONFIG", "SET", "requirepass", PASSWORD)


def is_a_copy(server: RedisServer) -> None:
    tell(server, "REPLICAOF", "127.0.0.1", "1")


def is_full(server: RedisServer) -> None:
    tell(server, "CONFIG", "SET", "maxmemory", "1")


def is_silent(server: RedisServer) -> None:
    os.kill(server.pid, signal.SIGSTOP)


def wake(server: RedisServer) -> None:
    """Nothing for a server that does not sleep."""
    server.process.send(signal.SIGCONT)


def is_gone(server: RedisServer) -> None:
    server.stop()


WRONG_SERVERS: dict[str, tuple[Callable[[RedisServer], None], str, str]] = {
    "no password": (needs_a_password, "", "password"),
    "another password": (needs_a_password, ":hunter3@", "password"),
    "another user": (needs_a_password, f"ana:{PASSWORD}@", "password"),
    "a read-only copy": (is_a_copy, "", "read-only copy"),
    "full": (is_full, "", "full (maxmemory)"),
    "silent": (is_silent, f":{PASSWORD}@", "did not answer within 5 s"),
    "gone": (is_gone, f":{PASSWORD}@", "cannot be reached"),
}


@pytest.mark.parametrize("wrong", WRONG_SERVERS)
def test_a_server_that_cannot_be_used_is_a_sentence_without_a_password(
    tmp_path: Path, simulator: RunningSimulator, server: RedisServer, wrong: str
) -> None:
    spoil, login, reason = WRONG_SERVERS[wrong]
    spoil(server)
    began = time.monotonic()
    url = f"redis://{login}127.0.0.1:{server.port}/0"
    told = run(tmp_path / "data", *crawl_arguments(simulator, IMOT), **FAST, **SHARED, REDIS_URL=url)
    seconds = time.monotonic() - began
    wake(server)
    assert (told.returncode, told.stdout) == (2, "")
    (sentence,) = told.stderr.splitlines()
    assert sentence.startswith("sale-sofia: ")
    assert f"127.0.0.1:{server.port}" in sentence
    assert reason in sentence
    assert "hunter" not in sentence
    assert seconds < AT_ONCE


def test_the_right_password_opens_the_server(
    tmp_path: Path, simulator: RunningSimulator, server: RedisServer
) -> None:
    needs_a_password(server)
    url = f"redis://:{PASSWORD}@127.0.0.1:{server.port}/0"
    data = ready(tmp_path / "data")
    told = run(data, *crawl_arguments(simulator, IMOT), **FAST, **SHARED, REDIS_URL=url)
    assert (told.returncode, complete(told.stdout)) == (0, ADVERTS)
    assert "Redis is gone" not in told.stderr


def complete(output: str) -> int:
    (job,) = json.loads(output)["jobs"]
    assert job["state"] == "COMPLETE"
    return int(job["adverts"])


# Keys that are not ours: nothing of them is touched, and the crawl goes on alone.

KEYS = {
    "circuit:{imot.bg}": "circuit:{imot.bg} holds a string where a hash belongs",
    "bulkhead:{imot.bg}": "bulkhead:{imot.bg} holds a string where a zset belongs",
    "ratelimit:{imot.bg}": "ratelimit:{imot.bg} holds a string where a hash belongs",
    "ratelimit:{imot.bg}:askers": "ratelimit:{imot.bg}:askers holds a string where a zset belongs",
    "circuit:index": "circuit:index holds another kind of value; delete the key",
}


def test_a_key_that_is_not_ours_is_named_and_left_alone_and_the_crawl_is_whole(
    tmp_path: Path, simulator: RunningSimulator, redis_server: RedisServer
) -> None:
    urls = {key: fresh_database(redis_server) for key in KEYS}
    crawls: dict[str, Begun] = {}
    for key, url in urls.items():
        with redis.Redis.from_url(url) as client:
            client.set(key, "somebody's text")
        crawls[key] = crawl_apart(ready(tmp_path / key), simulator, url, **FAST)
    for key, crawl in crawls.items():
        told = end_of(crawl, PATIENCE)
        with redis.Redis.from_url(urls[key], decode_responses=True) as client:
            assert client.get(key) == "somebody's text"
        assert (told.returncode, complete(told.stdout)) == (0, ADVERTS), key
        assert KEYS[key] in " ".join(told.stderr.split())
        assert "Traceback" not in told.stderr
        assert len(stored(tmp_path / key)) == ADVERTS


def crawl_apart(data: Path, portal: RunningSimulator, url: str, **more: str) -> Begun:
    """A crawl that shares this Redis with others."""
    return in_background(data, *crawl_arguments(portal, IMOT), **SHARED, **more, REDIS_URL=url)


# Servers that become wrong in the middle of a crawl: it goes on at its share, and nothing is missing.


def wants_a_password_now(server: RedisServer) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.config_set("requirepass", PASSWORD)
        client.execute_command("CLIENT", "KILL", "TYPE", "normal")


def is_killed(server: RedisServer) -> None:
    server.kill()


LATE_FAULTS: dict[str, Callable[[RedisServer], None]] = {
    "wants a password": wants_a_password_now,
    "becomes a read-only copy": is_a_copy,
    "is full": is_full,
    "falls silent": is_silent,
    "is killed": is_killed,
}


def test_a_server_that_becomes_unusable_in_the_middle_costs_a_crawl_nothing(
    tmp_path: Path, simulator: RunningSimulator
) -> None:
    rate = {"DOMAIN_RATE_LIMITS": json.dumps({IMOT: 120})}  # seconds are left after the first page
    with ExitStack() as stack:
        servers: dict[str, RedisServer] = {}
        for fault in LATE_FAULTS:
            servers[fault] = stack.enter_context(RedisServer.start(tmp_path / "redis" / fault))
            stack.callback(wake, servers[fault])
        crawls = {
            fault: crawl_apart(ready(tmp_path / fault), simulator, server.url, **rate)
            for fault, server in servers.items()
        }
        waiting = dict(LATE_FAULTS)
        until(lambda: not strike(waiting, servers, tmp_path), f"a first page: {list(waiting)}")
        told = {fault: end_of(crawl, PATIENCE) for fault, crawl in crawls.items()}
    for fault, one in told.items():
        assert (one.returncode, complete(one.stdout)) == (0, ADVERTS), fault
        assert one.stderr.count("Redis is gone") == 1, fault
        assert "Traceback" not in one.stderr
        assert len(stored(tmp_path / fault)) == ADVERTS


def strike(
    waiting: dict[str, Callable[[RedisServer], None]], servers: Mapping[str, RedisServer], folder: Path
) -> list[str]:
    """Each fault whose crawl has read a page begins; those that still wait."""
    for fault in [fault for fault in waiting if has_read(folder / fault)]:
        waiting.pop(fault)(servers[fault])
    return list(waiting)


def has_read(data: Path) -> bool:
    """Whether the crawl of this folder has read a page."""
    with closing(sqlite3.connect(data / DATABASE_FILE, timeout=PATIENCE)) as connection:
        done = connection.execute("SELECT count(*) FROM frontier WHERE state = 'done'").fetchone()
        return bool(done[0])


def test_a_full_server_does_not_admit_what_it_cannot_confirm(server: RedisServer) -> None:
    settings = Settings(redis_circuit_breaker_enabled=True, redis_rate_limiter_enabled=True)

    async def story() -> list[bool]:
        gate = get_gate(settings, lambda _: 600.0, lambda _: 8, server.url)
        assert isinstance(gate, FallbackGate)
        gate._outage._retry_seconds = 0.0  # noqa: SLF001
        entries = [await gate.admit(IMOT, 5.0) for _ in range(2)]
        is_full(server)
        assert isinstance(entries[1], Admission)
        assert isinstance(await gate.wait(entries[1]), Refusal)
        alone = await gate.admit(IMOT, 5.0)
        tell(server, "CONFIG", "SET", "maxmemory", "0")
        shared = await gate.admit(IMOT, 5.0)
        await gate.close()
        admissions = [entry for entry in (alone, shared) if isinstance(entry, Admission)]
        return [entry.place in gate._local_places for entry in admissions]  # noqa: SLF001

    assert asyncio.run(story()) == [True, False]
