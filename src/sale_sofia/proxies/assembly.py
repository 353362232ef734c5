"""A portal's fetcher put together: through the pool where its site file asks for it, as before elsewhere."""

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self
from weakref import WeakKeyDictionary

from sale_sofia.crawl.fetch.base import Fetcher
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.proxies.control import trigger, trigger_if_needed
from sale_sofia.proxies.fetcher import Ladder, ProxiedFetcher, Rung, budgets_of
from sale_sofia.proxies.lanes import browser_lane
from sale_sofia.proxies.pool import ScoredProxyPool, get_pool, note_stats
from sale_sofia.proxies.refresh import get_refresher, refresh_sender
from sale_sofia.proxies.settings import REFRESH_FACTOR, REFRESH_PAUSE_SECONDS, STATS_SECONDS
from sale_sofia.proxies.sources import SourceList
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import SiteConfig

log = logging.getLogger(__name__)
_ladders: dict[tuple[str, tuple[tuple[Rung, int], ...]], Ladder] = {}
"""Of each portal in this process: lanes come and go, but where it stands is remembered."""
_pools: "WeakKeyDictionary[Fetcher, ScoredProxyPool]" = WeakKeyDictionary()


async def through_proxies(
    settings: Settings, config: SiteConfig, fetcher: Fetcher, redis_url: str | None
) -> Fetcher:
    """The fetcher itself, unless the portal's file asks for proxies or allows the browser.

    With proxies nothing goes round the pool. All portals that share a fetcher share a pool, which is closed
    with it.
    """
    lane = browser_lane(settings, config, fetcher, redis_url)
    if not config.proxies.use:
        return lane or fetcher
    if fetcher not in _pools:
        pool = _pools[fetcher] = await get_pool(settings, redis_url)
        if isinstance(fetcher, CurlFetcher):
            fetcher.also_close(pool.close)
            if redis_url is None:
                fetcher.also_close(LocalStats.begin(settings, pool).stop)
    pool = _pools[fetcher]
    can_refresh = settings.parallel_scraping or bool(SourceList(settings.data_dir).sources())
    budgets = budgets_of(settings, config.proxies, can_refresh=can_refresh, browser=lane is not None)
    proxied = ProxiedFetcher(
        inner=fetcher,
        pool=pool,
        domain=config.site,
        tiers=config.proxies.tiers,
        ladder=_ladders.setdefault((config.site, tuple(budgets.items())), Ladder(budgets)),
        further_tries=settings.max_proxy_retries,
        proxy_seconds=settings.proxy_timeout,
        proof=config.proof,
        lane=lane,
    )
    if isinstance(fetcher, CurlFetcher):
        proxied.restart = fetcher.forget_sessions
    if settings.parallel_scraping and redis_url is not None:
        send = refresh_sender(redis_url)
        proxied.refresh = partial(trigger, redis_url, send)
        proxied.refresh_if_needed = partial(trigger_if_needed, settings, redis_url, pool, config.site, send)
        return proxied
    local = LocalRefresh(settings, config.site, pool, redis_url)
    if isinstance(fetcher, CurlFetcher):
        fetcher.also_close(local.stop)
    proxied.refresh, proxied.refresh_if_needed = local.begin, local.begin_if_needed
    return proxied


@dataclass(slots=True)
class LocalStats:
    """Notes now and then, and at the end, how the proxies of this process do: another one may ask."""

    settings: Settings
    pool: ScoredProxyPool
    _task: "asyncio.Task[None] | None" = None

    @classmethod
    def begin(cls, settings: Settings, pool: ScoredProxyPool) -> Self:
        """Note from now on."""
        made = cls(settings, pool)
        made._task = asyncio.create_task(made._run())
        return made

    async def stop(self) -> None:
        """Note for the last time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._note()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(STATS_SECONDS)
            await self._note()

    async def _note(self) -> None:
        with suppress(OSError):  # a full disk, say: the crawl has its own word on that
            await note_stats(self.settings, self.pool)


@dataclass(slots=True)
class LocalRefresh:
    """A refresh in the background of this process: one at a time, and not again right after one."""

    settings: Settings
    domain: str
    pool: ScoredProxyPool
    redis_url: str | None
    _task: "asyncio.Task[None] | None" = None
    _ended: float = field(default=float("-inf"))

    async def begin(self) -> None:
        """Begin one, unless one is under way or has just ended."""
        if self._task is None and time.monotonic() - self._ended >= REFRESH_PAUSE_SECONDS:
            self._task = asyncio.create_task(self._run())

    async def begin_if_needed(self) -> None:
        """Begin one, if fewer than twice the least number are ready."""
        if await self.pool.ready(self.domain) < REFRESH_FACTOR * self.settings.min_proxies_for_scraping:
            await self.begin()

    async def stop(self) -> None:
        """End it, if it is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            sweep = await get_refresher(self.settings, self.pool, self.redis_url).run()
            SourceList(self.settings.data_dir).remember_sweep(sweep.usable, whole=not sweep.timed_out)
        except Exception:
            log.exception("the proxies could not be refreshed")  # the crawl goes on with those it has
        finally:
            self._task, self._ended = None, time.monotonic()
