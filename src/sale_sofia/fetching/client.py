"""The HTTP client: curl with a browser's handshake, every hop checked, every body whole and within limits."""

import asyncio
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urldefrag, urljoin

from curl_cffi import CurlError
from curl_cffi.requests import Response as CurlResponse

from sale_sofia.fetching.addresses import AddressGuard, Target
from sale_sofia.fetching.base import Request, Response
from sale_sofia.fetching.curl_errors import crawl_error
from sale_sofia.fetching.curl_session import Hop, HopSession, current_hop
from sale_sofia.resilience.errors import (
    BodyTooLarge,
    BrokenAnswer,
    ConnectionFailed,
    FetchTimeout,
    ForeignAddress,
    RedirectLoop,
)

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))


class Body:
    """Collects a decompressed body; curl stops at once when it outgrows its limit, also in a gzip bomb."""

    __slots__ = ("_limit", "_parts", "_size", "_url")

    def __init__(self, url: str, limit: int) -> None:
        self._url = url
        self._limit = limit
        self._size = 0
        self._parts: list[bytes] = []

    def write(self, chunk: bytes) -> int:
        """Take one piece, as curl's write callback."""
        self._size += len(chunk)
        if self._size > self._limit:
            raise BodyTooLarge(f"{self._url}: more than {self._limit} bytes")
        self._parts.append(chunk)
        return len(chunk)

    def whole(self) -> bytes:
        """All pieces together."""
        return b"".join(self._parts)


class CurlFetcher:
    """Gets pages over one session: connections and cookies are kept from page to page.

    The session belongs to the loop of the first fetch; after `close` there the next fetch opens another.
    Names are looked up anew for every hop unless `dns_cache_seconds` says how long they hold.
    """

    def __init__(self, profile: str, max_redirects: int, dns_cache_seconds: float = 0.0) -> None:
        self._profile = profile
        self._max_redirects = max_redirects
        self._guard = AddressGuard(dns_cache_seconds)
        self._session: HopSession | None = None

    async def fetch(self, request: Request) -> Response:
        """The answer to one request, redirects followed within its hosts and its time.

        Raises:
            CrawlError: no whole answer could be had; its class says why.
        """
        started = time.monotonic()
        try:
            async with asyncio.timeout(request.timeout_seconds):
                url, answer, body = await self._follow(request)
        except TimeoutError:
            raise FetchTimeout(f"{request.url}: no answer in {request.timeout_seconds:g} s") from None
        return Response(url, answer.status_code, _headers(answer), body, time.monotonic() - started)

    async def close(self) -> None:
        """Let go of all connections. A fetch that is still under way ends as `ConnectionFailed`."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _follow(self, request: Request) -> tuple[str, CurlResponse, bytes]:
        url = request.url
        seen: set[str] = set()
        while len(seen) <= self._max_redirects:
            seen.add(url)
            answer, body = await self._hop(await self._guard.check(url, request.hosts), request)
            following = _redirect(answer, url)
            if following is None:
                return url, answer, body
            if following in seen:
                raise RedirectLoop(f"{request.url}: redirected to {following} again")
            url = following
        raise RedirectLoop(f"{request.url}: more than {self._max_redirects} redirects")

    async def _hop(self, target: Target, request: Request) -> tuple[CurlResponse, bytes]:
        body = Body(target.url, request.max_bytes)
        current_hop.set(Hop(request.max_bytes, target.pin))
        try:
            answer = await self._ask(target.url, request, body)
        except CurlError as error:
            raise crawl_error(error, target.url) from error
        except (ValueError, IndexError) as error:
            raise BrokenAnswer(f"{target.url}: headers that cannot be read") from error
        return answer, body.whole()

    async def _ask(self, url: str, request: Request, body: Body) -> CurlResponse:
        session = self._session = self._session or HopSession(self._profile)
        answer = await session.get(
            url,
            headers=dict(request.headers),
            timeout=(request.connect_timeout_seconds, request.timeout_seconds),
            content_callback=body.write,
        )
        if self._session is not session:
            # Closing ends open requests as if they were complete.
            raise ConnectionFailed(f"{url}: the client was closed")
        return answer


def _redirect(answer: CurlResponse, url: str) -> str | None:
    location: str | None = answer.headers.get("location")
    if answer.status_code not in REDIRECTS or not location:
        return None
    try:
        # Bytes beyond ASCII go back as they came: an old portal's addresses are in windows-1251.
        location = quote(location.strip().encode(answer.headers.encoding), safe=PRINTABLE)
        return urldefrag(urljoin(url, location)).url
    except ValueError:
        raise ForeignAddress(f"{url}: redirected to {location!r}, which is no address") from None


def _headers(answer: CurlResponse) -> Mapping[str, str]:
    return {name: value or "" for name, value in answer.headers.items()}
