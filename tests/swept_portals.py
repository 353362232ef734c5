"""Sweeps of simulated portals in virtual time: real frontier, judge and writer, no network, no waiting."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from large_portals import answer_to
from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.jobs import begin_job, end_job, known_job
from sale_sofia.crawl.frontier.sweeping import finish_sweep
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.visit.judging import Judge
from sale_sofia.crawl.visit.outcomes import Failed, Outcome
from sale_sofia.crawl.visit.writer import Ledger, write_batch
from sale_sofia.history.sweeps import Sweep, list_sweeps
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.portal import Portal

_REDIRECTS = frozenset({301, 302})
_BATCH = 25


@dataclass
class SearchSweep:
    """Reads every page of results of a portal, and judges the sweep as the end of a job does."""

    database: Database
    portal: Portal[Any]
    now: float = 1_000_000.0
    asked: list[str] = field(default_factory=list)
    """Every request, in order."""
    forbidden: str | None = None
    """The path that robots.txt forbids."""
    job_id: str = ""

    def run(self, start_urls: list[str], *, adverts: bool = False) -> Sweep:
        """One sweep from these searches; adverts are opened only when asked for."""
        site = get_scraper(self.portal.site)
        self.now += 86_400
        with self.database.write() as connection:
            self.job_id = begin_job(connection, site, start_urls, limit=None, now=self.now)
        judge = Judge(site, site.config.proof)
        for claims in self._claims(self.job_id, adverts=adverts):
            outcomes = [self._answered(judge, claim) for claim in claims]
            with self.database.write() as connection:
                write_batch(connection, Ledger(self.job_id, site.name), outcomes, now=self.now)
        with self.database.write() as connection:
            job = known_job(connection, self.job_id)
            end_job(connection, job, now=self.now) if adverts else finish_sweep(connection, job, now=self.now)
            return list_sweeps(connection, limit=1)[0]

    def _claims(self, job_id: str, *, adverts: bool) -> Iterator[list[Claim]]:
        """Search by search, then adverts by the batch: the first says that there is no search left."""
        count = 1
        while found := self._claimed(job_id, count):
            if found[0].kind == "listing":
                if not adverts:
                    return
                count = _BATCH
                self.now += 1  # a page is read after its card, which is how history is written quickly
            yield found

    def _claimed(self, job_id: str, count: int) -> list[Claim]:
        with self.database.write() as connection:
            return frontier.claim(connection, job_id, owner="me", count=count, now=self.now, lease_seconds=60)

    def _answered(self, judge: Judge, claim: Claim) -> Outcome:
        if self.forbidden and urlsplit(claim.url).path.startswith(self.forbidden):
            return Failed(claim, "RobotsDisallowed", "robots.txt forbids it", forbidden=True)
        try:
            return judge.outcome(claim, self._get(claim.url), None)  # type: ignore[arg-type]
        except CrawlError as error:
            return Failed(claim, type(error).__name__, str(error), unreadable=error.unreadable)

    def _get(self, url: str) -> Response:
        self.asked.append(url)
        answer = answer_to(self.portal, url)
        headers = {"content-type": answer.content_type}
        if answer.status in _REDIRECTS:
            return self._get(urljoin(url, answer.location or ""))
        return Response(url, answer.status, headers, answer.body, 0.0)
