"""One claimed page: permitted, fetched, classified, parsed. Nothing is stored here."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sale_sofia.fetching.archive import PageArchive
from sale_sofia.fetching.base import Fetcher, Request, Response, Verdict
from sale_sofia.fetching.classify import classify
from sale_sofia.fetching.robots import RobotsGate
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import (
    ForeignPage,
    LayoutChanged,
    ProjectPage,
    RemovedListing,
    UnreadablePage,
    WrongListing,
)
from sale_sofia.resilience.errors import CrawlError
from sale_sofia.resilience.gate import DomainGate, Refusal
from sale_sofia.resilience.outcome import Outcome as DomainOutcome
from sale_sofia.resilience.retry import GiveUp, RetryPolicy
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.outcomes import Failed, Found, Gone, Kept, Later, Outcome, Read
from sale_sofia.scraping.urls import Target, target
from sale_sofia.websites.base import SearchPage, Site

_ROBOTS = "robots_disallowed: robots.txt forbids it, or could not be had"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Visits pages of one portal for one job. Every page comes to an `Outcome`; no page raises."""

    site: Site
    request_for: Callable[[str], Request]
    longest_wait: float
    fetcher: Fetcher
    gate: DomainGate
    retry: RetryPolicy
    robots: RobotsGate | None
    archive: PageArchive | None
    clock: Callable[[], float]

    async def visit(self, claim: Claim) -> Outcome:
        """What came of the page."""
        if self.robots is not None and not await self.robots.allowed(claim.url):
            return Failed(claim, _ROBOTS, asked=False)
        async with self.gate.request(self.site.name, self.longest_wait) as entry:
            if isinstance(entry, Refusal):
                due = self.clock() + entry.retry_after_seconds
                return Later(claim, due, entry.why, refund=True, asked=False)
            try:
                response = await self.fetcher.fetch(self.request_for(claim.url))
            except CrawlError as error:
                await self.gate.report(entry, DomainOutcome.of(error))
                return self._try_again(claim, error, f"{type(error).__name__}: {error}")
            verdict = classify(response, claim.url)
            await self.gate.report(entry, DomainOutcome.of(verdict))
        return await self._judge(claim, response, verdict)

    async def _judge(self, claim: Claim, response: Response, verdict: Verdict) -> Outcome:
        if verdict.kind == "removed":
            return Gone(claim, "removed")
        if verdict.kind not in {"ok", "redirected"}:
            return self._try_again(claim, verdict, f"{verdict.kind}: {verdict.detail}")
        page = Page(claim.url, response.body, response.headers.get("content-type"))
        try:
            return await self._read(claim, page)
        except (ProjectPage, RemovedListing) as what:
            return Gone(claim, what.code)
        except (WrongListing, ForeignPage) as what:
            return Failed(claim, f"{what.code}: {what}")
        except (UnreadablePage, LayoutChanged) as what:
            # A block in disguise looks like a new layout, so both are tried again like a page that broke off.
            return self._try_again(claim, Verdict("truncated", str(what)), f"{what.code}: {what}")

    async def _read(self, claim: Claim, page: Page) -> Outcome:
        if claim.kind == "search":
            found = self.site.search(page)
            return Found(claim, self._targets(found), await self._keep(page))
        listing = normalise(self.site.listing(page))
        return Read(claim, listing, await self._keep(page))

    def _targets(self, found: SearchPage) -> tuple[Target, ...]:
        """The adverts of a page, then where to look next: a capped search is cut, another is followed."""
        smaller = self.site.split(found.url) if found.capped else ()
        further = smaller or ((found.next_url,) if found.next_url else ())
        return tuple(target(self.site, url) for url in (*(card.url for card in found.cards), *further))

    async def _keep(self, page: Page) -> Kept | None:
        if self.archive is None:
            return None
        digest = await asyncio.to_thread(self.archive.put, page.body)
        return Kept(digest, page.content_type)

    def _try_again(self, claim: Claim, what: CrawlError | Verdict, reason: str) -> Outcome:
        plan = self.retry.plan(what, claim.attempts)
        if isinstance(plan, GiveUp):
            return Failed(claim, reason)
        return Later(claim, self.clock() + plan.delay_seconds, reason, refund=not plan.burns_attempt)
