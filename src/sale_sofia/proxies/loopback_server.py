"""A small server for this machine alone: each connection is served by one call, and none is left behind."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from sale_sofia.config.proxies import (
    LOOPBACK_MOST_CONNECTIONS,
    ROTATOR_HEAD_BYTES,
    ROTATOR_HEAD_SECONDS,
    ROTATOR_HOST,
)
from sale_sofia.proxies.tunnel import Streams

_GONE: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError)
"""What a connection may end with, `TimeoutError` too; nobody is left to be told."""


@dataclass(slots=True)
class LoopbackServer:
    """Calls `serve` for each connection and closes it after that; no other machine can connect."""

    serve: Callable[[Streams], Awaitable[None]]
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, port: int = 0) -> int:
        """Listen; the port taken, which matters where 0 was asked for."""
        self._server = await asyncio.start_server(self._accept, ROTATOR_HOST, port, limit=ROTATOR_HEAD_BYTES)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Listen no more, and end every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        try:
            if task is not None and len(self._tasks) < LOOPBACK_MOST_CONNECTIONS:
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                with suppress(*_GONE):
                    await self.serve((reader, writer))
        finally:
            writer.transport.abort()


async def read_head(near: Streams) -> str:
    """The head of a request, whole and in time.

    Raises:
        TimeoutError, asyncio.LimitOverrunError, asyncio.IncompleteReadError: no such thing came.
    """
    async with asyncio.timeout(ROTATOR_HEAD_SECONDS):
        return (await near[0].readuntil(b"\r\n\r\n")).decode("latin-1")
