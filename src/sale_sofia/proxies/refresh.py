"""A refresh: checks the pool's proxies and all candidates; each is available once found usable."""

import asyncio
import json
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
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
from sale_sofia.crawl.resilience.bulkhead import Renewal
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.gate import Gate, Outcome, Refusal
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.operations.services.celery import sender
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.checker import (
    HOSTILE,
    Canary,
    Checker,
    CheckPage,
    JudgeClient,
    OnFinding,
    ProxyFinding,
)
from sale_sofia.proxies.fetcher import route_of, use_of_error, use_of_verdict
from sale_sofia.proxies.model import Proxy, Use, parse_proxy
from sale_sofia.proxies.pool import ScoredProxyPool, list_usable, open_pool
from sale_sofia.proxies.sources import Count, ProxySource, SourceList, SourceUnreadable, read_source
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
# A message may arrive twice: the first to begin has the job, and the lock says so.
_BEGIN: Final = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'PX', ARGV[3])
return 1
"""
# A part that waited longer than the lock lives goes on, unless another refresh has begun.
_GO_ON: Final = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
# Only its holder may renew or release a lock.
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
    """The chunks of candidates, each checked by one task of a worker."""
    started_at: float | None = None
    completed_at: float | None = None
    error: str = ""

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.status in {"COMPLETE", "FAILED", "REPLACED"}


def new_job_id() -> str:
    """Return a new name for a refresh."""
    return f"refresh-{secrets.token_hex(6)}"


def check_job_id(job_id: object) -> str:
    """Return the job id of a message, which becomes part of keys; `ValueError` for none of ours."""
    if not isinstance(job_id, str) or not re.fullmatch(r"refresh-[0-9a-f]{12}", job_id, re.ASCII):
        raise ValueError(f"job_id: no refresh of ours is called {job_id!r:.40}")
    return job_id


class RefreshBoard:
    """Guarantee: at most one refresh holds the lock; that of a dead one expires after a minute."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    async def take(self, job_id: str) -> str:
        """Request the lock for a job before it is sent; return its holder."""
        acquired = await self.redis.set(LOCK_KEY, job_id, nx=True, px=_LOCK_MS)
        return job_id if acquired else await self.holder() or job_id

    async def begin(self, job_id: str) -> bool:
        """Start a job; False while another runs, or if this one was started before."""
        return bool(await self.redis.eval(_BEGIN, 1, LOCK_KEY, job_id, _RUNNING, _LOCK_MS))

    async def replaced(self, job_id: str) -> RefreshProgress:
        """Record that a job may not run because another does."""
        refused = RefreshProgress(job_id, "REPLACED", completed_at=time.time(), error="another was under way")
        # A message that arrived twice must not overwrite the numbers of its own job.
        if await self.holder() != job_id:
            await self.write(refused)
        return refused

    async def fail(self, job_id: str, error: Exception) -> RefreshProgress:
        """End a job with its error."""
        before = await self.read(job_id) or RefreshProgress(job_id, "FAILED")
        why = f"{type(error).__name__}: {error}"
        failed = replace(before, status="FAILED", completed_at=time.time(), error=why)
        await self.write(failed)
        await self.free(job_id)
        return failed

    async def go_on(self, job_id: str) -> bool:
        """Take the lock for a part of this job; False if another refresh has begun."""
        return bool(await self.redis.eval(_GO_ON, 1, LOCK_KEY, job_id + _RUNNING, _LOCK_MS))

    async def renew(self, job_id: str) -> bool:
        """Renew the lock; False where it is lost."""
        return bool(await self.redis.eval(_RENEW, 1, LOCK_KEY, job_id + _RUNNING, _LOCK_MS))

    async def free(self, job_id: str) -> None:
        """Release the lock, and record when."""
        await self.redis.set(ENDED_KEY, time.time(), ex=fixed.PROGRESS_TTL_SECONDS)
        await self.redis.eval(_FREE, 1, LOCK_KEY, job_id + _RUNNING)

    async def holder(self) -> str | None:
        """Return the job that is sent or under way."""
        holder = await self.redis.get(LOCK_KEY)
        return None if holder is None else str(holder).removesuffix(_RUNNING)

    async def seconds_since_last(self) -> float | None:
        """Return the seconds since the last refresh ended; None where none did lately."""
        ended = await self.redis.get(ENDED_KEY)
        return None if ended is None else max(0.0, time.time() - float(ended))

    async def write(self, progress: RefreshProgress) -> None:
        """Write the numbers, and notify waiting processes."""
        async with self.redis.pipeline(transaction=True) as pipe:
            for name in _FIELDS:
                value = getattr(progress, name)
                if value is not None:
                    pipe.set(f"proxies:{progress.job_id}:{name}", value, ex=fixed.PROGRESS_TTL_SECONDS)
            pipe.publish(fixed.EVENTS_CHANNEL, progress.job_id)
            await pipe.execute()

    async def read(self, job_id: str) -> RefreshProgress | None:
        """Return the numbers of a job; None for an unknown one."""
        values = await self.redis.mget([f"proxies:{job_id}:{name}" for name in _FIELDS])
        fields = {name: _FIELDS[name](value) for name, value in zip(_FIELDS, values, strict=True) if value}
        return RefreshProgress(job_id, **fields) if "status" in fields else None


_FIELDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "status": str, "candidates": int, "checked": int, "usable": int, "total_chunks": int,
    "completed_chunks": int, "started_at": float, "completed_at": float, "error": str,
}  # fmt: skip
"""The numbers of a refresh, a Redis key for each, and how its text is parsed."""


@dataclass(slots=True)
class RefreshResult:
    """What one refresh found."""

    candidates: int = 0
    checked: int = 0
    usable: list[Proxy] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
    """The ids of those that stay what they were."""
    labels: dict[str, int] = field(default_factory=dict)
    counts: dict[str, Count] = field(default_factory=dict)
    """What each source gave, by its name."""
    unreadable: list[str] = field(default_factory=list)
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresher:
    """Refreshes one pool from its sources."""

    pool: ScoredProxyPool
    sources: Sequence[ProxySource]
    open_checker: Callable[[], AbstractAsyncContextManager[Checker]]
    at_once: int
    seconds: float = fixed.REFRESH_SECONDS

    async def run(self, on_finding: OnFinding | None = None) -> RefreshResult:
        """Check everything, within the time limit of a refresh."""
        sweep = RefreshResult()
        await self.check(await self.gather(sweep), sweep, on_finding)
        return sweep

    async def gather(self, sweep: RefreshResult) -> Iterator[Proxy]:
        """Yield each candidate once, lazily: first those of the pool, then the sources'."""
        names = Counter(source.name for source in self.sources)
        listed = {source.name: source for source in self.sources if names[source.name] == 1}
        known = await self.pool.list_proxies()
        proxies: list[Iterator[Proxy]] = [(_as_listed(proxy, listed.get(proxy.source)) for proxy in known)]
        for source in self.sources:
            count = sweep.counts.setdefault(source.name, Count())  # two may differ only in their keys
            try:
                proxies.append(await read_source(source, count))
            except SourceUnreadable as error:
                log.warning("proxies: %s", error)  # where nobody reads the result: on workers, during crawls
                sweep.unreadable.append(str(error))
        return _each_once(proxies, sweep)

    async def check(
        self, proxies: Iterator[Proxy], sweep: RefreshResult, on_finding: OnFinding | None = None
    ) -> None:
        """Check proxies, and update the pool with each finding at once."""

        async def record(finding: ProxyFinding) -> None:
            # A dead proxy is not forgotten at once
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
            elif finding.label == "unsure":
                sweep.unsure.add(proxy_id)
            else:
                await self.pool.missed(proxy_id, f"{finding.label}: {finding.why}")
            if on_finding is not None:
                await on_finding(finding)

        async with self.open_checker() as checker:
            with suppress(TimeoutError):
                sweep.timed_out = True
                async with asyncio.timeout(self.seconds):
                    await checker.check_all(proxies, self.at_once, record)
                    sweep.timed_out = False


def _as_listed(proxy: Proxy, source: ProxySource | None) -> Proxy:
    """A known proxy with the tier, and if it can be told the password, that its source has now."""
    if source is None:
        return proxy
    address = parse_proxy(source.place, source.scheme) if source.is_proxy else proxy.address
    return replace(proxy, address=address, tier=source.tier)


def _each_once(sources: Sequence[Iterator[Proxy]], sweep: RefreshResult) -> Iterator[Proxy]:
    seen: set[int] = set()
    for source in sources:
        for proxy in source:
            if (name := int(proxy.id, 16)) not in seen:
                seen.add(name)
                sweep.candidates += 1
                yield proxy


async def record_end(settings: Settings, progress: RefreshProgress, pool: ScoredProxyPool) -> None:
    """Save how a refresh ended and the usable proxies, for when Redis is gone."""
    files, usable = SourceList(settings.data_dir), await list_usable(pool)
    try:
        if usable:
            files.remember(usable)
        files.write(fixed.LAST_REFRESH_FILE, asdict(progress))
    except OSError:  # a full disk, say; the refresh itself is in Redis
        log.exception("the end of the refresh %s could not be written down", progress.job_id)


def last_refresh(settings: Settings) -> RefreshProgress | None:
    """Load how the last refresh saved in this data folder ended."""
    try:
        return RefreshProgress(**SourceList(settings.data_dir).read(fixed.LAST_REFRESH_FILE))
    except TypeError:
        return None  # there is none, or another version's


def sites_with_proxies() -> list[SiteConfig]:
    """The enabled portals whose files ask for proxies."""
    configs = [load_site_config(site) for site in available_sites()]
    return [config for config in configs if config.enabled and config.proxies.use]


def needs_proxies(site: str) -> bool:
    """Whether the portal's file asks for proxies."""
    return load_site_config(site).proxies.use


def canary_request(config: SiteConfig, max_bytes: int) -> Request:
    """The request for a portal's small page."""
    starts = known_starts(config.site)
    begin = urlsplit(starts[0] if starts else f"https://{config.hosts[0]}")
    url = f"{begin.scheme}://{begin.netloc}{config.proxies.canary}"
    hosts = frozenset(config.hosts if begin.netloc in config.hosts else (begin.netloc,))
    return Request(
        url, hosts, fixed.CHECK_CONNECT_SECONDS, fixed.CHECK_SECONDS, max_bytes, follow_redirects=False
    )


def make_canary(request: Request, fetcher: Fetcher, gate: Gate, domain: str) -> Canary:
    """Return a canary that asks the portal through a proxy if the rate limit has a free slot.

    It shows whether the portal lets the proxy in. It never delays the crawl: it takes slots that nobody else
    wants, reserves none, and sends nothing without one.
    """

    async def ask(proxy: Proxy, patience_seconds: float) -> Use | None:
        ends = time.monotonic() + patience_seconds
        while True:
            answer = await ask_now(proxy)
            if not isinstance(answer, Refusal):
                return answer
            pause = max(fixed.CHECK_TURN_LOOK_SECONDS, answer.retry_after_seconds)
            if time.monotonic() + pause > ends:
                return None
            await asyncio.sleep(pause)

    async def ask_now(proxy: Proxy) -> Use | Refusal:
        async with gate.request(domain, 0.0) as entry:
            if isinstance(entry, Refusal):
                return entry
            # A slow proxy must not hold a slot of the crawl; without a slot no redirect is followed.
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
    """Return the refresher of a pool, with the operator's sources."""
    return Refresher(
        pool=pool,
        sources=SourceList(settings.data_dir).sources(),
        open_checker=lambda: open_checker(settings, redis_url),
        at_once=settings.proxy_check_concurrency,
    )


@asynccontextmanager
async def open_checker(settings: Settings, redis_url: str | None) -> AsyncIterator[Checker]:
    """Open a checker that knows our own address and the portals that use proxies.

    Without judge and page a portal decides what is a proxy, even if none uses them.
    Raises `JudgeGone` if a judge or page is configured but does not answer.
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
    """Return a function that sends a job to the workers; whoever waits notices a lost message."""

    def send(job_id: str) -> None:
        from kombu.exceptions import OperationalError  # noqa: PLC0415 - slow, as Celery itself

        # The lock of a lost message expires in a minute, and the next caller sends another.
        with sender(redis_url) as app, suppress(OperationalError):
            app.send_task(REFRESH_TASK, args=[job_id], ignore_result=True, retry=False)

    return send


# A refresh on the workers: one task gathers and deals, others check a part each, the last triggers the end.
#
# No task waits for another, so a refresh needs only one free worker; a part may be lost or delivered twice.
# Candidates are stored in Redis, as the pool is: no message holds a password.

# The numbers of all parts are added up atomically: of two that end together, one is the last.
_DONE: Final = """
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('DEL', KEYS[2])
local checked, usable, parts = 0, 0, 0
for _, result in ipairs(redis.call('HVALS', KEYS[1])) do
  local part_checked, part_usable = string.match(result, '(%d+) (%d+)')
  checked, usable, parts = checked + part_checked, usable + part_usable, parts + 1
end
redis.call('SET', KEYS[3], checked, 'EX', ARGV[4])
redis.call('SET', KEYS[4], usable, 'EX', ARGV[4])
redis.call('SET', KEYS[5], parts, 'EX', ARGV[4])
redis.call('PUBLISH', ARGV[3], KEYS[5])
return parts
"""


@dataclass(frozen=True, slots=True)
class RefreshParts:
    """The parts of one refresh, in Redis."""

    redis: Redis
    job_id: str

    def _key(self, name: str) -> str:
        return f"proxies:{self.job_id}:{name}"

    async def put(self, number: int, proxies: Sequence[Proxy]) -> None:
        """Store a part for the task that checks it."""
        text = json.dumps([proxy.as_record() for proxy in proxies])
        await self.redis.set(self._key(f"chunk:{number}"), text, ex=fixed.PROGRESS_TTL_SECONDS)

    async def get(self, number: int) -> list[Proxy] | None:
        """Load a part; None where it was checked already, or never stored."""
        text = await self.redis.get(self._key(f"chunk:{number}"))
        return None if text is None else [Proxy.from_record(record) for record in json.loads(text)]

    async def end(self, number: int, sweep: RefreshResult) -> int:
        """Count a part as checked, once, and write the sums; return how many parts are checked."""
        sums = [self._key(name) for name in ("checked", "usable", "completed_chunks")]
        keys = [self._key("results"), self._key(f"chunk:{number}"), *sums]
        result = (number, f"{sweep.checked} {len(sweep.usable)}", fixed.EVENTS_CHANNEL)
        return int(await self.redis.eval(_DONE, len(keys), *keys, *result, fixed.PROGRESS_TTL_SECONDS))


@asynccontextmanager
async def _refreshing(
    settings: Settings, redis_url: str, job_id: str
) -> AsyncIterator[tuple[ScoredProxyPool, RefreshBoard, RefreshParts]]:
    """Open pool, board and parts of a job; an error inside ends the job, and is recorded."""
    async with open_pool(settings, redis_url) as pool, connect(redis_url) as redis:
        board = RefreshBoard(redis)
        try:
            yield pool, board, RefreshParts(redis, job_id)
        except Exception as error:
            failed = await board.fail(job_id, error)
            await record_end(settings, failed, pool)
            raise


async def deal(settings: Settings, redis_url: str, job_id: str, size: int | None = None) -> RefreshProgress:
    """Gather all candidates and store them in parts of this size; return how many there are to check."""
    size = size or min(settings.proxy_check_chunk, settings.proxy_check_concurrency)
    async with _refreshing(settings, redis_url, job_id) as (pool, board, parts):
        if not await board.begin(job_id):
            return await board.replaced(job_id)
        begun = RefreshProgress(job_id, "CHECKING", started_at=time.time())
        await board.write(begun)
        sweep, number = RefreshResult(), 0
        async with Renewal(fixed.REFRESH_SHOW_SECONDS, partial(board.renew, job_id)):
            async with open_checker(settings, redis_url):
                pass  # a missing judge is reported here, once
            gathered = await get_refresher(settings, pool, redis_url).gather(sweep)
            candidates = islice(gathered, fixed.REFRESH_MOST_CANDIDATES)
            while chunk := list(islice(candidates, size)):
                number += 1
                await parts.put(number, chunk)
        dealt = replace(begun, candidates=sweep.candidates, total_chunks=number)
        await board.write(dealt)
        return dealt


async def check_part(
    settings: Settings, redis_url: str, job_id: str, number: int
) -> tuple[RefreshResult, bool]:
    """Check a part, unless it or its refresh is done; return the findings, and whether it was the last."""
    sweep = RefreshResult()
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
    """End a refresh whose parts are all checked; any other is left as it is."""
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
    """Run the refresh of a job in this process; for one that may not run, return its record."""
    dealt = await deal(settings, redis_url, job_id, fixed.REFRESH_OWN_CHUNK)
    if dealt.status != "CHECKING":
        return dealt
    for number in range(1, dealt.total_chunks + 1):
        await check_part(settings, redis_url, job_id, number)
    return await finish(settings, redis_url, job_id) or dealt
