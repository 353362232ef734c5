"""robots.txt by RFC 9309: fetched once per origin and cached; nothing is requested without it."""

import asyncio
import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from protego import Protego

from sale_sofia.crawl.fetch.base import Escort, Fetcher, Request, Response
from sale_sofia.crawl.resilience.errors import CrawlError, LeftAlone, RedirectLoop

READ_BYTES: Final = 500 * 1024
"""RFC 9309, 2.5: at least this much of a robots.txt must be read; the rest is ignored."""
_AGENT: Final = re.compile(r"\s*user[- ]?agent(?:\s*:|\s)(?P<name>[^#]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one origin until they expire; without `robots` nothing there may be requested."""

    expires: float
    robots: Protego | None
    delay: float | None = None
    """Its Crawl-delay for us, in seconds."""


UNKNOWN: Final = Rules(-math.inf, None)


class RobotsGate:
    """Tells what robots.txt allows. Concurrent callers share one fetch of an origin's file.

    No file (4xx) and a file that is not text allow everything. An origin that is unreachable or answers 5xx
    or 429 is left alone for `error_cache_seconds`, unless its last rules are still cached.
    Where our own gate gives the file no turn, nothing is cached and every call raises `LeftAlone`.
    """

    def __init__(  # noqa: PLR0913 - two of them are for tests and for processes that make many gates
        self,
        fetcher: Fetcher,
        make_request: Callable[[str], Request],
        user_agent: str,
        cache_seconds: float,
        error_cache_seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        known: dict[str, Rules] | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._make_request = make_request
        self._user_agent = user_agent
        self._cache_seconds = cache_seconds
        self._error_cache_seconds = error_cache_seconds
        self._clock = clock
        self._rules = {} if known is None else known
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def allowed(self, url: str, escort: Escort | None = None) -> bool:
        """Whether this address may be requested; with an escort the file is fetched in its turns."""
        robots = await self._robots(url, escort)
        return robots is not None and robots.can_fetch(url, self._user_agent)

    async def crawl_delay(self, url: str) -> float | None:
        """Seconds its origin wants between two requests; None where it does not say."""
        await self._robots(url)
        return known_delay(self._rules, url)

    async def can_be_had(self, url: str) -> bool:
        """Whether its origin's rules are known, even old ones; if not, nothing there may be requested now."""
        return await self._robots(url) is not None

    async def _robots(self, url: str, escort: Escort | None = None) -> Protego | None:
        origin = _origin(url)
        if self._is_fresh(origin):
            return self._rules[origin].robots
        async with self._locks[origin]:
            if not self._is_fresh(origin):
                self._rules[origin] = await self._fetch(origin, escort)
        return self._rules[origin].robots

    def _is_fresh(self, origin: str) -> bool:
        return self._clock() < self._rules.get(origin, UNKNOWN).expires

    async def _fetch(self, origin: str, escort: Escort | None) -> Rules:
        request = replace(self._make_request(f"{origin}/robots.txt"), escort=escort, obeys_robots=False)
        robots = None
        try:
            robots = _parsed(await self._fetcher.fetch(request), self._user_agent)
        except LeftAlone:
            raise
        except RedirectLoop:
            # RFC 9309, 2.3.1.2: too many redirects count as no file.
            robots = Protego.parse("")
        except CrawlError:
            pass
        if robots is not None:
            delay = robots.crawl_delay(self._user_agent)
            return Rules(self._clock() + self._cache_seconds, robots, delay)
        # RFC 9309, 2.4: rules that were known hold for as long as no newer ones can be had.
        last = self._rules.get(origin, UNKNOWN)
        return replace(last, expires=self._clock() + self._error_cache_seconds)


def known_delay(rules: Mapping[str, Rules], url: str) -> float | None:
    """The Crawl-delay of an address's origin, if its rules are cached and set one; nothing is fetched."""
    return rules.get(_origin(url), UNKNOWN).delay


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _parsed(answer: Response, user_agent: str) -> Protego | None:
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        return None
    if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES or b"\0" in answer.body:
        return Protego.parse("")
    body = answer.body
    if len(body) > READ_BYTES:
        # Half a rule is another rule: drop the last, incomplete line.
        body = body[:READ_BYTES].rpartition(b"\n")[0]
    return Protego.parse(without_others(body.decode("utf-8-sig", errors="replace"), user_agent))


def without_others(text: str, user_agent: str) -> str:
    """The rules with one shared name for all other agents, and names of ours without a version.

    Protego stores each rule once per name in its group: thousands of both would fill our memory. It would
    also look for the version in our name: RFC 9309, 2.2.1, matches the product alone.
    """
    lines = []
    for line in text.splitlines():
        match = _AGENT.match(line)
        name = match["name"].strip().lower() if match else "*"
        product, version, _ = name.replace("*", "").partition("/")
        product = product.rstrip()
        is_for_us = name == "*" or (product and product in user_agent.lower())
        own = f"User-agent: {product}" if version else line
        lines.append(own if is_for_us else "User-agent: somebody-else")
    return "\n".join(lines)
