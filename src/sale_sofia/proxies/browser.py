"""One visit with a browser: the system's Chromium, started for it and ended with it.

It asks for nothing but the page, its scripts and what they ask for, each in the portal's own turn, and ends
as soon as the page is no longer a challenge. No captcha is solved: such a page is the answer, and a block.
"""

import asyncio
import json
import logging
import os
import re
import secrets
import sys
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from redis.asyncio import Redis
from redis.exceptions import RedisError

from sale_sofia.crawl.fetch.addresses import AddressGuard, Target
from sale_sofia.crawl.fetch.base import Fetcher, Patience, Request, Response, VerdictKind
from sale_sofia.crawl.fetch.blocks import asks_for_browser
from sale_sofia.crawl.fetch.chromium import BrowserMissing, find_browser
from sale_sofia.crawl.fetch.classify import classify
from sale_sofia.crawl.fetch.client import REDIRECTS, CurlFetcher, redirect_of
from sale_sofia.crawl.fetch.curl import LANGUAGES
from sale_sofia.crawl.resilience import errors
from sale_sofia.crawl.resilience.errors import AddressRefused, CrawlError, LeftAlone, ServiceBrowser
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies.model import parse_proxy
from sale_sofia.proxies.settings import (
    BROWSER_FOLDER,
    BUDGET_SECONDS,
    CLOSE_SECONDS,
    DOOR_CONNECT_SECONDS,
    LANE_MEMORY_SECONDS,
    MOST_DOCUMENTS,
    MOST_GIVEN,
    ROTATOR_HOST,
)
from sale_sofia.proxies.tunnel import LoopbackServer, Streams, TunnelFailed, carry_both, read_head, tunnel
from sale_sofia.settings.files import write_whole
from sale_sofia.settings.model import TIME_ZONE, Settings
from sale_sofia.websites.site_file import SiteConfig, load_site_config

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page, ProxySettings
    from playwright.async_api import Request as Sent
    from playwright.async_api import Response as Told
    from playwright.async_api import Route as Held

_WANTED: Final = frozenset({"document", "script", "xhr", "fetch"})
"""No images, fonts, media or styles: a challenge does not need them, and the portal is spared."""


@dataclass  # without slots: Playwright notes its own on whose methods it calls
class BrowserPage:
    """Guarantee: whatever the page asks for waits for the portal's turn, and for the verdict on the page."""

    request: Request
    proof: tuple[bytes, ...]
    last: "tuple[Response, Sent] | None" = None
    _page: "Page | None" = None
    _told: "asyncio.Queue[Told | BaseException]" = field(default_factory=asyncio.Queue)
    _guard: AddressGuard = field(default_factory=lambda: AddressGuard(0.0))
    _seen: int = 0
    _bytes: int = 0
    _known: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while it is known what the last document is."""
    _is_over: bool = False
    _asking: "set[asyncio.Future[bool]]" = field(default_factory=set)
    _deadline: asyncio.Timeout | None = None

    async def read(self, context: "BrowserContext", ends: float) -> "tuple[Response, Sent]":
        """The first page that is no challenge, else the last one in time; or a `CrawlError`."""
        self._known.set()
        page = self._page = await context.new_page()
        await context.route("**/*", self._decide)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        page.on("response", self._answered)
        page.on("download", self._download)
        network = await context.new_cdp_session(page)
        network.on("Network.dataReceived", self._count)
        network.on("Fetch.requestPaused", partial(self._answer_held, network))
        await network.send("Network.enable")
        await network.send("Fetch.enable", {"patterns": [{"requestStage": "Response"}]})
        going = asyncio.create_task(page.goto(self.request.url, wait_until="commit", timeout=0))
        going.add_done_callback(self._arrived)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(ends) as self._deadline:
                    await self._wait_for_the_page()
        finally:
            # From now on nothing is let through: the handlers stay until the browser is closed.
            self._is_over = True
            self._known.set()
            tasks: list[asyncio.Future[Any]] = [going, *self._asking]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._bytes > self.request.max_bytes:
            raise errors.BodyTooLarge(f"{self.request.url}: more than {self.request.max_bytes} bytes")
        if self.last is None:
            raise errors.NetworkTimeout(f"{self.request.url}: no page in time in the browser")
        return self.last

    async def _wait_for_the_page(self) -> None:
        told = await self._told.get()
        while not isinstance(told, BaseException):
            following = asyncio.create_task(self._told.get())
            try:
                if await self._is_the_page(told, following):
                    return
                self._known.set()
                told = await following
            finally:
                following.cancel()
        if self.last is None:
            raise told

    async def _is_the_page(self, told: "Told", following: "asyncio.Task[Any]") -> bool:
        """Whether a document is no challenge; one that gives way to another before it is read is one."""
        reading = asyncio.create_task(self._whole(told))
        try:
            await asyncio.wait({reading, following}, return_when=asyncio.FIRST_COMPLETED)
            response = reading.result() if reading.done() and not reading.exception() else None
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        if response is None:
            return False
        self.last = response, told.request
        return not asks_for_browser(response, self.proof)

    @staticmethod
    async def _whole(told: "Told") -> Response:
        return Response(told.url, told.status, await told.all_headers(), await told.body(), 0.0)

    async def _answer_held(self, network: "CDPSession", held: dict[str, Any]) -> None:
        """Playwright asks before a request and not before the redirects that follow from it."""
        from playwright.async_api import Error  # noqa: PLC0415 - an extra

        name = {"requestId": held["requestId"]}
        headers = {header["name"].lower(): header["value"] for header in held.get("responseHeaders", ())}
        following = redirect_of(held.get("responseStatusCode", 0), headers, held["request"]["url"])
        may = following is None or await self._may_follow(following, held["resourceType"])
        with suppress(Error):  # the page is gone
            if may:
                await network.send("Fetch.continueRequest", name)
            else:
                await network.send("Fetch.failRequest", {**name, "errorReason": "Aborted"})

    def _arrived(self, going: "asyncio.Task[Told | None]") -> None:
        if not going.cancelled() and (error := going.exception()):
            self._told.put_nowait(error)

    def _download(self, _: object) -> None:
        """Nobody was asked for a turn: no challenge does that, so it is the last thing this one does."""
        self._told.put_nowait(errors.NetworkConnection(f"{self.request.url}: the page begins a download"))

    def _answered(self, told: "Told") -> None:
        if _is_main(told.request) and told.status not in REDIRECTS:
            self._told.put_nowait(told)

    def _count(self, told: dict[str, Any]) -> None:
        """Bytes as they are unpacked; what is too much ends the visit at once."""
        self._bytes += int(told["dataLength"])
        if self._bytes > self.request.max_bytes and self._deadline is not None and not self._is_over:
            self._deadline.reschedule(asyncio.get_running_loop().time())

    async def _decide(self, held: "Held") -> None:
        from playwright.async_api import Error  # noqa: PLC0415 - an extra

        try:
            may = held.request.frame.page == self._page and await self._may(held.request)
        except Error:
            may = False  # of a window that is just being opened
        with suppress(Error):  # the page is gone
            await (held.continue_() if may else held.abort())

    async def _may(self, sent: "Sent") -> bool:
        if sent.resource_type not in _WANTED or await self._refusal(sent.url):
            return False
        if not _is_main(sent):
            await self._known.wait()
        elif self._seen >= MOST_DOCUMENTS:
            self._told.put_nowait(errors.NetworkTimeout(f"{self.request.url}: one challenge after another"))
            return False
        if self._is_over or not await self._is_permitted(sent.url):
            return False
        if _is_main(sent):
            self._known.clear()
            self._seen += 1
        return not self._is_over

    async def _may_follow(self, url: str, kind: str) -> bool:
        refusal = await self._refusal(url)
        if refusal and self.last is None and kind == "Document":  # frames come only after it
            self._told.put_nowait(refusal)
        return not (refusal or self._is_over) and await self._is_permitted(url)

    async def _refusal(self, url: str) -> AddressRefused | None:
        """Why an address may not be asked, whatever its turn."""
        try:
            await self._guard.check(url, self.request.hosts, looked_up_elsewhere=True)
        except AddressRefused as error:
            return error
        return None

    async def _is_permitted(self, url: str) -> bool:
        if self.request.escort is None:
            return False
        asking = asyncio.ensure_future(self.request.escort.may_ask(url))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        await asyncio.wait({asking})
        return not asking.cancelled() and asking.result()


def _is_main(sent: "Sent") -> bool:
    """Whether it asks for the page itself."""
    return sent.is_navigation_request() and sent.frame.parent_frame is None


_ONLY_HTTP: Final = "#HttpOnly_"
_FIELDS: Final = 7  # domain, subdomains, path, secure, expires, name, value


def curl_line(cookie: Mapping[str, Any]) -> bytes:
    """A cookie of the browser as curl writes it down; one without an end ends with the session."""
    domain = str(cookie["domain"])
    fields = (
        (_ONLY_HTTP if cookie.get("httpOnly") else "") + domain,
        str(domain.startswith(".")).upper(),
        cookie["path"],
        str(bool(cookie.get("secure"))).upper(),
        max(0, int(cookie.get("expires", 0))),
        cookie["name"],
        cookie["value"],
    )
    return "\t".join(map(str, fields)).encode()


def browser_cookies(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Curl's lines as the browser takes them."""
    cookies = []
    for line in lines:
        row = line.decode("utf-8", errors="replace").split("\t")
        if len(row) != _FIELDS:
            continue
        domain, wide, path, secure, expires, name, value = row
        host = domain.removeprefix(_ONLY_HTTP).removeprefix(".")
        cookies.append(
            {
                "name": name,
                "value": value,
                "domain": f".{host}" if wide == "TRUE" else host,
                "path": path,
                "expires": int(expires) or -1,
                "httpOnly": domain.startswith(_ONLY_HTTP),
                "secure": secure == "TRUE",
            }
        )
    return cookies


_CONNECT: Final = re.compile(r"CONNECT (?P<place>[^\s/]+) HTTP/1\.1")
_PLAIN: Final = re.compile(r"(?P<method>[A-Z]+) (?P<origin>http://[^\s/]+)(?P<path>/\S*) HTTP/1\.1")
_WHO: Final = (
    b"HTTP/1.1 407 Who are you\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_OPEN: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"
_NOT_PASSED_ON: Final = ("proxy-", "connection:")
_LOGIN: Final = re.compile(r"\r\nproxy-authorization: *basic +(?P<login>\S+) *(?=\r\n)", re.IGNORECASE)


@dataclass(slots=True)
class BrowserDoor:
    """The browser's only way out, open while the `async with` block lasts.

    A proxy on the loopback with a password made up for one visit. It leads to the portal's own hosts, through
    one proxy or directly, or nowhere: so the real proxy's password never leaves this process, a redirect to a
    foreign host leads nowhere, and what the browser does by itself does not go round the proxy.
    """

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

    @property
    def login(self) -> "ProxySettings":
        """How the browser gets through it."""
        return {"server": self.url, "username": self.user, "password": self.password}

    async def _serve(self, near: Streams) -> None:
        head = await read_head(near)
        login = b64encode(f"{self.user}:{self.password}".encode())
        given = (found["login"].encode("latin-1") for found in _LOGIN.finditer(head))
        if not any(compare_digest(text, login) for text in given):
            near[1].write(_WHO)
            await near[1].drain()
        elif (asked := _read(head)) is not None:
            await self._lead(near, *asked)

    async def _lead(self, near: Streams, url: str, first: bytes) -> None:
        try:
            away = self.request.route is not None
            target = await self._guard.check(url, self.request.hosts, looked_up_elsewhere=away)
            async with self._way(target) as far:
                if not self._holds():
                    return  # so much time was lost that the place may be another's
                (far if first else near)[1].write(first or _OPEN)
                await carry_both(near, far, self._holds)
        except TunnelFailed as error:
            self.fault = errors.ServiceProxy(f"{url}: {error}")
        except CrawlError as error:
            self.fault = error

    def _holds(self) -> bool:
        return self.request.escort is None or self.request.escort.holds()

    @asynccontextmanager
    async def _way(self, target: Target) -> AsyncIterator[Streams]:
        """Through the proxy, or directly to the addresses that were looked at alone."""
        if route := self.request.route:
            proxy = replace(parse_proxy(route.proxy), user=route.user, password=route.password)
            patience = Patience(DOOR_CONNECT_SECONDS, DOOR_CONNECT_SECONDS)
            async with tunnel(proxy, target.host, target.port, patience) as streams:
                yield streams
            return
        place = target.addresses[0] if target.addresses else target.host
        try:
            async with asyncio.timeout(DOOR_CONNECT_SECONDS):
                streams = await asyncio.open_connection(place, target.port)
        except (OSError, TimeoutError) as error:
            raise errors.NetworkConnection(f"{target.host}: {error or 'no connection'}") from None
        try:
            yield streams
        finally:
            streams[1].transport.abort()


def _read(head: str) -> tuple[str, bytes] | None:
    """Where a connection is to lead, and what is sent first: nothing for a tunnel, else one request."""
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    if found := _CONNECT.fullmatch(first):
        return f"https://{found['place']}", b""
    if not (found := _PLAIN.fullmatch(first)):
        return None
    kept = [line for line in lines if not line.lower().startswith(_NOT_PASSED_ON)]
    request = [f"{found['method']} {found['path']} HTTP/1.1", *kept, "Connection: close", "", ""]
    return found["origin"], "\r\n".join(request).encode("latin-1")


_ARGUMENTS: Final = (
    "--disable-dev-shm-usage",  # in containers it is too small
    "--disable-quic",  # no proxy leads it
    # No proxy leads its packets either; Chromium has had two names for it.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-shared-workers",  # what they ask for cannot be held back
)
_PROFILE_HEADERS: tuple[str, ...] = ("user-agent", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform")
_AGENT: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36"
)


@dataclass(frozen=True, slots=True)
class Visit:
    """What a visit brought: the page, and what makes further requests the same visitor's."""

    response: Response
    cookies: tuple[bytes, ...]
    """As curl's own lines."""
    headers: Mapping[str, str]
    """By which the browser is known."""


@dataclass(slots=True)
class BrowserProgram:
    """A Chromium to be started."""

    path: Path
    seconds: float
    """Of one visit at most."""
    proof: tuple[bytes, ...] = ()

    async def visit(self, request: Request, cookies: Iterable[bytes]) -> Visit:
        """Open a page; `ServiceBrowser` where nothing was sent, another `CrawlError` without a page."""
        from playwright.async_api import Error  # noqa: PLC0415 - an extra

        escort, loop = request.escort, asyncio.get_running_loop()
        started = loop.time()
        ends = started + min(self.seconds, escort.seconds_left() if escort else 0.0)
        door, page = BrowserDoor(request), BrowserPage(request, self.proof)
        try:
            async with (
                asyncio.timeout_at(ends + CLOSE_SECONDS),
                door,
                self._opened(door) as context,
            ):
                await context.add_cookies(browser_cookies(cookies))  # type: ignore[arg-type]
                response, sent = await page.read(context, ends)
                response = replace(response, seconds=loop.time() - started)
                lines = tuple(curl_line(dict(cookie)) for cookie in await context.cookies())
                headers = await sent.all_headers()
                profile = {name: headers[name] for name in _PROFILE_HEADERS if name in headers}
                return Visit(response, lines, profile)
        except TimeoutError:
            raise errors.NetworkTimeout(f"{request.url}: the browser did not end in time") from None
        except Error as error:
            kind = errors.NetworkTls if "net::ERR_CERT_" in str(error) else errors.NetworkConnection
            raise door.fault or kind(f"{request.url}: {_first_line(error)}") from None

    @asynccontextmanager
    async def _opened(self, door: BrowserDoor) -> "AsyncIterator[BrowserContext]":
        async with self.started(door.login) as browser:
            yield await new_context(browser)

    @asynccontextmanager
    async def started(self, way_out: "ProxySettings") -> "AsyncIterator[Browser]":
        """The browser until the block ends, with no other way out; or `ServiceBrowser`."""
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 - an extra

        async with async_playwright() as driver:
            try:
                browser = await driver.chromium.launch(
                    executable_path=self.path,
                    chromium_sandbox=os.geteuid() != 0,  # it does not work for root
                    args=_ARGUMENTS,
                    proxy=way_out,
                )
            except Error as error:
                raise errors.ServiceBrowser(f"{self.path} does not start: {_first_line(error)}") from None
            try:
                yield browser
            finally:
                await browser.close()


async def new_context(browser: "Browser", way_out: "ProxySettings | None" = None) -> "BrowserContext":
    """A visitor without a past; with a way out of its own, or the browser's."""
    return await browser.new_context(
        user_agent=_AGENT.format(browser.version.partition(".")[0]),
        extra_http_headers={"Accept-Language": LANGUAGES},
        locale="bg-BG",
        timezone_id=TIME_ZONE,
        service_workers="block",
        accept_downloads=False,
        proxy=way_out,
    )


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


# The cheapest way to a page that works: HTTP, HTTP as a visitor that passed a challenge, or the browser.

log = logging.getLogger(__name__)
_GONE: Final = (RedisError, OSError)
_PROFILE: Final = "chrome"
"""How curl speaks like the browser."""
_LET_IN: Final[frozenset[VerdictKind]] = frozenset({"ok", "redirected", "removed"})


@dataclass(slots=True)
class RedisNotes:
    """Notes of one portal that end by themselves, for all workers; without Redis every count is too much."""

    redis: Redis
    domain: str
    clock: Callable[[], float] = time.time

    async def read(self, name: str) -> Any:  # noqa: ANN401 - whatever was written
        """What was written, until its time is over; then None."""
        with suppress(*_GONE):
            return _valid(await self.redis.get(self._key(name)), self.clock())
        return None

    async def write(self, name: str, value: object, seconds: float) -> None:
        """Keep a value, which JSON must know, for so long."""
        told = json.dumps([value, self.clock() + seconds])
        with suppress(*_GONE):
            await self.redis.set(self._key(name), told, ex=max(1, round(seconds)))

    async def count(self, name: str, seconds: float) -> int:
        """How often this was called within the present span of so many seconds, this time included."""
        key = self._key(f"{name}:{int(self.clock() // seconds)}")
        with suppress(*_GONE):
            async with self.redis.pipeline(transaction=True) as pipe:
                pipe.incr(key)
                pipe.expire(key, max(1, round(seconds)))
                return int((await pipe.execute())[0])
        return sys.maxsize

    async def forget(self, name: str) -> None:
        """Keep it no longer."""
        with suppress(*_GONE):
            await self.redis.delete(self._key(name))

    def _key(self, name: str) -> str:
        return f"lane:{{{self.domain}}}:{name}"


@dataclass(slots=True)
class FileNotes:
    """See `RedisNotes`: for the process that crawls the portal, and the next one; its owner alone."""

    path: Path
    clock: Callable[[], float] = time.time

    async def read(self, name: str) -> Any:  # noqa: ANN401
        """See `RedisNotes`."""
        return _valid(self._all().get(name), self.clock())

    async def write(self, name: str, value: object, seconds: float) -> None:
        """See `RedisNotes`."""
        notes = {**self._all(), name: json.dumps([value, self.clock() + seconds])}
        write_whole(self.path, json.dumps(notes))

    async def count(self, name: str, seconds: float) -> int:
        """See `RedisNotes`."""
        key = f"{name}:{int(self.clock() // seconds)}"
        number = int(await self.read(key) or 0) + 1
        await self.write(key, number, seconds)
        return number

    async def forget(self, name: str) -> None:
        """See `RedisNotes`."""
        notes = {key: value for key, value in self._all().items() if key != name}
        write_whole(self.path, json.dumps(notes))

    def _all(self) -> dict[str, str]:
        """What is still valid; a file that was damaged is as good as none: everything is found out again."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
            now = self.clock()
            return {name: told for name, told in dict(found).items() if _valid(told, now) is not None}
        except (OSError, ValueError, TypeError, RecursionError):
            return {}


def _valid(told: str | bytes | None, now: float) -> Any:  # noqa: ANN401
    value, until = json.loads(told) if told else (None, 0.0)
    return value if now < until else None


@dataclass(frozen=True, slots=True)
class Clearance:
    """By what a visitor that passed a challenge is known: it holds for one way out."""

    cookies: tuple[str, ...]
    """As curl's own lines."""
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LaneMemory:
    """The cheapest lane that works for a portal, who is let through, the budget; for a day."""

    notes: RedisNotes | FileNotes
    pages_per_hour: int

    async def needs_browser(self) -> bool:
        """Whether only the browser worked lately."""
        return bool(await self.notes.read("browser"))

    async def browser_helped(self, exit_name: str, clearance: Clearance) -> None:
        """Remember the lane, and the visitor for who goes the same way out."""
        await self.notes.write("browser", True, LANE_MEMORY_SECONDS)  # noqa: FBT003
        await self.notes.write(self._visitor(exit_name), asdict(clearance), LANE_MEMORY_SECONDS)

    async def browser_failed(self) -> None:
        """It does not help any more: begin with the cheapest again."""
        await self.notes.forget("browser")

    async def may_spend(self) -> bool:
        """Whether the portal's budget has another page in the browser; it is taken."""
        return await self.notes.count("pages", BUDGET_SECONDS) <= self.pages_per_hour

    async def clearance(self, exit_name: str) -> Clearance | None:
        """Of the visitor that was let through on this way out."""
        found = await self.notes.read(self._visitor(exit_name))
        return Clearance(tuple(found["cookies"]), found["headers"]) if found else None

    async def refused(self, exit_name: str) -> None:
        """It is not let through any more."""
        await self.notes.forget(self._visitor(exit_name))

    @staticmethod
    def _visitor(exit_name: str) -> str:
        return f"visitor:{exit_name or 'direct'}"


async def _always() -> bool:
    return True


@dataclass(slots=True)
class BrowserLane:
    """A `Fetcher` of a portal whose file allows the browser.

    Guarantee: the browser is used only after a JavaScript challenge, within the portal's budget. Whatever
    goes wrong in it, the answer that HTTP got stands. Who passed a challenge goes on by HTTP.
    """

    domain: str
    inner: CurlFetcher
    program: BrowserProgram
    memory: LaneMemory
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One browser at a time: who waited may find that it needs none."""
    _given: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)

    async def fetch(
        self, request: Request, exit_name: str = "", may_climb: Callable[[], Awaitable[bool]] = _always
    ) -> Response:
        """The answer; `may_climb` is asked before a challenge is taken to the browser for the first time."""
        known = await self.memory.clearance(exit_name)
        if known is None and request.browser_allowed and await self.memory.needs_browser():
            async with self._turn:
                known = await self.memory.clearance(exit_name)  # of who was here a moment ago
                if known is None and await self.memory.may_spend():
                    try:
                        return await self._by_browser(request, exit_name)
                    except ServiceBrowser as error:
                        log.warning("%s", error)  # nothing was sent: HTTP costs the portal nothing more
        response = await self.inner.fetch(self._as_visitor(request, known))
        if not request.browser_allowed or not asks_for_browser(response, self.program.proof):
            return response
        async with self._turn:
            fresh = await self.memory.clearance(exit_name)
            if fresh is not None and fresh != known:
                # As a visitor that has passed meanwhile, if the portal's turn comes again.
                with suppress(LeftAlone):
                    return await self.inner.fetch(self._as_visitor(request, fresh))
                return response
            await self.memory.refused(exit_name)
            if not (await self.memory.needs_browser() or await may_climb()):
                return response
            return await self._challenged(request, exit_name) or response

    async def close(self) -> None:
        """See `Fetcher`."""
        await self.inner.close()

    async def _challenged(self, request: Request, exit_name: str) -> Response | None:
        if not await self.memory.may_spend():
            log.warning("%s: a challenge, but the browser was used often enough this hour", self.domain)
            return None
        try:
            return await self._by_browser(request, exit_name)
        except CrawlError as error:
            log.warning("%s: the browser does not help: %s", self.domain, error)
            return None

    async def _by_browser(self, request: Request, exit_name: str) -> Response:
        session = request.route.session if request.route else ""
        log.info("%s: to the browser: %s", self.domain, request.url)
        try:
            visit = await self.program.visit(request, self.inner.cookies_of(session))
        except CrawlError:
            await self.memory.browser_failed()
            raise
        verdict = classify(visit.response, request.url, proof=self.program.proof)
        if verdict.kind == "blocked":
            log.warning("%s: the browser is kept out too: %s", self.domain, verdict.detail)
            await self.memory.browser_failed()
        elif verdict.kind in _LET_IN:
            self.inner.give_cookies(session, visit.cookies)
            cookies = tuple(line.decode() for line in visit.cookies)
            self._given.add((session, cookies))
            await self.memory.browser_helped(exit_name, Clearance(cookies, visit.headers))
        return replace(visit.response, strategy="browser")

    def _as_visitor(self, request: Request, known: Clearance | None) -> Request:
        """The request as one of the visitor that was let through."""
        if known is None:
            return request
        given = (request.route.session if request.route else "", known.cookies)
        if given not in self._given:
            self._given = {given} if len(self._given) >= MOST_GIVEN else self._given | {given}
            self.inner.give_cookies(given[0], [line.encode() for line in known.cookies])
        route = request.route and replace(request.route, profile=_PROFILE)
        headers = {**request.headers, **known.headers}
        return replace(request, headers=headers, route=route, profile=_PROFILE)


def browser_lane(
    settings: Settings, config: SiteConfig, fetcher: Fetcher, redis_url: str | None
) -> BrowserLane | None:
    """None unless BROWSER_ENABLED, the portal's file and the machine allow it."""
    if not settings.browser_enabled or not config.browser_allowed or not isinstance(fetcher, CurlFetcher):
        return None
    try:
        path = find_browser(settings.browser_path)
    except BrowserMissing as missing:
        log.warning("%s: no browser for challenges. %s", config.site, missing)
        return None
    notes: RedisNotes | FileNotes
    if redis_url is None:
        notes = FileNotes(settings.data_dir / BROWSER_FOLDER / f"{config.site}.json")
    else:
        redis = connect(redis_url)
        fetcher.also_close(redis.aclose)
        notes = RedisNotes(redis, config.site)
    memory = LaneMemory(notes, settings.browser_pages_per_hour)
    program = BrowserProgram(path, settings.browser_timeout, config.proof)
    return BrowserLane(config.site, fetcher, program, memory)


def check_browser(settings: Settings, sites: Iterable[str]) -> None:
    """Refuse, by `BrowserMissing`, a crawl that is to use the browser where there is none."""
    if settings.browser_enabled and any(load_site_config(site).browser_allowed for site in sites):
        find_browser(settings.browser_path)
