"""The pool, the checker and the refresher that the settings ask for."""

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies.checker import Checker, JudgeClient
from sale_sofia.proxies.memory_pool import MemoryProxyPool
from sale_sofia.proxies.model import DomainStats, PoolRules
from sale_sofia.proxies.pool import EVERYWHERE, ScoredProxyPool
from sale_sofia.proxies.redis_pool import RedisProxyPool
from sale_sofia.proxies.refresh import Refresher, canary_gate, canary_request, make_canary, sites_with_proxies
from sale_sofia.proxies.sources import SourceList
from sale_sofia.settings.model import Settings

_JOB_ID: Final = re.compile(r"refresh-[0-9a-f]{12}", re.ASCII)


def new_job_id() -> str:
    """The name of one refresh."""
    return f"refresh-{secrets.token_hex(6)}"


def check_job_id(told: object) -> str:
    """The name that a message gives; it becomes a part of keys.

    Raises:
        ValueError: none of ours.
    """
    if not isinstance(told, str) or not _JOB_ID.fullmatch(told):
        raise ValueError(f"job_id: no refresh of ours is called {told!r:.40}")
    return told


async def get_pool(settings: Settings, redis_url: str | None) -> ScoredProxyPool:
    """The pool that all share; without Redis one of this process's own, of what the last check found."""
    rules = PoolRules.from_settings(settings)
    if redis_url is not None:
        return RedisProxyPool(redis=connect(redis_url), rules=rules)
    pool = MemoryProxyPool(rules=rules)
    for proxy in SourceList(settings.data_dir).known():
        await pool.put(proxy)
    return pool


def get_refresher(settings: Settings, pool: ScoredProxyPool, redis_url: str | None) -> Refresher:
    """Refreshes the pool from the operator's sources."""
    return Refresher(
        pool=pool,
        sources=SourceList(settings.data_dir).sources(),
        open_checker=lambda: open_checker(settings, redis_url),
        at_once=settings.proxy_check_concurrency,
    )


@asynccontextmanager
async def open_checker(settings: Settings, redis_url: str | None) -> AsyncIterator[Checker]:
    """A checker that knows ourselves and the portals that use proxies.

    Raises:
        JudgeGone: a judge is named, but does not answer.
    """
    judge = get_judge(settings)
    ourselves = await judge.look_at_ourselves() if judge else None
    async with AsyncExitStack() as stack:
        fetcher = CurlFetcher(settings.fetch_profile, settings.fetch_max_redirects)
        stack.push_async_callback(fetcher.close)
        gate = canary_gate(settings, redis_url)
        stack.push_async_callback(gate.close)
        canaries = {
            config.site: make_canary(
                canary_request(config, settings.max_page_bytes), fetcher, gate, config.site
            )
            for config in sites_with_proxies()
        }
        yield Checker(judge=judge, ourselves=ourselves, canaries=canaries)


def get_judge(settings: Settings) -> JudgeClient | None:
    """The judge of PROXY_JUDGE_URL."""
    if settings.proxy_judge_url is None:
        return None
    return JudgeClient(settings.proxy_judge_url, settings.proxy_judge_http_url, settings.proxy_judge_ca)


# How proxies do on each portal, as rows to show: by the command, and by the page of health.


@dataclass(frozen=True, slots=True)
class DomainTable:
    """One portal; `*` is all of them together."""

    domain: str
    rows: tuple[DomainStats, ...]
    """The most promising first, those in quarantine last; every address is masked."""
    recovery: dict[str, int]
    """How often each step of the ladder was taken."""


async def domain_tables(
    settings: Settings, redis_url: str | None, site: str | None = None
) -> list[DomainTable]:
    """Every portal that proxies were asked for and all together, or one portal; no password is in it."""
    pool = await get_pool(settings, redis_url)
    try:
        domains = [site] if site else [*await pool.domains(), EVERYWHERE]
        return [await _table(pool, domain) for domain in domains]
    finally:
        await pool.close()


async def _table(pool: ScoredProxyPool, domain: str) -> DomainTable:
    rows = sorted(await pool.get_stats(domain), key=lambda one: (one.quarantined, -one.expected, one.id))
    return DomainTable(domain, tuple(rows), await pool.climbs(domain))
