"""One visit with a browser: the system's Chromium, started for it and ended with it.

It asks for nothing but the page, its scripts and what they ask for, each in the portal's own turn, and ends
as soon as the page is no longer a challenge. No captcha is solved: such a page is the answer, and a block.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sale_sofia.config.browser import CLOSE_SECONDS
from sale_sofia.config.settings import TIME_ZONE
from sale_sofia.fetching.base import Request, Response
from sale_sofia.fetching.curl_handles import LANGUAGES
from sale_sofia.proxies.browser_cookies import browser_cookies, curl_line
from sale_sofia.proxies.browser_door import BrowserDoor
from sale_sofia.proxies.browser_page import BrowserPage, Document
from sale_sofia.resilience.errors import (
    CrawlError,
    NetworkConnection,
    NetworkTimeout,
    NetworkTls,
    ServiceBrowser,
)

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext
    from playwright.async_api import Request as Sent

_ROOT: Final = 0
_ARGUMENTS: Final = (
    "--disable-dev-shm-usage",  # in containers it is too small
    "--disable-quic",  # no proxy leads it
    # No proxy leads its packets either; Chromium has had two names for it.
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-shared-workers",  # what they ask for cannot be held back
)
_PROFILE_HEADERS: Final = ("user-agent", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform")
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
        """Open a page.

        Raises:
            ServiceBrowser: the browser did not start, and nothing was sent.
            CrawlError: no whole page came.
        """
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
                document = await page.read(context, ends)
                return await _visited(document, context, loop.time() - started)
        except TimeoutError:
            raise NetworkTimeout(f"{request.url}: the browser did not end in time") from None
        except Error as error:
            raise door.fault or _meant(error, request.url) from None

    @asynccontextmanager
    async def _opened(self, door: BrowserDoor) -> "AsyncIterator[BrowserContext]":
        async with self._started(door) as browser:
            context = await browser.new_context(
                user_agent=_AGENT.format(browser.version.partition(".")[0]),
                extra_http_headers={"Accept-Language": LANGUAGES},
                locale="bg-BG",
                timezone_id=TIME_ZONE,
                service_workers="block",
                accept_downloads=False,
            )
            yield context

    @asynccontextmanager
    async def _started(self, door: BrowserDoor) -> "AsyncIterator[Browser]":
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 - an extra

        async with async_playwright() as driver:
            try:
                browser = await driver.chromium.launch(
                    executable_path=self.path,
                    # Chromium's sandbox does not work for root.
                    chromium_sandbox=os.geteuid() != _ROOT,
                    args=_ARGUMENTS,
                    proxy={"server": door.url, "username": door.user, "password": door.password},
                )
            except Error as error:
                raise ServiceBrowser(f"{self.path} does not start: {_first_line(error)}") from None
            try:
                yield browser
            finally:
                await browser.close()


async def _visited(document: Document, context: "BrowserContext", seconds: float) -> Visit:
    response = replace(document.response, seconds=seconds)
    lines = tuple(curl_line(dict(one)) for one in await context.cookies())
    return Visit(response, lines, await _profile(document.sent))


async def _profile(sent: "Sent") -> Mapping[str, str]:
    headers = await sent.all_headers()
    return {name: headers[name] for name in _PROFILE_HEADERS if name in headers}


def _meant(error: Exception, url: str) -> CrawlError:
    sentence = f"{url}: {_first_line(error)}"
    return NetworkTls(sentence) if "net::ERR_CERT_" in str(error) else NetworkConnection(sentence)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
