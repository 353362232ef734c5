"""The cheapest way to a page that works: HTTP, HTTP as a visitor that passed a challenge, or the browser."""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from sale_sofia.crawl.fetch.base import Fetcher, Request, Response, VerdictKind
from sale_sofia.crawl.fetch.blocks import asks_for_browser
from sale_sofia.crawl.fetch.chromium import BrowserMissing, find_browser
from sale_sofia.crawl.fetch.classify import classify
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.errors import CrawlError, LeftAlone, ServiceBrowser
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies.browser import BrowserProgram
from sale_sofia.proxies.settings import BROWSER_FOLDER, BUDGET_SECONDS, LANE_MEMORY_SECONDS, MOST_GIVEN
from sale_sofia.settings.files import write_whole
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import SiteConfig, load_site_config

log = logging.getLogger(__name__)
_GONE: Final = (RedisError, OSError)
_PROFILE: Final = "chrome"
"""How curl speaks like the browser."""
_LET_IN: Final[frozenset[VerdictKind]] = frozenset({"ok", "redirected", "removed"})


@dataclass(slots=True)
class RedisNotes:
    """Notes of one portal that end by themselves, shared by all workers.

    Without Redis nothing is known, and every count is too much.
    """

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
    """See `RedisNotes`: of the one process that crawls the portal, and of the next one after it.

    The file is for its owner alone: cookies are in it.
    """

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
    """The cheapest lane that works for a portal, who is let through, and how often the browser was used.

    Everything is forgotten after a day, so that the cheaper lane is tried again.
    """

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
    """Refuse a crawl that is to use the browser where there is none.

    Raises `BrowserMissing`: what is missing, and how it is had.
    """
    if settings.browser_enabled and any(load_site_config(site).browser_allowed for site in sites):
        find_browser(settings.browser_path)
