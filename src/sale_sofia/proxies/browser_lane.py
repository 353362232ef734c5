"""The cheapest way to a page that works: HTTP, HTTP as a visitor that passed a challenge, or the browser."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

from sale_sofia.config.browser import MOST_GIVEN
from sale_sofia.fetching.base import Request, Response, VerdictKind
from sale_sofia.fetching.blocks import asks_for_browser
from sale_sofia.fetching.classify import classify
from sale_sofia.fetching.client import CurlFetcher
from sale_sofia.proxies.browser import BrowserProgram, Visit
from sale_sofia.proxies.lane_memory import Clearance, LaneMemory
from sale_sofia.resilience.errors import CrawlError, LeftAlone, ServiceBrowser

log = logging.getLogger(__name__)
_PROFILE: Final = "chrome"
"""How curl speaks like the browser."""
_LET_IN: Final[frozenset[VerdictKind]] = frozenset({"ok", "redirected", "removed"})


async def _always() -> bool:
    return True


@dataclass(slots=True)
class _Way:
    """One request on its way."""

    request: Request
    exit_name: str
    known: Clearance | None
    """Of the visitor it is sent as."""


@dataclass(slots=True)
class BrowserLane:
    """Guarantee: the browser is used only after a JavaScript challenge, within the portal's budget.

    Whatever goes wrong in it, the answer that HTTP got stands. Who passed a challenge goes on by HTTP.
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
        way = _Way(request, exit_name, await self.memory.clearance(exit_name))
        if way.known is None and request.browser_allowed and await self.memory.needs_browser():
            async with self._turn:
                if (answer := await self._first(way)) is not None:
                    return answer
        response = await self.inner.fetch(self._as_visitor(request, way.known))
        if not request.browser_allowed or not asks_for_browser(response, self.program.proof):
            return response
        async with self._turn:
            return await self._challenged(way, response, may_climb)

    async def _first(self, way: _Way) -> Response | None:
        """The page by the browser, as nothing else works; None where HTTP is to be asked."""
        way.known = await self.memory.clearance(way.exit_name)  # of who was here a moment ago
        if way.known is not None or not await self.memory.may_spend():
            return None
        try:
            return await self._by_browser(way)
        except ServiceBrowser as error:
            log.warning("%s", error)  # nothing was sent: HTTP costs the portal nothing more
            return None

    async def _challenged(
        self, way: _Way, response: Response, may_climb: Callable[[], Awaitable[bool]]
    ) -> Response:
        fresh = await self.memory.clearance(way.exit_name)
        if fresh is not None and fresh != way.known:
            return await self._again(way.request, fresh) or response
        await self.memory.refused(way.exit_name)
        if not (await self.memory.needs_browser() or await may_climb()):
            return response
        if not await self.memory.may_spend():
            log.warning("%s: a challenge, but the browser was used often enough this hour", self.domain)
            return response
        try:
            return await self._by_browser(way)
        except CrawlError as error:
            log.warning("%s: the browser does not help: %s", self.domain, error)
            return response

    async def _again(self, request: Request, known: Clearance) -> Response | None:
        """The page as a visitor that has passed meanwhile, if the portal's turn comes again."""
        try:
            return await self.inner.fetch(self._as_visitor(request, known))
        except LeftAlone:
            return None

    async def _by_browser(self, way: _Way) -> Response:
        request, session = way.request, _session(way.request)
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
            await self._learn(visit, session, way.exit_name)
        return visit.response

    async def _learn(self, visit: Visit, session: str, exit_name: str) -> None:
        self.inner.give_cookies(session, visit.cookies)
        cookies = tuple(line.decode() for line in visit.cookies)
        self._given.add((session, cookies))
        await self.memory.browser_helped(exit_name, Clearance(cookies, visit.headers))

    def _as_visitor(self, request: Request, known: Clearance | None) -> Request:
        """The request as one of the visitor that was let through."""
        if known is None:
            return request
        given = (_session(request), known.cookies)
        if given not in self._given:
            self._given = {given} if len(self._given) >= MOST_GIVEN else self._given | {given}
            self.inner.give_cookies(given[0], [line.encode() for line in known.cookies])
        route = request.route and replace(request.route, profile=_PROFILE)
        headers = {**request.headers, **known.headers}
        return replace(request, headers=headers, route=route, profile=_PROFILE)


def _session(request: Request) -> str:
    return request.route.session if request.route else ""


@dataclass(frozen=True, slots=True)
class ChallengedFetcher:
    """A portal without proxies, whose file allows the browser; see `Fetcher`."""

    lane: BrowserLane

    async def fetch(self, request: Request) -> Response:
        """See `Fetcher`."""
        return await self.lane.fetch(request)

    async def close(self) -> None:
        """See `Fetcher`."""
        await self.lane.inner.close()
