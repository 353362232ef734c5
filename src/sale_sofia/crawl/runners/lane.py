"""A lane: one process drains a job's frontier for a while, alongside others."""

import asyncio
import logging
import mmap
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, TypeVar

import redis

from sale_sofia.crawl import settings as pace
from sale_sofia.crawl.fetch.robots import Rules
from sale_sofia.crawl.frontier.clock import store_clock, store_time
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience.owners import this_owner
from sale_sofia.crawl.runners.local import calm_collector
from sale_sofia.crawl.runners.progress import publish, read_progress
from sale_sofia.crawl.runners.site_crawl import Shift, SiteCrawl
from sale_sofia.crawl.settings import APP_NAME, EVENTS_CHANNEL, ROOM_KEY
from sale_sofia.crawl.visit.assembly import Tools, make_fetcher, make_visitor, make_writer
from sale_sofia.crawl.visit.writer import WorkTime
from sale_sofia.history.jobs import Job, add_job_counts
from sale_sofia.installation import open_archive, open_database
from sale_sofia.operations.services.redis import connect, known_redis_url
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher
from sale_sofia.websites.registry import get_scraper

# A worker tells its lanes that it is shutting down: they stop at once, not only at the end of their shift.

# One byte of memory that a process shares with the children it forks.
_going: Final = mmap.mmap(-1, 1)


def shut_down() -> None:
    """Tell this process and its forked children to shut down."""
    _going[0] = 1


def is_shutting_down() -> bool:
    """Whether this process, or the one it was forked from, is shutting down."""
    return bool(_going[0])


# What a worker process keeps between tasks: created in the process that uses it, never before a fork.

T = TypeVar("T")
log = logging.getLogger(__name__)


def settings() -> Settings:
    """The settings of this process."""
    return _of_process(load_settings)


def database() -> Database:
    """The database of this process."""
    return _of_process(_open_database)


def now() -> float:
    """The time of day by which all workers, on whichever host, judge leases and waits."""
    return store_time(database())


def redis_url() -> str:
    """The URL of the Redis that all workers share."""
    return known_redis_url(settings())


def show_progress(job_id: str) -> None:
    """Copy the job's numbers to Redis; without Redis the database still has them."""
    progress = database().run_read(partial(read_progress, job_id=job_id))
    _try_redis(lambda client: publish(client, progress))


def announce_end(job_id: str) -> None:
    """Announce the end to waiting processes; those that miss it poll the database."""
    _try_redis(lambda client: client.publish(EVENTS_CHANNEL, job_id))


def _try_redis(work: Callable[[redis.Redis], object]) -> object:
    try:
        return work(_of_process(_connect))
    except redis.RedisError as error:
        log.warning("Redis does not answer: %s", error)
        return None


def _connect() -> redis.Redis:
    return connect(redis_url())


def _open_database() -> Database:
    return open_database(settings())


def _of_process(make: Callable[[], T]) -> T:
    return _made(make, os.getpid())  # type: ignore[return-value]


@cache
def _made(make: Callable[[], object], _pid: int) -> object:
    return make()


# Lanes stop early: for a shutdown, for a time limit, and for messages that find no free slot.

SOFT_LIMIT = signal.SIGUSR1
"""The signal Celery sends to a process whose task has reached its soft time limit."""


async def leave_when_others_wait(leave: Callable[[], None]) -> None:
    """Call `leave` when messages wait for a slot and it is this lane's turn to give up its own.

    With fewer processes than portals all take turns, and dispatch and reconciler wait one turn at most.
    """

    def messages_wait() -> bool:
        return bool(_try_redis(lambda client: client.llen(APP_NAME)))

    def may_make_room() -> bool:
        """True for one of all lanes that ask within the pause."""
        pause = round(pace.LANE_ROOM_PAUSE_SECONDS * 1000)
        return bool(_try_redis(lambda client: client.set(ROOM_KEY, os.getpid(), nx=True, px=pause)))

    await asyncio.sleep(pace.LANE_TURN_SECONDS)
    while True:
        await asyncio.sleep(pace.LANE_ROOM_LOOK_SECONDS)
        if not await asyncio.to_thread(messages_wait):
            continue
        await asyncio.sleep(pace.LANE_ROOM_LOOK_SECONDS)  # a single message may just be passing through
        if await asyncio.to_thread(messages_wait) and await asyncio.to_thread(may_make_room):
            break
    leave()


@contextmanager
def soft_limit_calls(stop: Callable[[], None]) -> Iterator[None]:
    """Inside, the soft time limit calls `stop`.

    Celery would raise an exception in whatever runs at that moment: in a callback of the event loop it would
    be lost, and in a commit it would reach the wrong handler. In a thread there are no limits.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def at_limit() -> None:
        log.warning("a lane met its time limit and hands back what it holds")
        stop()

    loop = asyncio.get_running_loop()
    before = signal.signal(SOFT_LIMIT, lambda *_: loop.call_soon_threadsafe(at_limit))
    try:
        yield
    finally:
        signal.signal(SOFT_LIMIT, before)


# A portal's robots.txt is fetched once per process, not once per lane.
_robots_rules: dict[str, Rules] = {}


@dataclass(slots=True)
class LaneSummary:
    """What one lane did: counts only; the data is in the database already."""

    job_id: str
    pages: int = 0
    new: int = 0
    changed: int = 0
    found: int = 0
    lost: int = 0
    """Pages that another worker had taken over before they were written; nothing of them was stored."""
    seconds: float = 0.0
    failed: bool = False
    """Something of ours broke, such as the database; its claims were released unread."""


def lanes_for(settings: Settings, site: str) -> int:
    """As many lanes as the portal's rate needs; one is enough for all but the fastest."""
    config = get_scraper(site).config
    needed = -(-rate_per_minute(settings, config) // pace.LANE_PAGES_PER_MINUTE)
    return max(1, min(int(needed), config.politeness.concurrency))


def idle_processes(settings: Settings, sites: Collection[str]) -> str | None:
    """A sentence on how many of WORKER_PROCESSES these portals leave idle; None where none."""
    lanes = sum(lanes_for(settings, site) for site in sites)
    enough = lanes + 1  # one for what is done between lanes: dispatch, ends of jobs, the reconciler
    idle = settings.worker_processes - enough
    if idle <= 0:
        return None
    return (
        f"{idle} of {settings.worker_processes} worker processes stay idle: "
        f"{f'{len(sites)} portals feed' if len(sites) != 1 else '1 portal feeds'} "
        f"{lanes} lane{'s' * (lanes != 1)} at the rates that are set, "
        f"so WORKER_PROCESSES={enough} is enough"
    )


def visitors_for(settings: Settings, site: str) -> int:
    """A lane's share of the portal's places: with more, lanes would compete and put pages back."""
    return -(-get_scraper(site).config.politeness.concurrency // lanes_for(settings, site))


async def run_lane(
    settings: Settings, database: Database, job: Job, redis_url: str, summary: LaneSummary
) -> None:
    """Work for one shift; `summary` is filled in even when the lane is cut short."""
    work, stop = WorkTime(), asyncio.Event()

    def note_time() -> None:
        summary.seconds = work.total
        left, _ = work.since_noted()
        database.run_write(lambda connection: add_job_counts(connection, job.id, seconds=left))

    def note_written() -> None:
        written = crawl.writer.written
        summary.new, summary.changed = written.new, written.changed
        summary.found, summary.lost = written.found, written.lost

    async def stop_at_shutdown() -> None:
        while not is_shutting_down():  # noqa: ASYNC110 - it is another process that says so
            await asyncio.sleep(pace.SHUTDOWN_LOOK_SECONDS)
        stop.set()

    async with AsyncExitStack() as stack:
        # Around everything: a limit reached while a lane begins or ends must not be lost either.
        stack.enter_context(soft_limit_calls(stop.set))
        stack.enter_context(calm_collector())
        stack.callback(note_time)
        crawl = await _crawl(settings, database, job, redis_url, stack, summary)
        crawl.writer.work, crawl.stop = work, stop
        stack.callback(note_written)
        for watch in (stop_at_shutdown(), leave_when_others_wait(crawl.end_shift)):
            stack.callback(asyncio.create_task(watch).cancel)
        await crawl.run()


async def _crawl(
    settings: Settings,
    database: Database,
    job: Job,
    redis_url: str,
    stack: AsyncExitStack,
    summary: LaneSummary,
) -> SiteCrawl:
    config = get_scraper(job.site).config
    fetcher = make_fetcher(settings)
    stack.push_async_callback(fetcher.close)
    archive = open_archive(settings) if settings.archive_enabled else None
    if archive is not None:  # each machine has one of its own
        stack.push_async_callback(asyncio.to_thread, archive.stay_small)
    clock = store_clock(database)
    tools = Tools(fetcher, archive, redis_url, _robots_rules, clock)
    metrics = MetricsFlusher(database, MetricsCollector(job.id))
    stack.callback(metrics.close)
    stack.callback(metrics.collector.foretell)  # a lane ends long before an open circuit does
    visitor = await make_visitor(settings, config, job, tools, metrics.collector)
    stack.push_async_callback(visitor.close)

    visitors = visitors_for(settings, job.site)

    def count(_: Claim) -> None:
        summary.pages += 1

    return SiteCrawl(
        job_id=job.id,
        owner=this_owner(),
        database=database,
        visitor=visitor,
        writer=make_writer(settings, database, job, config, visitors, visitor),
        metrics=metrics,
        concurrency=visitors,
        lease_seconds=settings.lease_seconds,
        clock=clock,
        stop=asyncio.Event(),
        progress=count,
        shift=Shift(pace.LANE_SECONDS, pace.LANE_IDLE_SECONDS, pace.LANE_LOOK_SECONDS),
    )
