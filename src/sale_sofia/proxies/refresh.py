"""A refresh: all known proxies and candidates are checked; each can be had as soon as it was found good."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

from redis.exceptions import RedisError

from sale_sofia.config.proxies import REFRESH_SECONDS, REFRESH_SHOW_SECONDS
from sale_sofia.proxies.checker import HOSTILE, Checker, Finding
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.pool import ScoredProxyPool
from sale_sofia.proxies.reading import Count
from sale_sofia.proxies.refresh_board import RefreshBoard, RefreshProgress, Status
from sale_sofia.proxies.sources import Source, SourceUnreadable, read_source

Told = Callable[[Finding], Awaitable[None]]
OpenChecker = Callable[[], AbstractAsyncContextManager[Checker]]


@dataclass(slots=True)
class Sweep:
    """What one refresh found."""

    candidates: int = 0
    checked: int = 0
    usable: list[Proxy] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    forgotten: int = 0
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
    seconds: float = REFRESH_SECONDS

    async def run(self, told: Told | None = None, sweep: Sweep | None = None) -> Sweep:
        """Check everything, within the time that a refresh may take; `sweep` is filled meanwhile."""
        sweep = sweep or Sweep()
        known = await self.pool.known()
        fresh = await self._readable(sweep)
        async with self.open_checker() as checker:
            with suppress(TimeoutError):
                sweep.timed_out = True
                async with asyncio.timeout(self.seconds):
                    todo = _each_once([iter(known), *fresh], sweep)
                    await checker.check_all(todo, self.at_once, lambda one: self._found(one, sweep, told))
                    sweep.timed_out = False
        return sweep

    async def _readable(self, sweep: Sweep) -> list[Iterator[Proxy]]:
        found = []
        for source in self.sources:
            count = sweep.counts.setdefault(source.name, Count())  # two may differ only in their keys
            try:
                found.append(await read_source(source, count))
            except SourceUnreadable as error:
                sweep.unreadable.append(str(error))
        return found

    async def _found(self, finding: Finding, sweep: Sweep, told: Told | None) -> None:
        sweep.checked += 1
        sweep.labels[finding.label] = sweep.labels.get(finding.label, 0) + 1
        if finding.usable:
            sweep.usable.append(finding.proxy)
        await self._settle(finding, sweep)
        if told is not None:
            await told(finding)

    async def _settle(self, finding: Finding, sweep: Sweep) -> None:
        """Usable ones can be had from now on; hostile ones no more; a dead one is not forgotten at once."""
        proxy_id = finding.proxy.id
        if finding.usable:
            await self.pool.put(finding.proxy)
            for domain, use in finding.canaries:
                await self.pool.note(proxy_id, domain, use)
        elif finding.label in HOSTILE:
            await self.pool.quarantine(proxy_id, finding.why)
        elif await self.pool.missed(proxy_id, f"{finding.label}: {finding.why}"):
            sweep.forgotten += 1


def _each_once(sources: Sequence[Iterator[Proxy]], sweep: Sweep) -> Iterator[Proxy]:
    seen: set[int] = set()
    for source in sources:
        for proxy in source:
            if (name := int(proxy.id, 16)) not in seen:
                seen.add(name)
                sweep.candidates += 1
                yield proxy


async def refresh_alone(refresher: Refresher, board: RefreshBoard, job_id: str) -> RefreshProgress:
    """The refresh of a job, unless another is under way; its numbers are shown all the while."""
    if not await board.begin(job_id):
        return await _replaced(board, job_id)
    start = RefreshProgress(job_id, "CHECKING", started_at=time.time())
    sweep = Sweep()
    await board.write(start)
    try:
        async with _shown(board, start, sweep):
            await refresher.run(sweep=sweep)
    except Exception as error:
        await board.write(_ended(start, sweep, f"{type(error).__name__}: {error}"))
        raise
    else:
        ended = _ended(start, sweep, "")
        await board.write(ended)
        return ended
    finally:
        await board.free(job_id)


async def _replaced(board: RefreshBoard, job_id: str) -> RefreshProgress:
    """Another is under way, or this very job, whose message came twice: its numbers are left alone."""
    told = RefreshProgress(job_id, "REPLACED", completed_at=time.time(), error="another was under way")
    if await board.holder() != job_id:
        await board.write(told)
    return told


def _now(start: RefreshProgress, sweep: Sweep) -> RefreshProgress:
    return replace(start, candidates=sweep.candidates, checked=sweep.checked, usable=len(sweep.usable))


def _ended(start: RefreshProgress, sweep: Sweep, error: str) -> RefreshProgress:
    status: Status = "FAILED" if error else "COMPLETE"
    return replace(_now(start, sweep), status=status, completed_at=time.time(), error=error)


@asynccontextmanager
async def _shown(board: RefreshBoard, start: RefreshProgress, sweep: Sweep) -> AsyncIterator[None]:
    """The numbers are written, and the lock renewed, as long as this lasts."""
    task = asyncio.create_task(_keep_showing(board, start, sweep))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _keep_showing(board: RefreshBoard, start: RefreshProgress, sweep: Sweep) -> None:
    while True:
        await asyncio.sleep(REFRESH_SHOW_SECONDS)
        with suppress(RedisError, OSError):  # the next look may succeed; the check itself goes on
            await board.renew(start.job_id)
            await board.write(_now(start, sweep))
