"""What the workers share at this moment: who is at work, what waits, each portal's circuit and limiter."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import redis

from sale_sofia.config.parallel import APP_NAME, WORKER_CLIENT
from sale_sofia.config.settings import Settings
from sale_sofia.proxies.model import DomainStats
from sale_sofia.proxies.overview import domain_tables
from sale_sofia.proxies.pool import EVERYWHERE
from sale_sofia.resilience.circuit_breaker import CircuitStatus
from sale_sofia.resilience.errors import ServiceRedis
from sale_sofia.resilience.factory import get_circuit_breaker, get_rate_limiter
from sale_sofia.resilience.redis_client import connect
from sale_sofia.scraping.estimate import rate_per_minute
from sale_sofia.services import redis_client
from sale_sofia.services.errors import ServiceError
from sale_sofia.services.running_redis import known_redis_url
from sale_sofia.websites.registry import get_scraper

_SHARED = {"redis_rate_limiter_enabled": True, "redis_circuit_breaker_enabled": True}


@dataclass(frozen=True, slots=True)
class LiveState:
    """Nothing of it is known where there is no Redis: a crawl in one process keeps this to itself."""

    redis: bool = False
    workers: tuple[str, ...] | None = ()
    """Those that are connected; None where Redis does not let us look."""
    waiting: int | None = None
    """Messages that no worker has taken yet."""
    circuits: Mapping[str, CircuitStatus] = field(default_factory=dict)
    waits: Mapping[str, float] = field(default_factory=dict)
    """Seconds until each portal may be asked again."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Requests per minute, as configured."""


def read_live_state(settings: Settings, sites: Sequence[str]) -> LiveState:
    """All of it, within some seconds; a Redis that does not answer is none."""
    rates = {site: _rate(settings, site) for site in sites}
    try:
        url = known_redis_url(settings)
        with redis_client.connect(url) as client:
            waiting, workers = int(client.llen(APP_NAME)), _workers(client)
        circuits, waits = asyncio.run(_gates(settings.model_copy(update=_SHARED), url, sites))
        return LiveState(
            redis=True, workers=workers, waiting=waiting, circuits=circuits, waits=waits, rates=rates
        )
    except (ServiceError, ServiceRedis, redis.RedisError, OSError):
        return LiveState(rates=rates)


def proxy_rows(settings: Settings) -> Sequence[DomainStats]:
    """How each proxy does everywhere, its address masked; the most promising first."""
    try:
        url: str | None = known_redis_url(settings)
    except ServiceError:
        url = None
    try:
        tables = asyncio.run(domain_tables(settings, url, EVERYWHERE))
    except (ServiceError, ServiceRedis, redis.RedisError, OSError):
        return ()
    return tables[0].rows if tables else ()


def _rate(settings: Settings, site: str) -> float:
    return rate_per_minute(settings, get_scraper(site).config)


def _workers(client: redis.Redis) -> tuple[str, ...] | None:
    """By the names of their connections, which end with them."""
    database = client.connection_pool.connection_kwargs.get("db", 0)
    try:
        clients = client.client_list()
    except redis.ResponseError:  # a user without this right
        return None
    names = {one["name"] for one in clients if int(one["db"]) == database}
    return tuple(sorted(name.removeprefix(WORKER_CLIENT) for name in names if name.startswith(WORKER_CLIENT)))


async def _gates(
    settings: Settings, url: str, sites: Sequence[str]
) -> tuple[Mapping[str, CircuitStatus], dict[str, float]]:
    async with connect(url) as client:
        limiter = get_rate_limiter(settings, partial(_rate, settings), client)
        waits = {site: await limiter.peek(site, time.monotonic()) for site in sites}
        return await get_circuit_breaker(settings, client).get_all_states(), waits
