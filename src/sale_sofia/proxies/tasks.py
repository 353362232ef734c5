"""The Celery tasks of the proxies: each may be lost or repeated; one refresh runs at a time."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from celery import shared_task
from redis.asyncio import Redis

import sale_sofia.celery_app  # noqa: F401 - a program that imports these alone sends to our Redis too
from sale_sofia.crawl.resilience.leases import Renewal
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.pool import ScoredProxyPool, open_pool
from sale_sofia.proxies.refresh import (
    REFRESH_TASK,
    RefreshBoard,
    RefreshProgress,
    Sweep,
    check_job_id,
    get_refresher,
    new_job_id,
    open_checker,
    record_end,
)
from sale_sofia.proxies.settings import REFRESH_SECONDS
from sale_sofia.settings.model import Settings, load_settings

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


async def deal(settings: Settings, redis_url: str, job_id: str) -> RefreshProgress:
    """Gather all candidates and lay them down in parts; how many parts are to be checked."""
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
            size = min(settings.proxy_check_chunk, settings.proxy_check_concurrency)
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


@shared_task(name=REFRESH_TASK, acks_late=False)  # lists may take longer than a message may stay unanswered
def refresh_proxies(job_id: str | None = None) -> dict[str, Any]:
    """Dispatch the check of all proxies; without a job, as the clock asks for it, one is made."""
    wanted = new_job_id() if job_id is None else check_job_id(job_id)
    settings = load_settings()
    dealt = asyncio.run(deal(settings, known_redis_url(settings), wanted))
    for number in range(1, dealt.total_chunks + 1):
        check_proxies.apply_async((wanted, number), ignore_result=True, expires=REFRESH_SECONDS)
    if dealt.status == "CHECKING" and not dealt.total_chunks:
        finish_refresh.apply_async((wanted,), ignore_result=True)
    return asdict(dealt)


@shared_task(name="sale_sofia.proxies.tasks.check_proxies")
def check_proxies(job_id: str, number: int) -> dict[str, Any]:
    """Check one part of a refresh; the last one calls its end."""
    wanted, settings = check_job_id(job_id), load_settings()
    if type(number) is not int:
        raise ValueError(f"number: a whole number is wanted, not {number!r:.40}")
    sweep, was_last = asyncio.run(check_part(settings, known_redis_url(settings), wanted, number))
    if was_last:
        finish_refresh.apply_async((wanted,), ignore_result=True)
    return {"job_id": wanted, "number": number, "checked": sweep.checked, "usable": len(sweep.usable)}


@shared_task(name="sale_sofia.proxies.tasks.finish_refresh")
def finish_refresh(job_id: str) -> dict[str, Any] | None:
    """The callback: when all parts are checked, the refresh is over; its numbers."""
    settings = load_settings()
    progress = asyncio.run(finish(settings, known_redis_url(settings), check_job_id(job_id)))
    return asdict(progress) if progress else None
