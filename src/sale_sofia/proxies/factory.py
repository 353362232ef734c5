"""The pool, the checker and the refresher that the settings ask for."""

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from sale_sofia.config.settings import Settings
from sale_sofia.fetching.client import CurlFetcher
from sale_sofia.proxies.canary import canary_gate, canary_request, make_canary, sites_with_proxies
from sale_sofia.proxies.checker import Checker
from sale_sofia.proxies.judge_client import JudgeClient
from sale_sofia.proxies.memory_pool import MemoryProxyPool
from sale_sofia.proxies.pool import ScoredProxyPool
from sale_sofia.proxies.redis_pool import RedisProxyPool
from sale_sofia.proxies.refresh import Refresher
from sale_sofia.proxies.rules import PoolRules
from sale_sofia.proxies.source_list import SourceList
from sale_sofia.resilience.redis_client import connect

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
