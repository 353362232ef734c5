"""Worker processes that share a server of their own, and what that server saw of them."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from operator import itemgetter
from pathlib import Path
from typing import Any

from redis import Redis

from limiter_order import Grant, Order, Work
from limiter_worker import work
from sale_sofia.crawl.resilience.redis_parts import pace_key
from sale_sofia.operations.services.redis import RedisServer

SILENCE_SECONDS = 120
LEAVE_SECONDS = 5
ROUND_TRIPS = ("evalsha", "eval", "script|load", "ping")
"""Commands that callers send; all others are sent by scripts, or open a connection."""
_LINE_END = b"\r\n"
GRANT = (b"seen", b"last")
"""Fields of a domain's pace: the server's time when it was written, and the instant that was given out."""


class Team:
    """So many processes and their server. Told to prepare, they wait for the start."""

    def __init__(self, server: RedisServer, pipes: "list[Connection[Any, Any]]") -> None:
        self.server = server
        self._pipes = pipes
        self._redis: Redis = Redis.from_url(server.url)

    def prepare(self, order: Order) -> None:
        """Let everybody connect and the server learn the scripts; then count from zero."""
        self._tell(order)
        self._hear()
        self._redis.config_resetstat()

    def start(self, instant: float) -> None:
        """All begin at this time."""
        self._tell(instant)

    def finish(self) -> list[Work]:
        """What each process did."""
        return self._hear()

    def round_trips(self) -> int:
        """Commands that callers sent since they were prepared."""
        told = self._redis.info("commandstats")
        return sum(told.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ROUND_TRIPS)

    def grants(self, domain: str) -> list[Grant]:
        """Every instant that was ever given out for a domain, from the log of all that the server wrote."""
        key = pace_key(domain).encode()
        log = b"".join(path.read_bytes() for path in sorted(self.server.folder.rglob("*.incr.aof")))
        writes = (dict(_pairs(command)) for command in commands(log) if command[:2] == [b"HSET", key])
        return [Grant(*map(float, itemgetter(*GRANT)(fields))) for fields in writes if GRANT[1] in fields]

    def close(self) -> None:
        """Send everybody home."""
        self._tell(None)
        self._redis.close()

    def _tell(self, what: object) -> None:
        for pipe in self._pipes:
            pipe.send(what)

    def _hear(self) -> list[Any]:
        return [heard(pipe) for pipe in self._pipes]


def heard(pipe: "Connection[Any, Any]") -> Any:  # noqa: ANN401 - whatever a worker has to say
    """What a worker says. One that died says nothing, and its end of the pipe is open in its siblings."""
    if not pipe.poll(SILENCE_SECONDS):
        raise SystemExit(f"a worker said nothing for {SILENCE_SECONDS} s")
    return pipe.recv()


def commands(log: bytes) -> Iterator[list[bytes]]:
    """The commands in a server's append-only log: *how many parts, then the $length of each and itself."""
    at = 0
    while at < len(log):
        many, at = _number(log, at)
        parts = []
        for _ in range(many):
            length, at = _number(log, at)
            parts.append(log[at : at + length])
            at += length + len(_LINE_END)
        yield parts


def _number(log: bytes, at: int) -> tuple[int, int]:
    """The number on this line behind its first byte, and where the next line begins."""
    end = log.index(_LINE_END, at)
    return int(log[at + 1 : end]), end + len(_LINE_END)


def _pairs(command: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(command[2::2], command[3::2], strict=True)


@contextmanager
def team(size: int, folder: Path) -> Iterator[Team]:
    """A team at work; afterwards none of its processes is left."""
    fork = multiprocessing.get_context("fork")  # everything is loaded already; there are no threads yet
    ends = [fork.Pipe() for _ in range(size)]
    processes = [fork.Process(target=work, args=(theirs,), daemon=True) for _, theirs in ends]
    for process in processes:
        process.start()
    with RedisServer.start(folder) as server:
        members = Team(server, [ours for ours, _ in ends])
        try:
            yield members
            members.close()
            for process in processes:
                process.join(LEAVE_SECONDS)
        finally:
            for process in processes:
                process.kill()
