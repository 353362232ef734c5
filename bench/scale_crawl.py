"""A crawl of thousands of portals by a thousand workers in virtual time, made of the program's own parts.

A worker is one process of a Celery worker: it takes one lane after the other from the queue, as `tasks.py`
does, and drains one portal's frontier with the real `SiteCrawl` for one shift. Lanes make room as
`making_room.py` says, and a job whose rows only wait comes back with the reconciler's next look.
"""

import asyncio
import math
import random
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

from sale_sofia.crawl import settings as parallel
from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Counts
from sale_sofia.crawl.resilience.breaker import MemoryCircuitBreaker
from sale_sofia.crawl.resilience.bulkhead import MemoryBulkhead
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.policy import ResilienceConfig
from sale_sofia.crawl.resilience.retry import RetryPolicy, rules_at
from sale_sofia.crawl.runners import site_crawl
from sale_sofia.crawl.runners.site_crawl import Shift, SiteCrawl
from sale_sofia.crawl.urls import Target
from sale_sofia.crawl.visit.apart import JudgeApart
from sale_sofia.crawl.visit.visit import Visitor
from sale_sofia.crawl.visit.writer import GroupWriter, Ledger
from sale_sofia.history.jobs import create_job
from sale_sofia.settings.model import Settings
from sale_sofia.storage.migrate import initialize_database
from scale_clock import Station, now
from scale_parts import NO_ERRORS, Costs, FarDatabase, FarGate, NoReading, RowEnds, VirtualBudget, request_for
from scale_world import Domain, Portals

vars(site_crawl)["is_copying"] = lambda _site: False  # no file tells of these portals

SHIFT = Shift(parallel.LANE_SECONDS, parallel.LANE_IDLE_SECONDS, parallel.LANE_LOOK_SECONDS)


class WorkerFetcher:
    """Asks the portals, then takes the page's time of the worker's one CPU."""

    def __init__(self, portals: Portals, page_cpu: float) -> None:
        self._portals = portals
        self._cpu = Station({"page": page_cpu})

    async def fetch(self, request: Request) -> Response:
        """See `Fetcher`."""
        response = await self._portals.fetch(request)
        await self._cpu.serve("page")
        return response

    async def close(self) -> None:
        """See `Fetcher`."""


@dataclass
class Crawl:
    """All portals at once, until every row is at its end or the time is up."""

    portals: Portals
    folder: Path
    workers: int
    costs: Costs = field(default_factory=Costs)
    breaker: bool = True
    """Without, a portal that is down is asked on: to see what the breaker is worth."""
    settings: Settings = field(default_factory=Settings)
    finished: dict[str, float] = field(default_factory=dict)
    """When each portal's last row came to its end."""
    lanes: int = 0
    """Shifts that were begun."""

    def __post_init__(self) -> None:
        self.config = self._config()
        self.redis = Station(self.costs.redis)
        self.store = Station(self.costs.database, self.costs.database_places)
        self.gate = self._gate()
        url = f"sqlite:///{self.folder}/scale.db"
        self.database = FarDatabase(url, busy_timeout_seconds=30, busy_retries=3)
        self.database.station, self.database.round_trip = self.store, self.costs.round_trip
        self.database.ended = []
        self._rng = random.Random(len(self.portals.domains))
        self._room_until = 0.0

    def _config(self) -> ResilienceConfig:
        config = ResilienceConfig.from_settings(self.settings)
        deaf = replace(config.breaker, fail_max=sys.maxsize, min_volume=sys.maxsize)
        return config if self.breaker else replace(config, breaker=deaf)

    def _gate(self) -> FarGate:
        domains, config = self.portals.domains, self.config
        gate = FarGate(
            limiter=MemoryRateLimiter(config.limiter, lambda name: domains[name].per_minute),
            breaker=MemoryCircuitBreaker(config.breaker, random.Random(2).random),
            bulkhead=MemoryBulkhead(config.bulkhead.lease_seconds),
            limit_of=lambda name: domains[name].concurrency,
            busy_seconds=config.bulkhead.busy_seconds,
            clock=now,
        )
        gate.station, gate.round_trip, gate.instants = self.redis, self.costs.round_trip, []
        return gate

    async def run(self, seconds: float = math.inf) -> None:
        """Crawl until all is done, or for so long."""
        self.fill()
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._over = asyncio.Event()
        for name in self.portals.domains:
            self._queue.put_nowait(name)
        team = [asyncio.create_task(self._work(number)) for number in range(self.workers)]
        with suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await self._over.wait()
        for one in team:
            one.cancel()
        await asyncio.gather(*team, return_exceptions=True)

    def fill(self) -> None:
        """A job for each portal, its pages in the frontier."""
        initialize_database(self.database)
        with self.database.write() as connection:
            for one in self.portals.domains.values():
                create_job(
                    connection, job_id=one.name, site=one.name, start_urls=[], listing_limit=None, now=0.0
                )
                pages = [f"https://{one.name}/{page}" for page in range(one.pages)]
                frontier.add_targets(connection, one.name, [Target("listing", url, url) for url in pages])

    async def _work(self, number: int) -> None:
        fetcher = WorkerFetcher(self.portals, self.costs.page_cpu)
        while True:
            name = await self._queue.get()
            await self._lane(self.portals.domains[name], f"worker-{number}", fetcher)
            self._after(name, self.database.run_read(partial(frontier.count_rows, job_id=name)))

    async def _lane(self, domain: Domain, owner: str, fetcher: WorkerFetcher) -> None:
        self.lanes += 1
        crawl = self._crawl(domain, owner, fetcher)
        room = asyncio.create_task(self._make_room(crawl))
        try:
            await crawl.run()
        finally:
            room.cancel()

    def _crawl(self, domain: Domain, owner: str, fetcher: WorkerFetcher) -> SiteCrawl:
        writer = RowEnds(self.database, Ledger(domain.name, domain.name))
        return SiteCrawl(
            job_id=domain.name,
            owner=owner,
            database=self.database,
            visitor=self._visitor(domain, fetcher),
            writer=cast("GroupWriter", writer),
            concurrency=domain.concurrency,
            lease_seconds=self.settings.lease_seconds,
            clock=now,
            stop=asyncio.Event(),
            progress=lambda _: None,
            shift=SHIFT,
        )

    def _visitor(self, domain: Domain, fetcher: WorkerFetcher) -> Visitor:
        return Visitor(
            job_id=domain.name,
            judge=cast("JudgeApart", NoReading(domain.name)),
            request_for=partial(request_for, seconds=self.settings.http_timeout),
            seconds=self.settings.task_timeout,
            longest_wait=self.settings.longest_polite_wait,
            fetcher=fetcher,
            gate=self.gate,
            retry=RetryPolicy(self.config.retry, self._rng.random),
            retry_budget=VirtualBudget(rules_at(domain.per_minute, self.config.retry_budget)),
            robots=None,
            archive=None,
            errors=NO_ERRORS,
            clock=now,
        )

    async def _make_room(self, crawl: SiteCrawl) -> None:
        """As `leave_when_others_wait` does: of all lanes one at a time, when messages wait for two looks."""
        await asyncio.sleep(parallel.LANE_TURN_SECONDS)
        waited = 0
        while waited < 2 or now() < self._room_until:
            await asyncio.sleep(parallel.LANE_ROOM_LOOK_SECONDS)
            waited = waited + 1 if self._queue.qsize() else 0
        self._room_until = now() + parallel.LANE_ROOM_PAUSE_SECONDS
        crawl.end_shift()

    def _after(self, name: str, counts: Counts) -> None:
        """As `aggregate_results` and the reconciler: the job ends, goes on, or waits for its next row."""
        if not counts.open:
            self.finished[name] = now()
            if len(self.finished) == len(self.portals.domains):
                self._over.set()
            return
        due = counts.next_due or 0.0
        looks = max(0.0, math.ceil((due - now()) / parallel.RECONCILE_SECONDS) * parallel.RECONCILE_SECONDS)
        asyncio.get_running_loop().call_later(looks, self._queue.put_nowait, name)
