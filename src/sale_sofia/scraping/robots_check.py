"""Do the portals let us in? Their robots.txt, asked for as politely as any page."""

import asyncio
from collections.abc import Sequence

from sale_sofia.config.doctor import ROBOTS_WAIT_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import (
    SiteConfig,
    SiteConfigError,
    all_starts,
    load_site_config,
    start_urls_of,
)
from sale_sofia.fetching.base import Fetcher
from sale_sofia.fetching.robots import RobotsGate
from sale_sofia.monitoring.doctor_check import Check, verdict
from sale_sofia.resilience.errors import CrawlError, LeftAlone
from sale_sofia.scraping.assembly import make_fetcher, request_maker, robots_gate, slowed
from sale_sofia.scraping.estimate import rate_per_minute
from sale_sofia.scraping.politely import PoliteFetcher, polite_gate
from sale_sofia.websites.registry import AVAILABLE_SITES, UnknownSite

_SECONDS_PER_MINUTE = 60
_LATER = "Nothing of the portal is crawled while its robots.txt cannot be had; try later."


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
    gate = polite_gate(settings, config, rate_per_minute(settings, config))
    polite = PoliteFetcher(
        fetcher=fetcher,
        gate=gate,
        domain=site,
        longest_wait=ROBOTS_WAIT_SECONDS,
        most_redirects=settings.fetch_max_redirects,
    )
    try:
        robots = robots_gate(settings, polite, request_maker(settings, config, urls), {})
        return verdict(name, *await _judged(settings, config, robots, polite.trouble, urls))
    except LeftAlone as error:
        return verdict(name, str(error), _LATER)
    finally:
        await gate.close()


async def _judged(
    settings: Settings,
    config: SiteConfig,
    robots: RobotsGate,
    trouble: list[CrawlError],
    urls: tuple[str, ...],
) -> tuple[str, str | None]:
    forbidden = [url for url in urls if not await robots.allowed(url)]
    if trouble:
        return f"{type(trouble[0]).__name__}: {trouble[0]}", _LATER
    delay = await robots.crawl_delay(urls[0])
    rate = slowed(rate_per_minute(settings, config), delay)
    pace = f"one request every {_SECONDS_PER_MINUTE / rate:.3g} s"
    asked = f"Crawl-delay {delay:g} s" if delay is not None else "no Crawl-delay"
    said = f"{len(urls) - len(forbidden)} of {len(urls)} start URLs allowed, {asked}, {pace}"
    if not forbidden:
        return said, None
    if settings.robots_obeyed and (other := await _allowed_start(config.site, robots)):
        return f"{said}; a crawl begins at {other}, for robots.txt forbids {', '.join(forbidden)}", None
    obeyed = "they are left alone" if settings.robots_obeyed else "ROBOTS_OBEYED is off: switch it on"
    return f"{said}; forbidden: {', '.join(forbidden)}", f"Take them out of the start URLs; {obeyed}."


async def _allowed_start(site: str, robots: RobotsGate) -> str | None:
    """The first of the portal's other starts that robots.txt allows."""
    for urls in all_starts(site)[1:]:
        if all([await robots.allowed(url) for url in urls]):
            return urls[0]
    return None
