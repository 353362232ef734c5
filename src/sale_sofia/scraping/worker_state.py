"""What a worker process keeps between tasks: made in the process that uses it, never before a fork."""

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import TypeVar

import redis

from sale_sofia.config.parallel import APP_NAME, EVENTS_CHANNEL, LANE_ROOM_PAUSE_SECONDS, ROOM_KEY
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.store_clock import store_time
from sale_sofia.scraping.progress import publish, read_progress
from sale_sofia.scraping.store import open_database
from sale_sofia.services.redis_client import connect
from sale_sofia.services.running_redis import known_redis_url

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
    """Where everybody meets."""
    return known_redis_url(settings())


def show_progress(job_id: str) -> None:
    """Copy the job's numbers to Redis; without Redis the database still has them."""
    size = settings().scraping_chunk_size
    progress = database().run_read(lambda connection: read_progress(connection, job_id, size))
    _try_redis(lambda client: publish(client, progress))


def announce_end(job_id: str) -> None:
    """Tell whoever waits; those who do not hear it look at the database from time to time."""
    _try_redis(lambda client: client.publish(EVENTS_CHANNEL, job_id))


def messages_wait() -> bool:
    """Whether messages lie in the queue because no worker has a free slot; without Redis nobody knows."""
    return bool(_try_redis(lambda client: client.llen(APP_NAME)))


def may_make_room() -> bool:
    """Whether it is this lane that gives its slot away: of all that ask within a moment, one is told so."""
    pause = round(LANE_ROOM_PAUSE_SECONDS * 1000)
    return bool(_try_redis(lambda client: client.set(ROOM_KEY, os.getpid(), nx=True, px=pause)))


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
