"""The simulated portals: at the rates of the shipped ones, with their time to answer, down for a while."""

import asyncio
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.resilience.errors import HttpServer
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia.websites.site_file import load_site_config
from scale_clock import now

SECONDS_PER_MINUTE = 60.0
ANSWER_SECONDS = (0.1, 0.6)
"""A portal's answer takes so long; evenly spread. With the rates it is all that is assumed of portals."""


ROUNDING_SECONDS = 1e-6


class Domain(NamedTuple):
    """One portal."""

    name: str
    per_minute: float
    concurrency: int
    pages: int

    @property
    def bound_seconds(self) -> float:
        """No crawl of its pages is shorter."""
        return (self.pages - 1) * SECONDS_PER_MINUTE / self.per_minute


class Sent(NamedTuple):
    """One request as the portal saw it."""

    domain: str
    at: float
    page: str
    ok: bool


@dataclass
class Portals:
    """All portals, a log of what they were asked, and the span in which some of them are down."""

    domains: Mapping[str, Domain]
    rng: random.Random
    down: frozenset[str] = frozenset()
    down_from: float = 0.0
    down_until: float = 0.0
    log: list[Sent] = field(default_factory=list)

    async def fetch(self, request: Request) -> Response:
        """See `Fetcher`. One that is down answers, as quickly as it does, that it cannot.

        Raises:
            HttpServer: it is down.
        """
        domain = request.url.split("/")[2]
        ok = not (domain in self.down and self.down_from <= now() < self.down_until)
        self.log.append(Sent(domain, now(), request.url, ok))
        seconds = self.rng.uniform(*ANSWER_SECONDS)
        await asyncio.sleep(seconds)
        if not ok:
            raise HttpServer("503: down")
        return Response(request.url, 200, {}, b"", seconds)


@cache
def shipped_politeness() -> tuple[tuple[float, int], ...]:
    """Requests per minute and places of each shipped portal."""
    all_of_them = [load_site_config(site).politeness for site in AVAILABLE_SITES]
    return tuple((SECONDS_PER_MINUTE / one.delay_seconds, one.concurrency) for one in all_of_them)


def make_domains(count: int, pages: tuple[int, int], rng: random.Random) -> dict[str, Domain]:
    """Portals with the rates of the shipped ones by turns, each with its own number of pages."""
    kinds = shipped_politeness()
    made = [
        Domain(f"portal{number}.test", *kinds[number % len(kinds)], rng.randint(*pages))
        for number in range(count)
    ]
    return {one.name: one for one in made}


def most_polite_seconds(domains: Mapping[str, Domain]) -> float:
    """The politeness bound: the portal that takes longest."""
    return max(one.bound_seconds for one in domains.values())


def earliness(instants: Iterable[tuple[str, float]], domains: Mapping[str, Domain]) -> float:
    """By how many seconds one came, at worst, sooner after the last of its portal than the rate allows."""
    last: dict[str, float] = {}
    worst = 0.0
    for name, at in sorted(instants, key=lambda one: one[1]):
        gap = SECONDS_PER_MINUTE / domains[name].per_minute
        worst = max(worst, gap - (at - last.get(name, -math.inf)))
        last[name] = at
    return worst


def too_early(instants: Iterable[tuple[str, float]], domains: Mapping[str, Domain]) -> int:
    """How many came so early that it is no rounding: an early one by more than a millionth of a second."""
    last: dict[str, float] = {}
    found = 0
    for name, at in sorted(instants, key=lambda one: one[1]):
        gap = SECONDS_PER_MINUTE / domains[name].per_minute
        found += at - last.get(name, -math.inf) < gap - ROUNDING_SECONDS
        last[name] = at
    return found
