"""Portals of the fleet, on the loopback: each notes from which address every request came."""

import asyncio
import ssl
import time
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field

GOOD = b"<!doctype html><html><body>" + b"an advert like any other. " * 300 + b"</body></html>"
BLOCKED = b"<!doctype html><html><head><title>Access denied</title></head><body>Access denied</body></html>"
HOSTS = ("portal-a.test", "portal-b.test")


@dataclass(frozen=True)
class Asked:
    host: str
    path: str
    source: str
    time: float
    status: int


@dataclass
class Origins:
    """Both portals. An address on a portal's list is answered with 403; so is one that comes too often."""

    banned: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    per_minute: int | None = None
    ban_seconds: float = 600.0
    status: int = 200
    """What a request that is let in is answered with."""
    log: list[Asked] = field(default_factory=list)
    connections: Counter[str] = field(default_factory=Counter)
    cookies: list[str] = field(default_factory=list)
    known_by_ticket: list[str] = field(default_factory=list)
    """Addresses whose TLS went on where an earlier connection had ended."""
    _recent: dict[tuple[str, str], deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _until: dict[tuple[str, str], float] = field(default_factory=dict)
    _servers: list[asyncio.Server] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, certificate: ssl.SSLContext | None) -> tuple[int, int]:
        """Ports with TLS and without."""
        ports = []
        for secure in (certificate, None):
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=secure)
            self._servers.append(server)
            ports.append(int(server.sockets[0].getsockname()[1]))
        return ports[0], ports[1]

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def sources(self) -> set[str]:
        """Every address from which anybody connected, whether it asked or not."""
        return set(self.connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = str(writer.get_extra_info("peername")[0])
        self.connections[source] += 1
        secure = writer.get_extra_info("ssl_object")
        if secure is not None and secure.session_reused:
            self.known_by_ticket.append(source)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        gone = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError)
        with suppress(*gone):
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                self._answer(head, source, writer)
                await writer.drain()
        writer.transport.abort()

    def _answer(self, head: str, source: str, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        host = headers.get("host", "").partition(":")[0]
        self.cookies.append(headers.get("cookie", ""))
        status = 403 if self._keeps_out(host, source) else self.status
        self.log.append(Asked(host, first.split(" ")[1], source, time.monotonic(), status))
        body = BLOCKED if status == 403 else GOOD
        answer = (
            f"HTTP/1.1 {status} Told\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
            f"Set-Cookie: visitor={source}; Path=/\r\n"
        )
        if status == 429:
            answer += "Retry-After: 7\r\n"
        writer.write(answer.encode() + b"\r\n" + body)

    def _keeps_out(self, host: str, source: str) -> bool:
        place, now = (host, source), time.monotonic()
        if source in self.banned[host] or self._until.get(place, 0.0) > now:
            return True
        recent = self._recent[place]
        recent.append(now)
        while recent[0] < now - 60:
            recent.popleft()
        if self.per_minute is not None and len(recent) > self.per_minute:
            self._until[place] = now + self.ban_seconds
            return True
        return False
