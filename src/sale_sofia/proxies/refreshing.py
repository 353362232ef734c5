"""Asking for a refresh: by the clock, by a person, or because too few proxies are ready."""

import asyncio
from collections.abc import Callable

from sale_sofia.config.proxies import REFRESH_FACTOR, REFRESH_PAUSE_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.proxies.factory import get_pool, get_refresher, new_job_id
from sale_sofia.proxies.pool import ScoredProxyPool
from sale_sofia.proxies.refresh import refresh_alone
from sale_sofia.proxies.refresh_board import RefreshBoard, RefreshProgress
from sale_sofia.resilience.redis_client import connect

Send = Callable[[str], object]
"""Hands a job to the workers."""


async def trigger(redis_url: str, send: Send) -> str:
    """The job of the refresh that is under way, begun now if there was none: of many who ask, one sends."""
    async with connect(redis_url) as redis:
        board = RefreshBoard(redis)
        job_id = new_job_id()
        holder = await board.take(job_id)
        if holder == job_id:
            await board.write(RefreshProgress(job_id, "DISPATCHED"))
            await asyncio.to_thread(send, job_id)
        return holder


async def trigger_if_needed(
    settings: Settings, redis_url: str, pool: ScoredProxyPool, domain: str, send: Send
) -> str | None:
    """A refresh, if fewer than twice the least number are ready and the last was not just now."""
    if await pool.ready(domain) >= REFRESH_FACTOR * settings.min_proxies_for_scraping:
        return None
    async with connect(redis_url) as redis:
        since = await RefreshBoard(redis).seconds_since_last()
    if since is not None and since < REFRESH_PAUSE_SECONDS:
        return None
    return await trigger(redis_url, send)


async def run_job(settings: Settings, redis_url: str, job_id: str) -> RefreshProgress:
    """Carry out the refresh of a job, here and now."""
    pool = await get_pool(settings, redis_url)
    try:
        async with connect(redis_url) as redis:
            return await refresh_alone(get_refresher(settings, pool, redis_url), RefreshBoard(redis), job_id)
    finally:
        await pool.close()
