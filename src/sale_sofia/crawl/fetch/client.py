"""The HTTP client: curl with a browser's handshake, every hop checked, every body whole and within limits."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import quote, urldefrag, urljoin

from curl_cffi import CurlError

from sale_sofia.crawl.fetch.addresses import AddressGuard
from sale_sofia.crawl.fetch.base import Request, RequestTimeouts, Response
from sale_sofia.crawl.fetch.curl import CurlPool, Setup, crawl_error
from sale_sofia.crawl.fetch.settings import RETRY_AFTER_DIGITS
from sale_sofia.crawl.resilience.errors import ForeignAddress, NetworkConnection, NetworkTimeout, RedirectLoop
from sale_sofia.crawl.resilience.gate import Turn

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))


class CurlFetcher:
    """Fetches pages over one session: connections and cookies are reused from page to page.

    The session belongs to the loop of the first fetch; after `close` there the next fetch opens another.
    Names are looked up for every hop unless `dns_cache_seconds` lets look-ups be reused.
    """

    def __init__(
        self, profile: str, max_redirects: int, dns_cache_seconds: float = 0.0, *, ca_file: str = ""
    ) -> None:
        self._profile = profile
        self._max_redirects = max_redirects
        self._ca_file = ca_file
        self._guard = AddressGuard(dns_cache_seconds)
        self._pool: CurlPool | None = None
        self._closing: list[Callable[[], Awaitable[None]]] = []

    async def fetch(self, request: Request) -> Response:
        """The answer to one request, redirects followed within its hosts and its time, each in its turn.

        A redirect that robots.txt forbids is not followed: it is the answer, as if its target had sent it.
        Waiting for a turn does not count towards its timeout.
        Raises `CrawlError`: no whole answer could be had; its class says why.
        """
        started = time.monotonic() - _waited(request)
        try:
            async with asyncio.timeout(request.timeout_seconds) as deadline:
                url, answer = await self._follow(request, deadline)
        except TimeoutError:
            raise NetworkTimeout(f"{request.url}: no answer in {request.timeout_seconds:g} s") from None
        seconds = time.monotonic() - _waited(request) - started
        return Response(url, answer.status, answer.headers, answer.body, seconds)

    async def close(self) -> None:
        """Close all connections. A fetch that is still under way fails with `NetworkConnection`."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()
        while self._closing:
            await self._closing.pop()()

    def also_close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Register another `close` to be awaited when this fetcher is closed."""
        self._closing.append(close)

    def forget_sessions(self) -> None:
        """Drop all cookies: the next requests come from a new visitor."""
        if self._pool is not None:
            self._pool.forget_sessions()

    def cookies_of(self, session: str) -> tuple[bytes, ...]:
        """A session's cookies, as curl's own lines; requests without a route use the session named ""."""
        return tuple(self._open().cookies_of(session).lines.values())

    def give_cookies(self, session: str, lines: Iterable[bytes]) -> None:
        """Add cookies that a session got elsewhere."""
        self._open().cookies_of(session).take({}, lines)

    def _open(self) -> CurlPool:
        self._pool = self._pool or CurlPool()
        return self._pool

    async def _follow(self, request: Request, deadline: asyncio.Timeout) -> tuple[str, Response]:
        url, answer = request.url, None
        seen: set[str] = set()
        while len(seen) <= self._max_redirects:
            seen.add(url)
            through_proxy = request.route is not None
            target = await self._guard.check(url, request.hosts, looked_up_elsewhere=through_proxy)
            if answer is not None and not await _allowed(request, url, deadline):
                return url, answer
            setup = Setup(
                profile=request.profile or self._profile,
                pin=target.pin,
                max_bytes=request.max_bytes,
                headers=tuple(request.headers.items()),
                route=request.route,
                ca_file=self._ca_file,
                fresh=len(seen) > 1,
            )
            answer = await self._hop(request, target.url, setup, deadline)
            following = redirect_of(answer.status, answer.headers, url) if request.follow_redirects else None
            if following is None:
                return url, answer
            if following in seen:
                raise RedirectLoop(f"{request.url}: redirected to {following} again")
            url = following
        raise RedirectLoop(f"{request.url}: more than {self._max_redirects} redirects")

    async def _hop(self, request: Request, url: str, setup: Setup, deadline: asyncio.Timeout) -> Response:
        pool, quoted = self._open(), quote(url, safe=PRINTABLE)
        patience = RequestTimeouts(request.connect_timeout_seconds, request.timeout_seconds)
        while True:
            turn = await _turn(request, deadline)
            try:
                answer = await pool.get(quoted, setup, patience, turn)
            except CurlError as error:
                if turn.missed:
                    continue  # connecting outlasted the lease on its place: nothing was sent
                raise crawl_error(error, url, through_proxy=request.route is not None) from error
            if pool.closed:
                # Closing ends open requests as if they were complete.
                raise NetworkConnection(f"{url}: the client was closed")
            return answer


def _waited(request: Request) -> float:
    return request.escort.waited if request.escort else 0.0


async def _turn(request: Request, deadline: asyncio.Timeout) -> Turn:
    """The next turn; the deadline is moved by the time spent waiting for it."""
    if request.escort is None:
        return Turn()
    if fresh := request.escort.fresh:
        return fresh
    with _paused(deadline):
        return await request.escort.turn()


async def _allowed(request: Request, url: str, deadline: asyncio.Timeout) -> bool:
    """Whether robots.txt allows a redirect to this address; perhaps its file has to be fetched first."""
    if request.escort is None or not request.obeys_robots:
        return True
    with _paused(deadline):
        return await request.escort.allows(url)


@contextmanager
def _paused(deadline: asyncio.Timeout) -> Iterator[None]:
    """Stop the deadline's clock inside."""
    clock, ends = asyncio.get_running_loop().time, deadline.when()
    began = clock()
    deadline.reschedule(None)
    yield
    deadline.reschedule(None if ends is None else ends + clock() - began)


def redirect_of(status: int, headers: Mapping[str, str], url: str) -> str | None:
    """Where an answer to this address sends us; None where it does not.

    Raises `ForeignAddress`: the target is not an address.
    """
    location = headers.get("location")
    if status not in REDIRECTS or not location:
        return None
    try:
        # Non-ASCII bytes are sent back unchanged: an old portal's addresses are in windows-1251.
        location = quote(location.encode("latin-1"), safe=PRINTABLE)
        return urldefrag(urljoin(url, location)).url
    except ValueError:
        raise ForeignAddress(f"{url}: redirected to {location!r}, which is no address") from None


def retry_after_seconds(value: str | None, now: datetime | None, date: str | None = None) -> float | None:
    """Seconds to wait by a `Retry-After` header; None for nonsense, a past date, or a date without `now`.

    The server's own `Date` counts before `now`: our clock may be an hour off.
    """
    text = (value or "").strip()
    if not text:
        return None
    if re.fullmatch(rf"\d{{1,{RETRY_AFTER_DIGITS}}}", text, re.ASCII):
        return float(text)
    moment, since = _moment(text), _moment(date or "") or now
    if moment is None or since is None or moment < since:
        return None
    return (moment - since).total_seconds()


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
