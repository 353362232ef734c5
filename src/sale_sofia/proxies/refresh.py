"""A refresh: all known proxies and candidates are checked; each can be had as soon as it was found good."""

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from redis.asyncio import Redis

from sale_sofia.crawl.fetch.base import Fetcher, Request
from sale_sofia.crawl.fetch.classify import classify
from sale_sofia.crawl.fetch.client import REDIRECTS, CurlFetcher
from sale_sofia.crawl.fetch.escort import GateEscort
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.gate import Gate, Outcome, Refusal
from sale_sofia.crawl.resilience.leases import Renewal
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.operations.services.celery import sender
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.checker import HOSTILE, Canary, Checker, CheckPage, Finding, JudgeClient
from sale_sofia.proxies.fetcher import route_of, use_of_error, use_of_verdict
from sale_sofia.proxies.model import EVERYWHERE, Proxy, Use
from sale_sofia.proxies.pool import ScoredProxyPool, open_pool
from sale_sofia.proxies.sources import Count, Source, SourceList, SourceUnreadable, read_source
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import (
    SiteConfig,
    available_sites,
    enabled_sites,
    known_starts,
    load_site_config,
)

log = logging.getLogger(__name__)
Status = Literal["DISPATCHED", "CHECKING", "COMPLETE", "FAILED", "REPLACED"]
LOCK_KEY: Final = "proxies:refresh:lock"
ENDED_KEY: Final = "proxies:refresh:ended"
_LOCK_MS: Final = int(fixed.REFRESH_LOCK_SECONDS * 1000)
_RUNNING: Final = ":running"
# A message may come twice: whoever begins first has the job, and the lock says so.
_BEGIN: Final = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])
return 1
"""
# A part that was waited for longer than the lock lives goes on, if nobody else has begun meanwhile.
_GO_ON: Final = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
# A lock is its holder's to renew and to give back; nobody else's.
_RENEW: Final = (
    "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0"
)
_FREE: Final = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"


@dataclass(frozen=True, slots=True)
class RefreshProgress:
    """The numbers of one refresh."""

    job_id: str
    status: Status
    candidates: int = 0
    """Found so far."""
    checked: int = 0
    usable: int = 0
    total_chunks: int = 0
    completed_chunks: int = 0
    """Parts that the candidates were dealt in, each checked by one task of a worker."""
    started_at: float | None = None
    completed_at: float | None = None
    error: str = ""

    @property
    def finished(self) -> bool:
        """Whether it has come to an end."""
        return self.status in {"COMPLETE", "FAILED", "REPLACED"}


def new_job_id() -> str:
    """The name of one refresh."""
    return f"refresh-{secrets.token_hex(6)}"


def check_job_id(told: object) -> str:
    """The name that a message gives; it becomes a part of keys. Raises `ValueError`: none of ours."""
    if not isinstance(told, str) or not re.fullmatch(r"refresh-[0-9a-f]{12}", told, re.ASCII):
        raise ValueError(f"job_id: no refresh of ours is called {told!r:.40}")
    return told


class RefreshBoard:
    """Guarantee: at most one refresh holds the lock; a dead one's is free after a minute."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    async def take(self, job_id: str) -> str:
        """Ask for the lock, for a job that is only sent; who holds it now."""
        taken = await self.redis.set(LOCK_KEY, job_id, nx=True, px=_LOCK_MS)
        return job_id if taken else await self.holder() or job_id

    async def begin(self, job_id: str) -> bool:
        """Whether this job may run now: nobody else does, and it was not begun before."""
        return bool(await self.redis.eval(_BEGIN, 1, LOCK_KEY, job_id, _RUNNING, _LOCK_MS))

    async def replaced(self, job_id: str) -> RefreshProgress:
        """What is told of a job that may not run, because another does."""
        told = RefreshProgress(job_id, "REPLACED", completed_at=time.time(), error="another was under way")
        # If it is this very job, its message came twice: its numbers are left alone.
        if await self.holder() != job_id:
            await self.write(told)
        return told

    async def fail(self, job_id: str, error: Exception) -> RefreshProgress:
        """End a job with what went wrong."""
        before = await self.read(job_id) or RefreshProgress(job_id, "FAILED")
        why = f"{type(error).__name__}: {error}"
        failed = replace(before, status="FAILED", completed_at=time.time(), error=why)
        await self.write(failed)
        await self.free(job_id)
        return failed

    async def go_on(self, job_id: str) -> bool:
        """Whether a part of this job may run: nobody began another refresh."""
        return bool(await self.redis.eval(_GO_ON, 1, LOCK_KEY, job_id + _RUNNING, _LOCK_MS))

    async def renew(self, job_id: str) -> bool:
        """Hold on to the lock; False where it is lost."""
        return bool(await self.redis.eval(_RENEW, 1, LOCK_KEY, job_id + _RUNNING, _LOCK_MS))

    async def free(self, job_id: str) -> None:
        """Give the lock back, and note when."""
        await self.redis.set(ENDED_KEY, time.time(), ex=fixed.PROGRESS_TTL_SECONDS)
        await self.redis.eval(_FREE, 1, LOCK_KEY, job_id + _RUNNING)

    async def holder(self) -> str | None:
        """The job that is sent or under way."""
        found = await self.redis.get(LOCK_KEY)
        return None if found is None else str(found).removesuffix(_RUNNING)

    async def seconds_since_last(self) -> float | None:
        """How long ago the last refresh ended; None where none did lately."""
        ended = await self.redis.get(ENDED_KEY)
        return None if ended is None else max(0.0, time.time() - float(ended))

    async def write(self, progress: RefreshProgress) -> None:
        """Show the numbers, and tell whoever waits."""
        async with self.redis.pipeline(transaction=True) as pipe:
            for name in _SHOWN:
                value = getattr(progress, name)
                if value is not None:
                    pipe.set(f"proxies:{progress.job_id}:{name}", value, ex=fixed.PROGRESS_TTL_SECONDS)
            pipe.publish(fixed.EVENTS_CHANNEL, progress.job_id)
            await pipe.execute()

    async def read(self, job_id: str) -> RefreshProgress | None:
        """The numbers of a job; None where nobody knows it."""
        found = await self.redis.mget([f"proxies:{job_id}:{name}" for name in _SHOWN])
        told = {name: _SHOWN[name](value) for name, value in zip(_SHOWN, found, strict=True) if value}
        return RefreshProgress(job_id, **told) if "status" in told else None


_SHOWN: Final[Mapping[str, Callable[[Any], Any]]] = {
    "status": str, "candidates": int, "checked": int, "usable": int, "total_chunks": int,
    "completed_chunks": int, "started_at": float, "completed_at": float, "error": str,
}  # fmt: skip
"""What is shown of a refresh, a key for each, and how it is read."""
Told = Callable[[Finding], Awaitable[None]]
OpenChecker = Callable[[], AbstractAsyncContextManager[Checker]]


@dataclass(slots=True)
class Sweep:
    """What one refresh found."""

    candidates: int = 0
    checked: int = 0
    usable: list[Proxy] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    counts: dict[str, Count] = field(default_factory=dict)
    """What was made of each source, by its name."""
    unreadable: list[str] = field(default_factory=list)
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresher:
    """Refreshes one pool from its sources."""

    pool: ScoredProxyPool
    sources: Sequence[Source]
    open_checker: OpenChecker
    at_once: int
    seconds: float = fixed.REFRESH_SECONDS

    async def run(self, told: Told | None = None) -> Sweep:
        """Check everything, within the time that a refresh may take."""
        sweep = Sweep()
        await self.check(await self.gather(sweep), sweep, told)
        return sweep

    async def gather(self, sweep: Sweep) -> Iterator[Proxy]:
        """Each candidate once, read as it is asked for: first those that are known, then the sources'."""
        proxies = [iter(await self.pool.known())]
        for source in self.sources:
            count = sweep.counts.setdefault(source.name, Count())  # two may differ only in their keys
            try:
                proxies.append(await read_source(source, count))
            except SourceUnreadable as error:
                sweep.unreadable.append(str(error))
        return _each_once(proxies, sweep)

    async def check(self, proxies: Iterator[Proxy], sweep: Sweep, told: Told | None = None) -> None:
        """Check these, and let the pool know of each as soon as it was found out."""

        async def found(finding: Finding) -> None:
            # Usable ones can be had from now on; hostile ones no more; a dead one is not forgotten at once
            proxy_id = finding.proxy.id
            sweep.checked += 1
            sweep.labels[finding.label] = sweep.labels.get(finding.label, 0) + 1
            if finding.usable:
                sweep.usable.append(finding.proxy)
                await self.pool.put(finding.proxy)
                for domain, use in finding.canaries:
                    await self.pool.note(proxy_id, domain, use)
            elif finding.label in HOSTILE:
                await self.pool.quarantine(proxy_id, finding.why)
            elif finding.label != "unsure":
                await self.pool.missed(proxy_id, f"{finding.label}: {finding.why}")
            if told is not None:
                await told(finding)

        async with self.open_checker() as checker:
            with suppress(TimeoutError):
                sweep.timed_out = True
                async with asyncio.timeout(self.seconds):
                    await checker.check_all(proxies, self.at_once, found)
                    sweep.timed_out = False


def _each_once(sources: Sequence[Iterator[Proxy]], sweep: Sweep) -> Iterator[Proxy]:
    seen: set[int] = set()
    for source in sources:
        for proxy in source:
            if (name := int(proxy.id, 16)) not in seen:
                seen.add(name)
                sweep.candidates += 1
                yield proxy


async def record_end(settings: Settings, progress: RefreshProgress, pool: ScoredProxyPool) -> None:
    """Write down how a refresh ended, and what may be handed out: for who asks when Redis is gone."""
    out = {row.id for row in await pool.get_stats(EVERYWHERE) if row.quarantined}
    kept, listed = SourceList(settings.data_dir), await pool.known()
    try:
        if usable := [proxy for proxy in listed if proxy.id not in out]:
            kept.remember(usable)
        kept.write(fixed.LAST_REFRESH_FILE, asdict(progress))
    except OSError:  # a full disk, say; the refresh itself is in Redis
        log.exception("the end of the refresh %s could not be written down", progress.job_id)


def last_refresh(settings: Settings) -> RefreshProgress | None:
    """How the last refresh ended that was written down in this data folder."""
    try:
        return RefreshProgress(**SourceList(settings.data_dir).read(fixed.LAST_REFRESH_FILE))
    except TypeError:
        return None  # there is none, or another version's


def sites_with_proxies() -> list[SiteConfig]:
    """The portals whose files ask for proxies, and do not switch them off."""
    configs = [load_site_config(site) for site in available_sites()]
    return [config for config in configs if config.enabled and config.proxies.use]


def needs_proxies(site: str) -> bool:
    """Whether the portal's file asks for proxies."""
    return load_site_config(site).proxies.use


def canary_request(config: SiteConfig, max_bytes: int) -> Request:
    """The small page of a portal."""
    starts = known_starts(config.site)
    begin = urlsplit(starts[0] if starts else f"https://{config.hosts[0]}")
    url = f"{begin.scheme}://{begin.netloc}{config.proxies.canary}"
    hosts = frozenset(config.hosts if begin.netloc in config.hosts else (begin.netloc,))
    return Request(
        url, hosts, fixed.CHECK_CONNECT_SECONDS, fixed.CHECK_SECONDS, max_bytes, follow_redirects=False
    )


def make_canary(request: Request, fetcher: Fetcher, gate: Gate, domain: str) -> Canary:
    """Asks the portal through a proxy when a turn is free; otherwise nothing is sent and nothing learned.

    So it is known whether the portal lets the proxy in. It stands behind nobody's back: a turn is taken where
    nobody else wants it, and never reserved.
    """

    async def ask(proxy: Proxy, patience_seconds: float) -> Use | None:
        ends = time.monotonic() + patience_seconds
        while True:
            found = await ask_now(proxy)
            if not isinstance(found, Refusal):
                return found
            pause = max(fixed.CHECK_TURN_LOOK_SECONDS, found.retry_after_seconds)
            if time.monotonic() + pause > ends:
                return None
            await asyncio.sleep(pause)

    async def ask_now(proxy: Proxy) -> Use | Refusal:
        async with gate.request(domain, 0.0) as entry:
            if isinstance(entry, Refusal):
                return entry
            # A slow proxy keeps no place of the crawl's; without it there is no further turn, so no redirect.
            await gate.report(entry, Outcome.neutral())
            seconds = request.timeout_seconds
            escort = GateEscort(gate, entry, TimeoutBudget(seconds, time.monotonic), seconds)
            route = route_of(proxy.address, f"canary-{proxy.id}")
            try:
                response = await fetcher.fetch(replace(request, route=route, escort=escort))
            except CrawlError as error:
                why = f"{type(error).__name__}: {str(error).removeprefix(f'{request.url}: ')}"
                return replace(use_of_error(error), why=why)
            if response.status in REDIRECTS:
                return Use("neutral", why="redirected")
            return use_of_verdict(classify(response, request.url), response.seconds)

    return ask


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

    Without judge and page some portal has to show what is a proxy, also where none uses them.
    Raises `JudgeGone`: a judge or page is named, but does not answer.
    """
    judge, page, portals = None, None, sites_with_proxies()
    if settings.proxy_judge_url is not None:
        judge = JudgeClient(settings.proxy_judge_url, settings.proxy_judge_http_url, settings.proxy_judge_ca)
    elif settings.proxy_check_url is not None:
        page = CheckPage(settings.proxy_check_url, settings.proxy_judge_ca)
        await page.look()
    else:
        portals = portals or [load_site_config(site) for site in enabled_sites()[:1]]
    ourselves = await judge.look_at_ourselves() if judge else None

    def rate(site: str) -> float:
        return settings.rate_limit(site, 60 / load_site_config(site).politeness.delay_seconds)

    async with AsyncExitStack() as stack:
        fetcher = CurlFetcher(settings.fetch_profile, settings.fetch_max_redirects)
        stack.push_async_callback(fetcher.close)
        # The gate that the crawl uses too: more proxies never mean more load on a portal.
        gate = get_gate(settings, rate, lambda site: load_site_config(site).politeness.concurrency, redis_url)
        stack.push_async_callback(gate.close)
        canaries = {
            config.site: make_canary(
                canary_request(config, settings.max_page_bytes), fetcher, gate, config.site
            )
            for config in portals
        }
        yield Checker(judge=judge, ourselves=ourselves, page=page, canaries=canaries)


REFRESH_TASK: Final = "sale_sofia.proxies.tasks.refresh_proxies"


def refresh_sender(redis_url: str) -> Callable[[str], None]:
    """Sends a job to the workers on this Redis; that a message was lost is noticed by who waits for it."""

    def send(job_id: str) -> None:
        from kombu.exceptions import OperationalError  # noqa: PLC0415 - slow, as Celery itself

        # The lock that a lost one holds ends in a minute, and the next who asks sends another.
        with sender(redis_url) as app, suppress(OperationalError):
            app.send_task(REFRESH_TASK, args=[job_id], ignore_result=True, retry=False)

    return send


# A refresh on the workers: one task gathers and deals, others check a part each, the last calls the end.
#
# None waits for another, so that a refresh needs no more than one free worker; each part may be lost or come
# twice. Candidates lie in Redis, where the pool is too: no message holds a password.

# All numbers of the parts are added up at once: of two that end together, one is the last.
_DONE: Final = """
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('DEL', KEYS[2])
local checked, usable, parts = 0, 0, 0
for _, told in ipairs(redis.call('HVALS', KEYS[1])) do
  local one, other = string.match(told, '(%d+) (%d+)')
  checked, usable, parts = checked + one, usable + other, parts + 1
end
redis.call('SET', KEYS[3], checked, 'EX', ARGV[4])
redis.call('SET', KEYS[4], usable, 'EX', ARGV[4])
redis.call('SET', KEYS[5], parts, 'EX', ARGV[4])
redis.call('PUBLISH', ARGV[3], KEYS[5])
return parts
"""


@dataclass(frozen=True, slots=True)
class Parts:
    """What one refresh has dealt, in Redis."""

    redis: Redis
    job_id: str

    def _key(self, name: str) -> str:
        return f"proxies:{self.job_id}:{name}"

    async def put(self, number: int, proxies: Sequence[Proxy]) -> None:
        """Lay a part down for whoever takes it."""
        told = json.dumps([proxy.as_record() for proxy in proxies])
        await self.redis.set(self._key(f"chunk:{number}"), told, ex=fixed.PROGRESS_TTL_SECONDS)

    async def get(self, number: int) -> list[Proxy] | None:
        """A part; None where it was checked already, or never dealt."""
        told = await self.redis.get(self._key(f"chunk:{number}"))
        return None if told is None else [Proxy.from_record(one) for one in json.loads(told)]

    async def end(self, number: int, sweep: Sweep) -> int:
        """Count a part as checked, once, and show the sums; how many parts are."""
        shown = [self._key(name) for name in ("checked", "usable", "completed_chunks")]
        keys = [self._key("results"), self._key(f"chunk:{number}"), *shown]
        told = (number, f"{sweep.checked} {len(sweep.usable)}", fixed.EVENTS_CHANNEL)
        return int(await self.redis.eval(_DONE, len(keys), *keys, *told, fixed.PROGRESS_TTL_SECONDS))


@asynccontextmanager
async def _refreshing(
    settings: Settings, redis_url: str, job_id: str
) -> AsyncIterator[tuple[ScoredProxyPool, RefreshBoard, Parts]]:
    """Pool, board and parts of a job; what goes wrong inside is its end, and told."""
    async with open_pool(settings, redis_url) as pool, connect(redis_url) as redis:
        board = RefreshBoard(redis)
        try:
            yield pool, board, Parts(redis, job_id)
        except Exception as error:
            failed = await board.fail(job_id, error)
            await record_end(settings, failed, pool)
            raise


async def deal(settings: Settings, redis_url: str, job_id: str, size: int | None = None) -> RefreshProgress:
    """Gather all candidates and lay them down in parts of this size; how many are to be checked."""
    size = size or min(settings.proxy_check_chunk, settings.proxy_check_concurrency)
    async with _refreshing(settings, redis_url, job_id) as (pool, board, parts):
        if not await board.begin(job_id):
            return await board.replaced(job_id)
        begun = RefreshProgress(job_id, "CHECKING", started_at=time.time())
        await board.write(begun)
        sweep, number = Sweep(), 0
        async with Renewal(fixed.REFRESH_SHOW_SECONDS, partial(board.renew, job_id)):
            async with open_checker(settings, redis_url):
                pass  # a judge that is gone is told here, once
            found = await get_refresher(settings, pool, redis_url).gather(sweep)
            found = islice(found, fixed.REFRESH_MOST_CANDIDATES)
            while chunk := list(islice(found, size)):
                number += 1
                await parts.put(number, chunk)
        dealt = replace(begun, candidates=sweep.candidates, total_chunks=number)
        await board.write(dealt)
        return dealt


async def check_part(settings: Settings, redis_url: str, job_id: str, number: int) -> tuple[Sweep, bool]:
    """Check one part, unless it was or its refresh has ended; what was found, and whether it was the last."""
    sweep = Sweep()
    async with _refreshing(settings, redis_url, job_id) as (pool, board, parts):
        progress, proxies = await board.read(job_id), await parts.get(number)
        if progress is None or progress.finished or proxies is None or not await board.go_on(job_id):
            return sweep, False
        left = max(0.0, (progress.started_at or 0.0) + fixed.REFRESH_SECONDS - time.time())
        refresher = replace(get_refresher(settings, pool, redis_url), seconds=left)
        async with Renewal(fixed.REFRESH_SHOW_SECONDS, partial(board.renew, job_id)):
            await refresher.check(iter(proxies), sweep)
        return sweep, await parts.end(number, sweep) == progress.total_chunks


async def finish(settings: Settings, redis_url: str, job_id: str) -> RefreshProgress | None:
    """End a refresh whose parts are all checked; one that has others, or has ended, is left as it is."""
    async with _refreshing(settings, redis_url, job_id) as (pool, board, _):
        progress = await board.read(job_id)
        if progress is None or progress.finished or progress.completed_chunks < progress.total_chunks:
            return progress
        ended = replace(progress, status="COMPLETE", completed_at=time.time())
        await record_end(settings, ended, pool)
        await board.write(ended)
        await board.free(job_id)
        return ended


async def run_job(settings: Settings, redis_url: str, job_id: str) -> RefreshProgress:
    """Carry out the refresh of a job, here and now; of one that may not run, what is told of it."""
    dealt = await deal(settings, redis_url, job_id, fixed.REFRESH_OWN_CHUNK)
    if dealt.status != "CHECKING":
        return dealt
    for number in range(1, dealt.total_chunks + 1):
        await check_part(settings, redis_url, job_id, number)
    return await finish(settings, redis_url, job_id) or dealt
