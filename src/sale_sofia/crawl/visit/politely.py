"""Single requests of a portal, each in its turn: through the gate of a crawl, and at its rate."""

import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TypeVar

from sale_sofia.crawl.fetch.base import Fetcher, Request, Response
from sale_sofia.crawl.fetch.client import redirect_of
from sale_sofia.crawl.fetch.escort import GateEscort, left_alone
from sale_sofia.crawl.resilience.errors import (
    CrawlError,
    HttpRateLimit,
    HttpServer,
    RedirectLoop,
    RobotsDisallowed,
)
from sale_sofia.crawl.resilience.factory import LimitOf, RateOf, get_gate, needs_redis
from sale_sofia.crawl.resilience.gate import Gate, Outcome, Refusal
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.settings.errors import RedisUnreachable
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import SiteConfig

Found = TypeVar("Found")


class NoMoreRequests(CrawlError):
    """The portal was asked as often as it was to be asked."""


def polite_gate(settings: Settings, config: SiteConfig, rate: float) -> Gate:
    """The gate that a crawl has; without a Redis that runs, one of our own: nobody else asks then.

    `rate` is in requests per minute.
    """
    return open_gate(settings, lambda _: rate, lambda _: config.politeness.concurrency)


def open_gate(settings: Settings, rate_of: RateOf, limit_of: LimitOf) -> Gate:
    """The gate that all crawls share, if there is a Redis that runs; else one of our own."""
    url = None
    if needs_redis(settings):
        from sale_sofia.operations.services.redis import known_redis_url  # noqa: PLC0415 - large

        with suppress(RedisUnreachable):
            url = known_redis_url(settings)
    if not url:
        memory = {"redis_circuit_breaker_enabled": False, "redis_rate_limiter_enabled": False}
        settings = settings.model_copy(update=memory)
    return get_gate(settings, rate_of, limit_of, url)


@dataclass(frozen=True, slots=True)
class _Moved:
    """An answer that sends us to another address."""

    url: str


@dataclass(slots=True, kw_only=True, eq=False)
class PoliteFetcher:
    """A fetcher whose requests wait for the portal's turn, each step of a redirect too; none is repeated.

    What went wrong is kept, and so is every answer.
    """

    fetcher: Fetcher
    gate: Gate
    domain: str
    longest_wait: float
    most_redirects: int
    """Followed for one request."""
    most: float = math.inf
    """Requests that the portal is asked at most, redirects included."""
    sent: int = 0
    answers: list[Response] = field(default_factory=list)
    trouble: list[CrawlError] = field(default_factory=list)

    async def fetch(self, request: Request) -> Response:
        """An answer as it came, unless the portal cannot answer now: that is an error.

        A request that has an escort is sent in its turns.
        """
        if request.escort is not None:
            return await self.fetcher.fetch(request)
        return await self.ask(request, _answered)

    async def ask(
        self,
        request: Request,
        read: Callable[[Response], Awaitable[Found]],
        may_ask: Callable[[str], Awaitable[bool]] | None = None,
    ) -> Found:
        """What `read` makes of the answer; the gate hears how that went.

        `may_ask` says whether a redirect may be followed.

        Raises:
            CrawlError: no turn or no answer, or what `read` said of it.
        """
        been = {request.url}
        while isinstance(found := await self._turn(request, read), _Moved):
            if found.url in been or len(been) > self.most_redirects:
                raise RedirectLoop(f"{request.url}: redirected to {found.url} again, or too often")
            if may_ask is not None and not await may_ask(found.url):
                raise RobotsDisallowed(f"redirected to {found.url}, which robots.txt forbids")
            been.add(found.url)
            request = replace(request, url=found.url)
        return found

    async def _turn(self, request: Request, read: Callable[[Response], Awaitable[Found]]) -> Found | _Moved:
        if self.sent >= self.most:
            raise NoMoreRequests(f"not asked: {self.sent} requests were made, and no more are")
        async with self.gate.request(self.domain, self.longest_wait) as entry:
            if isinstance(entry, Refusal):
                self.trouble.append(left_alone(entry))
                raise self.trouble[-1]
            # For the time that may be lost before it is sent; it is sent once.
            seconds = request.timeout_seconds
            budget = TimeoutBudget(seconds + self.longest_wait, time.monotonic)
            escort = GateEscort(self.gate, entry, budget, seconds)
            try:
                found = await self._answer(replace(request, escort=escort), read)
            except CrawlError as error:
                self.trouble.append(error)
                await self.gate.report(escort.admission, Outcome.of(error))
                raise
            await self.gate.report(escort.admission, Outcome.ok())
            return found

    async def _answer(self, request: Request, read: Callable[[Response], Awaitable[Found]]) -> Found | _Moved:
        self.sent += 1
        response = await self.fetcher.fetch(replace(request, follow_redirects=False))
        self.answers.append(response)
        following = redirect_of(response.status, response.headers, response.url)
        return _Moved(following) if following else await read(response)

    async def close(self) -> None:
        """It is another's."""


async def _answered(response: Response) -> Response:
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise HttpRateLimit(f"{response.url}: answered {response.status}")
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise HttpServer(f"{response.url}: answered {response.status}")
    return response
