"""Fetches one photo at a time from its portal's photo hosts, within their rate and robots.txt."""

from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import NamedTuple, Self
from urllib.parse import urlsplit, urlunsplit

from sale_sofia.crawl.fetch.base import Fetcher, Request, Response
from sale_sofia.crawl.fetch.robots import Rules, known_delay
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.resilience.errors import (
    CrawlError,
    HttpBlocked,
    HttpClient,
    HttpRateLimit,
    HttpServer,
    ParseHostile,
    RobotsDisallowed,
)
from sale_sofia.crawl.resilience.gate import Gate
from sale_sofia.crawl.resilience.limiter import slowed
from sale_sofia.crawl.visit.assembly import robots_gate
from sale_sofia.crawl.visit.politely import PoliteFetcher, open_gate, with_its_pause
from sale_sofia.flats.settings import LONGEST_ADDRESS
from sale_sofia.settings.model import Settings
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.site_file import SiteConfig

_KEPT_OUT = frozenset(
    {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS}
)

_ACCEPTED = {"Accept": "image/jpeg,image/webp,image/png"}
"""The formats we decode; a browser's own list would bring newer ones."""


class PhotoPlace(NamedTuple):
    """Where a photo is fetched."""

    url: str
    netloc: str
    """The only host contacted for it."""
    domain: str
    """The name under which the gate counts the requests."""
    rate: float
    """Requests per minute."""


def place_of(settings: Settings, site: str, advert_url: str, url: str) -> PhotoPlace | None:
    """Where a photo is fetched; None: nowhere, as it is not on a photo host of its portal.

    Photos on a portal's own host share the rate of its pages. For an advert that was found elsewhere than on
    its portal (a simulator's) only photos on that host are fetched, never any of the real portal. None are
    fetched of a portal that is switched off or has no site file any more.
    """
    if site not in AVAILABLE_SITES or not get_scraper(site).enabled:
        return None
    config = get_scraper(site).config
    try:
        parts, found_at = urlsplit(url), urlsplit(advert_url)
        host, own = parts.hostname or "", found_at.netloc.lower()
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or len(url) > LONGEST_ADDRESS:
        return None
    netloc = parts.netloc.lower()
    at_home = (found_at.hostname or "") in config.hosts
    if netloc == own:  # an address without a scheme has that of its page
        url = urlunsplit(parts._replace(scheme=found_at.scheme))
    if netloc == own or (at_home and host in config.hosts):
        return PhotoPlace(url, netloc, config.site, rate_per_minute(settings, config))
    domain = next((name for name in config.photo_hosts if host == name or host.endswith(f".{name}")), None)
    if domain is None or not at_home:
        return None
    return PhotoPlace(url, netloc, domain, settings.rate_limit(domain, settings.photo_rate_per_minute))


class PhotoAnswer(NamedTuple):
    """The bytes of a photo, or why there are none, and what it cost."""

    body: bytes
    requests: int
    error: CrawlError | None = None


@dataclass(slots=True, kw_only=True)
class PhotoFetcher:
    """Fetches photos; close it at the end. Never raises for what a server does."""

    settings: Settings
    fetcher: Fetcher
    gate: Gate
    rates: dict[str, float]
    _rules: dict[str, Rules]
    _origins: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, settings: Settings, fetcher: Fetcher) -> Self:
        """A fetcher with the same kind of gate as crawls."""
        rates: dict[str, float] = {}
        rules: dict[str, Rules] = {}
        origins: dict[str, str] = {}

        def delay_of(domain: str) -> float | None:
            return known_delay(rules, origins[domain]) if settings.robots_obeyed else None

        def rate_of(domain: str) -> float:
            return slowed(rates[domain], delay_of(domain))

        gate = open_gate(settings, rate_of, lambda _: 1, delay_of)
        return cls(settings=settings, fetcher=fetcher, gate=gate, rates=rates, _rules=rules, _origins=origins)

    async def fetch(self, site: str, place: PhotoPlace) -> PhotoAnswer:
        """One photo, whole and within its size."""
        self.rates[place.domain], self._origins[place.domain] = place.rate, place.url
        polite, request_for = self._polite(place.domain), self._request_for(place, get_scraper(site).config)
        robots = robots_gate(self.settings, self._polite(place.domain), request_for, self._rules)
        may_ask = robots.allowed if self.settings.robots_obeyed else None
        try:
            if may_ask is not None and not await may_ask(place.url):
                raise RobotsDisallowed(f"robots.txt of {place.netloc} forbids it")
            body = await polite.ask(request_for(place.url), _body, may_ask)
        except CrawlError as error:
            return PhotoAnswer(b"", polite.sent, error)
        return PhotoAnswer(body, polite.sent)

    def _polite(self, domain: str) -> PoliteFetcher:
        """A new one for each photo, as it keeps every answer."""
        return PoliteFetcher(
            fetcher=self.fetcher,
            gate=self.gate,
            domain=domain,
            longest_wait=self.settings.longest_polite_wait,
            most_redirects=self.settings.fetch_max_redirects,
        )

    def _request_for(self, place: PhotoPlace, config: SiteConfig) -> "partial[Request]":
        return partial(
            Request,
            hosts=frozenset({place.netloc}),
            connect_timeout_seconds=min(
                config.politeness.connect_timeout_seconds, self.settings.http_timeout
            ),
            timeout_seconds=min(config.politeness.read_timeout_seconds, self.settings.http_timeout),
            max_bytes=self.settings.photo_max_bytes,
            headers=_ACCEPTED,
        )

    async def close(self) -> None:
        """Close the gate; the caller closes the fetcher."""
        await self.gate.close()


async def _body(response: Response) -> bytes:
    """The picture's bytes; any other answer is raised as a `CrawlError`, from which the gate learns."""
    sentence = f"{response.url}: answered {response.status}"
    error: CrawlError | None = None
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        error = HttpRateLimit(sentence)
    elif response.status in _KEPT_OUT:
        error = HttpBlocked(sentence)
    elif response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        error = HttpServer(sentence)
    elif response.status != HTTPStatus.OK:
        error = HttpClient(sentence)
    elif not response.headers.get("content-type", "").lower().startswith("image/"):
        error = ParseHostile(f"{response.url}: no picture by its own type")
    if error is None:
        return response.body
    raise with_its_pause(error, response)
