"""A visitor of imot.bg for a portal on the loopback that does, request by request, what it is told."""

import asyncio
import math
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from protego import Protego

from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.crawl.fetch.base import Request
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.fetch.robots import RobotsGate, Rules
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.memory import memory_gate
from sale_sofia.crawl.resilience.policy import BreakerRules, ResilienceConfig, RetryBudgetRules, RetryRules
from sale_sofia.crawl.resilience.retry import RetryBudget, RetryPolicy
from sale_sofia.crawl.visit.apart import Bounds, JudgeApart
from sale_sofia.crawl.visit.judging import Judge
from sale_sofia.crawl.visit.outcomes import Outcome
from sale_sofia.crawl.visit.visit import Visitor
from sale_sofia.listings.page import Page
from sale_sofia.telemetry.error_log import ErrorLog
from sale_sofia.websites.base import Site
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.render import render_world
from sale_sofia_simulator.world import make_world
from unit.crawl.fetch.portal import Portal, portal

NOW = 1_700_000_000.0
RESET = "reset"
SILENCE = "silence"
Step = web.Response | str
BOUNDS = Bounds(seconds=5, patience=60, memory=500_000_000, desk=2_000_000)
GENEROUS = RetryBudgetRules(share=1.0, per_minute=0.0, most=10.0)


@cache
def advert() -> tuple[str, bytes]:
    """The path and the page of a sound advert."""
    pages = render_world(make_world(3, 5))
    page = next(one for one in pages if one.site == "imot.bg" and one.truth["kind"] == "listing")
    return urlsplit(page.url).path, page.body


def html(body: bytes | str, status: int = 200, **headers: str) -> web.Response:
    raw = body if isinstance(body, bytes) else body.encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.Response(status=status, body=raw, headers={"Content-Type": "text/html", **named})


def good() -> web.Response:
    return html(advert()[1], Content_Type="text/html; charset=windows-1251")


@asynccontextmanager
async def scripted(*steps: Step) -> AsyncIterator[Portal]:
    """A portal whose first request meets the first step, and so on; the last step stays."""
    left = list(steps)

    async def answer(asked: web.BaseRequest) -> web.StreamResponse:
        step = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(step, web.Response):
            return _copy(step)
        if step == SILENCE:
            await asyncio.sleep(60)
        _reset(asked)
        return web.Response()

    async with portal(answer) as log:
        yield log


def _copy(answer: web.Response) -> web.Response:
    return web.Response(status=answer.status, body=answer.body, headers=answer.headers.copy())


def _reset(asked: web.BaseRequest) -> None:
    assert asked.transport is not None
    connection = asked.transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    asked.transport.abort()


@dataclass
class Visiting:
    """Everything around a visitor that a test may want to set."""

    folder: Path
    rate: float = 60_000
    fail_max: int = 100
    reset_seconds: float = 60.0
    seconds: float = 20.0
    timeout: float = 5.0
    budget: RetryBudgetRules = GENEROUS
    archive: bool = False
    site: Site | None = None
    robots: str | None = None
    """What robots.txt says; None: it is not asked for."""

    def visitor(self, hosts: Sequence[str], fetcher: CurlFetcher) -> Visitor:
        retry = RetryRules(max_attempts=5, base_delay_seconds=2, max_delay_seconds=60, jitter_factor=0)
        breaker = BreakerRules(
            fail_max=self.fail_max, reset_timeout_seconds=self.reset_seconds, half_open_calls=1
        )
        config = ResilienceConfig(breaker=breaker, retry=retry)
        return Visitor(
            job_id="job",
            judge=JudgeApart(Judge(self.site or get_scraper("imot.bg")), BOUNDS),
            request_for=self._request_for(frozenset(hosts)),
            seconds=self.seconds,
            longest_wait=1.0,
            fetcher=fetcher,
            gate=memory_gate(config, MemoryRateLimiter(config.limiter, lambda _: self.rate), lambda _: 4),
            retry=RetryPolicy(retry, lambda: 0.0),
            retry_budget=RetryBudget(self.budget),
            robots=self._robots(fetcher, hosts),
            archive=PageArchive(self.folder / "archive", 10**9) if self.archive else None,
            errors=self.log,
            clock=lambda: NOW,
        )

    def _robots(self, fetcher: CurlFetcher, hosts: Sequence[str]) -> RobotsGate | None:
        if self.robots is None:
            return None
        rules = Rules(math.inf, Protego.parse(self.robots))
        known = {f"http://{host}": rules for host in hosts}
        return RobotsGate(fetcher, self._request_for(frozenset(hosts)), "sale-sofia", 60, 60, known=known)

    @property
    def log(self) -> ErrorLog:
        return ErrorLog(self.folder / "errors.jsonl")

    def lines(self, *keys: str) -> list[tuple[Any, ...]]:
        """What the error log says, by these keys."""
        return [tuple(line[key] for key in keys) for line in self.log.read()]

    def _request_for(self, hosts: frozenset[str]) -> Callable[[str], Request]:
        return lambda url: Request(url, hosts, self.timeout, self.timeout, 1_000_000)

    async def visit(self, *claims: Claim) -> list[Outcome]:
        """The outcomes of visits made one after the other by one visitor."""
        hosts = [urlsplit(claim.url).netloc for claim in claims]
        fetcher = CurlFetcher("chrome", 5)
        visitor = self.visitor(hosts, fetcher)
        try:
            return [await visitor.visit(claim) for claim in claims]
        finally:
            await visitor.close()
            await fetcher.close()


def listing(base: str, attempts: int = 1, tried: str | None = None) -> Claim:
    """A claim for the sound advert's address."""
    return Claim(1, "listing", base + advert()[0], attempts, 1, tried)


class Mistaken:
    """imot.bg with a mistake in its adapter."""

    def __init__(self) -> None:
        self._site = get_scraper("imot.bg")

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the portal has
        return getattr(self._site, name)

    def listing(self, page: Page) -> Any:  # noqa: ANN401
        known: dict[str, object] = {}
        return known[page.url]
