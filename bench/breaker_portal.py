"""The portal of `bench/breaker.py`: a process of its own that fails for a while and notes who asked when."""

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

ANSWER_SECONDS = 0.05
"""Time to an answer: long enough for many to ask before the first of them is told that the portal is down."""
OK, DOWN = "200 OK", "503 Service Unavailable"


class Arrival(NamedTuple):
    """One request, as the portal saw it."""

    at: float
    sender: int
    ok: bool


class Portal:
    """The portal from outside."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        self.port: int = pipe.recv()

    def fail_between(self, start: float, end: float) -> None:
        """Answer 503 in this time, and begin a new log."""
        self._pipe.send((start, end))
        self._pipe.recv()

    def log(self) -> list[Arrival]:
        """Every request since then."""
        self._pipe.send(None)
        arrivals: list[Arrival] = self._pipe.recv()
        return arrivals


@contextmanager
def portal() -> Iterator[Portal]:
    """A running portal; afterwards it is gone."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield Portal(ours)
    finally:
        process.kill()
        process.join()


def _serve(pipe: "Connection[Any, Any]") -> None:
    asyncio.run(_Inside(pipe).run())


class _Inside:
    """The portal itself."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._down = (0.0, 0.0)
        self._arrivals: list[Arrival] = []

    async def run(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self._pipe.send(server.sockets[0].getsockname()[1])
        asyncio.get_running_loop().add_reader(self._pipe.fileno(), self._obey)
        await server.serve_forever()

    def _obey(self) -> None:
        down = self._pipe.recv()
        self._pipe.send(self._arrivals)
        if down is not None:
            self._down, self._arrivals = down, []

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        ok = self._note(sender=int(request.split()[1].strip(b"/")))
        await asyncio.sleep(ANSWER_SECONDS)
        head = f"HTTP/1.1 {OK if ok else DOWN}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        writer.close()

    def _note(self, sender: int) -> bool:
        now = time.time()
        ok = not self._down[0] <= now < self._down[1]
        self._arrivals.append(Arrival(now, sender, ok))
        return ok
