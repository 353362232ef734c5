"""One claimed page: permitted, paid for, fetched and judged, all within its time. Nothing is stored here."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection

from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.crawl.fetch.base import Fetcher, Request, Response
from sale_sofia.crawl.fetch.escort import GateEscort
from sale_sofia.crawl.fetch.robots import RobotsGate
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience.errors import (
    Action,
    CrawlError,
    HttpBlocked,
    LeftAlone,
    ParseError,
    ParseOtherPage,
    ParseSelector,
    RobotsDisallowed,
)
from sale_sofia.crawl.resilience.gate import Gate, Refusal, Why
from sale_sofia.crawl.resilience.gate import Outcome as DomainOutcome
from sale_sofia.crawl.resilience.retry import (
    PROBED,
    GiveUp,
    RetryAt,
    RetryBudget,
    RetryPolicy,
    with_quick_try,
)
from sale_sofia.crawl.resilience.settings import QUICK_TRY_DELAY_SECONDS, QUICK_TRY_MAX_WAIT_SECONDS
from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.crawl.tables import spoken
from sale_sofia.crawl.visit.apart import JudgeApart
from sale_sofia.crawl.visit.judging import page_of
from sale_sofia.crawl.visit.outcomes import Failed, Found, Gone, Kept, Later, NotModified, Outcome, Read
from sale_sofia.history.listings import validators
from sale_sofia.listings.page import Page
from sale_sofia.telemetry.error_log import ErrorLog, Failure
from sale_sofia.telemetry.metrics import NO_METER, Meter, measured
from sale_sofia.websites.registry import get_scraper

log: Final = logging.getLogger(__name__)
_SHUT: Final[frozenset[Why]] = frozenset({"circuit_open", "rate_limit", "penalty"})
"""Refusals that say until when no page of the domain is to be asked for."""


@dataclass(slots=True)
class _Errand:
    """One visit under way."""

    claim: Claim
    time: TimeoutBudget
    requests: int = 0
    error: CrawlError | None = None
    """Of the last request."""
    page: Page | None = None
    """The last answer."""
    fetched_at: float | None = None
    """When the portal was asked last."""
    seconds: float | None = None
    """How long it took to answer."""
    response: Response | None = None
    """The answer to the last request."""
    is_probe: bool = False
    """Whether the last request tested a domain that was shut."""

    @property
    def is_retry(self) -> bool:
        return self.claim.attempts > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Visits pages of one portal for one job. Every page comes to an `Outcome`; no page raises."""

    job_id: str
    judge: JudgeApart
    request_for: Callable[[str], Request]
    seconds: float
    """What one visit may take, waiting for its turn included."""
    longest_wait: float
    fetcher: Fetcher
    gate: Gate
    retry: RetryPolicy
    retry_budget: RetryBudget
    robots: RobotsGate | None
    archive: PageArchive | None
    errors: ErrorLog
    clock: Callable[[], float]
    meter: Meter = NO_METER
    conditions: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """For addresses whose page we have: headers that ask whether it is still that page."""

    @property
    def domain(self) -> str:
        """The name under which the portal is known everywhere."""
        return self.judge.site.name

    async def close(self) -> None:
        """Visit no more: end the process that reads, and let go of what the gate holds."""
        self.judge.close()
        await self.gate.close()

    async def visit(self, claim: Claim) -> Outcome:
        """What came of the page; those that came to nothing are told of in the log."""
        outcome = await self._visit(claim)
        if isinstance(outcome, Failed | Later):
            ended = "failed" if isinstance(outcome, Failed) else "put off"
            log.info("page %s: %s", ended, spoken(outcome.code, outcome.reason))
        else:
            log.debug("page read", extra={"seconds": outcome.seconds})
        return outcome

    async def _visit(self, claim: Claim) -> Outcome:
        errand = _Errand(claim, TimeoutBudget(self.seconds, time.monotonic))
        try:
            if self.robots is not None and not await self.robots.allowed(claim.url):
                return await self._failed(errand, await self._forbidden(self.robots, claim.url))
        except LeftAlone as error:
            later = self._put_off(errand, error.retry_after_seconds or 0.0, type(error).__name__, str(error))
            return _for_all(later, error.why)
        if errand.is_retry and not await self._pay():
            reason = "the domain has had its share of retries"
            return self._put_off(errand, self.retry.longest_delay(), "retry_budget", reason)
        try:
            return await with_quick_try(lambda: self._try(errand), errand.time.remaining())
        except CrawlError as error:
            return await self._failed(errand, error)

    @staticmethod
    async def _forbidden(robots: RobotsGate, url: str) -> RobotsDisallowed:
        known = await robots.can_be_had(url)
        error = RobotsDisallowed(
            "robots.txt forbids it"
            if known
            else "robots.txt could not be had, so nothing of the host may be asked; does it answer?"
        )
        error.is_known = known
        return error

    async def _try(self, errand: _Errand) -> Outcome:
        """The second is a request like any other: without budget or a turn soon, the page waits instead."""
        error = errand.error
        if error is not None and not await self._pay():
            raise error
        outcome = await self._request(errand, QUICK_TRY_MAX_WAIT_SECONDS if error else self.longest_wait)
        if not isinstance(outcome, Refusal):
            return outcome
        if errand.is_retry or error is not None:
            await self.retry_budget.give_back(self.domain, time.monotonic())
        if error is not None:
            raise error
        return _for_all(self._put_off(errand, outcome.retry_after_seconds, outcome.why), outcome.why)

    async def _request(self, errand: _Errand, longest_wait: float) -> Outcome | Refusal:
        request = self.request_for(errand.claim.url)
        room = max(0.0, errand.time.remaining() - request.timeout_seconds)
        async with self.gate.request(self.domain, min(longest_wait, room)) as entry:
            if isinstance(entry, Refusal):
                if entry.why == "circuit_open":
                    self.meter.circuit_open(self.domain, entry.retry_after_seconds)
                return entry
            self.meter.waited(self.domain, entry.wait_seconds)
            await self._count(errand)
            errand.is_probe = entry.permission.probe
            escort = GateEscort(self.gate, entry, errand.time, request.timeout_seconds, self.robots)
            try:
                outcome = await self._ask(errand, request, escort)
            except CrawlError as error:
                if escort.refusal is not None and not escort.sent:
                    return escort.refusal  # too much time had passed since its turn
                errand.error = error
                await self.gate.report(escort.admission, DomainOutcome.of(error))
                raise
            finally:
                errand.requests += max(0, escort.sent - 1)
            # The breaker hears of a page when it was read: a captcha may stand where the advert should.
            await self.gate.report(escort.admission, DomainOutcome.ok())
        kept = None if isinstance(outcome, Gone | NotModified) else await self._keep(errand)
        return replace(outcome, kept=kept, **_cost(errand))

    async def _count(self, errand: _Errand) -> None:
        errand.requests += 1
        if errand.is_retry or errand.error is not None:
            self.meter.retried(self.domain)
        if errand.error is not None:
            self._note(errand, errand.error, RetryAt(QUICK_TRY_DELAY_SECONDS, Action.RETRY_NOW))
        elif not errand.is_retry:
            await self.retry_budget.first_try(self.domain, time.monotonic())

    async def _ask(
        self, errand: _Errand, request: Request, escort: GateEscort
    ) -> Found | Read | NotModified | Gone:
        request = replace(
            request,
            timeout_seconds=errand.time.child(request.timeout_seconds).remaining(),
            headers=self.conditions.get(errand.claim.url, {}),
            escort=escort,
            browser_allowed=True,
        )
        errand.fetched_at, errand.seconds, errand.response = self.clock(), None, None
        with measured(self.meter, self.domain) as asked:
            response = await self.fetcher.fetch(request)
            asked.response = errand.response = response
            errand.seconds = response.seconds
            errand.page = page_of(errand.claim, response)
            now = datetime.fromtimestamp(self.clock(), UTC)
            try:
                outcome = await self.judge.outcome(errand.claim, response, now)
            except HttpBlocked as block:
                # Perhaps seen only now, by what is missing on the page: the way it came by was not good.
                await response.disprove(block.block_kind or "blocked")
                raise
            if isinstance(outcome, Gone):
                asked.verdict = "removed"
            else:
                asked.verdict = "not_modified" if isinstance(outcome, NotModified) else "ok"
            return outcome

    async def _failed(self, errand: _Errand, error: CrawlError) -> Outcome:
        kept = None
        if isinstance(error, ParseError) and not isinstance(error, ParseOtherPage):
            # A good answer we could not read is kept; only one that a better table may read is read again.
            kept = await self._keep(errand)
            error.page_digest = kept.digest if kept else None
            kept = kept if isinstance(error, ParseSelector) else None
        tried, code = (errand.claim.tried or "").split(), type(error).__name__
        if errand.is_probe and error.counts_against_domain and self.retry.forgives(tried):
            return self._failed_probe(errand, error)
        plan = self.retry.plan(error, errand.claim.attempts, tried)
        self._note(errand, error, plan)
        if isinstance(plan, GiveUp):
            return Failed(
                errand.claim,
                code,
                f"{error} ({plan.action})",
                error.page_digest,
                unreadable=error.unreadable,
                forbidden=isinstance(error, RobotsDisallowed) and error.is_known,
                kept=kept,
                **_cost(errand),
            )
        return Later(
            errand.claim,
            plan.delay_seconds,
            code,
            str(error),
            refund=isinstance(error, LeftAlone),
            ended_as=code,
            kept=kept,
            **_cost(errand),
        )

    def _failed_probe(self, errand: _Errand, error: CrawlError) -> Later:
        """It goes back to its place: the circuit is open again, and all pages wait for it."""
        self._note(errand, error, RetryAt(0.0, Action.OPEN_CIRCUIT))
        return Later(
            errand.claim,
            0.0,
            type(error).__name__,
            str(error),
            refund=True,
            ended_as=PROBED,
            **_cost(errand),
        )

    def _put_off(self, errand: _Errand, seconds: float, code: str, reason: str = "") -> Later:
        """Nothing was asked, so no attempt is used up."""
        return Later(errand.claim, seconds, code, reason, refund=True, requests=errand.requests)

    def _note(self, errand: _Errand, error: CrawlError, plan: RetryAt | GiveUp) -> None:
        failure = Failure(
            error=error,
            action=plan.action,
            next_delay=plan.delay_seconds if isinstance(plan, RetryAt) else None,
            domain=self.domain,
            job=self.job_id,
            url=errand.claim.url,
            attempt=errand.claim.attempts,
            max_attempts=self.retry.tries(type(error)),
            strategy=errand.response.strategy if errand.response else error.strategy,
            proxy=errand.response.proxy if errand.response else error.proxy,
        )
        self.errors.write(failure, self.clock())

    async def _keep(self, errand: _Errand) -> Kept | None:
        if self.archive is None or errand.page is None:
            return None
        digest = await asyncio.to_thread(self.archive.put, errand.page.body)
        return Kept(digest, errand.page.content_type)

    async def _pay(self) -> bool:
        return await self.retry_budget.spend(self.domain, time.monotonic())


def _for_all(later: Later, why: str | None) -> Later:
    """What was refused for a reason that any other page would meet as well."""
    return replace(later, all_pages=why in _SHUT, rests=why == "busy")


def _cost(errand: _Errand) -> dict[str, Any]:
    """What the visit cost, for any outcome."""
    return {"requests": errand.requests, "fetched_at": errand.fetched_at, "seconds": errand.seconds}


# Conditional requests: what to send along with the address of an advert that we have.


def conditions_for(
    connection: Connection, site: str, claims: Sequence[Claim]
) -> dict[str, Mapping[str, str]]:
    """The headers for each claimed address whose page may be the one we have."""
    scraper = get_scraper(site)
    adverts = {claim.url: scraper.listing_id(claim.url) for claim in claims if claim.kind == "listing"}
    known = validators(connection, site, [advert for advert in adverts.values() if advert])
    return {url: known[advert] for url, advert in adverts.items() if advert and advert in known}
