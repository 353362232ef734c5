"""Picking and reporting in Redis, from one process and from eight: how long, and does one have two owners."""

import asyncio
import multiprocessing
import random
import time
from multiprocessing.connection import Connection
from typing import Any

from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies.model import Lease, Proxy, ProxyAddress, ProxyQuery, Use
from sale_sofia.proxies.pool import RedisProxyPool
from sale_sofia.proxies.settings import PoolRules

DOMAIN = "imot.bg"
RULES = PoolRules(spacing_seconds=0.0, lease_seconds=60.0)
HELD_KEY = "bench:held"
# Whoever gets a proxy notes it; the server counts how often one was noted that somebody else still had.
TAKE = """
if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then redis.call('INCR', KEYS[1] .. ':double') end
return 0
"""


def fill(url: str, proxies: int) -> None:
    """A pool of so many proxies, a third of them proven."""

    async def work() -> None:
        pool = RedisProxyPool(redis=connect(url), rules=RULES)
        for number in range(proxies):
            proxy = Proxy(ProxyAddress("http", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", 3128))
            await pool.put(proxy)
            if number % 3 == 0:
                await pool.note(proxy.id, DOMAIN, Use("ok", 0.3))
        await pool.close()

    asyncio.run(work())


def measure_leases(url: str, processes: int, cycles: int) -> dict[str, float]:
    """Seconds of pick and report together, over all processes, and double leases."""
    fork = multiprocessing.get_context("fork")
    pipes = [fork.Pipe() for _ in range(processes)]
    workers = [fork.Process(target=_work, args=(url, cycles, theirs), daemon=True) for _, theirs in pipes]
    started = time.monotonic()
    for worker in workers:
        worker.start()
    times = sorted(one for ours, _ in pipes for one in ours.recv())
    seconds = time.monotonic() - started
    for worker in workers:
        worker.join()
    return {
        "processes": processes,
        "cycles": len(times),
        "per_second": round(len(times) / seconds),
        "p50_ms": _ms(times, 0.5),
        "p95_ms": _ms(times, 0.95),
        "p99_ms": _ms(times, 0.99),
        "double_leases": asyncio.run(_doubles(url)),
    }


def _ms(times: list[float], share: float) -> float:
    return round(times[int(len(times) * share)] * 1000, 2) if times else 0.0


def _work(url: str, cycles: int, pipe: "Connection[Any, Any]") -> None:
    pipe.send(asyncio.run(_cycles(url, cycles)))


async def _cycles(url: str, cycles: int) -> list[float]:
    pool = RedisProxyPool(redis=connect(url), rules=RULES)
    chance = random.Random()
    times = []
    for _ in range(cycles):
        began = time.perf_counter()
        lease = await pool.pick(DOMAIN, ProxyQuery())
        picked = time.perf_counter() - began
        if not isinstance(lease, Lease):
            continue
        await pool.redis.eval(TAKE, 1, HELD_KEY, lease.proxy.id)
        await pool.redis.srem(HELD_KEY, lease.proxy.id)
        kind = chance.choices(["ok", "target", "rate_limited"], [8, 1, 1])[0]
        began = time.perf_counter()
        await pool.report(lease, Use(kind, 0.3))  # type: ignore[arg-type]
        times.append(picked + time.perf_counter() - began)
    await pool.close()
    return times


async def _doubles(url: str) -> int:
    async with connect(url) as redis:
        return int(await redis.get(f"{HELD_KEY}:double") or 0)
