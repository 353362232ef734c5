"""What the orchestrator can do about proxies: ask for a refresh, wait, and run the rotator."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies.factory import get_pool, get_refresher, new_job_id
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.pool import ScoredProxyPool
from sale_sofia.proxies.refresh import (
    RefreshBoard,
    RefreshProgress,
    refresh_alone,
    refresh_sender,
    sites_with_proxies,
)
from sale_sofia.proxies.rotator_service import RotatorService
from sale_sofia.proxies.settings import (
    EVENTS_CHANNEL,
    REFRESH_FACTOR,
    REFRESH_PAUSE_SECONDS,
    REFRESH_POLL_SECONDS,
)
from sale_sofia.proxies.sources import SourceList
from sale_sofia.settings.model import Settings

# Waiting for proxies: an announcement is heard at once, one that was lost is seen a moment later.

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Wait:
    """How long, and what is done between two looks."""

    seconds: float
    between: Callable[[], None]


class ProxiesStillMissing(TimeoutError):
    """There were not enough proxies when the time was up."""


class RefreshStillOpen(TimeoutError):
    """A refresh had not ended when the time was up; it goes on."""


def _nothing() -> None:
    pass


async def wait_for_refresh(
    redis: Redis, job_id: str, seconds: float, between: Callable[[], None] = _nothing
) -> RefreshProgress:
    """The last numbers of a refresh, when it has ended; of one that died, as FAILED.

    Raises:
        RefreshStillOpen: the time was up.
    """
    board = RefreshBoard(redis)

    async def ended() -> RefreshProgress | None:
        progress = await board.read(job_id)
        if progress is None or progress.finished:
            return progress or RefreshProgress(job_id, "FAILED", error="nobody knows this refresh")
        # Its lock outlives it by a minute; without lock and end it died on its way.
        alive = await board.holder() == job_id
        return None if alive else await _last_look(board, job_id)

    found = await wait_until(redis, ended, seconds, between)
    if found is None:
        raise RefreshStillOpen(f"The refresh {job_id} had not ended after {seconds:g} s.")
    return found


async def _last_look(board: RefreshBoard, job_id: str) -> RefreshProgress:
    """It may have ended between two questions."""
    progress = await board.read(job_id)
    if progress is not None and progress.finished:
        return progress
    return RefreshProgress(job_id, "FAILED", error="it ended without a word")


async def wait_for_ready(
    redis: Redis,
    pool: ScoredProxyPool,
    wanted: dict[str, int],
    seconds: float,
    between: Callable[[], None] = _nothing,
) -> dict[str, int]:
    """How many are ready for each portal, when there are as many as are wanted.

    Raises:
        ProxiesStillMissing: the time was up; it says how many there are.
    """

    async def enough() -> dict[str, int] | None:
        found = {domain: await pool.ready(domain) for domain in wanted}
        return found if all(found[domain] >= least for domain, least in wanted.items()) else None

    found = await wait_until(redis, enough, seconds, between)
    if found is None:
        ready = {domain: await pool.ready(domain) for domain in wanted}
        told = ", ".join(f"{domain}: {ready[domain]} of {least}" for domain, least in wanted.items())
        raise ProxiesStillMissing(f"Not enough proxies after {seconds:g} s ({told}).")
    return found


async def wait_for_some(
    redis: Redis, pool: ScoredProxyPool, wanted: dict[str, int], job_id: str, wait: Wait
) -> dict[str, int]:
    """How many are ready for each portal: when they are enough, the refresh has ended, or the time is up."""
    board = RefreshBoard(redis)

    async def look() -> dict[str, int] | None:
        over = await board.holder() != job_id
        found = {domain: await pool.ready(domain) for domain in wanted}
        return found if over or all(found[domain] >= least for domain, least in wanted.items()) else None

    found = await wait_until(redis, look, wait.seconds, wait.between)
    return found or {domain: await pool.ready(domain) for domain in wanted}


async def wait_until(
    redis: Redis,
    look: Callable[[], Awaitable[Found | None]],
    seconds: float,
    between: Callable[[], None] = _nothing,
) -> Found | None:
    """What `look` finds, asked after every announcement and each second; None when the time is up."""
    end = time.monotonic() + seconds
    async with redis.pubsub(ignore_subscribe_messages=True) as heard:
        with suppress(RedisError, OSError):
            await heard.subscribe(EVENTS_CHANNEL)
        while (found := await look()) is None and time.monotonic() < end:
            between()
            await _pause(heard, min(REFRESH_POLL_SECONDS, end - time.monotonic()))
    return found


async def _pause(heard: PubSub, seconds: float) -> None:
    """Until something is announced, at most so long."""
    started = time.monotonic()
    try:
        await heard.get_message(timeout=max(0.0, seconds))
    except (RedisError, OSError):
        await asyncio.sleep(max(0.0, seconds - (time.monotonic() - started)))


# Asking for a refresh: by the clock, by a person, or because too few proxies are ready.

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


@dataclass(frozen=True, slots=True)
class ProxyControl:
    """Proxies of a data folder, on a Redis that is started when it is needed."""

    settings: Settings
    start_redis: Callable[[], str]
    between: Callable[[], None]
    """Done between two looks: keeps house, and raises when an end was asked for."""
    rotator: RotatorService

    def trigger_refresh(self) -> str:
        """The job of the refresh that is under way; begun now if there was none."""
        url = self.start_redis()
        return asyncio.run(trigger(url, refresh_sender(url)))

    def wait_for_refresh(self, job_id: str, seconds: float) -> RefreshProgress:
        """Its last numbers, when it has ended; `RefreshStillOpen` when the time is up."""

        async def wait(url: str) -> RefreshProgress:
            async with connect(url) as redis:
                return await wait_for_refresh(redis, job_id, seconds, self.between)

        return asyncio.run(wait(self.start_redis()))

    def wait_for_proxies(self, seconds: float, wanted: Mapping[str, int] | None = None) -> dict[str, int]:
        """How many are ready for each portal that uses proxies, when each has MIN_PROXIES_TO_START.

        Raises:
            ProxiesStillMissing: the time was up.
        """
        least = self.settings.min_proxies_to_start
        counts = dict(wanted) if wanted else {config.site: least for config in sites_with_proxies()}

        async def wait(url: str) -> dict[str, int]:
            pool = await get_pool(self.settings, url)
            try:
                async with connect(url) as redis:
                    return await wait_for_ready(redis, pool, counts, seconds, self.between)
            finally:
                await pool.close()

        return asyncio.run(wait(self.start_redis()))

    def supply(self, sites: Collection[str], wait: Wait) -> dict[str, int]:
        """How many are ready for each portal; with too few a refresh is begun and waited for."""
        wanted = dict.fromkeys(sites, self.settings.min_proxies_to_start)
        return asyncio.run(self._supply(self.start_redis(), wanted, wait))

    async def _supply(self, url: str, wanted: dict[str, int], wait: Wait) -> dict[str, int]:
        pool = await get_pool(self.settings, url)
        try:
            found = {domain: await pool.ready(domain) for domain in wanted}
            listed = SourceList(self.settings.data_dir).sources()
            if not listed or all(found[domain] >= least for domain, least in wanted.items()):
                return found
            job_id = await trigger(url, refresh_sender(url))
            async with connect(url) as redis:
                return await wait_for_some(redis, pool, wanted, job_id, wait)
        finally:
            await pool.close()

    def start_rotator(self) -> str:
        """The address of a rotator at work."""
        url = self.start_redis()
        return self.rotator.start(url, asyncio.run(self._known(url)), self.between)

    async def _known(self, url: str) -> list[Proxy]:
        pool = await get_pool(self.settings, url)
        try:
            return await pool.known()
        finally:
            await pool.close()
