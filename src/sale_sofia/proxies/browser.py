"""Visits with a browser: the system's Chromium, started for each visit and closed after it.

It requests only the page, its scripts and what they request, each within the portal's rate limit, and ends
as soon as the page is no longer a challenge. No captcha is solved: such a page is returned, as a block.
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

from sale_sofia.crawl.fetch.addresses import AddressGuard, CheckedAddress
from sale_sofia.crawl.fetch.base import Fetcher, Request, RequestTimeouts, Response, VerdictKind
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
    COOKIE_SESSIONS_MOST,
    DOOR_CONNECT_SECONDS,
    LANE_MEMORY_SECONDS,
    MOST_DOCUMENTS,
    ROTATOR_HOST,
)
from sale_sofia.proxies.tunnel import LoopbackServer, Streams, TunnelFailed, carry_both, read_head, tunnel
from sale_sofia.settings.files import write_whole
from sale_sofia.settings.model import TIME_ZONE, Settings
from sale_sofia.websites.site_file import SiteConfig, load_site_config

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page, ProxySettings, Route
    from playwright.async_api import Request as BrowserRequest
    from playwright.async_api import Response as BrowserResponse

_RESOURCE_TYPES: Final = frozenset({"document", "script", "xhr", "fetch"})
"""No images, fonts, media or styles: a challenge does not need them, and the portal is spared."""


@dataclass  # without slots: Playwright sets attributes on the owners of its callbacks
class BrowserPage:
    """Guarantee: each request of the page waits for the portal's rate limit and the verdict on the page."""

    request: Request
    proof: tuple[bytes, ...]
    last: "tuple[Response, BrowserRequest] | None" = None
    _page: "Page | None" = None
    _outcomes: "asyncio.Queue[BrowserResponse | BaseException]" = field(default_factory=asyncio.Queue)
    _guard: AddressGuard = field(default_factory=lambda: AddressGuard(0.0))
    _seen: int = 0
    _bytes: int = 0
    _judged: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the last document is known to be a challenge or not."""
    _is_over: bool = False
    _permits: "set[asyncio.Future[bool]]" = field(default_factory=set)
    _deadline: asyncio.Timeout | None = None

    async def read(self, context: "BrowserContext", ends: float) -> "tuple[Response, BrowserRequest]":
        """Return the first page that is no challenge, else the last one in time; or raise `CrawlError`."""
        self._judged.set()
        page = self._page = await context.new_page()
        await context.route("**/*", self._decide)
        await context.route_web_socket("**/*", lambda socket: socket.close())
        page.on("response", self._on_response)
        page.on("download", self._on_download)
        network = await context.new_cdp_session(page)
        network.on("Network.dataReceived", self._on_data)
        network.on("Fetch.requestPaused", partial(self._on_paused, network))
        await network.send("Network.enable")
        await network.send("Fetch.enable", {"patterns": [{"requestStage": "Response"}]})
        navigation = asyncio.create_task(page.goto(self.request.url, wait_until="commit", timeout=0))
        navigation.add_done_callback(self._on_navigated)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(ends) as self._deadline:
                    await self._wait_for_the_page()
        finally:
            # Nothing is let through any more: the handlers stay until the browser is closed.
            self._is_over = True
            self._judged.set()
            tasks: list[asyncio.Future[Any]] = [navigation, *self._permits]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._bytes > self.request.max_bytes:
            raise errors.BodyTooLarge(f"{self.request.url}: more than {self.request.max_bytes} bytes")
        if self.last is None:
            raise errors.NetworkTimeout(f"{self.request.url}: no page in time in the browser")
        return self.last

    async def _wait_for_the_page(self) -> None:
        outcome = await self._outcomes.get()
        while not isinstance(outcome, BaseException):
            following = asyncio.create_task(self._outcomes.get())
            try:
                if await self._is_the_page(outcome, following):
                    return
                self._judged.set()
                outcome = await following
            finally:
                following.cancel()
        if self.last is None:
            raise outcome

    async def _is_the_page(self, document: "BrowserResponse", following: "asyncio.Task[Any]") -> bool:
        """Whether a document is no challenge; one replaced by another before it was read counts as one."""
        reading = asyncio.create_task(self._read_whole(document))
        try:
            await asyncio.wait({reading, following}, return_when=asyncio.FIRST_COMPLETED)
            response = reading.result() if reading.done() and not reading.exception() else None
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        if response is None:
            return False
        self.last = response, document.request
        return not asks_for_browser(response, self.proof)

    @staticmethod
    async def _read_whole(document: "BrowserResponse") -> Response:
        return Response(
            document.url, document.status, await document.all_headers(), await document.body(), 0.0
        )

    async def _on_paused(self, network: "CDPSession", event: dict[str, Any]) -> None:
        """Decide on redirects, which Playwright follows without asking its routes."""
        from playwright.async_api import Error  # noqa: PLC0415 - an extra

        key = {"requestId": event["requestId"]}
        headers = {header["name"].lower(): header["value"] for header in event.get("responseHeaders", ())}
        target = redirect_of(event.get("responseStatusCode", 0), headers, event["request"]["url"])
        may = target is None or await self._may_follow(target, event["resourceType"])
        with suppress(Error):  # the page is gone
            if may:
                await network.send("Fetch.continueRequest", key)
            else:
                await network.send("Fetch.failRequest", {**key, "errorReason": "Aborted"})

    def _on_navigated(self, navigation: "asyncio.Task[BrowserResponse | None]") -> None:
        if not navigation.cancelled() and (error := navigation.exception()):
            self._outcomes.put_nowait(error)

    def _on_download(self, _: object) -> None:
        """End the visit: a download was not checked against the rate limit, and no challenge begins one."""
        self._outcomes.put_nowait(errors.NetworkConnection(f"{self.request.url}: the page begins a download"))

    def _on_response(self, response: "BrowserResponse") -> None:
        if _is_main(response.request) and response.status not in REDIRECTS:
            self._outcomes.put_nowait(response)

    def _on_data(self, event: dict[str, Any]) -> None:
        """Count unpacked bytes; more than the limit ends the visit at once."""
        self._bytes += int(event["dataLength"])
        if self._bytes > self.request.max_bytes and self._deadline is not None and not self._is_over:
            self._deadline.reschedule(asyncio.get_running_loop().time())

    async def _decide(self, route: "Route") -> None:
        from playwright.async_api import Error  # noqa: PLC0415 - an extra

        try:
            may = route.request.frame.page == self._page and await self._may_send(route.request)
        except Error:
            may = False  # a window that is just being opened
        with suppress(Error):  # the page is gone
            await (route.continue_() if may else route.abort())

    async def _may_send(self, request: "BrowserRequest") -> bool:
        if request.resource_type not in _RESOURCE_TYPES or await self._refusal(request.url):
            return False
        if not _is_main(request):
            await self._judged.wait()
        elif self._seen >= MOST_DOCUMENTS:
            self._outcomes.put_nowait(
                errors.NetworkTimeout(f"{self.request.url}: one challenge after another")
            )
            return False
        if self._is_over or not await self._is_permitted(request.url):
            return False
        if _is_main(request):
            self._judged.clear()
            self._seen += 1
        return not self._is_over

    async def _may_follow(self, url: str, kind: str) -> bool:
        refusal = await self._refusal(url)
        if refusal and self.last is None and kind == "Document":  # frames come only after it
            self._outcomes.put_nowait(refusal)
        return not (refusal or self._is_over) and await self._is_permitted(url)

    async def _refusal(self, url: str) -> AddressRefused | None:
        """Return why an address may never be requested; None where it may."""
        try:
            await self._guard.check(url, self.request.hosts, looked_up_elsewhere=True)
        except AddressRefused as error:
            return error
        return None

    async def _is_permitted(self, url: str) -> bool:
        if self.request.escort is None:
            return False
        permit = asyncio.ensure_future(self.request.escort.may_ask(url))
        self._permits.add(permit)
        permit.add_done_callback(self._permits.discard)
        await asyncio.wait({permit})
        return not permit.cancelled() and permit.result()


def _is_main(request: "BrowserRequest") -> bool:
    """Whether it requests the page itself."""
    return request.is_navigation_request() and request.frame.parent_frame is None


_ONLY_HTTP: Final = "#HttpOnly_"
_FIELDS: Final = 7  # domain, subdomains, path, secure, expires, name, value


def curl_line(cookie: Mapping[str, Any]) -> bytes:
    """Format a browser cookie as a line of curl's cookie file; without an expiry it ends with the session."""
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
    """Convert curl's lines to cookies for the browser."""
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

    A proxy on the loopback with a random password for one visit. It connects to the portal's own hosts alone,
    through one proxy or directly: so the real proxy's password never leaves this process, a redirect to a
    foreign host fails, and nothing the browser does by itself bypasses the proxy.
    """

    request: Request
    """Its hosts and its route are the only ones allowed."""
    user: str = field(default_factory=lambda: secrets.token_hex(8))
    password: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    fault: CrawlError | None = None
    """Why the last connection failed."""
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
        """The proxy settings for the browser."""
        return {"server": self.url, "username": self.user, "password": self.password}

    async def _serve(self, near: Streams) -> None:
        head = await read_head(near)
        login = b64encode(f"{self.user}:{self.password}".encode())
        attempts = (match["login"].encode("latin-1") for match in _LOGIN.finditer(head))
        if not any(compare_digest(attempt, login) for attempt in attempts):
            near[1].write(_WHO)
            await near[1].drain()
        elif (destination := _parse_head(head)) is not None:
            await self._lead(near, *destination)

    async def _lead(self, near: Streams, url: str, first: bytes) -> None:
        try:
            away = self.request.route is not None
            target = await self._guard.check(url, self.request.hosts, looked_up_elsewhere=away)
            async with self._way(target) as far:
                if not self._holds():
                    return  # it took so long that the slot may be another's
                (far if first else near)[1].write(first or _OPEN)
                await carry_both(near, far, self._holds)
        except TunnelFailed as error:
            self.fault = errors.ServiceProxy(f"{url}: {error}")
        except CrawlError as error:
            self.fault = error

    def _holds(self) -> bool:
        return self.request.escort is None or self.request.escort.holds()

    @asynccontextmanager
    async def _way(self, target: CheckedAddress) -> AsyncIterator[Streams]:
        """Connect through the proxy, or directly to an address that the guard has checked."""
        if route := self.request.route:
            proxy = replace(parse_proxy(route.proxy), user=route.user, password=route.password)
            patience = RequestTimeouts(DOOR_CONNECT_SECONDS, DOOR_CONNECT_SECONDS)
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


def _parse_head(head: str) -> tuple[str, bytes] | None:
    """Return the origin to connect to and the bytes to send first: none for a tunnel, else one request."""
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    if match := _CONNECT.fullmatch(first):
        return f"https://{match['place']}", b""
    if not (match := _PLAIN.fullmatch(first)):
        return None
    headers = [line for line in lines if not line.lower().startswith(_NOT_PASSED_ON)]
    request = [f"{match['method']} {match['path']} HTTP/1.1", *headers, "Connection: close", "", ""]
    return match["origin"], "\r\n".join(request).encode("latin-1")


_ARGUMENTS: Final = (
    "--disable-dev-shm-usage",  # in containers it is too small
    "--disable-quic",  # no proxy carries it
    # No proxy carries its packets either; Chromium has had two names for it.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-shared-workers",  # their requests cannot be intercepted
)
_PROFILE_HEADERS: tuple[str, ...] = ("user-agent", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform")
_AGENT: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.0.0 Safari/537.36"
)


@dataclass(frozen=True, slots=True)
class BrowserVisit:
    """The page of a visit, and what makes further requests look like the same visitor's."""

    response: Response
    cookies: tuple[bytes, ...]
    """As curl's own lines."""
    headers: Mapping[str, str]
    """Those that identify the browser."""


@dataclass(slots=True)
class BrowserProgram:
    """A Chromium to start."""

    path: Path
    seconds: float
    """The longest time of one visit."""
    proof: tuple[bytes, ...] = ()

    async def visit(self, request: Request, cookies: Iterable[bytes]) -> BrowserVisit:
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
                return BrowserVisit(response, lines, profile)
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
        """Run the browser until the block ends, with this proxy alone; or raise `ServiceBrowser`."""
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
    """Open a context without cookies or history; with a proxy of its own, or the browser's."""
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
"""The curl profile that resembles the browser."""
_LET_IN: Final[frozenset[VerdictKind]] = frozenset({"ok", "redirected", "removed"})


@dataclass(slots=True)
class RedisNotes:
    """Notes of one portal that expire, shared by all workers; while Redis is down every count is maximal."""

    redis: Redis
    domain: str
    clock: Callable[[], float] = time.time

    async def read(self, name: str) -> Any:  # noqa: ANN401 - whatever was written
        """Return what was written; None once it has expired."""
        with suppress(*_GONE):
            return _valid(await self.redis.get(self._key(name)), self.clock())
        return None

    async def write(self, name: str, value: object, seconds: float) -> None:
        """Keep a JSON value for so long."""
        text = json.dumps([value, self.clock() + seconds])
        with suppress(*_GONE):
            await self.redis.set(self._key(name), text, ex=max(1, round(seconds)))

    async def count(self, name: str, seconds: float) -> int:
        """Count calls within the present span of so many seconds, this one included."""
        key = self._key(f"{name}:{int(self.clock() // seconds)}")
        with suppress(*_GONE):
            async with self.redis.pipeline(transaction=True) as pipe:
                pipe.incr(key)
                pipe.expire(key, max(1, round(seconds)))
                return int((await pipe.execute())[0])
        return sys.maxsize

    async def forget(self, name: str) -> None:
        """Delete a note."""
        with suppress(*_GONE):
            await self.redis.delete(self._key(name))

    def _key(self, name: str) -> str:
        return f"lane:{{{self.domain}}}:{name}"


@dataclass(slots=True)
class FileNotes:
    """See `RedisNotes`: for this process and the next; only its owner can read the file."""

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
        """Return what is still valid; a damaged file counts as none."""
        try:
            notes = json.loads(self.path.read_text("utf-8"))
            now = self.clock()
            return {name: text for name, text in dict(notes).items() if _valid(text, now) is not None}
        except (OSError, ValueError, TypeError, RecursionError):
            return {}


def _valid(text: str | bytes | None, now: float) -> Any:  # noqa: ANN401
    value, until = json.loads(text) if text else (None, 0.0)
    return value if now < until else None


@dataclass(frozen=True, slots=True)
class Clearance:
    """What identifies a visitor that passed a challenge; valid for one exit address."""

    cookies: tuple[str, ...]
    """As curl's own lines."""
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LaneMemory:
    """Remembers for a day which lane works for a portal and who is let through; counts its budget."""

    notes: RedisNotes | FileNotes
    pages_per_hour: int

    async def needs_browser(self) -> bool:
        """Whether only the browser has worked lately."""
        return bool(await self.notes.read("browser"))

    async def browser_helped(self, exit_name: str, clearance: Clearance) -> None:
        """Remember the lane, and the visitor for requests through the same exit."""
        await self.notes.write("browser", True, LANE_MEMORY_SECONDS)  # noqa: FBT003
        await self.notes.write(self._visitor(exit_name), asdict(clearance), LANE_MEMORY_SECONDS)

    async def browser_failed(self) -> None:
        """Start with the cheapest lane again: the browser no longer helps."""
        await self.notes.forget("browser")

    async def may_spend(self) -> bool:
        """Spend one page of the portal's browser budget; False where none is left."""
        return await self.notes.count("pages", BUDGET_SECONDS) <= self.pages_per_hour

    async def clearance(self, exit_name: str) -> Clearance | None:
        """Return the clearance of the visitor that was let through by this exit."""
        note = await self.notes.read(self._visitor(exit_name))
        return Clearance(tuple(note["cookies"]), note["headers"]) if note else None

    async def refused(self, exit_name: str) -> None:
        """Forget the visitor, who is no longer let through."""
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
    goes wrong in it, the HTTP response stands. A visitor that passed a challenge continues by HTTP.
    """

    domain: str
    inner: CurlFetcher
    program: BrowserProgram
    memory: LaneMemory
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One browser at a time: a request that waited may find that it needs none."""
    _delivered: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)
    """Sessions with the cookies that they have."""

    async def fetch(
        self, request: Request, exit_name: str = "", may_climb: Callable[[], Awaitable[bool]] = _always
    ) -> Response:
        """See `Fetcher`; `may_climb` is called before a challenge first goes to the browser."""
        clearance = await self.memory.clearance(exit_name)
        if clearance is None and request.browser_allowed and await self.memory.needs_browser():
            async with self._turn:
                clearance = await self.memory.clearance(exit_name)  # perhaps earned while we waited
                if clearance is None and await self.memory.may_spend():
                    try:
                        return await self._by_browser(request, exit_name)
                    except ServiceBrowser as error:
                        log.warning("%s", error)  # nothing was sent: HTTP costs the portal nothing more
        response = await self.inner.fetch(self._as_visitor(request, clearance))
        if not request.browser_allowed or not asks_for_browser(response, self.program.proof):
            return response
        async with self._turn:
            fresh = await self.memory.clearance(exit_name)
            if fresh is not None and fresh != clearance:
                # Retry as a visitor that has passed meanwhile, if the rate limit permits another request.
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
            self._delivered.add((session, cookies))
            await self.memory.browser_helped(exit_name, Clearance(cookies, visit.headers))
        return replace(visit.response, strategy="browser")

    def _as_visitor(self, request: Request, clearance: Clearance | None) -> Request:
        """Make the request look like one of the visitor that was let through."""
        if clearance is None:
            return request
        session = request.route.session if request.route else ""
        if (session, clearance.cookies) not in self._delivered:
            if len(self._delivered) >= COOKIE_SESSIONS_MOST:
                self._delivered.clear()
            self._delivered.add((session, clearance.cookies))
            self.inner.give_cookies(session, [line.encode() for line in clearance.cookies])
        route = request.route and replace(request.route, profile=_PROFILE)
        headers = {**request.headers, **clearance.headers}
        return replace(request, headers=headers, route=route, profile=_PROFILE)


def browser_lane(
    settings: Settings, config: SiteConfig, fetcher: Fetcher, redis_url: str | None
) -> BrowserLane | None:
    """Return the lane; None unless BROWSER_ENABLED, the portal's file and the machine allow it."""
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
    """Raise `BrowserMissing` if a crawl of these sites is to use a browser and there is none."""
    if settings.browser_enabled and any(load_site_config(site).browser_allowed for site in sites):
        find_browser(settings.browser_path)
