"""One visit with a real Chromium: what it asks for, what it brings back, and how it ends."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from playwright.async_api import Browser, BrowserContext

from browsers import chromium_or_skip
from fleet_certificates import Certificates
from fleet_world import fleet_world
from proxy_fleet import OWN
from sale_sofia.crawl.fetch.base import Request, Route
from sale_sofia.crawl.resilience.errors import (
    BodyTooLarge,
    CrawlError,
    NetworkConnection,
    NetworkTimeout,
    PrivateAddress,
    ServiceBrowser,
    ServiceProxy,
)
from sale_sofia.proxies.browser import (
    BrowserDoor,
    BrowserProgram,
    BrowserVisit,
    browser_cookies,
    curl_line,
    new_context,
)
from sale_sofia.proxies.tunnel import LoopbackServer, Streams, read_head
from sale_sofia_simulator.faults import CHALLENGE_PAGE, CHALLENGE_SCRIPT, SCRIPT_PATH
from unit.crawl.fetch.portal import portal
from unit.proxies.challenging import ADVERT, CAPTCHA, FOR_EVER, Challenger, Escorted, asking, html

GO_ON = b"<script>location = '/advert'</script>"
INLINE = (
    b'<html><head><script id="anubis_challenge"></script><script>'
    + CHALLENGE_SCRIPT.replace(b"location.reload()", b"location = '/advert'")
    + b"</script></html>"
)
NOWHERE = "http://127.0.0.1:9"
"""The way out of a browser whose visits have ways of their own."""
HAS = b"127.0.0.1\tFALSE\t/\tFALSE\t0\tvisitor\tseven"


@pytest.fixture
def program() -> BrowserProgram:
    """Started for each visit and ended with it, as in earnest."""
    return BrowserProgram(chromium_or_skip(), 300.0)


class KeptBrowser(BrowserProgram):
    """Started once: its visits share nothing but the program, as each has a context and a door of its own."""

    browser: Browser

    @asynccontextmanager
    async def _opened(self, door: BrowserDoor) -> AsyncIterator[BrowserContext]:
        context = await new_context(self.browser, door.login)
        try:
            yield context
        finally:
            await context.close()


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    """In which the kept browser is driven."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def kept(loop: asyncio.Runner) -> Iterator[KeptBrowser]:
    program = KeptBrowser(chromium_or_skip(), 3600.0)
    starting = program.started({"server": NOWHERE})
    program.browser = loop.run(starting.__aenter__())
    yield program
    loop.run(starting.__aexit__(None, None, None))


Visiting = Callable[..., BrowserVisit]


@pytest.fixture
def visit(loop: asyncio.Runner, kept: KeptBrowser) -> Visiting:
    def visit(challenger: Challenger, escort: Escorted, **more: object) -> BrowserVisit:
        return loop.run(visiting(kept, challenger, escort, **more))

    return visit


async def visiting(
    program: BrowserProgram, challenger: Challenger, escort: Escorted, **more: object
) -> BrowserVisit:
    async with portal(challenger.answer) as log:
        return await program.visit(asking(log, escort, **more), [HAS])  # type: ignore[arg-type]


def test_a_challenge_is_passed_with_nothing_asked_for_but_page_and_script(program: BrowserProgram) -> None:
    challenger, escort = Challenger(), Escorted()
    found = asyncio.run(visiting(program, challenger, escort))
    assert (found.response.status, found.response.body.decode()) == (200, ADVERT.decode("cp1251"))
    assert challenger.paths() == ["/advert", SCRIPT_PATH, "/advert"]
    # Each request waited for a turn of its own.
    assert [urlsplit(url).path for url in escort.urls] == ["/advert", SCRIPT_PATH, "/advert"]
    assert all(cookie.startswith("visitor=seven") for _, cookie, _ in challenger.seen)
    assert HAS in found.cookies
    assert any(b"\tpassed\t" in line for line in found.cookies)
    assert {found.headers["user-agent"]} == {agent for _, _, agent in challenger.seen}
    assert "Headless" not in found.headers["user-agent"]


def test_each_step_waits_for_its_turn_and_what_robots_txt_forbids_is_not_asked_for(
    visit: Visiting,
) -> None:
    steps = {"/step0": _leading("/step1"), "/step1": _leading("/first")}
    pages = {**steps, "/first": lambda: html(CHALLENGE_PAGE + GO_ON)}
    challenger, escort = Challenger(pages=pages, closed=False), Escorted(forbidden=SCRIPT_PATH)
    found = visit(challenger, escort, path="/step0")
    assert found.response.status == 200
    assert challenger.paths() == [*pages, "/advert"]
    assert [urlsplit(url).path for url in escort.urls] == [*pages, SCRIPT_PATH, "/advert"]


def _leading(path: str) -> Callable[[], web.Response]:
    return lambda: html(b"", 302, Location=path)


def test_a_captcha_is_the_end(visit: Visiting) -> None:
    challenger = Challenger(page=CAPTCHA)
    found = visit(challenger, Escorted())
    assert found.response.body == CAPTCHA
    assert challenger.paths() == ["/advert", SCRIPT_PATH, "/advert"]


def test_a_challenge_without_end_is_given_up(visit: Visiting) -> None:
    challenger = Challenger(pages={"/advert": lambda: html(FOR_EVER)})
    with suppress(NetworkTimeout):  # whether one of them can be read before it gives way is chance
        assert visit(challenger, Escorted()).response.body == FOR_EVER
    assert len(challenger.seen) == 6


def test_a_page_that_gives_way_before_it_can_be_read_is_passed_too(visit: Visiting) -> None:
    challenger = Challenger(pages={"/first": lambda: html(INLINE)})
    found = visit(challenger, Escorted(), path="/first")
    assert found.response.url.endswith("/advert")
    assert found.response.body.decode() == ADVERT.decode("cp1251")
    assert challenger.paths() == ["/first", "/advert"]


def elsewhere(port: int) -> Mapping[str, object]:
    return {"/advert": lambda: html(b"", 302, Location=f"http://127.0.0.1:{port}/taken")}


def test_more_than_a_page_has_ends_the_visit_at_once(loop: asyncio.Runner, kept: KeptBrowser) -> None:
    sent = 0

    async def huge(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        while sent < 300_000_000:
            await response.write(b"x" * 100_000)
            sent += 100_000
        return response

    async def run() -> None:
        async with portal(huge) as log:
            # So much time that only the size can end it.
            await kept.visit(asking(log, Escorted(3600.0)), [])

    with pytest.raises(BodyTooLarge):
        loop.run(run())
    assert sent < 100_000_000


def test_a_redirect_to_another_host_leads_nowhere(loop: asyncio.Runner, kept: KeptBrowser) -> None:
    other = Challenger()

    async def run() -> None:
        async with portal(other.answer) as foreign:
            challenger = Challenger(pages=elsewhere(foreign.port))  # type: ignore[arg-type]
            async with portal(challenger.answer) as log:
                with pytest.raises(PrivateAddress):
                    await kept.visit(asking(log, Escorted()), [])

    loop.run(run())
    assert other.seen == []


def test_a_step_that_gets_no_turn_is_not_taken(visit: Visiting) -> None:
    steps = {f"/step{n}": _leading(f"/step{n + 1}") for n in range(3)}
    challenger = Challenger(pages=steps, closed=False)
    with pytest.raises(NetworkConnection):
        visit(challenger, Escorted(forbidden="/step2"), path="/step0")
    assert challenger.paths() == ["/step0", "/step1"]


HOSTILE = """<html><script id="anubis_challenge"></script><script>
const other = "127.0.0.1:OTHER", inside = `fetch("http://${other}/w"); new WebSocket("ws://${other}/w")`;
const attempts = [
  () => new WebSocket(`ws://${other}/`), () => new WebSocket(`ws://${location.host}/socket`),
  () => fetch(`http://${other}/`, {mode: "no-cors"}), () => navigator.sendBeacon(`http://${other}/`, "x"),
  () => new EventSource(`http://${other}/`), () => { new Image().src = `http://${other}/` },
  () => new Worker(URL.createObjectURL(new Blob([inside]))),
  () => new SharedWorker(URL.createObjectURL(new Blob([`fetch("http://${location.host}/shared")`]))),
  () => navigator.serviceWorker.register("/service.js"),
  () => { for (let n = 0; n < 3; n++) open(`/window${n}`) }, () => open(`http://${other}/`),
  () => { const at = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:UDP"}]});
          at.createDataChannel("x"); at.createOffer().then(offer => at.setLocalDescription(offer)) },
  () => open("file:///etc/hostname"), () => { location = "file:///etc/hostname" },
  () => { location = `view-source:http://${location.host}/source` }, () => { location = "chrome://settings" },
];
for (const attempt of attempts) { try { attempt() } catch {} }
alert("x"); setTimeout(() => { location = "/done" }, 1500)
</script><link rel="preconnect" href="http://127.0.0.1:OTHER"><iframe src="http://127.0.0.1:OTHER/"></iframe>
<iframe src="file:///etc/hostname"></iframe></html>"""


def test_a_hostile_page_reaches_nobody_else_and_asks_for_nothing_out_of_turn(program: BrowserProgram) -> None:
    reached: list[object] = []

    async def run(packets: socket.socket) -> tuple[list[str], list[str]]:
        other = await asyncio.start_server(lambda *streams: reached.append(streams), "127.0.0.1", 0)
        page = HOSTILE.replace("OTHER", str(other.sockets[0].getsockname()[1]))
        page = page.replace("UDP", str(packets.getsockname()[1]))
        challenger, escort = (
            Challenger(pages={"/advert": lambda: html(page.encode())}, closed=False),
            Escorted(),
        )
        async with other, portal(challenger.answer) as log:
            found = await program.visit(asking(log, escort), [])
        assert found.response.url.endswith("/done")
        return challenger.paths(), [urlsplit(url).path for url in escort.urls]

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as packets:
        packets.bind(("127.0.0.1", 0))
        packets.settimeout(0.0)
        paths, turns = asyncio.run(run(packets))
        with pytest.raises(BlockingIOError):
            packets.recv(1)
    assert (paths, turns, reached) == (["/advert", "/done"], ["/advert", "/done"], [])


def test_a_page_that_begins_a_download_is_at_its_end(visit: Visiting) -> None:
    page = b'<html><script id="anubis_challenge"></script><a download href="/file">x</a><script>'
    page += b"setInterval(() => document.querySelector('a').click(), 50)</script></html>"
    held = {"Content-Disposition": "attachment; filename=x"}
    pages = {"/advert": lambda: html(page), "/file": lambda: web.Response(body=b"x", headers=held)}
    challenger = Challenger(pages=pages, closed=False)
    # So much time that only the download can end it.
    with suppress(NetworkConnection):
        assert visit(challenger, Escorted(3600.0)).response.body == page
    assert challenger.paths()[0] == "/advert"


def test_a_silent_portal_ends_with_the_time_of_the_page(loop: asyncio.Runner, kept: KeptBrowser) -> None:
    async def silent(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(600)
        return html(b"")

    async def run() -> None:
        async with portal(silent) as log:
            await kept.visit(asking(log, Escorted(seconds=2.0)), [])

    with pytest.raises(NetworkTimeout):
        loop.run(run())


@pytest.mark.parametrize("kind", ["dead", "wants_password"])
def test_without_its_proxy_nothing_goes_out(
    certificates: Certificates, loop: asyncio.Runner, kept: KeptBrowser, kind: str
) -> None:
    async def run() -> tuple[CrawlError, set[str]]:
        async with fleet_world(certificates, {kind: 1}) as world:
            proxy = world.fleet.members[0].address
            route = Route(f"{proxy.scheme}://{proxy.place}", "s")
            request = replace(world.request(world.url()), route=route, escort=Escorted())
            with pytest.raises(ServiceProxy) as raised:
                await kept.visit(request, [])
            return raised.value, world.origins.sources()

    _, sources = loop.run(run())
    assert sources == set()
    assert OWN not in sources


ANSWERED_BY_PROXY = {
    "a wish for a password": b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    "garbage": bytes(range(256)) * 100,
    "headers without end": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1_000_000,
}


@pytest.mark.parametrize("answer", ANSWERED_BY_PROXY)
def test_a_proxy_that_answers_for_the_portal_is_asked_once(
    loop: asyncio.Runner, kept: KeptBrowser, answer: str
) -> None:
    """Only over plain http can it; the password of the browser's own way out stays there."""
    heads: list[str] = []

    async def serve(near: Streams) -> None:
        await read_head(near)
        near[1].write(b"HTTP/1.1 200 OK\r\n\r\n")
        heads.append(await read_head(near))
        near[1].write(ANSWERED_BY_PROXY[answer])
        await near[1].drain()
        await near[0].read()

    async def run() -> None:
        proxy = LoopbackServer(serve)
        route = Route(f"http://127.0.0.1:{await proxy.start()}", "s")
        request = Request("http://portal.test/", frozenset({"portal.test"}), 60.0, 60.0, 1_000_000)
        try:
            with pytest.raises(CrawlError):
                await kept.visit(replace(request, route=route, escort=Escorted()), [])
        finally:
            await proxy.stop()

    loop.run(run())
    assert len(heads) == 1
    assert "authorization" not in heads[0].lower()


def test_a_program_that_is_no_browser_is_named(tmp_path: Path) -> None:
    chromium_or_skip()
    path = tmp_path / "browser"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o700)
    with pytest.raises(ServiceBrowser, match="browser does not start"):
        asyncio.run(visiting(BrowserProgram(path, 30.0), Challenger(), Escorted()))


def test_cookies_are_the_same_in_curl_and_in_the_browser() -> None:
    lines = [
        HAS,
        b"#HttpOnly_.imot.bg\tTRUE\t/\tTRUE\t1900000000\tcf_clearance\ta=b; c",
        b".imot.bg\tTRUE\t/obiavi\tFALSE\t0\tempty\t",
    ]
    assert [curl_line(cookie) for cookie in browser_cookies(lines)] == lines
    assert browser_cookies([b"no cookie"]) == []
