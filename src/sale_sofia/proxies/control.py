"""What a crawl and the orchestrator do with proxies: use them, refresh them, run the rotator."""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary

from redis.asyncio import Redis
from redis.exceptions import RedisError

from sale_sofia.crawl.fetch.base import Fetcher
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.errors import ServiceRedis
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.operations.services.celery import program_environment
from sale_sofia.operations.services.fleet import Restarts
from sale_sofia.operations.services.processes import TERMINATE, Child
from sale_sofia.operations.settings import (
    BEAT_STOP_SECONDS,
    RUN_FOLDER,
    SERVICE_POLL_SECONDS,
    SERVICE_START_SECONDS,
)
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.browser import browser_lane
from sale_sofia.proxies.fetcher import Ladder, ProxiedFetcher, Rung, budgets_of
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.pool import ScoredProxyPool, get_pool, list_usable, note_stats, open_pool
from sale_sofia.proxies.refresh import (
    RefreshBoard,
    RefreshProgress,
    RefreshResult,
    get_refresher,
    last_refresh,
    new_job_id,
    refresh_sender,
    sites_with_proxies,
)
from sale_sofia.proxies.settings import REFRESH_FACTOR, REFRESH_PAUSE_SECONDS
from sale_sofia.proxies.sources import SourceList
from sale_sofia.settings.errors import ServiceFailed, ServiceUnavailable
from sale_sofia.settings.model import Settings
from sale_sofia.settings.programs import own_program
from sale_sofia.telemetry.settings import LOG_FOLDER
from sale_sofia.websites.site_file import SiteConfig

Found = TypeVar("Found")


class ProxiesStillMissing(TimeoutError):
    """There were not enough proxies when the time was up."""


class RefreshStillOpen(TimeoutError):
    """A refresh had not ended when the time was up; it goes on."""


async def wait_for_refresh(
    redis: Redis,
    job_id: str,
    seconds: float,
    between: Callable[[], None] = lambda: None,
    written: Callable[[], RefreshProgress | None] = lambda: None,
) -> RefreshProgress:
    """Return the last numbers of a refresh once it has ended; of one that died, as FAILED.

    Noticed by an event, by a look into Redis each second, or from a file (`written`) where Redis is gone or
    has forgotten it. Raises `RefreshStillOpen` when the time is up.
    """
    board = RefreshBoard(redis)

    def from_file() -> RefreshProgress | None:
        progress = written()
        return progress if progress and progress.job_id == job_id else None

    async def ended() -> RefreshProgress | None:
        try:
            # Its lock, read first, outlives it by a minute: with neither lock nor end, it died.
            holder, progress = await board.holder(), await board.read(job_id)
        except (RedisError, OSError):
            return from_file()
        if progress is None:
            return from_file() or RefreshProgress(job_id, "FAILED", error="nobody knows this refresh")
        if progress.finished:
            return progress
        dead = RefreshProgress(job_id, "FAILED", error="it ended without a word")
        return None if holder == job_id else dead

    progress = await wait_until(redis, ended, seconds, between)
    if progress is None:
        raise RefreshStillOpen(f"The refresh {job_id} had not ended after {seconds:g} s.")
    return progress


async def _count_ready(pool: ScoredProxyPool, required: Mapping[str, int]) -> tuple[dict[str, int], bool]:
    """Count the proxies ready for each portal, and say whether they are as many as required."""
    ready = {domain: await pool.ready(domain) for domain in required}
    return ready, all(ready[domain] >= least for domain, least in required.items())


async def wait_for_ready(
    redis: Redis,
    pool: ScoredProxyPool,
    required: Mapping[str, int],
    seconds: float,
    between: Callable[[], None] = lambda: None,
) -> dict[str, int]:
    """Return the number ready for each portal once it is reached; or raise `ProxiesStillMissing`."""

    async def enough() -> dict[str, int] | None:
        ready, are_enough = await _count_ready(pool, required)
        return ready if are_enough else None

    reached = await wait_until(redis, enough, seconds, between)
    if reached is None:
        ready, _ = await _count_ready(pool, required)
        missing = ", ".join(f"{domain}: {ready[domain]} of {least}" for domain, least in required.items())
        raise ProxiesStillMissing(f"Not enough proxies after {seconds:g} s ({missing}).")
    return reached


async def wait_until(
    redis: Redis,
    look: Callable[[], Awaitable[Found | None]],
    seconds: float,
    between: Callable[[], None] = lambda: None,
) -> Found | None:
    """Return what `look` finds, called after each event and each second; None when the time is up."""
    end = time.monotonic() + seconds
    async with redis.pubsub(ignore_subscribe_messages=True) as events:
        with suppress(RedisError, OSError):
            await events.subscribe(fixed.EVENTS_CHANNEL)
        while (found := await look()) is None and time.monotonic() < end:
            between()
            started = time.monotonic()
            pause = max(0.0, min(fixed.REFRESH_POLL_SECONDS, end - started))
            try:
                if not events.subscribed:  # Redis was down at the start
                    await events.subscribe(fixed.EVENTS_CHANNEL)
                await events.get_message(timeout=pause)
            except (RedisError, OSError):
                await asyncio.sleep(max(0.0, pause - (time.monotonic() - started)))
    return found


Send = Callable[[str], object]
"""Hands a job to the workers."""


async def trigger(redis_url: str, send: Send) -> str:
    """Return the job of the refresh under way, started if there was none; of many callers one sends it."""
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
    """Trigger a refresh if fewer than twice the minimum are ready and the last was not just now."""
    if await pool.ready(domain) >= fixed.REFRESH_FACTOR * settings.min_proxies_for_scraping:
        return None
    async with connect(redis_url) as redis:
        since = await RefreshBoard(redis).seconds_since_last()
    if since is not None and since < fixed.REFRESH_PAUSE_SECONDS:
        return None
    return await trigger(redis_url, send)


@dataclass(frozen=True, slots=True)
class RotatorService:
    """The one rotator of a data folder: our own program, or the user's mubeng."""

    settings: Settings
    forced: Callable[[], bool] = lambda: False

    @property
    def child(self) -> Child:
        """Its process."""
        folder = self.settings.data_dir
        return Child("rotator", folder / RUN_FOLDER, folder / LOG_FOLDER / "rotator.log", self.forced)

    def start(
        self, redis_url: str, proxies: Sequence[Proxy] = (), check: Callable[[], None] = lambda: None
    ) -> str:
        """Start it and return its address, or raise `ServiceUnavailable`; only mubeng needs the `proxies`."""
        child = self.child
        child.start(self._command(proxies), program_environment(self.settings, redis_url))
        end = time.monotonic() + SERVICE_START_SECONDS
        while not self._is_ready(child):
            check()
            if not child.alive or time.monotonic() > end:
                raise ServiceUnavailable(f"The rotator did not start{child.last_words()}.")
            time.sleep(SERVICE_POLL_SECONDS)
        return f"http://{fixed.ROTATOR_HOST}:{self.settings.rotator_port}"

    def wait(self, check: Callable[[], None]) -> None:
        """Wait until it ends by itself, or `check` raises."""
        while self.child.alive:
            check()
            time.sleep(SERVICE_POLL_SECONDS)

    def stop(self) -> None:
        """Stop it, if it runs."""
        self.child.stop(((TERMINATE, BEAT_STOP_SECONDS),))

    def _is_ready(self, child: Child) -> bool:
        if self.settings.mubeng_path is None:
            return child.ready
        with socket.socket() as probe:
            return child.alive and probe.connect_ex((fixed.ROTATOR_HOST, self.settings.rotator_port)) == 0

    def _command(self, proxies: Sequence[Proxy]) -> list[str]:
        settings, binary = self.settings, self.settings.mubeng_path
        if binary is None:
            return own_program("sale_sofia.proxies.rotator")
        # In a file that only its owner can read: anybody can read a program's arguments.
        folder = settings.data_dir / fixed.FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = (folder / "mubeng.txt").absolute()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(f"{proxy.address.secret_url}\n" for proxy in proxies)
        if not os.access(binary, os.X_OK):
            raise ServiceUnavailable(f"MUBENG_PATH: {binary} is no program that can be run.")
        if not proxies:
            raise ServiceUnavailable("The pool is empty, and mubeng cannot start without proxies.")
        place, timeout = f"{fixed.ROTATOR_HOST}:{settings.rotator_port}", f"{settings.proxy_timeout:g}s"
        # A new proxy for every request, as its own rotation after N is broken.
        return [str(binary), "-a", place, "-f", str(path), "-m", "random", "-r", "1", "-t", timeout]


@dataclass(frozen=True, slots=True)
class ProxyControl:
    """Proxies of a data folder, on a Redis that is started when it is needed."""

    settings: Settings
    start_redis: Callable[[], str]
    between: Callable[[], None]
    """Called between two looks: does housekeeping, and raises when a stop was requested."""
    rotator: RotatorService

    def trigger_refresh(self) -> str:
        """Return the job of the refresh under way, started if there was none."""
        url = self.start_redis()
        return asyncio.run(trigger(url, refresh_sender(url)))

    def wait_for_refresh(self, job_id: str, seconds: float) -> RefreshProgress:
        """Return its last numbers once it has ended; `RefreshStillOpen` when the time is up."""

        async def wait(url: str) -> RefreshProgress:
            async with connect(url) as redis:
                written = partial(last_refresh, self.settings)
                return await wait_for_refresh(redis, job_id, seconds, self.between, written)

        return asyncio.run(wait(self.start_redis()))

    def wait_for_proxies(self, seconds: float, required: Mapping[str, int] | None = None) -> dict[str, int]:
        """Return the ready ones once each portal has MIN_PROXIES_TO_START; or `ProxiesStillMissing`."""
        least = self.settings.min_proxies_to_start
        counts = required or {config.site: least for config in sites_with_proxies()}

        async def wait(url: str) -> dict[str, int]:
            async with open_pool(self.settings, url) as pool, connect(url) as redis:
                return await wait_for_ready(redis, pool, counts, seconds, self.between)

        return asyncio.run(wait(self.start_redis()))

    def supply(self, sites: Collection[str], seconds: float, between: Callable[[], None]) -> dict[str, int]:
        """Count those ready for each portal; if too few, after a refresh or when the time is up."""
        required = dict.fromkeys(sites, self.settings.min_proxies_to_start)

        async def supply(url: str) -> dict[str, int]:
            async with open_pool(self.settings, url) as pool, connect(url) as redis:
                ready, are_enough = await _count_ready(pool, required)
                if are_enough or not SourceList(self.settings.data_dir).sources():
                    return ready
                board, job_id = RefreshBoard(redis), await trigger(url, refresh_sender(url))

                async def look() -> dict[str, int] | None:
                    over = await board.holder() != job_id
                    ready, are_enough = await _count_ready(pool, required)
                    return ready if over or are_enough else None

                return (
                    await wait_until(redis, look, seconds, between) or (await _count_ready(pool, required))[0]
                )

        return asyncio.run(supply(self.start_redis()))

    def start_rotator(self) -> str:
        """Start the rotator and return its address."""

        async def list_proxies(url: str) -> list[Proxy]:
            async with open_pool(self.settings, url) as pool:
                return await list_usable(pool)

        url = self.start_redis()
        return self.rotator.start(url, asyncio.run(list_proxies(url)), self.between)

    def note_stats(self, redis_url: str) -> None:
        """Save how proxies do, for `proxies stats` when this Redis is gone."""

        async def note() -> None:
            async with open_pool(self.settings, redis_url) as pool:
                if await pool.list_proxies():
                    await note_stats(self.settings, pool)

        if SourceList(self.settings.data_dir).folder.exists():  # else there never were any
            with suppress(RedisError, ServiceRedis, OSError):
                asyncio.run(note())


@dataclass(slots=True)
class RotatorKeeper:
    """Keeps a rotator running where a portal uses proxies, or says why there is none; all else goes on."""

    control: ProxyControl
    say: Callable[[str], None]
    _is_needed: bool = False
    _url: str = ""
    _restarts: Restarts = field(default_factory=Restarts)

    def start(self) -> None:
        """Start it, if a portal uses proxies, and keep it running from now on."""
        self._is_needed = bool(sites_with_proxies())
        if self._is_needed and (address := self._start()):
            self.say(f"rotator: {address}")

    def supervise(self) -> None:
        """Restart it when it died, or when its Redis has another address."""
        child = self.control.rotator.child
        if not self._is_needed or (child.alive and self._url == self.control.start_redis()):
            return
        if child.alive:
            self.control.rotator.stop()
        try:
            self._restarts.note("The rotator", child.last_words())
        except ServiceFailed as often:
            self._give_up(often)
        else:
            self.say("the rotator died; started again")
            self._start()

    def _start(self) -> str | None:
        self._url = self.control.start_redis()
        try:
            return self.control.start_rotator()
        except ServiceUnavailable as error:
            self._give_up(error)
            return None

    def _give_up(self, why: ServiceUnavailable) -> None:
        self._is_needed = False
        self.say(f"no rotator: {why} All else goes on.")


# A portal's fetcher: through the pool where its site file asks for it, unchanged elsewhere.

log = logging.getLogger(__name__)
_ladders: dict[tuple[str, tuple[tuple[Rung, int], ...]], Ladder] = {}
"""Of each portal in this process: lanes come and go, but its position on the ladder is kept."""
_pools: "WeakKeyDictionary[Fetcher, ScoredProxyPool]" = WeakKeyDictionary()


async def through_proxies(
    settings: Settings, config: SiteConfig, fetcher: Fetcher, redis_url: str | None
) -> Fetcher:
    """Wrap the fetcher, if the portal's file asks for proxies or allows the browser.

    With proxies nothing bypasses the pool. All portals that share a fetcher share a pool, which is closed
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
                fetcher.also_close(start_saving_stats(settings, pool))
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


def start_saving_stats(settings: Settings, pool: ScoredProxyPool) -> Callable[[], Awaitable[None]]:
    """Save now and then how this process's proxies do, for others to read; the returned callback ends it."""

    async def note() -> None:
        with suppress(OSError):  # a full disk, say: the crawl reports that itself
            await note_stats(settings, pool)

    async def keep() -> None:
        while True:
            await asyncio.sleep(fixed.STATS_SECONDS)
            await note()

    async def stop() -> None:
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        await note()

    saving = asyncio.create_task(keep())
    return stop


async def refresh_here(settings: Settings, pool: ScoredProxyPool, redis_url: str | None) -> RefreshResult:
    """Refresh the pool of this process, and save what was found for the next one."""
    sweep = await get_refresher(settings, pool, redis_url).run()
    SourceList(settings.data_dir).remember_sweep(sweep.usable, whole=not sweep.timed_out, unsure=sweep.unsure)
    return sweep


@dataclass(slots=True)
class LocalRefresh:
    """Background refreshes in this process: one at a time, with a pause after each."""

    settings: Settings
    domain: str
    pool: ScoredProxyPool
    redis_url: str | None
    _task: "asyncio.Task[None] | None" = None
    _ended: float = field(default=float("-inf"))

    async def begin(self) -> None:
        """Start one, unless one is under way or has just ended."""
        if self._task is None and time.monotonic() - self._ended >= REFRESH_PAUSE_SECONDS:
            self._task = asyncio.create_task(self._run())

    async def begin_if_needed(self) -> None:
        """Start one, if fewer than twice the minimum are ready."""
        if await self.pool.ready(self.domain) < REFRESH_FACTOR * self.settings.min_proxies_for_scraping:
            await self.begin()

    async def stop(self) -> None:
        """End it, if it is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await refresh_here(self.settings, self.pool, self.redis_url)
        except Exception:
            log.exception("the proxies could not be refreshed")  # the crawl goes on with those it has
        finally:
            self._task, self._ended = None, time.monotonic()
