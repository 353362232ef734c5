"""How the Redis is that a crawl would use: asked, never started and never changed."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import redis

from sale_sofia.operations.doctor import Check, verdict
from sale_sofia.operations.services.redis import check_reachable, connect
from sale_sofia.operations.settings import REDIS_MEMORY_SHARE, REDIS_PINGS, REDIS_SLOW_SECONDS
from sale_sofia.settings.errors import RedisUnreachable

_MILLISECONDS: Final = 1000
_BYTES_PER_MB: Final = 1_000_000
_NOT_TOLD: Final = "the server does not say; its user may not ask for INFO"
_NO_EVICTION: Final = "noeviction"
Info = dict[str, Any]


def look_at_redis(url: str, whose: str = "") -> Iterator[Check]:
    """A server that answers: how fast, which, and how it keeps what it is given.

    Raises:
        RedisUnreachable: it cannot be used; the message holds no password.
    """
    place = check_reachable(url)
    with connect(url) as client:
        seconds = min(_timed(client.ping) for _ in range(REDIS_PINGS))
        slow = f"Slower than {REDIS_SLOW_SECONDS * _MILLISECONDS:g} ms: use one that is nearer."
        told = _info(client)
        detail = f"{whose}{place} answers in {seconds * _MILLISECONDS:.1f} ms{_version(told)}"
        yield verdict("redis server", detail, None if seconds <= REDIS_SLOW_SECONDS else slow)
        yield verdict("redis memory", *_memory(told))
        yield verdict("redis persistence", *_persistence(told))


def redis_clock_offset(url: str) -> float | None:
    """By how many seconds Redis' clock is ahead of ours; None where it does not answer: told elsewhere."""
    try:
        check_reachable(url)
        with connect(url) as client:
            before = time.time()
            seconds, microseconds = client.time()
            # The answer is as old as half of the way there and back.
            return float(seconds) + float(microseconds) / 1e6 - (before + time.time()) / 2
    except (RedisUnreachable, redis.RedisError):
        return None


def _timed(ask: Callable[[], object]) -> float:
    begun = time.perf_counter()
    ask()
    return time.perf_counter() - begun


def _info(client: redis.Redis) -> Info:
    try:
        return dict(client.info())
    except redis.exceptions.NoPermissionError:
        return {}


def _version(told: Info) -> str:
    name = str(told.get("server_name", "redis")).capitalize()
    version = told.get("valkey_version") or told.get("redis_version")
    return f", {name} {version}" if version else ""


def _memory(told: Info) -> tuple[str, str | None]:
    if not told:
        return _NOT_TOLD, None
    used, most, policy = int(told["used_memory"]), int(told["maxmemory"]), str(told["maxmemory_policy"])
    detail = f"{used / _BYTES_PER_MB:.1f} MB" + (f" of {most / _BYTES_PER_MB:.0f} MB" if most else "")
    return f"{detail}, {policy}", _memory_advice(used, most, policy)


def _memory_advice(used: int, most: int, policy: str) -> str | None:
    if not most:
        return None
    if policy != _NO_EVICTION:
        return f"Set maxmemory-policy to {_NO_EVICTION}: it may throw away messages and limits."
    if used > REDIS_MEMORY_SHARE * most:
        return "Raise maxmemory: it will soon refuse writes."
    return None


def _persistence(told: Info) -> tuple[str, str | None]:
    if not told:
        return _NOT_TOLD, None
    if told["aof_enabled"]:
        sound = told["aof_last_write_status"] == "ok"
        return "every write is logged", None if sound else "Its last write to disk failed: look at its log."
    if told["rdb_last_bgsave_status"] != "ok":
        return "snapshots", "Its last snapshot failed: look at its log and at its disk."
    # Enough: what a crash takes away is sent out again from the database.
    return "no log of writes; after a crash of Redis waiting messages are sent again", None
