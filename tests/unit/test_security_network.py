"""Hostile servers, lists and neighbours on the machine, on real sockets."""

import asyncio
import gzip
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from listening import OTHER, answers
from sale_sofia.app.guard import is_own
from sale_sofia.crawl.fetch.addresses import is_private
from sale_sofia.crawl.fetch.base import Request
from sale_sofia.crawl.fetch.curl import CookieJar
from sale_sofia.crawl.fetch.settings import MOST_COOKIES
from sale_sofia.proxies import settings
from sale_sofia.proxies.browser import BrowserDoor
from sale_sofia.proxies.sources import Count, ProxySource, SourceUnreadable, read_source
from sale_sofia.proxies.tunnel import LoopbackServer, Streams
from tables import each_row

PATIENCE = 60


@each_row(
    "address",
    [
        "::ffff:127.0.0.1",
        "64:ff9b::10.0.0.1",
        "2002:7f00:1::",
        "2002:c0a8:101::1",
        "::10.1.2.3",
        "fe80::1%eth0",
    ],
)
def test_a_private_address_inside_another_is_private(address: str) -> None:
    assert is_private(address)


@each_row("address", ["64:ff9b::8.8.8.8", "2002:808:808::1", "2a00:1450:4001::1", "8.8.8.8"])
def test_a_public_one_stays_public(address: str) -> None:
    assert not is_private(address)


def test_a_portal_that_sets_ever_new_cookies_does_not_fill_our_memory() -> None:
    jar = CookieJar()
    for page in range(100):
        new = [f"imot.bg\tTRUE\t/\tFALSE\t0\tname-{page}-{number}\tvalue".encode() for number in range(50)]
        before = dict(jar.lines)
        jar.take(before, [*before.values(), *new])
        assert set(new) <= set(jar.lines.values())
    assert len(jar.lines) == MOST_COOKIES


@each_row("host", ["localhost", "localhost:8501", "127.0.0.1:8501", "127.1.2.3", "[::1]:8501"])
def test_a_dashboard_without_a_password_is_asked_for_by_its_own_name(host: str) -> None:
    assert is_own(host)


@each_row(
    "host",
    [
        "",
        "evil.example:8501",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "[::1",
        "0.0.0.0",  # noqa: S104 - no address of a browser's
    ],
)
def test_a_name_that_was_made_to_lead_here_is_not(host: str) -> None:
    assert not is_own(host)


@asynccontextmanager
async def web(answer: bytes, asked: list[bytes]) -> AsyncIterator[str]:
    """A server that gives one answer to everybody."""

    async def serve(streams: Streams) -> None:
        asked.append((await streams[0].readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        streams[1].write(answer)
        await streams[1].drain()
        streams[1].write_eof()
        await streams[0].read()

    server = LoopbackServer(serve)
    try:
        yield f"http://127.0.0.1:{await server.start()}/list.txt"
    finally:
        await server.stop()


def test_a_list_of_proxies_leads_nowhere_else() -> None:
    inside: list[bytes] = []

    async def run() -> None:
        async with web(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n1.2.3.4:8080", inside) as secret:
            moved = f"HTTP/1.1 302 Found\r\nLocation: {secret}\r\nContent-Length: 0\r\n\r\n".encode()
            async with web(moved, []) as place:
                with pytest.raises(SourceUnreadable, match="HTTP 302"):
                    await read_source(ProxySource(place), Count())

    asyncio.run(run())
    assert inside == []


def test_a_list_of_proxies_is_not_unpacked() -> None:
    bomb = gzip.compress(b"1.2.3.4:8080\n" * 100_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n".encode()

    async def run() -> int:
        async with web(head + bomb, []) as place:
            return len(list(await read_source(ProxySource(place), Count())))

    assert asyncio.run(run()) == 0


def test_a_loopback_server_has_room_for_so_many_and_for_this_machine_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "LOOPBACK_MOST_CONNECTIONS", 1)

    async def serve(streams: Streams) -> None:
        streams[1].write(b"served\n")
        await streams[0].read()

    async def run() -> tuple[bytes, bytes, bool]:
        server = LoopbackServer(serve)
        port = await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        first = await reader.readline()
        second, refused = await asyncio.open_connection("127.0.0.1", port)
        try:
            got = await second.read()
        except ConnectionResetError:
            got = b""
        elsewhere = await asyncio.to_thread(answers, OTHER, port)
        writer.close()
        refused.close()
        await server.stop()
        return first, got, elsewhere

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE)) == (b"served\n", b"", False)


@pytest.mark.parametrize("change", [str.swapcase, lambda login: login[:-4], lambda _: ""])
def test_a_browsers_door_wants_the_very_password(change: "object") -> None:
    request = Request("http://127.0.0.1:9/", frozenset({"127.0.0.1:9"}), 1.0, 1.0, 1000)

    async def run() -> bytes:
        async with BrowserDoor(request) as door:
            login = b64encode(f"{door.user}:{door.password}".encode()).decode("ascii")
            port = int(door.url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            given = change(login)  # type: ignore[operator]
            head = f"CONNECT 127.0.0.1:9 HTTP/1.1\r\nProxy-Authorization: Basic {given}\r\n\r\n"
            writer.write(head.encode())
            told = await reader.readline()
            writer.close()
            return told

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE)) == b"HTTP/1.1 407 Who are you\r\n"
