"""Single requests to a portal: each waits for its turn at the gate of a crawl, at the crawl's rate."""

import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TypeVar

from sale_sofia.crawl.fetch.base import Fetcher, Request, Response
from sale_sofia.crawl.fetch.client import redirect_of, retry_after_seconds
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
from sale_sofia.crawl.resilience.limiter import DelayOf, no_delay
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.settings.errors import RedisUnreachable
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import SiteConfig

T = TypeVar("T")


class NoMoreRequests(CrawlError):
    """All requests that the portal may get were made."""


def polite_gate(settings: Settings, config: SiteConfig, rate: float, delay: float | None = None) -> Gate:
    """The gate of a crawl; without a running Redis one of our own, as nobody else sends requests then.

    `rate` is in requests per minute; `delay` is the portal's Crawl-delay.
    """
    return open_gate(settings, lambda _: rate, lambda _: config.politeness.concurrency, lambda _: delay)


def open_gate(settings: Settings, rate_of: RateOf, limit_of: LimitOf, delay_of: DelayOf = no_delay) -> Gate:
    """The gate that all crawls share, if a Redis is running; else one of our own."""
    url = None
    if needs_redis(settings):
        from sale_sofia.operations.services.redis import known_redis_url  # noqa: PLC0415 - large

        with suppress(RedisUnreachable):
            url = known_redis_url(settings)
    if not url:
        in_memory = {"redis_circuit_breaker_enabled": False, "redis_rate_limiter_enabled": False}
        settings = settings.model_copy(update=in_memory)
    return get_gate(settings, rate_of, limit_of, url, delay_of)


@dataclass(frozen=True, slots=True)
class _Moved:
    """A redirect to another address."""

    url: str


@dataclass(slots=True, kw_only=True, eq=False)
class PoliteFetcher:
    """A fetcher whose requests each wait for a turn, and so does every redirect; none is repeated.

    It keeps every answer, and every error of a turn.
    """

    fetcher: Fetcher
    gate: Gate
    domain: str
    longest_wait: float
    most_redirects: int
    """For one request."""
    most: float = math.inf
    """The most requests to send, redirects included."""
    sent: int = 0
    answers: list[Response] = field(default_factory=list)
    trouble: list[CrawlError] = field(default_factory=list)

    async def fetch(self, request: Request) -> Response:
        """The answer as it came; raises `CrawlError` where the portal cannot answer now.

        A request with an escort is sent in the escort's turns.
        """
        if request.escort is not None:
            return await self.fetcher.fetch(request)
        return await self.ask(request, _check_answer)

    async def ask(
        self,
        request: Request,
        read: Callable[[Response], Awaitable[T]],
        may_ask: Callable[[str], Awaitable[bool]] | None = None,
    ) -> T:
        """Send the request; returns what `read` makes of the answer. The gate is told how that went.

        `may_ask` says whether a redirect may be followed.

        Raises:
            CrawlError: no turn, no answer, or what `read` raised.
        """
        visited = {request.url}
        while isinstance(result := await self._turn(request, read), _Moved):
            if result.url in visited or len(visited) > self.most_redirects:
                raise RedirectLoop(f"{request.url}: redirected to {result.url} again, or too often")
            if may_ask is not None and not await may_ask(result.url):
                raise RobotsDisallowed(f"redirected to {result.url}, which robots.txt forbids")
            visited.add(result.url)
            request = replace(request, url=result.url)
        return result

    async def _turn(self, request: Request, read: Callable[[Response], Awaitable[T]]) -> T | _Moved:
        if self.sent >= self.most:
            raise NoMoreRequests(f"not asked: {self.sent} requests were made, and no more are")
        async with self.gate.request(self.domain, self.longest_wait) as entry:
            if isinstance(entry, Refusal):
                self.trouble.append(left_alone(entry))
                raise self.trouble[-1]
            # Leaves room for time lost before it is sent; it is sent once.
            seconds = request.timeout_seconds
            budget = TimeoutBudget(seconds + self.longest_wait, time.monotonic)
            escort = GateEscort(self.gate, entry, budget, seconds)
            try:
                result = await self._answer(replace(request, escort=escort), read)
            except CrawlError as error:
                self.trouble.append(error)
                await self.gate.report(escort.admission, Outcome.of(error))
                raise
            await self.gate.report(escort.admission, Outcome.ok())
            return result

    async def _answer(self, request: Request, read: Callable[[Response], Awaitable[T]]) -> T | _Moved:
        self.sent += 1
        response = await self.fetcher.fetch(replace(request, follow_redirects=False))
        self.answers.append(response)
        redirect_url = redirect_of(response.status, response.headers, response.url)
        return _Moved(redirect_url) if redirect_url else await read(response)

    async def close(self) -> None:
        """Close nothing: the fetcher belongs to the caller."""


async def _check_answer(response: Response) -> Response:
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        raise with_its_pause(HttpRateLimit(f"{response.url}: answered {response.status}"), response)
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise with_its_pause(HttpServer(f"{response.url}: answered {response.status}"), response)
    return response


def with_its_pause(error: CrawlError, response: Response) -> CrawlError:
    """The error with the pause that the answer asks for, in seconds or until a date."""
    headers, now = response.headers, datetime.now(UTC)
    error.retry_after_seconds = retry_after_seconds(headers.get("retry-after"), now, headers.get("date"))
    return error
