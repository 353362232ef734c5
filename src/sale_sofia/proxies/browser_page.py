"""A page in the browser, watched: what it may ask for, and when it is no longer a challenge."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sale_sofia.config.browser import MOST_DOCUMENTS
from sale_sofia.fetching.addresses import AddressGuard
from sale_sofia.fetching.base import Request, Response
from sale_sofia.fetching.blocks import asks_for_browser
from sale_sofia.fetching.client import REDIRECTS, redirect_of
from sale_sofia.resilience.errors import AddressRefused, BodyTooLarge, NetworkConnection, NetworkTimeout

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page
    from playwright.async_api import Request as Sent
    from playwright.async_api import Response as Told
    from playwright.async_api import Route as Held

_PAGE: Final = "Document"
_WANTED: Final = frozenset({"document", "script", "xhr", "fetch"})
"""No images, fonts, media or styles: a challenge does not need them, and the portal is spared."""


@dataclass(frozen=True, slots=True)
class Document:
    """A page that came, with the request it came for."""

    response: Response
    sent: "Sent"


@dataclass  # without slots: Playwright notes its own on whose methods it calls
class BrowserPage:
    """Guarantee: whatever the page asks for waits for the portal's turn, and for the verdict on the page."""

    request: Request
    proof: tuple[bytes, ...]
    last: Document | None = None
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

    async def read(self, context: "BrowserContext", ends: float) -> Document:
        """The first document that is no challenge, or the last one there was in time.

        Raises:
            BodyTooLarge: it sent more than any page has.
            NetworkTimeout: there was none in time.
        """
        self._known.set()
        page = await self._watched(context)
        going = asyncio.create_task(page.goto(self.request.url, wait_until="commit", timeout=0))
        going.add_done_callback(self._arrived)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(ends) as self._deadline:
                    await self._wait_for_the_page()
        finally:
            await self._end(going)
        return self._result()

    async def _end(self, going: "asyncio.Task[Told | None]") -> None:
        """From now on nothing is let through: the handlers stay until the browser is closed."""
        self._is_over = True
        self._known.set()
        tasks: list[asyncio.Future[Any]] = [going, *self._asking]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _result(self) -> Document:
        if self._bytes > self.request.max_bytes:
            raise BodyTooLarge(f"{self.request.url}: more than {self.request.max_bytes} bytes")
        if self.last is None:
            raise NetworkTimeout(f"{self.request.url}: no page in time in the browser")
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
        reading = asyncio.create_task(_whole(told))
        try:
            await asyncio.wait({reading, following}, return_when=asyncio.FIRST_COMPLETED)
            response = reading.result() if reading.done() and not reading.exception() else None
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        if response is None:
            return False
        self.last = Document(response, told.request)
        return not asks_for_browser(response, self.proof)

    async def _watched(self, context: "BrowserContext") -> "Page":
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
        return page

    async def _answer_held(self, network: "CDPSession", held: dict[str, Any]) -> None:
        """Playwright asks before a request and not before the redirects that follow from it."""
        from playwright.async_api import Error  # noqa: PLC0415 - an extra

        name, following = {"requestId": held["requestId"]}, _following(held)
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
        self._told.put_nowait(NetworkConnection(f"{self.request.url}: the page begins a download"))

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
            self._told.put_nowait(NetworkTimeout(f"{self.request.url}: one challenge after another"))
            return False
        if self._is_over or not await self._is_permitted(sent.url):
            return False
        if _is_main(sent):
            self._known.clear()
            self._seen += 1
        return not self._is_over

    async def _may_follow(self, url: str, kind: str) -> bool:
        refusal = await self._refusal(url)
        if refusal and self.last is None and kind == _PAGE:  # frames come only after it
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


def _following(held: dict[str, Any]) -> str | None:
    """Where a held answer would lead on to."""
    headers = {one["name"].lower(): one["value"] for one in held.get("responseHeaders", ())}
    return redirect_of(held.get("responseStatusCode", 0), headers, held["request"]["url"])


async def _whole(told: "Told") -> Response:
    return Response(told.url, told.status, await told.all_headers(), await told.body(), 0.0)


def _is_main(sent: "Sent") -> bool:
    """Whether it asks for the page itself."""
    return sent.is_navigation_request() and sent.frame.parent_frame is None
