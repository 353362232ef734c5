"""Proxies that answer with everything but a proxy's answer: each costs its own request, and soon ends."""

import asyncio
import json
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import chain, repeat
from typing import Self

import pytest

from fleet_certificates import Certificates
from fleet_origins import GOOD, HOSTS
from fleet_world import FleetWorld, fleet_world
from proxy_fleet import answer
from sale_sofia.crawl.fetch.base import RequestTimeouts, Response, Route
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.proxies import browser, checker
from sale_sofia.proxies.browser import BrowserDoor
from sale_sofia.proxies.checker import Checker, Ourselves, ProxyFinding, plain_page
from sale_sofia.proxies.fetcher import use_of_error
from sale_sofia.proxies.model import Proxy, parse_proxy
from sale_sofia.proxies.tunnel import LoopbackServer, Streams, carry_both, read_head

SECONDS = 0.4
"""RequestTimeouts with every proxy here."""
SOON = 5.0
FLOOD_SECONDS = 10.0
"""What has no end goes on for so long, without a pause."""
OURSELVES = Ourselves(frozenset(), frozenset())
URL = f"https://{HOSTS[0]}/advert"
LED = b"HTTP/1.1 200 OK\r\n\r\n"
PASSWORD_WANTED = b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n"
LABELS = {"no_proxy", "refuses", "wants_password", "silent", "dead", "breaks_tls"}

Pieces = Iterable[bytes]


def for_ever(first: bytes, piece: bytes) -> Pieces:
    return chain([first], repeat(piece * 1000))


ANSWERS: dict[str, Callable[[], Pieces]] = {
    "a redirect": lambda: [b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\n\r\n"],
    "a redirect with a page": lambda: [
        b"HTTP/1.1 307 No\r\nLocation: /\r\nContent-Length: 5\r\n\r\nhello"
    ],
    "a huge header": lambda: [b"HTTP/1.1 200 OK\r\nX: " + b"a" * 3_000_000 + b"\r\n\r\n"],
    "headers without end": lambda: for_ever(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
    "a header without end": lambda: for_ever(b"HTTP/1.1 200 OK\r\nX: ", b"a"),
    "a folded header without end": lambda: for_ever(b"HTTP/1.1 200 OK\r\nX: a\r\n", b" b\r\n"),
    "interim answers without end": lambda: for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "garbage": lambda: for_ever(b"", bytes(range(256))),
    "empty lines": lambda: for_ever(b"", b"\r\n"),
    "garbage after its answer": lambda: for_ever(LED, bytes(range(256))),
    "alerts after its answer": lambda: for_ever(LED, b"\x15\x03\x03\x00\x02\x01\x00"),
    "a chunked answer": lambda: for_ever(LED[:-2] + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "half an answer": lambda: [b"HTTP/1.1 200 OK\r\nX: "],
    "nothing more after its answer": lambda: [LED],
    "a wish for a password again and again": lambda: [PASSWORD_WANTED + b"Content-Length: 0\r\n\r\n"] * 100,
    "a wish for other passwords": lambda: [
        b"HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: Negotiate\r\n\r\n"
    ] * 100,
    "a wish for a password without end": lambda: for_ever(
        PASSWORD_WANTED + b"Content-Length: 99999999999\r\n\r\n", b"a"
    ),
    "a wish for a password in endless chunks": lambda: for_ever(
        PASSWORD_WANTED + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"
    ),
    "a refusal byte by byte": lambda: (bytes([b]) for b in b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"),
    "a SOCKS answer without end": lambda: for_ever(b"\x05\x00", b"\x05\x00\x00\x03\xff"),
    "a SOCKS answer of no kind": lambda: [b"\x05\x00", b"\x05\x00\x00\x09"],
    "half a SOCKS answer": lambda: [b"\x05\x00\x05\x00\x00\x03\xff"],
}  # fmt: skip


class HostileProxy:
    """Answers whoever connects with these pieces, from a thread of its own: it does not wait for us."""

    def __init__(self, pieces: Callable[[], Pieces], *, hangs_up: bool) -> None:
        self._pieces, self._hangs_up = pieces, hangs_up
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.requests = 0
        self.flooded = False
        """Whether somebody listened to the end of what has none."""
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(near,), daemon=True).start()

    def _answer(self, near: socket.socket) -> None:
        with suppress(OSError), near:
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            near.recv(65_536)
            self.requests += 1
            ends = time.monotonic() + FLOOD_SECONDS
            for piece in self._pieces():
                near.sendall(piece)
                if time.monotonic() > ends:
                    self.flooded = True
                    return
            while not self._hangs_up and near.recv(65_536):
                pass


async def by_curl(proxy: str) -> str:
    """The error of a fetch through it."""
    fetcher = CurlFetcher("chrome", 5)
    request = FleetWorld.request(None, URL, SECONDS)  # type: ignore[arg-type]
    try:
        await fetcher.fetch(replace(request, route=Route(proxy, "s")))
    except CrawlError as error:
        return use_of_error(error).kind
    finally:
        await fetcher.close()
    return "answered"


async def by_checker(proxy: str) -> str:
    """What a check calls it, with a judge that it will hardly lead to."""
    judge = checker.JudgeClient("https://judge.test", None)
    return (await Checker(judge=judge, ourselves=OURSELVES).check(Proxy(parse_proxy(proxy)))).label


async def by_door(proxy: str) -> str:
    """What the browser's way out says, when a browser asks for a portal's page."""
    request = replace(FleetWorld.request(None, URL), route=Route(proxy, "s"))  # type: ignore[arg-type]
    async with BrowserDoor(request) as door:
        place, _, port = door.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(place, int(port))
        login = b64encode(f"{door.user}:{door.password}".encode()).decode()
        head = f"CONNECT {HOSTS[0]}:443 HTTP/1.1\r\nProxy-Authorization: Basic {login}\r\n\r\n"
        writer.write(head.encode())
        answer = await reader.read(len(LED))
        writer.transport.abort()
        return "led on" if answer.startswith(b"HTTP/1.1 200") else type(door.fault).__name__


WAYS = {
    "curl": (by_curl, {"transport"}),
    "check": (by_checker, LABELS),
    "door": (by_door, {"ServiceProxy", "led on"}),
}


async def longest_wait() -> float:
    """The longest time in which nobody else had a turn, until it is cancelled."""
    longest, last = 0.0, time.monotonic()
    with suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(0.01)
            longest, last = max(longest, time.monotonic() - last), time.monotonic()
    return longest


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize("name", ANSWERS)
def test_whatever_a_proxy_answers_ends_soon_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch, name: str, scheme: str, way: str
) -> None:
    ask, expected = WAYS[way]
    monkeypatch.setattr(checker, "PATIENCE", RequestTimeouts(SECONDS, SECONDS))
    monkeypatch.setattr(browser, "DOOR_CONNECT_SECONDS", SECONDS)

    async def scenario(place: str) -> tuple[str, float]:
        others = asyncio.create_task(longest_wait())
        found = await asyncio.wait_for(ask(f"{scheme}://{place}"), FLOOD_SECONDS)
        others.cancel()
        return found, await others

    for hangs_up in (False, True):
        with HostileProxy(ANSWERS[name], hangs_up=hangs_up) as proxy:
            found, waited = asyncio.run(scenario(proxy.place))
            assert found in expected
            assert waited < SOON
            assert (proxy.requests, proxy.flooded) == (1, False)


async def lead_on(near: Streams, port: int) -> None:
    far = await asyncio.open_connection("127.0.0.1", port)
    try:
        await carry_both(near, far)
    finally:
        far[1].transport.abort()


def forging(judge_port: int) -> Callable[[Streams], Awaitable[None]]:
    """Answers for the judge before it leads there: the plain request told it the nonce."""
    nonces: list[str] = []

    async def serve(near: Streams) -> None:
        head = await read_head(near)
        if head.startswith("GET"):
            nonces.append(head.split(" ", 2)[1].partition("nonce=")[2])
            near[1].write(answer(plain_page(nonces[0])))
            return
        seen = {"nonce": nonces[0], "peer": "8.8.8.8", "plain": {"headers": []}}
        near[1].write(LED + answer(json.dumps(seen).encode()))
        await lead_on(near, judge_port)

    return serve


def test_what_a_proxy_says_before_tls_is_not_taken_for_the_judges(certificates: Certificates) -> None:
    async def scenario() -> ProxyFinding:
        async with fleet_world(certificates, {}) as world:
            server = LoopbackServer(forging(world.ports["judge"]))
            proxy = Proxy(parse_proxy(f"127.0.0.1:{await server.start()}"))
            try:
                return await Checker(judge=world.judge(), ourselves=OURSELVES).check(proxy)
            finally:
                await server.stop()

    found = asyncio.run(scenario())
    assert (found.label, found.why) == ("breaks_tls", "it spoke before the host could")
    assert found.proxy.exit_address == ""


def test_what_a_proxy_adds_to_its_answer_is_no_part_of_the_page(certificates: Certificates) -> None:
    """Headers, a cookie and single bytes: the page is the portal's, whole."""
    added = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nRetry-After: 99\r\nX-Proxy: y\r\n\r\n"

    async def scenario() -> tuple[Response, tuple[bytes, ...]]:
        async with fleet_world(certificates, {}) as world:

            async def serve(near: Streams) -> None:
                await read_head(near)
                for byte in added:
                    near[1].write(bytes([byte]))
                    await asyncio.sleep(0)
                await lead_on(near, world.ports["secure"])

            server, fetcher = LoopbackServer(serve), CurlFetcher("chrome", 5, ca_file=str(world.ca))
            route = Route(f"http://127.0.0.1:{await server.start()}", "s")
            try:
                found = await fetcher.fetch(replace(world.request(URL), route=route))
                return found, fetcher.cookies_of("s")
            finally:
                await fetcher.close()
                await server.stop()

    page, cookies = asyncio.run(scenario())
    assert (page.status, page.body) == (200, GOOD)
    assert {"retry-after", "x-proxy"}.isdisjoint(page.headers)
    assert [line.split(b"\t")[5] for line in cookies] == [b"visitor"]
