"""One small request to a portal through a proxy, within the portal's rate: does it let the proxy in?"""

import time
from dataclasses import replace

from sale_sofia.config.proxies import CHECK_CONNECT_SECONDS, CHECK_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import SiteConfig, available_sites, load_site_config
from sale_sofia.fetching.base import Fetcher, Request
from sale_sofia.fetching.classify import classify
from sale_sofia.fetching.client import REDIRECTS
from sale_sofia.fetching.escort import GateEscort
from sale_sofia.proxies.checker import Canary
from sale_sofia.proxies.model import Proxy, Use
from sale_sofia.proxies.routes import route_of
from sale_sofia.proxies.uses import use_of_error, use_of_verdict
from sale_sofia.resilience.errors import CrawlError
from sale_sofia.resilience.factory import get_gate
from sale_sofia.resilience.gate import Gate, Refusal
from sale_sofia.resilience.outcome import Outcome
from sale_sofia.resilience.timeout_budget import TimeoutBudget

_SECONDS_PER_MINUTE = 60


def sites_with_proxies() -> list[SiteConfig]:
    """The portals whose files ask for proxies."""
    return [config for site in available_sites() if (config := load_site_config(site)).proxies.use]


def needs_proxies(site: str) -> bool:
    """Whether the portal's file asks for proxies."""
    return load_site_config(site).proxies.use


def canary_request(config: SiteConfig, max_bytes: int) -> Request:
    """The small page of a portal."""
    url = f"https://{config.hosts[0]}{config.proxies.canary}"
    hosts = frozenset(config.hosts)
    return Request(url, hosts, CHECK_CONNECT_SECONDS, CHECK_SECONDS, max_bytes, follow_redirects=False)


def make_canary(request: Request, fetcher: Fetcher, gate: Gate, domain: str) -> Canary:
    """Asks the portal through a proxy if its turn has come; otherwise nothing is sent and nothing learned."""

    async def ask(proxy: Proxy) -> Use:
        async with gate.request(domain, 0.0) as entry:
            if isinstance(entry, Refusal):
                return Use("neutral", why=entry.why)
            # A slow proxy keeps no place of the crawl's; without it there is no further turn, so no redirect.
            await gate.report(entry, Outcome.neutral())
            seconds = request.timeout_seconds
            escort = GateEscort(gate, entry, TimeoutBudget(seconds, time.monotonic), seconds)
            route = route_of(proxy.address, f"canary-{proxy.id}")
            return await _asked(fetcher, replace(request, route=route, escort=escort))

    return ask


async def _asked(fetcher: Fetcher, request: Request) -> Use:
    try:
        response = await fetcher.fetch(request)
    except CrawlError as error:
        return use_of_error(error)
    if response.status in REDIRECTS:
        return Use("neutral", why="redirected")
    return use_of_verdict(classify(response, request.url), response.seconds)


def canary_gate(settings: Settings, redis_url: str | None) -> Gate:
    """The gate that the crawl uses too: more proxies never mean more load on a portal."""

    def rate(domain: str) -> float:
        return settings.rate_limit(
            domain, _SECONDS_PER_MINUTE / load_site_config(domain).politeness.delay_seconds
        )

    def places(domain: str) -> int:
        return load_site_config(domain).politeness.concurrency

    return get_gate(settings, rate, places, redis_url)
