"""A fleet of proxies on the loopback, of every kind there is: one process, one address of 127/8 each.

A proxy's own address is also the one that its requests leave from, so that an exit address is a real one, and
a request that came from 127.0.0.1 is one that went round the proxies.
"""

import asyncio
import random
import socket
import ssl
import struct
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakSet

from sale_sofia.proxies.model import ProxyAddress, Scheme

KINDS: Final = (
    "good", "dead", "reset", "hang", "slow", "flaky", "wants_password", "transparent", "anonymous", "elite",
    "self_signed", "injecting", "faker", "refusing", "http_only", "socks5", "socks5_login", "rate_limited",
    "mortal", "banned", "own_exit", "shared_exit", "with_password", "babbling",
)  # fmt: skip
TLS = "https"
"""A good one that is itself spoken to over TLS; it needs a certificate for its address."""
USER, PASSWORD = "fleet", "s3cret-of-the-fleet"
OWN: Final = "127.0.0.1"
SHARED_EXIT: Final = "127.200.0.1"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Member:
    """One proxy of the fleet."""

    number: int
    kind: str
    alive: bool = True
    served: int = 0
    port: int = 0
    """Free when it was taken, so that several fleets can be at sea."""

    @property
    def host(self) -> str:
        return f"127.{10 + self.number // 62_500}.{self.number // 250 % 250}.{self.number % 250 + 1}"

    @property
    def exit(self) -> str | None:
        return {"own_exit": None, "shared_exit": SHARED_EXIT}.get(self.kind, self.host)

    @property
    def address(self) -> ProxyAddress:
        scheme: Scheme = "socks5" if self.kind.startswith("socks5") else "http"
        if self.kind == TLS:
            scheme = "https"
        login = (USER, PASSWORD) if self.kind in {"with_password", "socks5_login"} else ("", "")
        return ProxyAddress(scheme, self.host, self.port, *login)


@dataclass
class Fleet:
    """All proxies, and where the names lead that they look up."""

    members: list[Member]
    names: Mapping[tuple[str, int], int]
    """Port on 127.0.0.1 of each host and port."""
    impostor: ssl.SSLContext | None = None
    certificate: ssl.SSLContext | None = None
    """Of those that are spoken to over TLS."""
    seed: int = 0
    slow_seconds: float = 0.8
    flaky_share: float = 0.5
    most_per_member: int = 5
    """What a rate-limited one serves."""
    _random: random.Random = field(init=False)
    _servers: list[asyncio.Server] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _writers: "WeakSet[asyncio.StreamWriter]" = field(default_factory=WeakSet)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def of(self, kind: str) -> list[Member]:
        return [one for one in self.members if one.kind == kind]

    async def start(self) -> None:
        for member in self.members:
            server = await self._listen(member)
            member.port = int(server.sockets[0].getsockname()[1])
            if member.kind == "dead":
                server.close()
            else:
                self._servers.append(server)

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await abort(self._writers)

    async def _listen(self, member: Member) -> asyncio.Server:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            self._writers.add(writer)
            task.add_done_callback(self._tasks.discard)
            with suppress(
                OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError
            ):
                await self._serve(member, (reader, writer))
            writer.close()

        secure = self.certificate if member.kind == TLS else None
        return await asyncio.start_server(serve, member.host, 0, ssl=secure)

    async def _serve(self, member: Member, streams: Streams) -> None:
        reader, writer = streams
        if self._hangs_up(member):
            reset(writer)
            return
        if member.kind == "hang":
            await asyncio.sleep(3600)
        if member.kind == "babbling":
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
            return
        if member.kind == "slow":
            await asyncio.sleep(self.slow_seconds)
        if member.kind.startswith("socks5"):
            await self._serve_socks(member, streams)
            return
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        member.served += 1
        if refusal := self._refusal(member, head):
            writer.write(refusal)
            await writer.drain()
            return
        method, target, _ = head.partition("\r\n")[0].split(" ")
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            await self._tunnel(member, streams, host, int(port))
        else:
            await self._forward(member, streams, target, head)

    def _hangs_up(self, member: Member) -> bool:
        flaky = member.kind == "flaky" and self._random.random() < self.flaky_share
        return member.kind == "reset" or flaky or not member.alive

    def _refusal(self, member: Member, head: str) -> bytes | None:
        connect = head.startswith("CONNECT")
        if member.kind == "wants_password" or (member.kind == "with_password" and not knows_password(head)):
            return b"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"
        if member.kind == "refusing" or (member.kind == "http_only" and connect):
            return b"HTTP/1.1 405 Not here\r\nContent-Length: 0\r\n\r\n"
        if member.kind == "rate_limited" and member.served > self.most_per_member:
            return b"HTTP/1.1 429 Too many\r\nContent-Length: 0\r\n\r\n"
        return None

    async def _open(self, member: Member, host: str, port: int) -> Streams:
        local = (member.exit, 0) if member.exit else None
        streams = await asyncio.open_connection(OWN, self.names[host, port], local_addr=local)
        self._writers.add(streams[1])
        return streams

    async def _tunnel(self, member: Member, streams: Streams, host: str, port: int) -> None:
        _, writer = streams
        if (host, port) not in self.names:
            writer.write(b"HTTP/1.1 502 No such host\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        if member.kind == "self_signed" and self.impostor is not None:
            await self._pretend(streams)
            return
        await self._pump(member, streams, await self._open(member, host, port))

    async def _pretend(self, streams: Streams) -> None:
        """Speak as the host, with a certificate that nobody vouches for."""
        reader, writer = streams
        assert self.impostor is not None
        with suppress(ssl.SSLError):
            await writer.start_tls(self.impostor)
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nowned")
            await writer.drain()

    async def _pump(self, member: Member, near: Streams, far: Streams) -> None:
        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(OSError):
                while piece := await reader.read(65_536):
                    if not member.alive:
                        break
                    writer.write(piece)
                    await writer.drain()
            writer.close()

        try:
            await asyncio.gather(carry(near[0], far[1]), carry(far[0], near[1]))
        finally:
            far[1].close()

    async def _forward(self, member: Member, streams: Streams, target: str, head: str) -> None:
        """A plain request, as this kind passes it on."""
        _, writer = streams
        host, _, path = target.removeprefix("http://").partition("/")
        name, _, port = host.partition(":")
        if member.kind == "faker":
            writer.write(answer(b"yes, " + path.encode()))
            return
        lines = [line for line in head.split("\r\n")[1:] if line and not line.startswith("Proxy-")]
        asked = "\r\n".join([f"GET /{path} HTTP/1.1", *lines, *added(member.kind)]) + "\r\n\r\n"
        far_reader, far_writer = await self._open(member, name, int(port or 80))
        far_writer.write(asked.encode("latin-1"))
        told = await far_reader.read()
        far_writer.close()
        if member.kind == "injecting":
            told = answer(
                told.partition(b"\r\n\r\n")[2].replace(b"</body>", b"<script>buy()</script></body>")
            )
        writer.write(told)
        await writer.drain()

    async def _serve_socks(self, member: Member, streams: Streams) -> None:
        reader, writer = streams
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        wanted = 2 if member.kind == "socks5_login" else 0
        if wanted not in methods:
            writer.write(b"\x05\xff")
            return
        writer.write(bytes([5, wanted]))
        if wanted and not await logged_in(streams):
            return
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = socket.inet_ntoa(await reader.readexactly(4))
        (port,) = struct.unpack("!H", await reader.readexactly(2))
        known = (host, port) in self.names
        writer.write(bytes([5, 0 if known else 4, 0, 1]) + bytes(6))
        if known:
            await self._pump(member, streams, await self._open(member, host, port))


async def abort(writers: Iterable[asyncio.StreamWriter]) -> None:
    """End connections before their loop does."""
    for writer in list(writers):
        writer.transport.abort()
    await asyncio.sleep(0.01)


async def logged_in(streams: Streams) -> bool:
    reader, writer = streams
    _, length = await reader.readexactly(2)
    user = (await reader.readexactly(length)).decode()
    password = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    right = (user, password) == (USER, PASSWORD)
    writer.write(bytes([1, 0 if right else 1]))
    return right


def knows_password(head: str) -> bool:
    login = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return f"proxy-authorization: basic {login}".lower() in head.lower()


def added(kind: str) -> list[str]:
    """Headers that this kind adds to a plain request."""
    told = {"transparent": [f"X-Forwarded-For: {OWN}", "Via: 1.1 fleet"], "anonymous": ["Via: 1.1 fleet"]}
    return told.get(kind, [])


def answer(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)


def reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def members(kinds: Mapping[str, int], seed: int = 0, first: int = 0) -> list[Member]:
    """So many of each kind, in an order that the seed decides."""
    drawn = [kind for kind, count in kinds.items() for _ in range(count)]
    random.Random(seed).shuffle(drawn)
    return [Member(first + number, kind) for number, kind in enumerate(drawn)]
