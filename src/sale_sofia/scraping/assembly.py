"""A visitor put together from the settings, the site file and the job."""

import random
import time
from functools import partial

from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import Politeness, SiteConfig
from sale_sofia.data.jobs import Job
from sale_sofia.fetching.archive import PageArchive
from sale_sofia.fetching.base import Fetcher, Request
from sale_sofia.fetching.robots import RobotsGate
from sale_sofia.resilience.memory import memory_gate
from sale_sofia.resilience.policy import ResilienceConfig
from sale_sofia.resilience.retry import RetryPolicy
from sale_sofia.scraping.estimate import rate_per_minute
from sale_sofia.scraping.urls import allowed_hosts
from sale_sofia.scraping.visit import Visitor
from sale_sofia.websites.registry import get_scraper

_PRODUCT_TOKEN = "sale-sofia"  # noqa: S105 - the name robots.txt may call us by
_SECONDS_PER_MINUTE = 60


async def make_visitor(
    settings: Settings, config: SiteConfig, job: Job, fetcher: Fetcher, archive: PageArchive | None
) -> Visitor:
    """A visitor as gentle as the gentlest of: the settings, the site file, the portal's own Crawl-delay."""
    hosts = allowed_hosts(config.hosts, tuple(job.start_urls))
    request_for = partial(
        page_request, hosts=hosts, politeness=config.politeness, max_bytes=settings.max_page_bytes
    )
    robots = _robots(settings, fetcher, request_for)
    crawl_delay = await robots.crawl_delay(job.start_urls[0]) if robots else None
    rate = slowed(rate_per_minute(settings, config), crawl_delay)
    resilience = ResilienceConfig.from_settings(settings)
    return Visitor(
        site=get_scraper(job.site),
        request_for=request_for,
        longest_wait=settings.longest_polite_wait,
        fetcher=fetcher,
        gate=memory_gate(resilience, lambda _: rate, lambda _: config.politeness.concurrency),
        retry=RetryPolicy(resilience.retry, random.random),
        robots=robots,
        archive=archive,
        clock=time.time,
    )


def page_request(url: str, *, hosts: frozenset[str], politeness: Politeness, max_bytes: int) -> Request:
    """The request for one page of a portal."""
    return Request(
        url,
        hosts,
        connect_timeout_seconds=politeness.connect_timeout_seconds,
        timeout_seconds=politeness.read_timeout_seconds,
        max_bytes=max_bytes,
    )


def slowed(rate: float, crawl_delay: float | None) -> float:
    """Requests per minute under a Crawl-delay: it can only slow us down."""
    return min(rate, _SECONDS_PER_MINUTE / crawl_delay) if crawl_delay else rate


def open_archive(settings: Settings) -> PageArchive:
    """The archive of this installation."""
    return PageArchive(settings.data_dir / "archive", settings.archive_max_mb * 1_000_000)


def _robots(settings: Settings, fetcher: Fetcher, request_for: "partial[Request]") -> RobotsGate | None:
    if not settings.robots_obeyed:
        return None
    return RobotsGate(
        fetcher,
        request_for,
        _PRODUCT_TOKEN,
        settings.robots_cache_seconds,
        settings.robots_error_cache_seconds,
    )
