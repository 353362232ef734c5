"""A real Redis for tests: one for each test process, started by the first test that wants it."""

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import redis

from sale_sofia.services.redis_server import RedisServer

_DATABASES = 16
_numbers = itertools.cycle(range(0, _DATABASES, 2))


@cache
def shared_server() -> RedisServer:
    """The server of this process; it is stopped, and its folder removed, when the process ends."""
    server = RedisServer.start(Path(tempfile.mkdtemp(prefix="redis-")))
    atexit.register(_end, server, os.getpid())
    return server


def end_shared_server() -> None:
    """Stop this process's server now, if it was ever started."""
    if shared_server.cache_info().currsize:
        _end(shared_server(), os.getpid())
        shared_server.cache_clear()


def _end(server: RedisServer, owner: int) -> None:
    if os.getpid() == owner:  # a forked child has our notes, but not our server
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def fresh_database(server: RedisServer) -> str:
    """URL of an empty database of our own server; the one after it is empty too, for results.

    Each call gives another of its eight, so that a straggler of the test before writes to another one.
    """
    number = next(_numbers)
    for empty in (number, number + 1):
        with redis.Redis(port=server.port, db=empty) as client:
            client.flushdb()
    return f"redis://127.0.0.1:{server.port}/{number}"


def session_server() -> Iterator[RedisServer]:
    """The process's server until the tests are over, as a fixture gives it."""
    yield shared_server()
    end_shared_server()
