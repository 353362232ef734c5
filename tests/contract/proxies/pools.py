"""The pools that every test of this folder can be run on, with a clock and a chance that tests decide."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from redis_servers import fresh_database, shared_server
from sale_sofia.crawl.resilience.scripts import CallerTime, connect
from sale_sofia.proxies.model import Lease, NoProxy, Proxy, ProxyAddress, ProxyQuery, Tier, Use
from sale_sofia.proxies.pool import MemoryProxyPool, RedisProxyPool, ScoredProxyPool
from sale_sofia.proxies.settings import PoolRules

Result = TypeVar("Result")
RULES = PoolRules(spacing_seconds=5.0, lease_seconds=30.0, sticky_seconds=1e6)
IMOT, BAZAR = "imot.bg", "bazar.bg"
OK = Use("ok", 0.5)
TRANSPORT = Use("transport", why="reset")
BLOCKED = Use("blocked", why="captcha")


def proxy(number: int, tier: Tier = "free") -> Proxy:
    return Proxy(ProxyAddress("http", f"10.0.0.{number}", 3128), tier, "test")


@dataclass(kw_only=True)
class World:
    """One pool, its loop, and what it takes for time and chance."""

    pool: ScoredProxyPool
    now: float = 1000.0
    seeds: Callable[[], int] = field(default_factory=lambda: count(1).__next__)
    drawn: float = 0.0
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)

    def run(self, work: Coroutine[object, object, Result]) -> Result:
        return self.runner.run(work)

    def put(self, *proxies: Proxy) -> None:
        for proxy in proxies:
            self.run(self.pool.put(proxy))

    def pick(self, domain: str = IMOT, **wish: object) -> Lease:
        found = self.look(domain, **wish)
        assert isinstance(found, Lease)
        return found

    def look(self, domain: str = IMOT, **wish: object) -> Lease | NoProxy:
        return self.run(self.pool.pick(domain, ProxyQuery(**wish)))  # type: ignore[arg-type]

    def use(self, use: Use, domain: str = IMOT, **wish: object) -> Proxy:
        """Pick and report."""
        lease = self.pick(domain, **wish)
        assert self.run(self.pool.report(lease, use))
        return lease.proxy

    def close(self) -> None:
        self.run(self.pool.close())
        self.runner.close()


def told_by(world: World, pool: MemoryProxyPool | RedisProxyPool) -> World:
    """Time and chance come from the world, as it is when the pool asks."""
    pool.clock = lambda: world.now
    pool.seed = lambda: world.seeds() + 0
    pool.chance = lambda: world.drawn
    return world


def memory_world(rules: PoolRules = RULES) -> World:
    names = map(str, count())
    pool = MemoryProxyPool(rules=rules, token=names.__next__)
    world = World(pool=pool)
    return told_by(world, pool)


def redis_world(rules: PoolRules = RULES) -> World:
    names = map(str, count())
    redis = connect(fresh_database(shared_server()))
    pool = RedisProxyPool(redis=redis, rules=rules, token=names.__next__, caller_time=CallerTime())
    world = World(pool=pool)
    return told_by(world, pool)


WORLDS: dict[str, Callable[..., World]] = {"memory": memory_world, "redis": redis_world}
