"""Visits one claimed page: checks robots.txt and the retry budget, fetches and judges it, all in its time.

Nothing is written to the database here.
"""

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
"""Refusals after which no page of the domain may be requested for a while."""


@dataclass(slots=True)
class _Errand:
    """One visit under way."""

    claim: Claim
    time: TimeoutBudget
    requests: int = 0
    error: CrawlError | None = None
    """Of the last request."""
    page: Page | None = None
    """The last answer, as a page."""
    fetched_at: float | None = None
    """When the last request began."""
    seconds: float | None = None
    """How long the portal took to answer."""
    response: Response | None = None
    """The answer to the last request."""
    is_probe: bool = False
    """Whether the last request probed a domain whose circuit was open."""

    @property
    def is_retry(self) -> bool:
        return self.claim.attempts > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Visits pages of one portal for one job. Every page ends in an `Outcome`; none raises."""

    job_id: str
    judge: JudgeApart
    request_for: Callable[[str], Request]
    seconds: float
    """The most one visit may take, waiting for its turn included."""
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
    """Headers of conditional requests, by the address of a page that we have."""

    @property
    def domain(self) -> str:
        """The portal's name, which is also its domain everywhere."""
        return self.judge.site.name

    async def close(self) -> None:
        """End the process that reads pages, and close the gate."""
        self.judge.close()
        await self.gate.close()

    async def visit(self, claim: Claim) -> Outcome:
        """Visit the page; if it fails or is put off, the log says why."""
        outcome = await self._visit(claim)
        if isinstance(outcome, Failed | Later):
            ending = "failed" if isinstance(outcome, Failed) else "put off"
            log.info("page %s: %s", ending, spoken(outcome.code, outcome.reason))
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
        is_known = await robots.can_be_had(url)
        error = RobotsDisallowed(
            "robots.txt forbids it"
            if is_known
            else "robots.txt could not be had, so nothing of the host may be asked; does it answer?"
        )
        error.is_known = is_known
        return error

    async def _try(self, errand: _Errand) -> Outcome:
        """Request the page. A second try needs budget and a turn soon; without them the page waits."""
        error = errand.error
        if error is not None and not await self._pay():
            raise error
        result = await self._request(errand, QUICK_TRY_MAX_WAIT_SECONDS if error else self.longest_wait)
        if not isinstance(result, Refusal):
            return result
        if errand.is_retry or error is not None:
            await self.retry_budget.give_back(self.domain, time.monotonic())
        if error is not None:
            raise error
        return _for_all(self._put_off(errand, result.retry_after_seconds, result.why), result.why)

    async def _request(self, errand: _Errand, longest_wait: float) -> Outcome | Refusal:
        request = self.request_for(errand.claim.url)
        spare_seconds = max(0.0, errand.time.remaining() - request.timeout_seconds)
        async with self.gate.request(self.domain, min(longest_wait, spare_seconds)) as entry:
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
                    errand.requests -= 1
                    return escort.refusal  # too much time had passed since its turn
                errand.error = error
                await self.gate.report(escort.admission, DomainOutcome.of(error))
                raise
            finally:
                errand.requests += max(0, escort.sent - 1)
            # The breaker is told only after reading the page: it may be a captcha instead of the advert.
            await self.gate.report(escort.admission, DomainOutcome.ok())
        archived = None if isinstance(outcome, Gone | NotModified) else await self._archive(errand)
        return replace(outcome, kept=archived, **_cost(errand))

    async def _count(self, errand: _Errand) -> None:
        errand.requests += 1
        if errand.is_retry or errand.error is not None:
            self.meter.retried(self.domain)
        if errand.error is not None:
            self._log_error(errand, errand.error, RetryAt(QUICK_TRY_DELAY_SECONDS, Action.RETRY_NOW))
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
        with measured(self.meter, self.domain) as measurement:
            response = await self.fetcher.fetch(request)
            measurement.response = errand.response = response
            errand.seconds = response.seconds
            errand.page = page_of(errand.claim, response)
            now = datetime.fromtimestamp(self.clock(), UTC)
            try:
                outcome = await self.judge.outcome(errand.claim, response, now)
            except RobotsDisallowed as error:
                error.is_known = self.robots is None or await self.robots.can_be_had(response.url)
                raise
            except HttpBlocked as block:
                # Perhaps noticed only by what the page lacks: it counts against the proxy it came through.
                await response.disprove(block.block_kind or "blocked")
                raise
            if isinstance(outcome, Gone):
                measurement.verdict = "removed"
            else:
                measurement.verdict = "not_modified" if isinstance(outcome, NotModified) else "ok"
            return outcome

    async def _failed(self, errand: _Errand, error: CrawlError) -> Outcome:
        archived = None
        if isinstance(error, ParseError) and not isinstance(error, ParseOtherPage):
            # All answers we could not read are archived; only those that a better table may read are reread.
            archived = await self._archive(errand)
            error.page_digest = archived.digest if archived else None
            archived = archived if isinstance(error, ParseSelector) else None
        earlier_errors, code = (errand.claim.tried or "").split(), type(error).__name__
        if errand.is_probe and error.counts_against_domain and self.retry.forgives(earlier_errors):
            return self._failed_probe(errand, error)
        plan = self.retry.plan(error, errand.claim.attempts, earlier_errors)
        self._log_error(errand, error, plan)
        if isinstance(plan, GiveUp):
            return Failed(
                errand.claim,
                code,
                f"{error} ({plan.action})",
                error.page_digest,
                unreadable=error.unreadable,
                forbidden=isinstance(error, RobotsDisallowed) and error.is_known,
                kept=archived,
                **_cost(errand),
            )
        return Later(
            errand.claim,
            plan.delay_seconds,
            code,
            str(error),
            refund=isinstance(error, LeftAlone),
            ended_as=code,
            kept=archived,
            **_cost(errand),
        )

    def _failed_probe(self, errand: _Errand, error: CrawlError) -> Later:
        """Put the page back in its place: the circuit is open again, and all pages wait for it."""
        self._log_error(errand, error, RetryAt(0.0, Action.OPEN_CIRCUIT))
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
        """Put off a page that was not requested, so no attempt is used up."""
        return Later(errand.claim, seconds, code, reason, refund=True, requests=errand.requests)

    def _log_error(self, errand: _Errand, error: CrawlError, plan: RetryAt | GiveUp) -> None:
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

    async def _archive(self, errand: _Errand) -> Kept | None:
        if self.archive is None or errand.page is None:
            return None
        digest = await asyncio.to_thread(self.archive.put, errand.page.body)
        return Kept(digest, errand.page.content_type)

    async def _pay(self) -> bool:
        return await self.retry_budget.spend(self.domain, time.monotonic())


def _for_all(later: Later, why: str | None) -> Later:
    """Mark a refusal that any other page would get as well: the domain is shut, or has no free place."""
    return replace(later, all_pages=why in _SHUT, rests=why == "busy")


def _cost(errand: _Errand) -> dict[str, Any]:
    """What the visit cost, as arguments for any outcome."""
    return {"requests": errand.requests, "fetched_at": errand.fetched_at, "seconds": errand.seconds}


# Conditional requests: the headers for adverts that we have.


def conditions_for(
    connection: Connection, site: str, claims: Sequence[Claim]
) -> dict[str, Mapping[str, str]]:
    """The headers for each claimed advert that may be unchanged, by address."""
    scraper = get_scraper(site)
    ids = {claim.url: scraper.listing_id(claim.url) for claim in claims if claim.kind == "listing"}
    headers = validators(connection, site, [advert_id for advert_id in ids.values() if advert_id])
    return {url: headers[advert_id] for url, advert_id in ids.items() if advert_id and advert_id in headers}
