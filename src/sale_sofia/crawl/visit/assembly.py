"""Builds a visitor from the settings, the site file and the job."""

import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.crawl.fetch.base import Fetcher, Request
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.fetch.robots import RobotsGate, Rules, known_delay
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.resilience.errors import LeftAlone, NetworkError
from sale_sofia.crawl.resilience.factory import get_gate, needs_redis
from sale_sofia.crawl.resilience.limiter import slowed
from sale_sofia.crawl.resilience.policy import ResilienceConfig, RetryRules
from sale_sofia.crawl.resilience.retry import RetryBudget, RetryPolicy, rules_at
from sale_sofia.crawl.urls import allowed_hosts
from sale_sofia.crawl.visit.apart import JudgeApart, page_bounds
from sale_sofia.crawl.visit.judging import Judge
from sale_sofia.crawl.visit.politely import PoliteFetcher
from sale_sofia.crawl.visit.visit import Visitor
from sale_sofia.crawl.visit.writer import BatchLimits, GroupWriter, Ledger
from sale_sofia.history.jobs import Job
from sale_sofia.installation import open_error_log
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.metrics import NO_METER, Meter
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import SiteConfig

_PRODUCT_TOKEN = "sale-sofia"  # noqa: S105 - our name in robots.txt
RequestFor = Callable[[str], Request]


@dataclass(frozen=True, slots=True)
class Tools:
    """What all crawls of a process share."""

    fetcher: Fetcher
    archive: PageArchive | None
    redis_url: str | None
    robots_known: dict[str, Rules] = field(default_factory=dict)
    clock: Callable[[], float] = field(default_factory=lambda: time.time)
    """The clock that waits are judged by. Default: this machine's, looked up when this is created."""


async def make_visitor(
    settings: Settings, config: SiteConfig, job: Job, tools: Tools, meter: Meter = NO_METER
) -> Visitor:
    """A visitor as slow as the slowest of: the settings, the site file, the portal's own Crawl-delay.

    Raises `NetworkError` where the job is under way and robots.txt cannot be fetched now.
    """
    fetcher, start_url, rate = tools.fetcher, job.start_urls[0], rate_per_minute(settings, config)
    if config.proxies.use or config.browser_allowed:
        from sale_sofia.proxies.control import through_proxies  # noqa: PLC0415 - slow, few portals need it

        fetcher = await through_proxies(settings, config, fetcher, tools.redis_url)

    def delay_of(_: str) -> float | None:
        return known_delay(tools.robots_known, start_url) if settings.robots_obeyed else None

    def rate_of(domain: str) -> float:
        return slowed(rate, delay_of(domain))

    # robots.txt goes through the gate too, so a Crawl-delay counts only from when it is known.
    gate = get_gate(settings, rate_of, lambda _: config.politeness.concurrency, tools.redis_url, delay_of)
    polite = PoliteFetcher(
        fetcher=fetcher,
        gate=gate,
        domain=config.site,
        longest_wait=settings.longest_polite_wait,
        most_redirects=settings.fetch_max_redirects,
    )
    request_for = request_maker(settings, config, tuple(job.start_urls))
    robots = robots_gate(settings, polite, request_for, tools.robots_known)
    try:
        delay = await _crawl_delay(robots, job) if settings.robots_obeyed else None
    except BaseException:
        await gate.close()
        raise
    resilience = ResilienceConfig.from_settings(settings)
    return Visitor(
        job_id=job.id,
        judge=JudgeApart(Judge(get_scraper(job.site), config.proof), page_bounds(settings)),
        request_for=request_for,
        seconds=settings.task_timeout,
        longest_wait=settings.longest_polite_wait,
        fetcher=fetcher,
        gate=gate,
        retry=RetryPolicy(_retry_rules(resilience.retry, config), random.random),
        retry_budget=RetryBudget(rules_at(slowed(rate, delay), resilience.retry_budget)),
        robots=robots if settings.robots_obeyed else None,
        archive=tools.archive,
        errors=open_error_log(settings),
        clock=tools.clock,
        meter=meter,
    )


def _retry_rules(rules: RetryRules, config: SiteConfig) -> RetryRules:
    """The retries of a portal: its site file may allow fewer than RETRY_MAX_ATTEMPTS, never more."""
    retries = config.politeness.retries
    return rules if retries is None else replace(rules, max_attempts=min(rules.max_attempts, retries + 1))


async def _crawl_delay(robots: RobotsGate, job: Job) -> float | None:
    """The Crawl-delay of robots.txt; None also when our gate gives no turn now, as every page tries again."""
    try:
        # Without robots.txt all pages count as forbidden: a job under way would lose those it has left.
        if job.requests and not await robots.can_be_had(job.start_urls[0]):
            raise NetworkError(
                f"{job.site}: robots.txt cannot be had now, and without it nothing is asked; "
                f"go on later with `sale-sofia resume {job.id}`"
            )
        return await robots.crawl_delay(job.start_urls[0])
    except LeftAlone:
        return None


def request_maker(settings: Settings, config: SiteConfig, start_urls: tuple[str, ...]) -> RequestFor:
    """Makes the requests of a crawl that begins at these addresses; they stay on its hosts."""
    return partial(
        Request,
        hosts=allowed_hosts(config.hosts, start_urls),
        connect_timeout_seconds=min(config.politeness.connect_timeout_seconds, settings.http_timeout),
        timeout_seconds=min(config.politeness.read_timeout_seconds, settings.http_timeout),
        max_bytes=settings.max_page_bytes,
    )


def make_fetcher(settings: Settings) -> CurlFetcher:
    """The HTTP client that all portals of a run share."""
    return CurlFetcher(settings.fetch_profile, settings.fetch_max_redirects, settings.fetch_dns_cache_seconds)


def make_writer(
    settings: Settings,
    database: Database,
    job: Job,
    config: SiteConfig,
    visitors: int,
    visitor: Visitor,
) -> GroupWriter:
    """A writer with the visitor's clock and meter; a batch is full when two in three visitors wait for it."""
    rules = config.history.rules(settings)
    ledger = Ledger(
        job.id, job.site, job.listing_limit, rules, config.history.conditional, settings.scraping_chunk_size
    )
    most_outcomes = min(settings.checkpoint_batch_size, max(1, visitors * 2 // 3))
    limits = BatchLimits(most_outcomes, settings.checkpoint_seconds)
    return GroupWriter(database, ledger, limits, visitor.clock, visitor.meter)


def robots_gate(
    settings: Settings, fetcher: Fetcher, request_for: RequestFor, rules: dict[str, Rules]
) -> RobotsGate:
    """Tells which addresses of a portal may be requested; `rules` is a cache that many gates can share."""
    return RobotsGate(
        fetcher,
        request_for,
        _PRODUCT_TOKEN,
        settings.robots_cache_seconds,
        settings.robots_error_cache_seconds,
        known=rules,
    )


@asynccontextmanager
async def shared_redis(settings: Settings) -> AsyncIterator[str | None]:
    """The URL of the Redis that a run's gates share; None when all state is in memory.

    Raises `ServiceError` for a server that cannot be used; one that fails later is done without.
    """
    if not needs_redis(settings):
        yield None
        return
    from sale_sofia.crawl.resilience.scripts import check_usable  # noqa: PLC0415 - large, few crawls need it
    from sale_sofia.operations.services.redis import running_redis  # noqa: PLC0415

    with running_redis(settings) as url:
        await check_usable(url)
        yield url
