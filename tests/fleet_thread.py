"""A fleet in a thread of its own, and a door to a portal that notes from where each connection came."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from proxy_fleet import OWN, Fleet, Member, members


@dataclass
class Door:
    """Leads every connection on to a port of 127.0.0.1, and counts the requests that pass."""

    to: int
    port: int = 0
    requests: int = 0
    sources: Counter[str] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.sources[str(writer.get_extra_info("peername")[0])] += 1
        far_reader, far_writer = await asyncio.open_connection(OWN, self.to)
        with suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(_carry(reader, far_writer, self._count), _carry(far_reader, writer))
        for one in (writer, far_writer):
            one.transport.abort()

    def _count(self, piece: bytes) -> None:
        self.requests += piece.startswith(b"GET ")  # a client waits for each answer


async def _carry(
    source: asyncio.StreamReader, to: asyncio.StreamWriter, seen: Callable[[bytes], None] = lambda _: None
) -> None:
    with suppress(OSError):
        while piece := await source.read(65_536):
            seen(piece)
            to.write(piece)
            await to.drain()
    with suppress(OSError):
        to.write_eof()


@dataclass
class RunningFleet:
    """What a test can look at and change while a command crawls."""

    door: Door
    members: list[Member]

    def lines(self) -> str:
        """The list that an operator would have."""
        return "\n".join(one.address.secret_url for one in self.members)


@contextmanager
def fleet_before(
    port: int, kinds: Mapping[str, int], seed: int = 0, others: Collection[int] = ()
) -> Iterator[RunningFleet]:
    """A fleet whose proxies lead to a portal's port by way of a door; nobody else comes by it.

    To the `others` they lead as they are.
    """
    ready = threading.Event()
    box: dict[str, Any] = {}

    async def run() -> None:
        door, stop = Door(port), asyncio.Event()
        server = await asyncio.start_server(door.serve, OWN, 0)
        door.port = int(server.sockets[0].getsockname()[1])
        fleet = Fleet(
            members(kinds, seed), {(OWN, port): door.port, **{(OWN, one): one for one in others}}, seed=seed
        )
        await fleet.start()
        box.update(stop=stop, loop=asyncio.get_running_loop(), running=RunningFleet(door, fleet.members))
        ready.set()
        await stop.wait()
        server.close()
        await fleet.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield box["running"]
    finally:
        box["loop"].call_soon_threadsafe(box["stop"].set)
        thread.join(30)
