"""The browser's only way out: it leads to the portal's own hosts, through one proxy or directly, or nowhere.

A proxy on the loopback for the time of one visit, with a password made up for it. So the real proxy's
password never leaves this process, a redirect to a foreign host leads nowhere, and what the browser does by
itself does not go round the proxy.
"""

import asyncio
import re
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final, Self

from sale_sofia.config.browser import DOOR_CONNECT_SECONDS
from sale_sofia.config.proxies import ROTATOR_HEAD_BYTES, ROTATOR_HOST
from sale_sofia.fetching.addresses import AddressGuard, Target
from sale_sofia.fetching.base import Request
from sale_sofia.proxies.address import parse_proxy
from sale_sofia.proxies.carrying import carry_both
from sale_sofia.proxies.tunnel import Patience, Streams, TunnelFailed, tunnel
from sale_sofia.resilience.errors import CrawlError, NetworkConnection, ServiceProxy

_CONNECT: Final = re.compile(r"CONNECT (?P<place>[^\s/]+) HTTP/1\.1")
_PLAIN: Final = re.compile(r"(?P<method>[A-Z]+) (?P<origin>http://[^\s/]+)(?P<path>/\S*) HTTP/1\.1")
_WHO: Final = (
    b"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_OPEN: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_NOT_PASSED_ON: Final = ("proxy-", "connection:")
_GONE: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError)


@dataclass(frozen=True, slots=True)
class _Asked:
    """Where a connection is to lead, and what is to be sent there first."""

    url: str
    first: bytes = b""


@dataclass(slots=True)
class BrowserDoor:
    """Open while the `async with` block lasts."""

    request: Request
    """Whose hosts and route count."""
    user: str = field(default_factory=lambda: secrets.token_hex(8))
    password: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    fault: CrawlError | None = None
    """Why the last connection led nowhere."""
    url: str = ""
    _guard: AddressGuard = field(default_factory=lambda: AddressGuard(0.0))
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        server = await asyncio.start_server(self._accept, ROTATOR_HOST, 0, limit=ROTATOR_HEAD_BYTES)
        self._server = server
        self.url = f"http://{ROTATOR_HOST}:{server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with suppress(*_GONE):
            await self._serve((reader, writer))
        writer.transport.abort()

    async def _serve(self, near: Streams) -> None:
        head = (await near[0].readuntil(b"\r\n\r\n")).decode("latin-1")
        if not self._is_known(head):
            near[1].write(_WHO)
            await near[1].drain()
        elif (asked := _read(head)) is not None:
            await self._lead(near, asked)

    def _is_known(self, head: str) -> bool:
        login = b64encode(f"{self.user}:{self.password}".encode()).decode("ascii")
        return f"\r\nproxy-authorization: basic {login}\r\n".lower() in head.lower()

    async def _lead(self, near: Streams, asked: _Asked) -> None:
        try:
            away = self.request.route is not None
            target = await self._guard.check(asked.url, self.request.hosts, looked_up_elsewhere=away)
            async with self._way(target) as far:
                (far if asked.first else near)[1].write(asked.first or _OPEN)
                await carry_both(near, far)
        except TunnelFailed as error:
            self.fault = ServiceProxy(f"{asked.url}: {error}")
        except CrawlError as error:
            self.fault = error

    def _way(self, target: Target) -> AbstractAsyncContextManager[Streams]:
        route = self.request.route
        if route is None:
            return _direct(target)
        proxy = replace(parse_proxy(route.proxy), user=route.user, password=route.password)
        patience = Patience(DOOR_CONNECT_SECONDS, DOOR_CONNECT_SECONDS)
        return tunnel(proxy, target.host, target.port, patience)


@asynccontextmanager
async def _direct(target: Target) -> AsyncIterator[Streams]:
    """Only to the addresses that were looked at."""
    place = target.addresses[0] if target.addresses else target.host
    try:
        async with asyncio.timeout(DOOR_CONNECT_SECONDS):
            streams = await asyncio.open_connection(place, target.port)
    except (OSError, TimeoutError) as error:
        raise NetworkConnection(f"{target.host}: {error or 'no connection'}") from None
    try:
        yield streams
    finally:
        streams[1].transport.abort()


def _read(head: str) -> _Asked | None:
    """A tunnel, or a plain request, which is passed on alone on its connection."""
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    if found := _CONNECT.fullmatch(first):
        return _Asked(f"https://{found['place']}")
    if not (found := _PLAIN.fullmatch(first)):
        return None
    kept = [line for line in lines if not line.lower().startswith(_NOT_PASSED_ON)]
    told = [f"{found['method']} {found['path']} HTTP/1.1", *kept, "Connection: close", "", ""]
    return _Asked(found["origin"], "\r\n".join(told).encode("latin-1"))
