"""The pool: in this process's memory, or in Redis for all workers, each operation one Lua script."""

import json
import math
import random
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from heapq import nsmallest
from typing import Any, Final, TypeAlias

from redis.asyncio import Redis

from sale_sofia.crawl.resilience.scripts import CallerTime, ScriptRunner, connect
from sale_sofia.crawl.resilience.settings import STATE_TTL_SECONDS
from sale_sofia.proxies.model import EVERYWHERE, DomainStats, Lease, NoProxy, Proxy, ProxyQuery, Use
from sale_sofia.proxies.settings import KEEP_SHARE, SESSIONS_MOST, STATS_FILE, PoolRules
from sale_sofia.proxies.sources import SourceList
from sale_sofia.settings.model import Settings

NO_LATENCY: Final = -1.0


@dataclass(slots=True)
class Belief:
    """What one proxy is expected to do on one portal, or everywhere: decayed counts, and numbers shown."""

    good: float = 0.0
    bad: float = 0.0
    failures: int = 0
    """In a row."""
    score: float = 1.0
    latency: float = NO_LATENCY
    uses: int = 0
    successes: int = 0
    why: str = ""
    """The reason of its last failure."""
    token: str = ""
    """The token of the lease on this portal."""
    rests_until: float = 0.0
    """Only of the belief everywhere; on a portal the pool's order says it."""
    missed: int = 0
    """Checks in a row that found it dead."""

    def succeeded(self, rules: PoolRules, seconds: float | None) -> None:
        """Count a page that came."""
        self._decay(rules)
        self.good += 1
        self.failures = 0
        self.successes += 1
        self.score = min(rules.score_most, self.score * rules.score_up)
        self.rests_until = 0.0
        if seconds is not None:
            weight = 1.0 if self.latency == NO_LATENCY else rules.latency_weight
            self.latency += weight * (seconds - self.latency)

    def failed(self, rules: PoolRules, why: str) -> None:
        """Count a page that did not come, by the proxy's fault or because the portal blocks it."""
        self._decay(rules)
        self.good *= rules.failure_decay
        self.bad += 1
        self.failures += 1
        self.score = max(rules.score_least, self.score * rules.score_down)
        self.why = why

    def alive(self, rules: PoolRules) -> None:
        """Count a check that found it alive: it may work again, whatever happened before."""
        self._decay(rules)
        self.good += 1
        self.failures = self.missed = 0
        self.rests_until = 0.0
        self.why = ""

    def _decay(self, rules: PoolRules) -> None:
        self.good *= rules.decay
        self.bad *= rules.decay


def weights(here: Belief, everywhere: Belief, rules: PoolRules) -> tuple[float, float]:
    """The parameters of the Beta distribution of a proxy's success on a portal."""
    return (
        1 + here.good + rules.elsewhere * everywhere.good,
        1 + here.bad + rules.elsewhere * everywhere.bad,
    )


def expected(here: Belief, everywhere: Belief, rules: PoolRules) -> float:
    """The estimated chance of success."""
    good, bad = weights(here, everywhere, rules)
    return good / (good + bad)


def cooldown(failures: int, first: float, most: float) -> float:
    """Seconds to rest after so many failures in a row."""
    return min(most, first * 2.0 ** min(failures - 1, 60))


def learn(
    use: Use, here: Belief, everywhere: Belief, rules: PoolRules, chance: float
) -> tuple[float, bool | None]:
    """Update both beliefs; return the rest on the portal, and whether it is proven (None: unchanged).

    A block counts on that portal alone; a transport error is the proxy's own and counts everywhere; what the
    portal itself answers (404, 5xx, 429) costs the proxy nothing. `chance` lengthens a rest.
    """
    if use.kind != "neutral":
        here.uses += 1
        everywhere.uses += 1
    longer = 1 + rules.jitter * chance
    retry_after = min(use.retry_after_seconds, rules.retry_after_max_seconds)
    match use.kind:
        case "ok":
            here.succeeded(rules, use.seconds)
            everywhere.succeeded(rules, use.seconds)
            return rules.spacing_seconds, True
        case "blocked":
            here.failed(rules, use.why)
            rest = cooldown(here.failures, rules.block_seconds, rules.block_max_seconds)
            return max(retry_after, rest * longer), False
        case "transport":
            here.failed(rules, use.why)
            everywhere.failed(rules, use.why)
            rest = cooldown(everywhere.failures, rules.transport_seconds, rules.transport_max_seconds)
            return rest * longer, False
        case "rate_limited":
            return max(retry_after, rules.spacing_seconds), None
        case _:
            return rules.spacing_seconds, None


class Chance:
    """Park and Miller's generator, exact in a double as in Lua: one seed, one choice, in every pool."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed % 2_147_483_646 + 1
        for _ in range(3):
            self.uniform()

    def uniform(self) -> float:
        """A number between 0 and 1, both excluded."""
        self._state = self._state * 48_271 % 2_147_483_647
        return self._state / 2_147_483_647

    def beta(self, a: float, b: float) -> float:
        """A draw from Beta(a, b), both at least 1."""
        x = self._gamma(a)
        return x / (x + self._gamma(b))

    def _gamma(self, shape: float) -> float:
        """Marsaglia and Tsang's method, for shapes of at least 1."""
        d = shape - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = math.sqrt(-2 * math.log(self.uniform())) * math.cos(2 * math.pi * self.uniform())
            v = (1 + c * x) ** 3
            if v > 0 and math.log(self.uniform()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


Order = dict[str, float]
"""When each proxy is ready, by its id."""


@dataclass(slots=True)
class DomainOrder:
    """One portal's proxies, by tier; proven ones apart from the others."""

    beliefs: defaultdict[str, Belief] = field(default_factory=lambda: defaultdict(Belief))
    orders: defaultdict[tuple[bool, str], Order] = field(default_factory=lambda: defaultdict(dict))
    """By whether its proxies are proven (their last answer here was a page), and by tier."""

    def find(self, proxy_id: str) -> tuple[bool, str] | None:
        """Return the key of the order that holds a proxy; None where it may not be handed out."""
        return next((key for key, order in self.orders.items() if proxy_id in order), None)

    def ready_at(self, proxy_id: str) -> float:
        """Return when a proxy is ready; 0 for one that may not be handed out."""
        key = self.find(proxy_id)
        return 0.0 if key is None else self.orders[key][proxy_id]

    def add(self, proxy_id: str, tier: str) -> None:
        """Add it to its tier; a lease or a rest that it has goes on."""
        key = self.find(proxy_id)
        if key is None or key[1] != tier:
            ready_at = self.ready_at(proxy_id)
            self.drop(proxy_id)
            self.orders[False, tier][proxy_id] = ready_at

    def drop(self, proxy_id: str) -> None:
        """Stop handing it out."""
        for order in self.orders.values():
            order.pop(proxy_id, None)

    def place(self, proxy_id: str, tier: str, ready_at: float, *, proven: bool | None) -> None:
        """Move it to the right order; one that may not be handed out is not added."""
        key = self.find(proxy_id)
        if key is None:
            return
        if proven is not None:
            del self.orders[key][proxy_id]
            key = proven, tier
        self.orders[key][proxy_id] = ready_at

    def earliest(self, query: ProxyQuery, sides: Sequence[bool]) -> float | None:
        """Return when the first matching proxy is ready, of the proven, the others or both."""
        orders = [self.orders[proven, tier] for tier in query.tiers for proven in sides]
        return min(
            (at for order in orders for name, at in order.items() if name not in query.exclude), default=None
        )


def new_token() -> str:
    """Return a unique name for a lease."""
    return secrets.token_hex(8)


def new_seed() -> int:
    """Return a seed for one choice."""
    return random.randint(0, 2**31 - 2)  # noqa: S311 - which of our own proxies; no secret


@dataclass(slots=True, kw_only=True)
class MemoryProxyPool:
    """Proxies with a belief of each on each portal; no operation awaits, so each is atomic.

    Guarantee: no proxy is leased twice for the same portal, a report counts once, and no failure deletes one.
    """

    rules: PoolRules
    clock: Callable[[], float] = time.monotonic
    token: Callable[[], str] = new_token
    seed: Callable[[], int] = new_seed
    chance: Callable[[], float] = random.random
    _proxies: dict[str, Proxy] = field(default_factory=dict)
    _quarantined: set[str] = field(default_factory=set)
    _everywhere: defaultdict[str, Belief] = field(default_factory=lambda: defaultdict(Belief))
    _orders: dict[str, DomainOrder] = field(default_factory=dict)
    _climbs: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _sticky: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)

    async def pick(self, domain: str, query: ProxyQuery) -> Lease | NoProxy:
        """Lease a proxy that is ready for the portal; or say when to try again."""
        order, now, seed, token = self._order(domain), self.clock(), self.seed(), self.token()
        chosen = self._bound(domain, query, now)
        if chosen is None:
            chosen = self._best(order, query, now, Chance(seed))
        if isinstance(chosen, NoProxy):
            return chosen
        order.place(chosen, "", now + self.rules.lease_seconds, proven=None)
        order.beliefs[chosen].token = token
        if query.session:
            if len(self._sticky) >= SESSIONS_MOST:
                self._sticky = {name: bound for name, bound in self._sticky.items() if bound[1] > now}
            self._sticky[domain, query.session] = chosen, now + self.rules.sticky_seconds
        return Lease(self._proxies[chosen], domain, token, query.session)

    def _bound(self, domain: str, query: ProxyQuery, now: float) -> str | NoProxy | None:
        """Return the session's own proxy, or when it is ready if that is soon; None for any other."""
        proxy_id, until = self._sticky.get((domain, query.session or ""), ("", 0.0))
        if query.only:
            proxy_id, until = query.only, math.inf
        proxy, order = self._proxies.get(proxy_id), self._order(domain)
        if (
            proxy is None
            or order.find(proxy_id) is None
            or until <= now
            or proxy.tier not in query.tiers
            or proxy_id in query.exclude
        ):
            return NoProxy(None) if query.only else None
        wait = max(order.ready_at(proxy_id), self._everywhere[proxy_id].rests_until) - now
        if wait <= 0:
            return proxy_id
        failed = order.beliefs[proxy_id].failures or self._everywhere[proxy_id].failures
        if not query.only and (failed or wait > self.rules.session_patience_seconds):
            return None
        return NoProxy(wait)

    def _best(self, order: DomainOrder, query: ProxyQuery, now: float, chance: Chance) -> str | NoProxy:
        """Return the best draw; or a wait, where a proven proxy is soon ready and the draw is doubtful.

        A proxy that failed last is doubtful; on a retry, every one that is not proven.
        """

        def draw(proxy_id: str) -> float:
            """Draw a number weighted by score, or by the belief (Thompson); less for the slow."""
            here, everywhere = order.beliefs[proxy_id], self._everywhere[proxy_id]
            if self.rules.choice == "scored":
                drawn = math.pow(chance.uniform(), 1 / here.score)
            else:
                drawn = chance.beta(*weights(here, everywhere, self.rules))
            half = self.rules.latency_half_seconds
            return drawn * half / (half + max(0.0, everywhere.latency))

        # The proven and a few others; on a retry the proven alone, if any is ready
        found: list[str] = []
        for proven, most in ((True, self.rules.candidates), (False, self.rules.explored)):
            for tier in query.tiers:
                found += self._front(order.orders[proven, tier], query, now, most)
            if found and query.exclude:
                break
        chosen = max(found, key=draw, default=None)
        if chosen is None:
            ready_at = order.earliest(query, (True, False))
            return NoProxy(None if ready_at is None else max(0.0, ready_at - now))
        key = order.find(chosen)
        doubtful = order.beliefs[chosen].failures or self._everywhere[chosen].failures
        if doubtful or (query.exclude and not (key and key[0])):
            ready_at = order.earliest(query, (True,))
            if ready_at is not None and 0 < ready_at - now <= self.rules.doubt_patience_seconds:
                return NoProxy(ready_at - now)
        return chosen

    def _front(self, order: Order, query: ProxyQuery, now: float, most: int) -> list[str]:
        """Return the first few that are ready; those resting everywhere move to the end of their rest."""
        while True:
            ready = ((ready_at, name) for name, ready_at in order.items() if ready_at <= now)
            found = [name for _, name in nsmallest(most + len(query.exclude), ready)]
            resting = [name for name in found if self._everywhere[name].rests_until > now]
            if not resting:
                return [name for name in found if name not in query.exclude][:most]
            order.update((name, self._everywhere[name].rests_until) for name in resting)

    async def report(self, lease: Lease, use: Use) -> bool:
        """End the lease and learn from it; False where it was lost to another or reported before."""
        belief = self._order(lease.domain).beliefs[lease.proxy.id]
        if belief.token != lease.token:
            return False
        belief.token = ""
        self._learn(lease.proxy.id, lease.domain, use, at_least=0.0)
        if lease.session and use.kind in {"blocked", "transport"}:
            self._sticky.pop((lease.domain, lease.session), None)
        return True

    async def note(self, proxy_id: str, domain: str, use: Use) -> None:
        """Learn from a request without a lease, such as a canary."""
        if proxy_id in self._proxies:
            self._learn(proxy_id, domain, use, at_least=self._order(domain).ready_at(proxy_id))

    def _learn(self, proxy_id: str, domain: str, use: Use, at_least: float) -> None:
        order, everywhere, now = self._order(domain), self._everywhere[proxy_id], self.clock()
        rest, proven = learn(use, order.beliefs[proxy_id], everywhere, self.rules, self.chance())
        if use.kind == "transport":
            everywhere.rests_until = now + rest
        if proxy := self._proxies.get(proxy_id):
            order.place(proxy_id, proxy.tier, max(at_least, now + rest), proven=proven)

    async def renew(self, lease: Lease) -> bool:
        """Extend the lease; False where it is lost."""
        order = self._order(lease.domain)
        if order.find(lease.proxy.id) is None or order.beliefs[lease.proxy.id].token != lease.token:
            return False
        order.place(lease.proxy.id, "", self.clock() + self.rules.lease_seconds, proven=None)
        return True

    async def put(self, proxy: Proxy) -> bool:
        """Make a proxy that was found alive available at once; True where it is new."""
        new = proxy.id not in self._proxies
        self._proxies[proxy.id] = proxy
        self._quarantined.discard(proxy.id)
        self._everywhere[proxy.id].alive(self.rules)
        for order in self._orders.values():
            order.add(proxy.id, proxy.tier)
        return new

    async def missed(self, proxy_id: str, why: str) -> bool:
        """Rest a proxy that a check found dead; after a few in a row forget it, and return True."""
        if proxy_id not in self._proxies:
            return False
        belief, rules = self._everywhere[proxy_id], self.rules
        belief.failed(rules, why)
        belief.missed += 1
        rest = cooldown(belief.failures, rules.transport_seconds, rules.transport_max_seconds)
        belief.rests_until = self.clock() + rest
        return belief.missed >= rules.missed_sweeps and await self.remove([proxy_id]) > 0

    async def quarantine(self, proxy_id: str, why: str) -> None:
        """Stop handing it out until a check finds it clean."""
        if proxy_id in self._proxies:
            self._quarantined.add(proxy_id)
            self._everywhere[proxy_id].why = why
            for order in self._orders.values():
                order.drop(proxy_id)

    async def remove(self, proxy_ids: Sequence[str]) -> int:
        """Delete proxies on request; return how many there were."""
        gone = [proxy_id for proxy_id in proxy_ids if self._proxies.pop(proxy_id, None)]
        for proxy_id in gone:
            self._quarantined.discard(proxy_id)
            self._everywhere.pop(proxy_id, None)
            for order in self._orders.values():
                order.drop(proxy_id)
                order.beliefs.pop(proxy_id, None)
        return len(gone)

    async def ready(self, domain: str) -> int:
        """Count those usable for the portal within a minute with a fair chance."""
        order, soon = self._order(domain), self.clock() + self.rules.ready_within_seconds
        return sum(
            max(ready_at, self._everywhere[name].rests_until) <= soon
            and expected(order.beliefs[name], self._everywhere[name], self.rules) > self.rules.ready_above
            for proxies in order.orders.values()
            for name, ready_at in proxies.items()
        )

    async def list_proxies(self) -> list[Proxy]:
        """Return every proxy, quarantined ones too."""
        return sorted(self._proxies.values(), key=lambda proxy: proxy.id)

    async def domains(self) -> list[str]:
        """Return the portals that proxies were requested for."""
        return sorted(self._orders)

    async def get_stats(self, domain: str) -> list[DomainStats]:
        """Return how each proxy does on a portal; on `*`, everywhere."""
        return [self._stats(proxy, domain) for proxy in await self.list_proxies()]

    def _stats(self, proxy: Proxy, domain: str) -> DomainStats:
        everywhere, now = self._everywhere[proxy.id], self.clock()
        order = DomainOrder() if domain == EVERYWHERE else self._order(domain)
        here, ready_at = order.beliefs[proxy.id], order.ready_at(proxy.id)
        belief = everywhere if domain == EVERYWHERE else here
        return DomainStats(
            id=proxy.id,
            address=proxy.address.masked,
            tier=proxy.tier,
            expected=expected(here, everywhere, self.rules),
            score=belief.score,
            uses=belief.uses,
            successes=belief.successes,
            failures_in_a_row=belief.failures,
            latency_seconds=None if belief.latency == NO_LATENCY else belief.latency,
            ready_in_seconds=max(0.0, max(ready_at, everywhere.rests_until) - now),
            last_reason=belief.why or everywhere.why,
            leased=bool(belief.token) and ready_at > now,
            quarantined=proxy.id in self._quarantined,
        )

    async def climbed(self, domain: str, rung: str) -> None:
        """Count a step of the recovery ladder."""
        self._climbs[domain][rung] += 1

    async def climbs(self, domain: str) -> dict[str, int]:
        """Return how often each step was taken."""
        return dict(self._climbs[domain])

    async def close(self) -> None:
        """Close connections; the shared pool stays."""

    def _order(self, domain: str) -> DomainOrder:
        if domain not in self._orders:
            order = self._orders[domain] = DomainOrder()
            for proxy in self._proxies.values():
                if proxy.id not in self._quarantined:
                    order.add(proxy.id, proxy.tier)
        return self._orders[domain]


PREFIX: Final = "proxies:{pool}"


@dataclass(slots=True, kw_only=True)
class RedisProxyPool:
    """See `MemoryProxyPool`. A pick whose reply was lost holds its proxy until the lease expires."""

    redis: Redis
    rules: PoolRules
    token: Callable[[], str] = new_token
    seed: Callable[[], int] = new_seed
    chance: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic
    """Counts only where tests tell the time."""
    caller_time: CallerTime | None = None
    _scripts: ScriptRunner = field(init=False)

    def __post_init__(self) -> None:
        fixed = {"ttl_ms": STATE_TTL_SECONDS * 1000, "keep_share": KEEP_SHARE}
        rules = {**asdict(self.rules), **fixed}
        self._scripts = ScriptRunner(self.redis, rules, caller_time=self.caller_time)

    async def pick(self, domain: str, query: ProxyQuery) -> Lease | NoProxy:
        """See `MemoryProxyPool`."""
        token = self.token()
        fields = {
            "tiers": query.tiers,
            "session": query.session,
            "exclude": query.exclude,
            "only": query.only or None,
        }
        proxy_id, answer = await self._run("pick", domain=domain, seed=self.seed(), token=token, **fields)
        if not proxy_id:
            return NoProxy(float(answer) if answer else None)
        return Lease(Proxy.from_record(json.loads(answer)), domain, token, query.session)

    async def report(self, lease: Lease, use: Use) -> bool:
        """See `MemoryProxyPool`."""
        lease_fields = {"token": lease.token, "session": lease.session}
        return bool(await self._report(lease.proxy.id, lease.domain, use, **lease_fields))

    async def note(self, proxy_id: str, domain: str, use: Use) -> None:
        """See `MemoryProxyPool`."""
        await self._report(proxy_id, domain, use)

    async def _report(self, proxy_id: str, domain: str, use: Use, **lease: str | None) -> Any:  # noqa: ANN401
        args = {"kind": use.kind, "retry_after": use.retry_after_seconds, "why": use.why}
        if use.seconds is not None:
            args["seconds"] = use.seconds
        return await self._run("report", domain=domain, id=proxy_id, use=args, chance=self.chance(), **lease)

    async def renew(self, lease: Lease) -> bool:
        """See `MemoryProxyPool`."""
        return bool(await self._run("renew", domain=lease.domain, id=lease.proxy.id, token=lease.token))

    async def put(self, proxy: Proxy) -> bool:
        """See `MemoryProxyPool`."""
        record = json.dumps(proxy.as_record())
        return bool(await self._run("put", id=proxy.id, record=record, tier=proxy.tier))

    async def missed(self, proxy_id: str, why: str) -> bool:
        """See `MemoryProxyPool`."""
        return bool(await self._run("out", how="missed", ids=[proxy_id], why=why))

    async def quarantine(self, proxy_id: str, why: str) -> None:
        """See `MemoryProxyPool`."""
        await self._run("out", how="quarantine", ids=[proxy_id], why=why)

    async def remove(self, proxy_ids: Sequence[str]) -> int:
        """See `MemoryProxyPool`."""
        return int(await self._run("out", how="remove", ids=list(proxy_ids)))

    async def ready(self, domain: str) -> int:
        """See `MemoryProxyPool`."""
        return int(await self._run("ready", domain=domain))

    async def list_proxies(self) -> list[Proxy]:
        """See `MemoryProxyPool`."""
        records = await self.redis.hgetall(f"{PREFIX}:known")
        return [Proxy.from_record(json.loads(records[name])) for name in sorted(records)]

    async def domains(self) -> list[str]:
        """See `MemoryProxyPool`."""
        return sorted(map(str, await self.redis.smembers(f"{PREFIX}:domains")))

    async def get_stats(self, domain: str) -> list[DomainStats]:
        """See `MemoryProxyPool`."""
        proxies = await self.list_proxies()
        rows = await self._run("stats", domain=domain, ids=[proxy.id for proxy in proxies])
        return [_stats(proxy, row) for proxy, row in zip(proxies, rows, strict=True)]

    async def climbed(self, domain: str, rung: str) -> None:
        """See `MemoryProxyPool`."""
        key = f"{PREFIX}:climbs:{domain}"
        async with self.redis.pipeline(transaction=True) as pipe:
            pipe.hincrby(key, rung, 1)
            pipe.expire(key, STATE_TTL_SECONDS)
            await pipe.execute()

    async def climbs(self, domain: str) -> dict[str, int]:
        """See `MemoryProxyPool`."""
        counts = await self.redis.hgetall(f"{PREFIX}:climbs:{domain}")
        return {str(rung): int(count) for rung, count in counts.items()}

    async def close(self) -> None:
        """See `MemoryProxyPool`."""
        await self.redis.aclose()

    async def _run(self, name: str, **values: object) -> Any:  # noqa: ANN401 - each script returns its own
        return await self._scripts.run(f"proxy_{name}", [PREFIX], self.clock(), **values)


def _stats(proxy: Proxy, row: Sequence[Any]) -> DomainStats:
    expected, score, uses, successes, failures, latency, ready_in, why, leased, out = row
    return DomainStats(
        id=proxy.id,
        address=proxy.address.masked,
        tier=proxy.tier,
        expected=float(expected),
        score=float(score),
        uses=int(uses),
        successes=int(successes),
        failures_in_a_row=int(failures),
        latency_seconds=None if float(latency) == NO_LATENCY else float(latency),
        ready_in_seconds=float(ready_in),
        last_reason=why,
        leased=bool(leased),
        quarantined=bool(out),
    )


ScoredProxyPool: TypeAlias = MemoryProxyPool | RedisProxyPool
"""The pool of one process, or that of all workers. One suite of tests runs on both."""


async def get_pool(settings: Settings, redis_url: str | None) -> ScoredProxyPool:
    """Return the shared pool; without Redis one for this process, with what the last check found."""
    rules = PoolRules.from_settings(settings)
    if redis_url is not None:
        return RedisProxyPool(redis=connect(redis_url), rules=rules)
    pool = MemoryProxyPool(rules=rules)
    for proxy in SourceList(settings.data_dir).load_usable():
        await pool.put(proxy)
    return pool


@asynccontextmanager
async def open_pool(settings: Settings, redis_url: str | None) -> AsyncIterator[ScoredProxyPool]:
    """Open the pool of `get_pool`, and close it at the end."""
    pool = await get_pool(settings, redis_url)
    try:
        yield pool
    finally:
        await pool.close()


async def list_usable(pool: ScoredProxyPool) -> list[Proxy]:
    """Return every proxy but those in quarantine."""
    quarantined = {row.id for row in await pool.get_stats(EVERYWHERE) if row.quarantined}
    return [proxy for proxy in await pool.list_proxies() if proxy.id not in quarantined]


@dataclass(frozen=True, slots=True)
class DomainTable:
    """How proxies do on one portal, as rows to show; `*` is all portals together."""

    domain: str
    rows: tuple[DomainStats, ...]
    """The most promising first, those in quarantine last; every address is masked."""
    recovery: dict[str, int]
    """How often each step of the ladder was taken."""


async def domain_tables(
    settings: Settings, redis_url: str | None, site: str | None = None
) -> list[DomainTable]:
    """Return one portal's table, or all and `*`; without Redis as a crawl saved them."""
    saved = _load_stats(settings) if redis_url is None else {}
    async with open_pool(settings, redis_url) as pool:
        domains = sorted({*await pool.domains(), *saved} - {EVERYWHERE})
        return [
            _with_saved(await _table(pool, domain), saved.get(domain))
            for domain in ([site] if site else [*domains, EVERYWHERE])
        ]


async def _table(pool: ScoredProxyPool, domain: str) -> DomainTable:
    return DomainTable(domain, _ordered(await pool.get_stats(domain)), await pool.climbs(domain))


def _ordered(rows: Iterable[DomainStats]) -> tuple[DomainStats, ...]:
    return tuple(sorted(rows, key=lambda row: (row.quarantined, -row.expected, row.id)))


def _with_saved(table: DomainTable, saved: DomainTable | None) -> DomainTable:
    """Prefer saved rows; a proxy found since then has no history yet."""
    if saved is None:
        return table
    rows = {row.id: row for row in (*table.rows, *saved.rows)}
    return DomainTable(table.domain, _ordered(rows.values()), saved.recovery)


async def note_stats(settings: Settings, pool: ScoredProxyPool) -> None:
    """Save how proxies do, for other processes and for when this pool is gone."""
    tables = [await _table(pool, domain) for domain in [*await pool.domains(), EVERYWHERE]]
    _save_stats(settings, tables)


def forget_stats(settings: Settings, ids: Collection[str]) -> None:
    """Delete these proxies from the saved numbers."""
    tables = _load_stats(settings).values()
    left = [replace(table, rows=tuple(row for row in table.rows if row.id not in ids)) for table in tables]
    if left:
        _save_stats(settings, left)


def _save_stats(settings: Settings, tables: Iterable[DomainTable]) -> None:
    record = {"noted_at": time.time(), "tables": [asdict(table) for table in tables]}
    SourceList(settings.data_dir).write(STATS_FILE, record)


def _load_stats(settings: Settings) -> dict[str, DomainTable]:
    """Load what was saved last, by portal, with rests shortened by the time since."""
    record = SourceList(settings.data_dir).read(STATS_FILE)
    try:
        age = max(0.0, time.time() - record["noted_at"])
        return {
            table["domain"]: DomainTable(
                table["domain"],
                tuple(_aged(DomainStats(**row), age) for row in table["rows"]),
                table["recovery"],
            )
            for table in record["tables"]
        }
    except (TypeError, KeyError):
        return {}  # there is none, or another version's


def _aged(row: DomainStats, seconds: float) -> DomainStats:
    left = max(0.0, row.ready_in_seconds - seconds)
    return replace(row, ready_in_seconds=left, leased=row.leased and left > 0)
