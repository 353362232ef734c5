"""The progress of jobs: counted in the database, copied to Redis, and waited for."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import redis
from redis import Redis, RedisError
from redis.client import PubSub
from sqlalchemy import Connection

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.resilience.breaker import CircuitStatus
from sale_sofia.crawl.resilience.errors import ServiceRedis
from sale_sofia.crawl.resilience.factory import get_circuit_breaker, get_rate_limiter
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.runners.dispatching import ScrapingKeys
from sale_sofia.crawl.settings import (
    APP_NAME,
    EVENTS_CHANNEL,
    PROGRESS_TTL_SECONDS,
    WORKER_CLIENT,
)
from sale_sofia.operations.services import redis as redis_client
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.operations.settings import SUPERVISE_SECONDS
from sale_sofia.proxies.model import EVERYWHERE, DomainStats
from sale_sofia.proxies.pool import domain_tables
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings
from sale_sofia.websites.registry import get_scraper


@dataclass(frozen=True, slots=True)
class Progress:
    """One job's numbers, valid before, during and after it runs."""

    job_id: str
    site: str
    status: str
    total_urls: int
    result_count: int
    error_count: int
    total_chunks: int
    completed_chunks: int
    started_at: float | None
    completed_at: float | None
    new: int
    changed: int
    requests: int
    next_due: float | None
    error: str | None

    @property
    def finished(self) -> bool:
        """Whether the job has ended."""
        return self.completed_at is not None


def read_progress(connection: Connection, job_id: str) -> Progress:
    """The job's numbers, from its rows. Raises `UnknownJob`: there is no such job."""
    job = known_job(connection, job_id)
    counts = frontier.count_rows(connection, job_id)
    at_work = 0 if job.state.finished else len(frontier.owners(connection, job_id))
    return Progress(
        job_id=job.id,
        site=job.site,
        status=job.state.value,
        total_urls=counts.total,
        result_count=counts.done,
        error_count=counts.failed,
        total_chunks=job.chunks + at_work,
        completed_chunks=job.chunks,
        started_at=job.started_at,
        completed_at=job.finished_at,
        new=job.new_listings,
        changed=job.changed_listings,
        requests=job.requests,
        next_due=counts.next_due,
        error=job.error,
    )


def publish(client: Redis, progress: Progress) -> None:
    """Copy the numbers to Redis, all at once, each with a time to live."""
    with client.pipeline(transaction=True) as pipe:
        for key in ScrapingKeys:
            if (number := getattr(progress, key)) is not None:
                pipe.set(key.of(progress.job_id), str(number), ex=PROGRESS_TTL_SECONDS)
        pipe.execute()


# What the workers share now: who is connected, what waits, each portal's circuit and limiter.


@dataclass(frozen=True, slots=True)
class LiveState:
    """The workers' shared state. Empty without Redis: a crawl in one process shares nothing."""

    redis: bool = False
    workers: tuple[str, ...] | None = ()
    """Names of the connected ones; None where Redis does not permit listing them."""
    waiting: int | None = None
    """Messages that no worker has taken yet."""
    circuits: Mapping[str, CircuitStatus] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    """Seconds until each portal's next request."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Requests per minute, as configured."""


def read_live_state(settings: Settings, sites: Sequence[str]) -> LiveState:
    """Read the state within a few seconds; a Redis that does not answer counts as none."""
    rates = {site: _rate(settings, site) for site in sites}
    try:
        url = known_redis_url(settings)
        with redis_client.connect(url) as client:
            waiting, workers = int(client.llen(APP_NAME)), _workers(client)
        shared = {"redis_rate_limiter_enabled": True, "redis_circuit_breaker_enabled": True}
        circuits, waits = asyncio.run(_gates(settings.model_copy(update=shared), url, sites))
        return LiveState(
            redis=True, workers=workers, waiting=waiting, circuits=circuits, waits=waits, rates=rates
        )
    except (ServiceUnavailable, ServiceRedis, redis.RedisError, OSError):
        return LiveState(rates=rates)


def proxy_rows(settings: Settings) -> Sequence[DomainStats]:
    """Each proxy's results over all domains, its address masked; the best first."""
    try:
        url: str | None = known_redis_url(settings)
    except ServiceUnavailable:
        url = None
    try:
        tables = asyncio.run(domain_tables(settings, url, EVERYWHERE))
    except (ServiceUnavailable, ServiceRedis, redis.RedisError, OSError):
        return ()
    return tables[0].rows if tables else ()


def _rate(settings: Settings, site: str) -> float:
    return rate_per_minute(settings, get_scraper(site).config)


def _workers(client: redis.Redis) -> tuple[str, ...] | None:
    """The workers, by the names of their connections, which end with them."""
    database = client.connection_pool.connection_kwargs.get("db", 0)
    try:
        clients = client.client_list()
    except redis.ResponseError:  # a user without this right
        return None
    names = {entry["name"] for entry in clients if int(entry["db"]) == database}
    return tuple(sorted(name.removeprefix(WORKER_CLIENT) for name in names if name.startswith(WORKER_CLIENT)))


async def _gates(
    settings: Settings, url: str, sites: Sequence[str]
) -> tuple[Mapping[str, CircuitStatus], dict[str, float]]:
    async with connect(url) as client:
        limiter = get_rate_limiter(settings, partial(_rate, settings), client)
        waits = {site: await limiter.peek(site, time.monotonic()) for site in sites}
        return await get_circuit_breaker(settings, client).get_all_states(), waits


# Announcements of ended jobs. They may be lost, so the database is polled too.


class JobEvents:
    """The announcements from now on; without Redis it only sleeps, and connects again at the next wait."""

    def __init__(self, url_of: Callable[[], str]) -> None:
        self._url_of = url_of
        self._subscription: PubSub | None = None

    def wait(self, seconds: float) -> None:
        """Wait until a job's end is announced, at most `seconds`."""
        end = time.monotonic() + seconds
        try:
            if self._subscription is None:
                self._subscription = redis_client.connect(self._url_of()).pubsub(  # type: ignore[no-untyped-call]
                    ignore_subscribe_messages=True
                )
                self._subscription.subscribe(EVENTS_CHANNEL)
            while (left := end - time.monotonic()) > 0:
                if self._subscription.get_message(timeout=left):
                    return
        except (RedisError, OSError):
            self.close()
            time.sleep(max(0.0, end - time.monotonic()))

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            with suppress(RedisError, OSError):
                self._subscription.close()
                self._subscription.connection_pool.disconnect()
            self._subscription = None


# Waiting for jobs: an announced end is noticed at once, any other at the next poll.

Look = Callable[[Sequence[Progress]], None]


class JobsStillOpen(TimeoutError):
    """Jobs had not ended when the time was up; they continue."""


def wait_for_jobs(
    read: Callable[[], Mapping[str, Progress]],
    events: JobEvents,
    seconds: float,
    look: Look,
    between: Callable[[], None],
) -> Mapping[str, Progress]:
    """Poll `read` until all jobs have ended, with `look` and `between` each time. Raises `JobsStillOpen`."""
    end = time.monotonic() + seconds
    while True:
        jobs = read()
        look(list(jobs.values()))
        left = [f"{job.job_id} ({job.status})" for job in jobs.values() if not job.finished]
        if not left:
            return jobs
        if time.monotonic() >= end:
            raise JobsStillOpen(f"Not ended after {seconds:g} s: {', '.join(left)}.")
        between()
        events.wait(min(SUPERVISE_SECONDS, max(0.0, end - time.monotonic())))
