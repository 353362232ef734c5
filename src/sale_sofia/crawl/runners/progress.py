"""How far a job is: counted in the database, copied to Redis for whoever only looks there, waited for."""

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
from sale_sofia.crawl.settings import APP_NAME, EVENTS_CHANNEL, PROGRESS_TTL_SECONDS, WORKER_CLIENT
from sale_sofia.operations.services import redis as redis_client
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.operations.settings import SUPERVISE_SECONDS
from sale_sofia.proxies.model import EVERYWHERE, DomainStats
from sale_sofia.proxies.pool import domain_tables
from sale_sofia.settings.errors import ServiceError
from sale_sofia.settings.model import Settings
from sale_sofia.websites.registry import get_scraper


@dataclass(frozen=True, slots=True)
class Progress:
    """One job's numbers, right before, during and long after it runs."""

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


# What the workers share at this moment: who is at work, what waits, each portal's circuit and limiter.


@dataclass(frozen=True, slots=True)
class LiveState:
    """Nothing of it is known where there is no Redis: a crawl in one process keeps this to itself."""

    redis: bool = False
    workers: tuple[str, ...] | None = ()
    """Those that are connected; None where Redis does not let us look."""
    waiting: int | None = None
    """Messages that no worker has taken yet."""
    circuits: Mapping[str, CircuitStatus] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    """Seconds until each portal may be asked again."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Requests per minute, as configured."""


def read_live_state(settings: Settings, sites: Sequence[str]) -> LiveState:
    """All of it, within some seconds; a Redis that does not answer is none."""
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
    except (ServiceError, ServiceRedis, redis.RedisError, OSError):
        return LiveState(rates=rates)


def proxy_rows(settings: Settings) -> Sequence[DomainStats]:
    """How each proxy does everywhere, its address masked; the most promising first."""
    try:
        url: str | None = known_redis_url(settings)
    except ServiceError:
        url = None
    try:
        tables = asyncio.run(domain_tables(settings, url, EVERYWHERE))
    except (ServiceError, ServiceRedis, redis.RedisError, OSError):
        return ()
    return tables[0].rows if tables else ()


def _rate(settings: Settings, site: str) -> float:
    return rate_per_minute(settings, get_scraper(site).config)


def _workers(client: redis.Redis) -> tuple[str, ...] | None:
    """By the names of their connections, which end with them."""
    database = client.connection_pool.connection_kwargs.get("db", 0)
    try:
        clients = client.client_list()
    except redis.ResponseError:  # a user without this right
        return None
    names = {one["name"] for one in clients if int(one["db"]) == database}
    return tuple(sorted(name.removeprefix(WORKER_CLIENT) for name in names if name.startswith(WORKER_CLIENT)))


async def _gates(
    settings: Settings, url: str, sites: Sequence[str]
) -> tuple[Mapping[str, CircuitStatus], dict[str, float]]:
    async with connect(url) as client:
        limiter = get_rate_limiter(settings, partial(_rate, settings), client)
        waits = {site: await limiter.peek(site, time.monotonic()) for site in sites}
        return await get_circuit_breaker(settings, client).get_all_states(), waits


# Hearing of jobs that end. Who hears nothing looks at the database: an announcement may be lost.


class JobEvents:
    """The announcements from now on; without Redis only time passes, and it is asked again."""

    def __init__(self, url_of: Callable[[], str]) -> None:
        self._url_of = url_of
        self._heard: PubSub | None = None

    def wait(self, seconds: float) -> None:
        """Until a job's end is announced, at most so long."""
        end = time.monotonic() + seconds
        try:
            if self._heard is None:
                self._heard = redis_client.connect(self._url_of()).pubsub(  # type: ignore[no-untyped-call]
                    ignore_subscribe_messages=True
                )
                self._heard.subscribe(EVENTS_CHANNEL)
            while (left := end - time.monotonic()) > 0:
                if self._heard.get_message(timeout=left):
                    return
        except (RedisError, OSError):
            self.close()
            time.sleep(max(0.0, end - time.monotonic()))

    def close(self) -> None:
        """Listen no more."""
        if self._heard is not None:
            with suppress(RedisError, OSError):
                self._heard.close()
                self._heard.connection_pool.disconnect()
            self._heard = None


# Waiting for jobs: an announced end is heard at once, one that was not announced is seen a moment later.

Look = Callable[[Sequence[Progress]], None]


class JobsStillOpen(TimeoutError):
    """Jobs had not ended when the time was up; they go on."""


def wait_for_jobs(
    read: Callable[[], Mapping[str, Progress]],
    events: JobEvents,
    seconds: float,
    look: Look,
    between: Callable[[], None],
) -> Mapping[str, Progress]:
    """What `read` gives when all have ended, or JobsStillOpen; `look` is shown it, `between` keeps house."""
    end = time.monotonic() + seconds
    while True:
        found = read()
        look(list(found.values()))
        left = [f"{job.job_id} ({job.status})" for job in found.values() if not job.finished]
        if not left:
            return found
        if time.monotonic() >= end:
            raise JobsStillOpen(f"Not ended after {seconds:g} s: {', '.join(left)}.")
        between()
        events.wait(min(SUPERVISE_SECONDS, max(0.0, end - time.monotonic())))
