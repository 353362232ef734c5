"""The pool that all workers share: every operation is one Lua script, on the server's clock."""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from redis.asyncio import Redis

from sale_sofia.crawl.resilience import settings
from sale_sofia.crawl.resilience.scripts import ScriptRunner, ToldTime
from sale_sofia.proxies.memory_pool import NO_LATENCY, new_seed, new_token
from sale_sofia.proxies.model import DomainStats, Lease, NoProxy, PoolRules, Proxy, Use, Wish
from sale_sofia.proxies.settings import KEEP_SHARE

PREFIX: Final = "proxies:{pool}"


@dataclass(slots=True, kw_only=True)
class RedisProxyPool:
    """See `ScoredProxyPool`.

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
        fixed = {"ttl_ms": settings.STATE_TTL_SECONDS * 1000, "keep_share": KEEP_SHARE}
        rules = {**asdict(self.rules), **fixed}
        self._scripts = ScriptRunner(self.redis, rules, told_time=self.told_time)

    async def pick(self, domain: str, wish: Wish) -> Lease | NoProxy:
        """See `ScoredProxyPool`."""
        token = self.token()
        proxy_id, told = await self._run("pick", domain=domain, seed=self.seed(), token=token, **_plain(wish))
        if not proxy_id:
            return NoProxy(float(told) if told else None)
        return Lease(Proxy.from_record(json.loads(told)), domain, token, wish.session)

    async def report(self, lease: Lease, use: Use) -> bool:
        """See `ScoredProxyPool`."""
        asked = {"token": lease.token, "session": lease.session}
        return bool(await self._report(lease.proxy.id, lease.domain, use, **asked))

    async def note(self, proxy_id: str, domain: str, use: Use) -> None:
        """See `ScoredProxyPool`."""
        await self._report(proxy_id, domain, use)

    async def _report(self, proxy_id: str, domain: str, use: Use, **asked: str | None) -> Any:  # noqa: ANN401
        told = {"kind": use.kind, "retry_after": use.retry_after_seconds, "why": use.why}
        if use.seconds is not None:
            told["seconds"] = use.seconds
        return await self._run("report", domain=domain, id=proxy_id, use=told, chance=self.chance(), **asked)

    async def renew(self, lease: Lease) -> bool:
        """See `ScoredProxyPool`."""
        return bool(await self._run("renew", domain=lease.domain, id=lease.proxy.id, token=lease.token))

    async def put(self, proxy: Proxy) -> bool:
        """See `ScoredProxyPool`."""
        record = json.dumps(proxy.as_record())
        return bool(await self._run("put", id=proxy.id, record=record, tier=proxy.tier))

    async def missed(self, proxy_id: str, why: str) -> bool:
        """See `ScoredProxyPool`."""
        return bool(await self._run("out", how="missed", ids=[proxy_id], why=why))

    async def quarantine(self, proxy_id: str, why: str) -> None:
        """See `ScoredProxyPool`."""
        await self._run("out", how="quarantine", ids=[proxy_id], why=why)

    async def remove(self, proxy_ids: Sequence[str]) -> int:
        """See `ScoredProxyPool`."""
        return int(await self._run("out", how="remove", ids=list(proxy_ids)))

    async def ready(self, domain: str) -> int:
        """See `ScoredProxyPool`."""
        return int(await self._run("ready", domain=domain))

    async def known(self) -> list[Proxy]:
        """See `ScoredProxyPool`."""
        records = await self.redis.hgetall(f"{PREFIX}:known")
        return [Proxy.from_record(json.loads(records[name])) for name in sorted(records)]

    async def domains(self) -> list[str]:
        """See `ScoredProxyPool`."""
        return sorted(map(str, await self.redis.smembers(f"{PREFIX}:domains")))

    async def get_stats(self, domain: str) -> list[DomainStats]:
        """See `ScoredProxyPool`."""
        proxies = await self.known()
        rows = await self._run("stats", domain=domain, ids=[one.id for one in proxies])
        return [_stats(proxy, row) for proxy, row in zip(proxies, rows, strict=True)]

    async def climbed(self, domain: str, rung: str) -> None:
        """See `ScoredProxyPool`."""
        key = f"{PREFIX}:climbs:{domain}"
        async with self.redis.pipeline(transaction=True) as pipe:
            pipe.hincrby(key, rung, 1)
            pipe.expire(key, settings.STATE_TTL_SECONDS)
            await pipe.execute()

    async def climbs(self, domain: str) -> dict[str, int]:
        """See `ScoredProxyPool`."""
        found = await self.redis.hgetall(f"{PREFIX}:climbs:{domain}")
        return {str(rung): int(number) for rung, number in found.items()}

    async def close(self) -> None:
        """See `ScoredProxyPool`."""
        await self.redis.aclose()

    async def _run(self, name: str, **ask: object) -> Any:  # noqa: ANN401 - as varied as what scripts return
        return await self._scripts.run(f"proxy_{name}", [PREFIX], self.clock(), **ask)


def _plain(wish: Wish) -> dict[str, object]:
    exclude, only = list(wish.exclude), wish.only or None
    return {"tiers": list(wish.tiers), "session": wish.session, "exclude": exclude, "only": only}


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
