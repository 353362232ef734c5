"""A real Redis for tests: one for the whole run, started by the first test that wants it."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import redis

from run_servers import keep, kept_server, only_one
from sale_sofia.operations.services.redis import RedisServer

DATABASES = 512
"""Enough that a straggler of an earlier test writes to another one than those now in use."""


@cache
def shared_server() -> RedisServer:
    """The server of this run; nobody may stop, empty or configure it."""
    server = RedisServer.find(kept_server("redis", "redis_servers"))
    assert server is not None, "the Redis of this run has ended"
    return server


def fresh_database(server: RedisServer) -> str:
    """URL of an empty database of the run's server; the one after it is empty too, for results."""
    number = _next_number()
    for empty in (number, number + 1):
        with redis.Redis(port=server.port, db=empty) as client:
            client.flushdb()
    return f"redis://127.0.0.1:{server.port}/{number}"


def _next_number() -> int:
    """Each call of all test processes gives another one; the first two belong to nobody."""
    with only_one("redis-number") as path:
        number = (int(path.read_text("ascii") or "0") + 2) % DATABASES or 2
        path.write_text(str(number), "ascii")
        return number


def _start(folder: Path) -> Callable[[], None]:
    return RedisServer.start(folder, options=["--databases", str(DATABASES)]).stop


if __name__ == "__main__":
    keep(_start)
