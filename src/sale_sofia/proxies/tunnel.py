"""Connections through a proxy by CONNECT or SOCKS5: names are resolved there, and nothing goes directly."""

import asyncio
import errno
import ipaddress
import re
import ssl
import struct
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.model import ProxyAddress

Fault = Literal["ours", "unreachable", "silent", "reset", "auth", "refused", "protocol"]
"""ours: this machine could not try; unreachable: no connection; silent: no answer in time; reset: it hung up;
auth: it wants another password; refused: it will not connect there; protocol: it speaks something else."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_OURS: Final = {errno.EMFILE, errno.ENFILE, errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL}
_SOCKS: Final = 5
_LOGIN_MOST_BYTES: Final = 255
_NO_LOGIN, _LOGIN, _CONNECT, _NAME, _IPV4, _IPV6 = 0, 2, 1, 3, 1, 4


class TunnelFailed(Exception):
    """The proxy did not connect to the host; the message holds no password."""

    def __init__(self, fault: Fault, why: str) -> None:
        super().__init__(why)
        self.fault = fault


@asynccontextmanager
async def tunnel(
    proxy: ProxyAddress, host: str, port: int, patience: RequestTimeouts
) -> AsyncIterator[Streams]:
    """Open streams to the host through the proxy, closed at the end; or raise `TunnelFailed`."""
    async with connected(proxy, patience) as streams:
        async with in_time(patience.seconds):
            await lead(proxy, streams, host, port)
        yield streams


@asynccontextmanager
async def connected(proxy: ProxyAddress, patience: RequestTimeouts) -> AsyncIterator[Streams]:
    """Open streams to the proxy itself, closed at the end."""
    reader, writer = await _connect(proxy, patience.connect_seconds)
    try:
        yield reader, writer
    except (OSError, asyncio.IncompleteReadError):
        raise TunnelFailed("reset", "it hung up") from None
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)  # lets it close: asyncio reports no close during a TLS handshake


async def _connect(proxy: ProxyAddress, seconds: float) -> Streams:
    secure = ssl.create_default_context() if proxy.scheme == "https" else None
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.open_connection(
                proxy.host, proxy.port, ssl=secure, limit=fixed.TUNNEL_HEAD_BYTES
            )
    except TimeoutError:
        raise TunnelFailed("unreachable", f"no connection in {seconds:g} s") from None
    except ssl.SSLError:
        raise TunnelFailed("protocol", "its own certificate is not valid") from None
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "no connection"
        is_ours = isinstance(error, OSError) and error.errno in _OURS
        raise TunnelFailed("ours" if is_ours else "unreachable", reason) from None


@asynccontextmanager
async def in_time(seconds: float) -> AsyncIterator[None]:
    """Limit the time of the block; `TunnelFailed` (silent) when it is up."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise TunnelFailed("silent", f"no answer in {seconds:g} s") from None


async def lead(proxy: ProxyAddress, streams: Streams, host: str, port: int) -> None:
    """Have the proxy connect to the host; from then on the streams are the host's."""
    await (_ask_socks if proxy.scheme == "socks5" else _ask_connect)(proxy, streams, host, port)


async def _ask_connect(proxy: ProxyAddress, streams: Streams, host: str, port: int) -> None:
    reader, writer = streams
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{login_line(proxy)}\r\n".encode("latin-1"))
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise TunnelFailed("protocol", "its answer has no end") from None
    match = re.match(rb"HTTP/1\.[01] ([0-9]{3})", head)
    if match is None:
        raise TunnelFailed("protocol", "no answer that an HTTP proxy gives")
    status = int(match[1])
    if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        raise TunnelFailed("auth", "HTTP 407: it wants a password, or another one")
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        raise TunnelFailed("refused", f"HTTP {status} to CONNECT")


def login_line(proxy: ProxyAddress) -> str:
    """The login header for an HTTP proxy; empty without a user."""
    if not proxy.user:
        return ""
    login = b64encode(f"{proxy.user}:{proxy.password}".encode()).decode("ascii")
    return f"Proxy-Authorization: Basic {login}\r\n"


async def _ask_socks(proxy: ProxyAddress, streams: Streams, host: str, port: int) -> None:
    reader, writer = streams
    writer.write(bytes([_SOCKS, 1, _LOGIN if proxy.user else _NO_LOGIN]))
    version, method = await reader.readexactly(2)
    if version != _SOCKS:
        raise TunnelFailed("protocol", "no answer that a SOCKS5 proxy gives")
    if method == _LOGIN and proxy.user:
        await _log_in(proxy, streams)
    elif method != _NO_LOGIN:
        raise TunnelFailed("auth", "SOCKS5: it wants a password, or another one")
    writer.write(bytes([_SOCKS, _CONNECT, 0]) + _socks_host(host) + struct.pack("!H", port))
    _, reply, _, kind = await reader.readexactly(4)
    if reply != 0:
        raise TunnelFailed("refused", f"SOCKS5 reply {reply}")
    if kind == _NAME:
        length = (await reader.readexactly(1))[0]
    elif kind in {_IPV4, _IPV6}:
        length = 4 if kind == _IPV4 else 16
    else:
        raise TunnelFailed("protocol", "no answer that a SOCKS5 proxy gives")
    await reader.readexactly(length + 2)


async def _log_in(proxy: ProxyAddress, streams: Streams) -> None:
    reader, writer = streams
    user, password = proxy.user.encode(), proxy.password.encode()
    if max(len(user), len(password)) > _LOGIN_MOST_BYTES:
        raise TunnelFailed("auth", "the login is longer than SOCKS5 allows")
    writer.write(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
    _, refused = await reader.readexactly(2)
    if refused:
        raise TunnelFailed("auth", "SOCKS5: it wants another password")


def _socks_host(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("idna")
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if isinstance(address, ipaddress.IPv4Address) else _IPV6]) + address.packed


async def carry_both(near: Streams, far: Streams, may_go: Callable[[], bool] = lambda: True) -> bool:
    """Copy bytes both ways until one side ends or `may_go` is false; whether any came back."""
    came = asyncio.create_task(_carry(far[0], near[1], lambda: True))
    went = asyncio.create_task(_carry(near[0], far[1], may_go))
    try:
        await went
        return await came > 0
    finally:
        came.cancel()
        went.cancel()


async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter, may_go: Callable[[], bool]) -> int:
    carried = 0
    with suppress(OSError, TimeoutError):
        while True:
            async with asyncio.timeout(fixed.ROTATOR_IDLE_SECONDS):
                piece = await source.read(fixed.ROTATOR_PIECE_BYTES)
            if not piece or not may_go():
                break
            carried += len(piece)
            to.write(piece)
            await to.drain()
    with suppress(OSError):
        to.write_eof()
    return carried


_GONE: Final = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError)
"""Errors a connection may end with, `TimeoutError` included; there is nobody left to report to."""


@dataclass(slots=True)
class LoopbackServer:
    """Calls `serve` for each connection, then closes it; no other machine can connect."""

    serve: Callable[[Streams], Awaitable[None]]
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, port: int = 0) -> int:
        """Listen, and return the port, which 0 leaves to the system."""
        self._server = await asyncio.start_server(
            self._accept, fixed.ROTATOR_HOST, port, limit=fixed.ROTATOR_HEAD_BYTES
        )
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop listening, and close every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        try:
            if task is not None and len(self._tasks) < fixed.LOOPBACK_MOST_CONNECTIONS:
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                with suppress(*_GONE):
                    await self.serve((reader, writer))
        finally:
            writer.transport.abort()


async def read_head(near: Streams) -> str:
    """Read the head of a request; raises TimeoutError or an asyncio error where none came."""
    async with asyncio.timeout(fixed.ROTATOR_HEAD_SECONDS):
        return (await near[0].readuntil(b"\r\n\r\n")).decode("latin-1")
