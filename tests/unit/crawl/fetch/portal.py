"""Servers on the loopback: a proper one, and one that says exactly the bytes it is told to say."""

import asyncio
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

import pytest
from aiohttp import web

from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.fetch.client import CurlFetcher

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


@dataclass
class Portal:
    port: int = 0
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    connections: set[object] = field(default_factory=set)
    scheme: str = "http"
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: bool = False

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"{self.scheme}://{self.host}{path}"

    def request(self, path: str = "/", *, timeout: float = 5, max_bytes: int = 1_000_000) -> Request:
        return request(self.url(path), self.host, timeout=timeout, max_bytes=max_bytes)


def request(url: str, *hosts: str, timeout: float = 5, max_bytes: int = 1_000_000) -> Request:
    return Request(url, frozenset(hosts), 5, timeout, max_bytes)


@asynccontextmanager
async def portal(handler: Handler, context: ssl.SSLContext | None = None) -> AsyncIterator[Portal]:
    log = Portal(scheme="https" if context else "http")

    async def answer(asked: web.BaseRequest) -> web.StreamResponse:
        log.paths.append(asked.path_qs)
        log.headers.append(dict(asked.headers))
        log.connections.add(asked.transport)
        return await handler(asked)

    runner = web.ServerRunner(web.Server(answer), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    log.port = runner.addresses[0][1]
    try:
        yield log
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_portal(
    pieces: Sequence[bytes], *, hold: float = 0, pause: float = 0, reset: bool = False
) -> AsyncIterator[Portal]:
    """Says the pieces to whoever asks, waits `hold` seconds, and hangs up: politely or with a reset."""
    log = Portal()
    tasks: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                log.paths.append(head.split()[1].decode())
                log.asked.set()
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(pause)
                with suppress(TimeoutError):
                    log.hung_up = await asyncio.wait_for(reader.read(1), hold) == b""
                if reset:
                    _reset(writer)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(talk(reader, writer)))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    log.port = server.sockets[0].getsockname()[1]
    try:
        yield log
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close without reading what came: the kernel answers what is left with a reset."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@asynccontextmanager
async def fetcher(max_redirects: int = 5) -> AsyncIterator[CurlFetcher]:
    client = CurlFetcher("chrome", max_redirects)
    try:
        yield client
    finally:
        await client.close()


async def fetch_once(asked: Request, max_redirects: int = 5) -> Response:
    async with fetcher(max_redirects) as client:
        return await client.fetch(asked)


def page(body: bytes = b"<html>page</html>", **headers: str) -> Handler:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=body, headers={"Content-Type": "text/html", **names})

    return answer


def redirects(places: dict[str, str], status: int = 302) -> Handler:
    """Redirects the paths named and answers all others with their own path."""

    async def answer(asked: web.BaseRequest) -> web.StreamResponse:
        if asked.path in places:
            return web.Response(status=status, headers={"Location": places[asked.path]})
        return web.Response(text=asked.path_qs)

    return answer


def self_signed(folder: Path) -> ssl.SSLContext:
    """A certificate for the loopback that nobody vouches for."""
    openssl = which("openssl")
    if openssl is None:
        pytest.skip("openssl is not here to make a certificate")
    key, chain = folder / "key.pem", folder / "cert.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(chain)]
    subprocess.run([openssl, *made, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
