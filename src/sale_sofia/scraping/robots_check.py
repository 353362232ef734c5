"""Do the portals let us in? Their robots.txt, asked for as politely as any page."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from sale_sofia.config.doctor import ROBOTS_WAIT_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import SiteConfig, SiteConfigError, load_site_config, start_urls_of
from sale_sofia.fetching.base import Fetcher, Request, Response
from sale_sofia.fetching.robots import RobotsGate
from sale_sofia.monitoring.doctor_check import Check, verdict
from sale_sofia.resilience.errors import CrawlError, NetworkError
from sale_sofia.resilience.factory import get_gate, needs_redis
from sale_sofia.resilience.gate import Gate, Refusal
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.scraping.assembly import make_fetcher, request_maker, robots_gate, slowed
from sale_sofia.scraping.estimate import rate_per_minute
from sale_sofia.services.errors import RedisUnreachable
from sale_sofia.services.running_redis import known_redis_url
from sale_sofia.websites.registry import AVAILABLE_SITES, UnknownSite

_SECONDS_PER_MINUTE = 60
_MEMORY = {"redis_circuit_breaker_enabled": False, "redis_rate_limiter_enabled": False}


def check_robots(settings: Settings, sites: Sequence[str] = ()) -> list[Check]:
    """What each portal's robots.txt says of its start URLs; all portals without `sites`.

    Raises:
        UnknownSite: a name of no portal.
    """
    if unknown := [site for site in sites if site not in AVAILABLE_SITES]:
        raise UnknownSite(f"no site {unknown[0]!r}; allowed: {', '.join(AVAILABLE_SITES)}")
    return asyncio.run(_check_all(settings, sites or AVAILABLE_SITES))


async def _check_all(settings: Settings, sites: Sequence[str]) -> list[Check]:
    fetcher = make_fetcher(settings)
    try:
        return list(await asyncio.gather(*(_check(settings, site, fetcher) for site in sites)))
    finally:
        await fetcher.close()


async def _check(settings: Settings, site: str, fetcher: Fetcher) -> Check:
    name = f"robots {site}"
    config = load_site_config(site)
    if config.proxies.use:
        return verdict(name, "not asked: this portal is asked through proxies alone")
    try:
        urls = start_urls_of(site)
    except SiteConfigError as error:
        return verdict(name, str(error), "Name start_urls in its site file.")
    gate = _gate(settings, config)
    polite = _PoliteFetcher(fetcher, gate, site)
    try:
        robots = robots_gate(settings, polite, request_maker(settings, config, urls), {})
        return verdict(name, *await _judged(settings, config, robots, polite.trouble, urls))
    finally:
        await gate.close()


async def _judged(
    settings: Settings, config: SiteConfig, robots: RobotsGate, trouble: list[str], urls: tuple[str, ...]
) -> tuple[str, str | None]:
    forbidden = [url for url in urls if not await robots.allowed(url)]
    if trouble:
        return trouble[0], "Nothing of the portal is crawled while its robots.txt cannot be had; try later."
    delay = await robots.crawl_delay(urls[0])
    rate = slowed(rate_per_minute(settings, config), delay)
    pace = f"one request every {_SECONDS_PER_MINUTE / rate:.3g} s"
    asked = f"Crawl-delay {delay:g} s" if delay is not None else "no Crawl-delay"
    said = f"{len(urls) - len(forbidden)} of {len(urls)} start URLs allowed, {asked}, {pace}"
    if not forbidden:
        return said, None
    obeyed = "they are left alone" if settings.robots_obeyed else "ROBOTS_OBEYED is off: switch it on"
    return f"{said}; forbidden: {', '.join(forbidden)}", f"Take them out of the start URLs; {obeyed}."


def _gate(settings: Settings, config: SiteConfig) -> Gate:
    """The gate that a crawl has; without a Redis that runs, one of our own: nobody else asks then."""
    rate = rate_per_minute(settings, config)
    url = _known_redis(settings) if needs_redis(settings) else None
    own = settings if url else settings.model_copy(update=_MEMORY)
    return get_gate(own, lambda _: rate, lambda _: config.politeness.concurrency, url)


def _known_redis(settings: Settings) -> str | None:
    try:
        return known_redis_url(settings)
    except RedisUnreachable:
        return None


@dataclass(frozen=True, slots=True)
class _PoliteFetcher:
    """A fetcher whose requests wait for the portal's turn; what went wrong is kept, in words."""

    fetcher: Fetcher
    gate: Gate
    domain: str
    trouble: list[str] = field(default_factory=list)

    async def fetch(self, request: Request) -> Response:
        async with self.gate.request(self.domain, ROBOTS_WAIT_SECONDS) as entry:
            if isinstance(entry, Refusal):
                self.trouble.append(f"not asked, the portal is to be left alone ({entry.why})")
                raise NetworkError(entry.why)
            try:
                response = await self.fetcher.fetch(request)
            except CrawlError as error:
                self.trouble.append(f"{request.url}: {type(error).__name__}: {error}")
                await self.gate.report(entry, Outcome.of(error))
                raise
            if (
                response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
                or response.status == HTTPStatus.TOO_MANY_REQUESTS
            ):
                self.trouble.append(f"{request.url}: answered {response.status}")
            else:
                await self.gate.report(entry, Outcome.ok())
            return response

    async def close(self) -> None:
        """It is another's."""
