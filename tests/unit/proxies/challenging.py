"""A portal that lets only browsers through, and somebody who goes along and notes what is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from aiohttp import web

from sale_sofia.crawl.fetch.base import Request
from sale_sofia.crawl.resilience.gate import Turn
from sale_sofia_simulator.faults import CHALLENGE_PAGE, CHALLENGE_SCRIPT, SCRIPT_PATH, has_passed
from unit.crawl.fetch.portal import Portal

ADVERT = f"<!doctype html><html><body>{'Обява като всяка друга. ' * 400}</body></html>".encode("cp1251")
CAPTCHA = b"<!doctype html><html><body><div class='g-recaptcha' data-sitekey='0'></div></body></html>"
FOR_EVER = (
    b"<html><head><script id='anubis_challenge'></script><script>location.reload()</script></html>".replace(
        b"'", b'"'
    )
)
FAVICON_PATH = "/favicon.ico"


@dataclass
class Escorted:
    """Permits everything, unless told otherwise."""

    seconds: float = 300.0
    forbidden: str = ""
    urls: list[str] = field(default_factory=list)
    waited: float = 0.0
    fresh: Turn | None = None

    async def turn(self) -> Turn:
        return Turn()

    async def allows(self, url: str) -> bool:
        return not self.forbidden or self.forbidden not in url

    async def may_ask(self, url: str) -> bool:
        self.urls.append(url)
        return await self.allows(url)

    def holds(self) -> bool:
        return True

    def seconds_left(self) -> float:
        return self.seconds


@dataclass
class Challenger:
    """Answers like a portal whose pages want a browser; `pages` are told as they are."""

    page: bytes = ADVERT
    closed: bool = True
    pages: Mapping[str, Callable[[], web.StreamResponse]] = field(default_factory=dict)
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Path, cookies and browser of every request."""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        if request.path == FAVICON_PATH:  # a browser asks for it when it likes
            return web.Response(status=404)
        self.seen.append((request.path, headers.get("Cookie", ""), headers.get("User-Agent", "")))
        if request.path in self.pages:
            return self.pages[request.path]()
        if request.path == SCRIPT_PATH:
            return web.Response(body=CHALLENGE_SCRIPT, content_type="text/javascript")
        if self.closed and not has_passed(headers):
            return html(CHALLENGE_PAGE, status=403)
        return html(self.page, charset="windows-1251")

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.seen]


def html(body: bytes, status: int = 200, charset: str = "utf-8", **headers: str) -> web.Response:
    kind = {"Content-Type": f"text/html; charset={charset}"}
    return web.Response(status=status, body=body, headers=kind | headers)


def asking(
    log: Portal, escort: Escorted | None, path: str = "/advert", max_bytes: int = 1_000_000
) -> Request:
    host = f"127.0.0.1:{log.port}"
    request = Request(f"http://{host}{path}", frozenset({host}), 60.0, 60.0, max_bytes)
    return replace(request, escort=escort, browser_allowed=escort is not None)
