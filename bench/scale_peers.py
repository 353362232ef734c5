"""The same portals and pages by two plain ways to keep a rate on many workers, which share nothing.

`own_buckets`: each worker takes any page and has a token bucket of its own for each portal, at the portal's
rate. `divided`: pages are dealt out beforehand, and each worker keeps the rate divided by the number of
workers, by a delay between two requests of a portal as Scrapy's download slots do (with their random half
more or less). Waiting costs these workers nothing: they have all portals in hand at once, and only the
answers take time.
"""

import asyncio
import random
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import Any

import scale_clock
from sale_sofia.crawl.fetch.base import Request
from scale_clock import now
from scale_parts import request_for
from scale_world import SECONDS_PER_MINUTE, Domain, Portals, too_early

RANDOM_DELAY = (0.5, 1.5)
"""Scrapy's RANDOMIZE_DOWNLOAD_DELAY, which is on by default."""


def own_buckets(domains: Mapping[str, Domain], workers: int, seed: int) -> dict[str, Any]:
    """Every worker is polite, and all together are not."""
    return _figures(domains, seed, lambda portals: _all_take(portals, workers))


def divided(domains: Mapping[str, Domain], workers: int, seed: int) -> dict[str, Any]:
    """Each worker's share is kept, whether the others need theirs or not."""
    return _figures(domains, seed, lambda portals: _all_dealt(portals, workers))


def _figures(domains: Mapping[str, Domain], seed: int, way: Any) -> dict[str, Any]:  # noqa: ANN401
    portals = Portals(domains, random.Random(seed))
    scale_clock.run(way(portals))
    return {
        "requests": len(portals.log),
        "makespan": round(max(one.at for one in portals.log), 1),
        "over_the_rate": too_early([(one.domain, one.at) for one in portals.log], domains),
    }


async def _all_take(portals: Portals, workers: int) -> None:
    """The queue has every portal's first page, then every portal's second, and so on."""
    most = max(one.pages for one in portals.domains.values())
    every = [(page, one) for page in range(most) for one in portals.domains.values() if page < one.pages]
    queue = deque((_request(one, page), one) for page, one in every)
    await asyncio.gather(*(_take(portals, queue) for _ in range(workers)))


async def _take(portals: Portals, queue: "deque[tuple[Request, Domain]]") -> None:
    free_at: dict[str, float] = defaultdict(float)
    while queue:
        request, domain = queue.popleft()
        await asyncio.sleep(free_at[domain.name] - now())
        free_at[domain.name] = now() + SECONDS_PER_MINUTE / domain.per_minute
        await portals.fetch(request)


async def _all_dealt(portals: Portals, workers: int) -> None:
    hands: dict[tuple[int, str], list[Request]] = defaultdict(list)
    for domain in portals.domains.values():
        for page in range(domain.pages):
            hands[portals.rng.randrange(workers), domain.name].append(_request(domain, page))
    slots = (_slot(portals, portals.domains[name], workers, hand) for (_, name), hand in hands.items())
    await asyncio.gather(*slots)


async def _slot(portals: Portals, domain: Domain, workers: int, requests: list[Request]) -> None:
    """One worker's download slot of one portal."""
    delay = workers * SECONDS_PER_MINUTE / domain.per_minute
    for number, request in enumerate(requests):
        if number:
            await asyncio.sleep(delay * portals.rng.uniform(*RANDOM_DELAY))
        await portals.fetch(request)


def _request(domain: Domain, page: int) -> Request:
    return request_for(f"https://{domain.name}/{page}", seconds=SECONDS_PER_MINUTE)
