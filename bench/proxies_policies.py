"""How others choose a proxy, re-stated from their published code, beside our pool."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from sale_sofia.proxies.model import Lease, NoProxy, Proxy, ProxyQuery, Use
from sale_sofia.proxies.pool import MemoryProxyPool
from sale_sofia.proxies.settings import Choice, PoolRules

DOMAIN = "portal-a.test"
_IDLE = 0.2


class Policy(Protocol):
    """Gives a proxy for a try, and hears what became of it."""

    name: str

    async def pick(self, tried: tuple[str, ...]) -> Proxy:
        """A proxy; waiting for one is the policy's own business."""

    async def report(self, proxy: Proxy, kind: str, seconds: float) -> None:
        """ok, blocked or transport."""


class Ours:
    """What is believed of each proxy on each portal, spacing, leases, doubling rests."""

    def __init__(
        self, proxies: Sequence[Proxy], spacing: float, seed: int, choice: Choice | None = None
    ) -> None:
        self.name = f"sale-sofia, {choice}" if choice else "sale-sofia"
        chance = random.Random(seed)
        rules = PoolRules(spacing_seconds=spacing, lease_seconds=30.0)
        rules = replace(rules, choice=choice) if choice else rules
        self.pool = MemoryProxyPool(rules=rules, seed=lambda: chance.randrange(2**31), chance=chance.random)
        self._proxies = proxies
        self._leases: dict[str, Lease] = {}
        self._filled = False

    async def pick(self, tried: tuple[str, ...]) -> Proxy:
        """See `Policy`."""
        if not self._filled:
            self._filled = True
            for proxy in self._proxies:
                await self.pool.put(proxy)
        found = await self.pool.pick(DOMAIN, ProxyQuery(exclude=tried))
        if isinstance(found, NoProxy):
            await asyncio.sleep(_IDLE if found.retry_after_seconds is None else found.retry_after_seconds)
            return await self.pick(tried)
        self._leases[found.proxy.id] = found
        return found.proxy

    async def report(self, proxy: Proxy, kind: str, seconds: float) -> None:
        """See `Policy`."""
        use = Use("ok", seconds) if kind == "ok" else Use(kind)  # type: ignore[arg-type]
        await self.pool.report(self._leases.pop(proxy.id), use)


class RoundRobin:
    """One after the other."""

    name = "round-robin"

    def __init__(self, proxies: Sequence[Proxy]) -> None:
        self._proxies, self._next = proxies, 0

    async def pick(self, tried: tuple[str, ...]) -> Proxy:
        """See `Policy`."""
        del tried
        self._next += 1
        return self._proxies[self._next % len(self._proxies)]

    async def report(self, proxy: Proxy, kind: str, seconds: float) -> None:
        """It learns nothing."""


class Random:
    """Any of them."""

    name = "random"

    def __init__(self, proxies: Sequence[Proxy], seed: int) -> None:
        self._proxies, self._random = proxies, random.Random(seed)

    async def pick(self, tried: tuple[str, ...]) -> Proxy:
        """See `Policy`."""
        del tried
        return self._random.choice(self._proxies)

    async def report(self, proxy: Proxy, kind: str, seconds: float) -> None:
        """It learns nothing."""


class ScrapyRotating:
    """scrapy-rotating-proxies 0.6.2: random among good and unchecked; a ban or error makes one dead.

    A dead one comes back after a random part of 300 s doubled with each failure, an hour at most. When all
    are dead, all are unchecked again.
    """

    name = "scrapy-rotating-proxies"
    _BASE, _CAP = 300.0, 3600.0

    def __init__(self, proxies: Sequence[Proxy], seed: int) -> None:
        self._proxies = {one.id: one for one in proxies}
        self._random = random.Random(seed)
        self._dead: dict[str, float] = {}
        self._failures = dict.fromkeys(self._proxies, 0)

    async def pick(self, tried: tuple[str, ...]) -> Proxy:
        """See `Policy`."""
        del tried
        now = time.monotonic()
        self._dead = {one: back for one, back in self._dead.items() if back > now}
        available = [one for one in self._proxies if one not in self._dead]
        if not available:
            self._dead.clear()
            available = list(self._proxies)
        return self._proxies[self._random.choice(available)]

    async def report(self, proxy: Proxy, kind: str, seconds: float) -> None:
        """See `Policy`."""
        del seconds
        if kind == "ok":
            self._dead.pop(proxy.id, None)
            self._failures[proxy.id] = 0
            return
        longest = min(self._CAP, self._BASE * 2 ** self._failures[proxy.id])
        self._failures[proxy.id] += 1
        self._dead[proxy.id] = time.monotonic() + self._random.uniform(0, longest)


class Crawlee:
    """Crawlee for Python: sessions, each bound to a proxy that is given out in turn.

    A session is used 50 times at most; an error adds 1 to its score, a success takes 0.5; it retires at 3,
    and at once when blocked. The pool holds 1000 sessions, and any of them is taken.
    """

    name = "crawlee"
    _SESSIONS, _MOST_ERRORS, _MOST_USES = 1000, 3.0, 50

    def __init__(self, proxies: Sequence[Proxy], seed: int) -> None:
        self._proxies, self._next = proxies, 0
        self._random = random.Random(seed)
        self._sessions = [self._new() for _ in range(self._SESSIONS)]
        self._used: dict[str, list[dict[str, float]]] = {}

    def _new(self) -> dict[str, float]:
        return {"proxy": -1.0, "errors": 0.0, "uses": 0.0}

    async def pick(self, tried: tuple[str, ...]) -> Proxy:
        """See `Policy`."""
        del tried
        number = self._random.randrange(self._SESSIONS)
        session = self._sessions[number]
        if session["errors"] >= self._MOST_ERRORS or session["uses"] >= self._MOST_USES:
            session = self._sessions[number] = self._new()
        if session["proxy"] < 0:
            session["proxy"] = float(self._next % len(self._proxies))
            self._next += 1
        session["uses"] += 1
        proxy = self._proxies[int(session["proxy"])]
        self._used.setdefault(proxy.id, []).append(session)
        return proxy

    async def report(self, proxy: Proxy, kind: str, seconds: float) -> None:
        """See `Policy`."""
        del seconds
        session = self._used[proxy.id].pop()
        if kind == "ok":
            session["errors"] = max(0.0, session["errors"] - 0.5)
        else:
            session["errors"] += self._MOST_ERRORS if kind == "blocked" else 1.0
