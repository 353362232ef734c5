"""How the Redis is that a crawl would use: asked, never started and never changed."""

import time
from collections.abc import Iterator
from typing import Any, Final

import redis

from sale_sofia.operations.doctor import Check, verdict
from sale_sofia.operations.services.redis import check_reachable, connect
from sale_sofia.operations.settings import REDIS_MEMORY_SHARE, REDIS_PINGS, REDIS_SLOW_SECONDS
from sale_sofia.settings.errors import RedisUnreachable

_MILLISECONDS: Final = 1000
_BYTES_PER_MB: Final = 1_000_000
_NOT_TOLD: Final = "the server does not say; its user may not ask for INFO"
Info = dict[str, Any]


def look_at_redis(url: str, whose: str = "") -> Iterator[Check]:
    """A server that answers: how fast, which, and how it keeps what it is given; raises RedisUnreachable."""
    place = check_reachable(url)
    with connect(url) as client:
        times = []
        for _ in range(REDIS_PINGS):
            begun = time.perf_counter()
            client.ping()
            times.append(time.perf_counter() - begun)
        seconds, info = min(times), _info(client)
        slow = f"Slower than {REDIS_SLOW_SECONDS * _MILLISECONDS:g} ms: use one that is nearer."
        name = str(info.get("server_name", "redis")).capitalize()
        version = info.get("valkey_version") or info.get("redis_version")
        program = f", {name} {version}" if version else ""
        detail = f"{whose}{place} answers in {seconds * _MILLISECONDS:.1f} ms{program}"
        yield verdict("redis server", detail, None if seconds <= REDIS_SLOW_SECONDS else slow)
        yield verdict("redis memory", *_memory(info))
        yield verdict("redis persistence", *_persistence(info))


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


def _info(client: redis.Redis) -> Info:
    try:
        return dict(client.info())
    except redis.exceptions.NoPermissionError:
        return {}


def _memory(info: Info) -> tuple[str, str | None]:
    if not info:
        return _NOT_TOLD, None
    used, most, policy = int(info["used_memory"]), int(info["maxmemory"]), str(info["maxmemory_policy"])
    detail = f"{used / _BYTES_PER_MB:.1f} MB" + (f" of {most / _BYTES_PER_MB:.0f} MB" if most else "")
    advice = None
    if most and policy != "noeviction":
        advice = "Set maxmemory-policy to noeviction: it may throw away messages and limits."
    elif most and used > REDIS_MEMORY_SHARE * most:
        advice = "Raise maxmemory: it will soon refuse writes."
    return f"{detail}, {policy}", advice


def _persistence(info: Info) -> tuple[str, str | None]:
    if not info:
        return _NOT_TOLD, None
    if info["aof_enabled"]:
        sound = info["aof_last_write_status"] == "ok"
        return "every write is logged", None if sound else "Its last write to disk failed: look at its log."
    if info["rdb_last_bgsave_status"] != "ok":
        return "snapshots", "Its last snapshot failed: look at its log and at its disk."
    # Enough: what a crash takes away is sent out again from the database.
    return "no log of writes; after a crash of Redis waiting messages are sent again", None
