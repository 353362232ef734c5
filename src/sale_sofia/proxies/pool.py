"""The pool that all workers share, every operation one Lua script; and the pool that the settings ask for."""

import json
import random
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, TypeAlias

from redis.asyncio import Redis

from sale_sofia.crawl.resilience.scripts import ScriptRunner, ToldTime, connect
from sale_sofia.crawl.resilience.settings import STATE_TTL_SECONDS
from sale_sofia.proxies.memory_pool import NO_LATENCY, MemoryProxyPool, new_seed, new_token
from sale_sofia.proxies.model import EVERYWHERE, DomainStats, Lease, NoProxy, Proxy, Use, Wish
from sale_sofia.proxies.settings import KEEP_SHARE, STATS_FILE, PoolRules
from sale_sofia.proxies.sources import SourceList
from sale_sofia.settings.model import Settings

PREFIX: Final = "proxies:{pool}"


@dataclass(slots=True, kw_only=True)
class RedisProxyPool:
    """See `MemoryProxyPool`.

    A pick whose reply was lost holds its proxy until the lease is over; a report told twice counts once.
    """

    redis: Redis
    rules: PoolRules
    token: Callable[[], str] = new_token
    seed: Callable[[], int] = new_seed
    chance: Callable[[], float] = random.random
    clock: Callable[[], float] = time.monotonic
    """Counts only where tests tell the time."""
    told_time: ToldTime | None = None
    _scripts: ScriptRunner = field(init=False)

    def __post_init__(self) -> None:
        fixed = {"ttl_ms": STATE_TTL_SECONDS * 1000, "keep_share": KEEP_SHARE}
        rules = {**asdict(self.rules), **fixed}
        self._scripts = ScriptRunner(self.redis, rules, told_time=self.told_time)

    async def pick(self, domain: str, wish: Wish) -> Lease | NoProxy:
        """See `MemoryProxyPool`."""
        token = self.token()
        ask = {
            "tiers": wish.tiers,
            "session": wish.session,
            "exclude": wish.exclude,
            "only": wish.only or None,
        }
        proxy_id, told = await self._run("pick", domain=domain, seed=self.seed(), token=token, **ask)
        if not proxy_id:
            return NoProxy(float(told) if told else None)
        return Lease(Proxy.from_record(json.loads(told)), domain, token, wish.session)

    async def report(self, lease: Lease, use: Use) -> bool:
        """See `MemoryProxyPool`."""
        asked = {"token": lease.token, "session": lease.session}
        return bool(await self._report(lease.proxy.id, lease.domain, use, **asked))

    async def note(self, proxy_id: str, domain: str, use: Use) -> None:
        """See `MemoryProxyPool`."""
        await self._report(proxy_id, domain, use)

    async def _report(self, proxy_id: str, domain: str, use: Use, **asked: str | None) -> Any:  # noqa: ANN401
        told = {"kind": use.kind, "retry_after": use.retry_after_seconds, "why": use.why}
        if use.seconds is not None:
            told["seconds"] = use.seconds
        return await self._run("report", domain=domain, id=proxy_id, use=told, chance=self.chance(), **asked)

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

    async def known(self) -> list[Proxy]:
        """See `MemoryProxyPool`."""
        records = await self.redis.hgetall(f"{PREFIX}:known")
        return [Proxy.from_record(json.loads(records[name])) for name in sorted(records)]

    async def domains(self) -> list[str]:
        """See `MemoryProxyPool`."""
        return sorted(map(str, await self.redis.smembers(f"{PREFIX}:domains")))

    async def get_stats(self, domain: str) -> list[DomainStats]:
        """See `MemoryProxyPool`."""
        proxies = await self.known()
        rows = await self._run("stats", domain=domain, ids=[one.id for one in proxies])
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
        found = await self.redis.hgetall(f"{PREFIX}:climbs:{domain}")
        return {str(rung): int(number) for rung, number in found.items()}

    async def close(self) -> None:
        """See `MemoryProxyPool`."""
        await self.redis.aclose()

    async def _run(self, name: str, **ask: object) -> Any:  # noqa: ANN401 - as varied as what scripts return
        return await self._scripts.run(f"proxy_{name}", [PREFIX], self.clock(), **ask)


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
"""The pool: its own of one process, or that of all workers. One suite of tests runs on both."""


async def get_pool(settings: Settings, redis_url: str | None) -> ScoredProxyPool:
    """The pool that all share; without Redis one of this process's own, of what the last check found."""
    rules = PoolRules.from_settings(settings)
    if redis_url is not None:
        return RedisProxyPool(redis=connect(redis_url), rules=rules)
    pool = MemoryProxyPool(rules=rules)
    for proxy in SourceList(settings.data_dir).known():
        await pool.put(proxy)
    return pool


@asynccontextmanager
async def open_pool(settings: Settings, redis_url: str | None) -> AsyncIterator[ScoredProxyPool]:
    """As `get_pool`, closed at the end."""
    pool = await get_pool(settings, redis_url)
    try:
        yield pool
    finally:
        await pool.close()


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
    """Every portal that proxies were asked for and all together, or one portal; no password is in it.

    Without Redis as the crawl that is under way noted it, or the last one.
    """
    noted = noted_stats(settings) if redis_url is None else {}
    async with open_pool(settings, redis_url) as pool:
        domains = sorted({*await pool.domains(), *noted} - {EVERYWHERE})
        return [
            _with_noted(await _table(pool, domain), noted.get(domain))
            for domain in ([site] if site else [*domains, EVERYWHERE])
        ]


async def _table(pool: ScoredProxyPool, domain: str) -> DomainTable:
    return DomainTable(domain, _ordered(await pool.get_stats(domain)), await pool.climbs(domain))


def _ordered(rows: Iterable[DomainStats]) -> tuple[DomainStats, ...]:
    return tuple(sorted(rows, key=lambda row: (row.quarantined, -row.expected, row.id)))


def _with_noted(table: DomainTable, noted: DomainTable | None) -> DomainTable:
    """What was noted goes before what is only known; a proxy that was found since has no history yet."""
    if noted is None:
        return table
    rows = {row.id: row for row in (*table.rows, *noted.rows)}
    return DomainTable(table.domain, _ordered(rows.values()), noted.recovery)


async def note_stats(settings: Settings, pool: ScoredProxyPool) -> None:
    """Write down how proxies do, for who asks when this pool is gone, or from another process."""
    tables = [await _table(pool, domain) for domain in [*await pool.domains(), EVERYWHERE]]
    _write_noted(settings, time.time(), tables)


def forget_stats(settings: Settings, ids: Collection[str]) -> None:
    """Of these proxies nothing is told any more."""
    tables = noted_stats(settings).values()
    left = [replace(one, rows=tuple(row for row in one.rows if row.id not in ids)) for one in tables]
    if left:
        _write_noted(settings, time.time(), left)


def _write_noted(settings: Settings, now: float, tables: Iterable[DomainTable]) -> None:
    told = {"noted_at": now, "tables": [asdict(table) for table in tables]}
    SourceList(settings.data_dir).write(STATS_FILE, told)


def noted_stats(settings: Settings) -> dict[str, DomainTable]:
    """What was noted last, by portal; rests have gone on meanwhile."""
    told = SourceList(settings.data_dir).read(STATS_FILE)
    try:
        age = max(0.0, time.time() - told["noted_at"])
        found = [
            DomainTable(
                one["domain"], tuple(_aged(DomainStats(**row), age) for row in one["rows"]), one["recovery"]
            )
            for one in told["tables"]
        ]
    except (TypeError, KeyError):
        return {}  # there is none, or another version's
    return {one.domain: one for one in found}


def _aged(row: DomainStats, seconds: float) -> DomainStats:
    left = max(0.0, row.ready_in_seconds - seconds)
    return replace(row, ready_in_seconds=left, leased=row.leased and left > 0)
