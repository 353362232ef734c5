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
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from hmac import compare_digest
from typing import Final, Self

from sale_sofia.config.browser import DOOR_CONNECT_SECONDS
from sale_sofia.config.proxies import ROTATOR_HOST
from sale_sofia.fetching.addresses import AddressGuard, Target
from sale_sofia.fetching.base import Request
from sale_sofia.proxies.address import parse_proxy
from sale_sofia.proxies.carrying import carry_both
from sale_sofia.proxies.loopback_server import LoopbackServer, read_head
from sale_sofia.proxies.tunnel import Patience, Streams, TunnelFailed, tunnel
from sale_sofia.resilience.errors import CrawlError, NetworkConnection, ServiceProxy

_CONNECT: Final = re.compile(r"CONNECT (?P<place>[^\s/]+) HTTP/1\.1")
_PLAIN: Final = re.compile(r"(?P<method>[A-Z]+) (?P<origin>http://[^\s/]+)(?P<path>/\S*) HTTP/1\.1")
_WHO: Final = (
    b"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_OPEN: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_NOT_PASSED_ON: Final = ("proxy-", "connection:")
_LOGIN: Final = re.compile(r"\r\nproxy-authorization: *basic +(?P<login>\S+) *(?=\r\n)", re.IGNORECASE)


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
    _server: LoopbackServer = field(init=False)

    def __post_init__(self) -> None:
        self._server = LoopbackServer(self._serve)

    async def __aenter__(self) -> Self:
        self.url = f"http://{ROTATOR_HOST}:{await self._server.start()}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop()

    async def _serve(self, near: Streams) -> None:
        head = await read_head(near)
        if not self._is_known(head):
            near[1].write(_WHO)
            await near[1].drain()
        elif (asked := _read(head)) is not None:
            await self._lead(near, asked)

    def _is_known(self, head: str) -> bool:
        login = b64encode(f"{self.user}:{self.password}".encode())
        given = (found["login"] for found in _LOGIN.finditer(head))
        return any(compare_digest(one.encode("latin-1"), login) for one in given)

    async def _lead(self, near: Streams, asked: _Asked) -> None:
        try:
            away = self.request.route is not None
            target = await self._guard.check(asked.url, self.request.hosts, looked_up_elsewhere=away)
            async with self._way(target) as far:
                if not self._holds():
                    return  # so much time was lost that the place may be another's
                (far if asked.first else near)[1].write(asked.first or _OPEN)
                await carry_both(near, far, self._holds)
        except TunnelFailed as error:
            self.fault = ServiceProxy(f"{asked.url}: {error}")
        except CrawlError as error:
            self.fault = error

    def _holds(self) -> bool:
        return self.request.escort is None or self.request.escort.holds()

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
