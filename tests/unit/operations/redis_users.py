"""What the processes of the tests do with our own Redis, and what the tests look at."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path

import redis

from new_processes import FORKED
from sale_sofia.operations.services import redis as redis_start
from sale_sofia.operations.services.processes import Process
from sale_sofia.operations.services.redis import RedisServer, ServerRecord, running_redis
from sale_sofia.settings.model import Settings

PATIENCE = 60


def own_settings(data: Path) -> Settings:
    return Settings(data_dir=data, redis_url=None)


def servers_in(folder: Path) -> list[int]:
    """Numbers of all running processes that work in this folder, as a server does and nobody else."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if _works_in(entry, folder)]


def _works_in(process: Path, folder: Path) -> bool:
    try:
        return process.name.isdigit() and (process / "cwd").readlink() == folder
    except OSError:
        return False


def use_with_others(data: Path, together: Barrier, told: Pipe) -> None:
    """Come in with all others at once, say where we are, and leave when all have said it."""
    together.wait(PATIENCE)
    with running_redis(own_settings(data)) as url:
        with redis.Redis.from_url(url) as client:
            users = client.incr("users")
        told.send((url, users))
        together.wait(PATIENCE)


def use_until_told(data: Path, told: Pipe) -> None:
    with running_redis(own_settings(data)) as url:
        told.send(url)
        told.poll(PATIENCE)


def start_and_die(folder: Path, told: Pipe) -> None:
    """Start a server and die as if by kill -9, before its process was written down."""

    def die(_folder: Path, _record: ServerRecord, process: Process) -> None:
        told.send(process.pid)
        os._exit(9)

    redis_start.wait_until_ready = die  # type: ignore[assignment]
    RedisServer.start(folder)


class User:
    """Another process that uses our own Redis until it is told to leave."""

    def __init__(self, data: Path) -> None:
        self.pipe, other_end = FORKED.Pipe()
        self.process: BaseProcess = FORKED.Process(target=use_until_told, args=(data, other_end))
        self.process.start()
        other_end.close()
        self.url: str = self.pipe.recv()

    def leave(self) -> None:
        self.pipe.close()
        self.process.join(PATIENCE)
        assert self.process.exitcode == 0

    def die(self) -> None:
        self.process.kill()
        self.process.join(PATIENCE)


@contextmanager
def users(data: Path, count: int) -> Iterator[list[User]]:
    made = [User(data) for _ in range(count)]
    try:
        yield made
    finally:
        for user in made:
            user.pipe.close()
            user.process.join(PATIENCE)
            user.process.close()
