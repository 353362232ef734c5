"""Waiting for proxies: an announcement is heard at once, one that was lost is seen a moment later."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from sale_sofia.config.proxies import EVENTS_CHANNEL, REFRESH_POLL_SECONDS
from sale_sofia.proxies.pool import ScoredProxyPool
from sale_sofia.proxies.refresh_board import RefreshBoard, RefreshProgress

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
