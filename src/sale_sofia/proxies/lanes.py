"""The cheapest way to a page that works: HTTP, HTTP as a visitor that passed a challenge, or the browser."""

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from sale_sofia.crawl.fetch.base import Fetcher, Request, Response, VerdictKind
from sale_sofia.crawl.fetch.blocks import asks_for_browser
from sale_sofia.crawl.fetch.chromium import BrowserMissing, find_browser
from sale_sofia.crawl.fetch.classify import classify
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.errors import CrawlError, LeftAlone, ServiceBrowser
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.proxies.browser import BrowserProgram, Visit
from sale_sofia.proxies.settings import BROWSER_FOLDER, BUDGET_SECONDS, LANE_MEMORY_SECONDS, MOST_GIVEN
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import SiteConfig, load_site_config

# Short notes that end by themselves: in Redis for all workers, in a file where there is only one process.

_PREFIX: Final = "lane"
_GONE: Final = (RedisError, OSError)


class Notes(Protocol):
    """Notes of one portal by their names."""

    async def read(self, name: str) -> Any:  # noqa: ANN401 - whatever was written
        """What was written, until its time is over; then None."""

    async def write(self, name: str, value: object, seconds: float) -> None:
        """Keep a value, which JSON must know, for so long."""

    async def count(self, name: str, seconds: float) -> int:
        """How often this was called within the present span of so many seconds, this time included."""

    async def forget(self, name: str) -> None:
        """Keep it no longer."""


@dataclass(slots=True)
class RedisNotes:
    """See `Notes`: shared by all workers. Without Redis nothing is known, and every count is too much."""

    redis: Redis
    domain: str
    clock: Callable[[], float] = time.time

    async def read(self, name: str) -> Any:  # noqa: ANN401
        """See `Notes`."""
        with suppress(*_GONE):
            return _valid(await self.redis.get(self._key(name)), self.clock())
        return None

    async def write(self, name: str, value: object, seconds: float) -> None:
        """See `Notes`."""
        told = json.dumps([value, self.clock() + seconds])
        with suppress(*_GONE):
            await self.redis.set(self._key(name), told, ex=max(1, round(seconds)))

    async def count(self, name: str, seconds: float) -> int:
        """See `Notes`."""
        key = self._key(f"{name}:{int(self.clock() // seconds)}")
        with suppress(*_GONE):
            async with self.redis.pipeline(transaction=True) as pipe:
                pipe.incr(key)
                pipe.expire(key, max(1, round(seconds)))
                return int((await pipe.execute())[0])
        return sys.maxsize

    async def forget(self, name: str) -> None:
        """See `Notes`."""
        with suppress(*_GONE):
            await self.redis.delete(self._key(name))

    def _key(self, name: str) -> str:
        return f"{_PREFIX}:{{{self.domain}}}:{name}"


@dataclass(slots=True)
class FileNotes:
    """See `Notes`: of the one process that crawls the portal, and of the next one after it."""

    path: Path
    clock: Callable[[], float] = time.time

    async def read(self, name: str) -> Any:  # noqa: ANN401
        """See `Notes`."""
        return _valid(self._all().get(name), self.clock())

    async def write(self, name: str, value: object, seconds: float) -> None:
        """See `Notes`."""
        self._save({**self._all(), name: json.dumps([value, self.clock() + seconds])})

    async def count(self, name: str, seconds: float) -> int:
        """See `Notes`."""
        key = f"{name}:{int(self.clock() // seconds)}"
        number = int(await self.read(key) or 0) + 1
        await self.write(key, number, seconds)
        return number

    async def forget(self, name: str) -> None:
        """See `Notes`."""
        self._save({key: value for key, value in self._all().items() if key != name})

    def _all(self) -> dict[str, str]:
        """What is still valid; a file that was damaged is as good as none: everything is found out again."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
            now = self.clock()
            return {name: told for name, told in dict(found).items() if _valid(told, now) is not None}
        except (OSError, ValueError, TypeError, RecursionError):
            return {}

    def _save(self, notes: dict[str, str]) -> None:
        """Whole or not at all, for its owner alone: cookies are in it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self.path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(notes, file)
        fresh.replace(self.path)


def _valid(told: str | bytes | None, now: float) -> Any:  # noqa: ANN401
    value, until = json.loads(told) if told else (None, 0.0)
    return value if now < until else None


# Which lane is the cheapest that works for a portal, who is let through, how often the browser was used.

_BROWSER = "browser"
_PAGES = "pages"


@dataclass(frozen=True, slots=True)
class Clearance:
    """By what a visitor that passed a challenge is known: it holds for one way out."""

    cookies: tuple[str, ...]
    """As curl's own lines."""
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LaneMemory:
    """Everything is forgotten after a day, so that the cheaper lane is tried again."""

    notes: Notes
    pages_per_hour: int

    async def needs_browser(self) -> bool:
        """Whether only the browser worked lately."""
        return bool(await self.notes.read(_BROWSER))

    async def browser_helped(self, exit_name: str, clearance: Clearance) -> None:
        """Remember the lane, and the visitor for who goes the same way out."""
        await self.notes.write(_BROWSER, True, LANE_MEMORY_SECONDS)  # noqa: FBT003
        await self.notes.write(_key(exit_name), asdict(clearance), LANE_MEMORY_SECONDS)

    async def browser_failed(self) -> None:
        """It does not help any more: begin with the cheapest again."""
        await self.notes.forget(_BROWSER)

    async def may_spend(self) -> bool:
        """Whether the portal's budget has another page in the browser; it is taken."""
        return await self.notes.count(_PAGES, BUDGET_SECONDS) <= self.pages_per_hour

    async def clearance(self, exit_name: str) -> Clearance | None:
        """Of the visitor that was let through on this way out."""
        found = await self.notes.read(_key(exit_name))
        return Clearance(tuple(found["cookies"]), found["headers"]) if found else None

    async def refused(self, exit_name: str) -> None:
        """It is not let through any more."""
        await self.notes.forget(_key(exit_name))


def _key(exit_name: str) -> str:
    return f"visitor:{exit_name or 'direct'}"


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


# The browser lane of a portal, put together from the settings and its file.


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
    memory = LaneMemory(_notes(settings, config.site, fetcher, redis_url), settings.browser_pages_per_hour)
    program = BrowserProgram(path, settings.browser_timeout, config.proof)
    return BrowserLane(config.site, fetcher, program, memory)


def check_browser(settings: Settings, sites: Iterable[str]) -> None:
    """Refuse a crawl that is to use the browser where there is none.

    Raises:
        BrowserMissing: what is missing, and how it is had.
    """
    if settings.browser_enabled and any(load_site_config(site).browser_allowed for site in sites):
        find_browser(settings.browser_path)


def _notes(settings: Settings, site: str, fetcher: CurlFetcher, redis_url: str | None) -> Notes:
    if redis_url is None:
        return FileNotes(settings.data_dir / BROWSER_FOLDER / f"{site}.json")
    redis = connect(redis_url)
    fetcher.also_close(redis.aclose)
    return RedisNotes(redis, site)
