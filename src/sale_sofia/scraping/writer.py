"""The one writer of a crawl: data and the rows' new states go into one transaction, or none of it does."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from sale_sofia.config.history import HistoryRules
from sale_sofia.config.settings import get_settings
from sale_sofia.data.cards import mark_opened
from sale_sofia.data.database import Database
from sale_sofia.data.jobs import add_job_counts
from sale_sofia.data.listings import DEFAULT_RULES, SaveResult, Sighting, save_listings
from sale_sofia.data.pages import PageKind, PageRecord, record_pages
from sale_sofia.data.unmodified import SameAgain, save_unmodified
from sale_sofia.data.visits import record_visits
from sale_sofia.monitoring.drift_floors import are_missed, floors_of
from sale_sofia.monitoring.drift_prices import prices_are_doubtful
from sale_sofia.monitoring.meter import NO_METER, Meter
from sale_sofia.scraping import frontier
from sale_sofia.scraping.card_facts import fill_from_cards
from sale_sofia.scraping.incremental import add_found
from sale_sofia.scraping.observing import count_pages
from sale_sofia.scraping.outcomes import Failed, Found, Gone, Later, NotModified, Outcome, Read
from sale_sofia.scraping.searches import SearchSteps
from sale_sofia.scraping.sweeping import look_for_missing
from sale_sofia.scraping.visit_log import moment, removed_adverts, visits_of
from sale_sofia.websites.registry import get_scraper

Sightings = Mapping[int, Sighting]


@dataclass(frozen=True, slots=True)
class Written:
    """What a batch changed."""

    new: int = 0
    changed: int = 0
    found: int = 0
    lost: int = 0
    """Outcomes that came too late: somebody else has the row now, so nothing of them was written."""
    unchanged: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where a crawl writes: its job, its portal, how many adverts it may have, how their history is kept."""

    job_id: str
    site: str
    limit: int | None = None
    rules: HistoryRules = DEFAULT_RULES
    conditional: bool = False
    """Whether the portal is asked for adverts it may call unmodified."""


def prepare(ledger: Ledger, outcomes: Sequence[Outcome], now: float) -> Sightings:
    """What the batch will store, by claim: worked out before the transaction, so that it holds no lock."""
    return {one.claim.id: _sighting(one, ledger, now).prepared() for one in outcomes if isinstance(one, Read)}


def write_batch(
    connection: Connection,
    ledger: Ledger,
    outcomes: Sequence[Outcome],
    *,
    now: float,
    prepared: Sightings | None = None,
) -> Written:
    """Write a batch in the caller's transaction: each row's end is committed with its data, never without."""
    sightings = prepare(ledger, outcomes, now) if prepared is None else prepared
    ours = frontier.still_ours(connection, [one.claim for one in outcomes])
    kept = [one for one in outcomes if one.claim.id in ours]
    counted = count_pages(connection, ledger.job_id, ledger.site, kept)
    if prices_are_doubtful(counted, get_settings()):
        sightings = {claim: replace(one, held=True) for claim, one in sightings.items()}
    if are_missed(counted, floors_of(get_scraper(ledger.site).config)):
        sightings = {claim: replace(one, held_news=True) for claim, one in sightings.items()}
    saved = _save(connection, ledger, kept, sightings, now)
    pages = [one for one in kept if isinstance(one, Found)]
    steps = SearchSteps(connection, ledger.job_id, get_scraper(ledger.site), now)
    found = add_found(connection, steps, pages, limit=ledger.limit, now=now)
    replaced = _ask_elsewhere(steps, kept)
    found += sum(replaced.values())
    record_visits(connection, visits_of(kept, ledger.site, ledger.job_id, now))
    record_pages(connection, _page_records(kept, ledger.site, now))
    _end_rows(connection, ledger.job_id, kept, replaced, now)
    new, changed = saved.count("new"), saved.count("changed")
    requests = sum(one.requests for one in outcomes)
    add_job_counts(connection, ledger.job_id, requests=requests, new=new, changed=changed)
    if any(one.claim.kind == "search" for one in kept):
        found += look_for_missing(connection, ledger.job_id, now=now)
    lost = len(outcomes) - len(kept)
    failed = sum(isinstance(one, Failed) and one.claim.kind == "listing" for one in kept)
    return Written(new, changed, found, lost, saved.count("unchanged"), failed)


def _save(
    connection: Connection, ledger: Ledger, outcomes: Sequence[Outcome], sightings: Sightings, now: float
) -> list[SaveResult]:
    """Store the adverts that were seen; one that was read answers for all that its card showed until then."""
    read = [one for one in outcomes if isinstance(one, Read)]
    seen = fill_from_cards(connection, ledger.site, [sightings[one.claim.id] for one in read])
    saved = save_listings(connection, seen, ledger.rules)
    removed_adverts(connection, ledger.site, outcomes, now)
    same = [_same(one, ledger, now) for one in outcomes if isinstance(one, NotModified)]
    unmodified = save_unmodified(connection, ledger.site, same, job_id=ledger.job_id, rules=ledger.rules)
    opened = {one.listing.external_id: moment(one, now) for one in read}
    mark_opened(connection, ledger.site, opened | {one.external_id: one.at for one in same})
    return saved + ["unchanged"] * unmodified


def _sighting(one: Read, ledger: Ledger, now: float) -> Sighting:
    return Sighting(
        one.listing,
        seen_at=moment(one, now),
        job_id=ledger.job_id,
        page_digest=one.kept.digest if one.kept else None,
        seconds=one.seconds,
        etag=one.etag if ledger.conditional else None,
        last_modified=one.last_modified if ledger.conditional else None,
    )


def _same(one: NotModified, ledger: Ledger, now: float) -> SameAgain:
    advert = get_scraper(ledger.site).listing_id(one.claim.url)
    return SameAgain(advert or "", moment(one, now), one.seconds)


def _page_records(outcomes: Sequence[Outcome], site: str, now: float) -> list[PageRecord]:
    return [
        PageRecord(site, one.claim.url, _kind(one), one.kept.digest, one.kept.content_type, moment(one, now))
        for one in outcomes
        if one.kept
    ]


def _kind(one: Outcome) -> PageKind:
    return "search" if one.claim.kind == "search" else "listing"


def _ask_elsewhere(steps: SearchSteps, outcomes: Sequence[Outcome]) -> dict[int, int]:
    """Of pages of results that are not there or could not be had: how many others are asked instead."""
    lost = [one for one in outcomes if isinstance(one, Gone | Failed) and one.claim.kind == "search"]
    return {one.claim.id: count for one in lost if (count := steps.unanswered(one))}


def _end_rows(
    connection: Connection, job_id: str, outcomes: Sequence[Outcome], replaced: Mapping[int, int], now: float
) -> None:
    later = [one for one in outcomes if isinstance(one, Later)]
    waits = [
        frontier.PutOff(one.claim, one.seconds_later, one.reason, one.refund, one.ended_as) for one in later
    ]
    frontier.postpone(connection, waits, now=now)
    if shut := [one.seconds_later for one in later if one.all_pages]:
        frontier.postpone_rest(connection, job_id, seconds=min(shut), now=now)
    ends = [
        (one.claim, *_end(one, replaced=one.claim.id in replaced))
        for one in outcomes
        if not isinstance(one, Later)
    ]
    frontier.finish(connection, ends)


def _end(one: Outcome, *, replaced: bool) -> tuple[str, str | None]:
    if isinstance(one, Failed):
        return ("done", f"{one.reason}; another way was taken") if replaced else ("failed", one.reason)
    return "done", one.reason if isinstance(one, Gone) else None


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a commit waits for company: for so many outcomes, or for so many seconds."""

    outcomes: int
    seconds: float


class GroupWriter:
    """Commits what has come in since the last commit, together. `write` returns when its outcome is safe.

    A visitor takes no further page before its last one is committed, so after a crash at most as many pages
    are fetched again as there are visitors.
    """

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        patience: Patience,
        clock: Callable[[], float],
        meter: Meter = NO_METER,
    ) -> None:
        self._database = database
        self._meter = meter
        self.ledger = ledger
        self._patience = patience
        self._clock = clock
        self._waiting: list[tuple[Outcome, asyncio.Future[None]]] = []
        self._enough = asyncio.Event()
        self._busy = asyncio.Lock()
        self.written = Written()

    async def write(self, outcome: Outcome) -> None:
        """Have the outcome committed; raises what the database raises, for everyone in the batch."""
        safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((outcome, safe))
        if len(self._waiting) >= self._patience.outcomes:
            self._enough.set()
        async with self._busy:
            if not safe.done():
                await self._linger()
                await self._commit()
        await safe

    async def _linger(self) -> None:
        """A transaction costs as much as several adverts, so it waits a moment for more of them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience.seconds):
                await self._enough.wait()

    async def _commit(self) -> None:
        batch, self._waiting = self._waiting, []
        self._enough.clear()
        outcomes, now = [outcome for outcome, _ in batch], self._clock()
        try:
            sightings = prepare(self.ledger, outcomes, now)
            written = await self._database.run_write_async(
                lambda c: write_batch(c, self.ledger, outcomes, now=now, prepared=sightings)
            )
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            for _, safe in batch:
                safe.set_exception(error)
            return
        self._add(written)
        for _, safe in batch:
            safe.set_result(None)

    def _add(self, more: Written) -> None:
        self._meter.stored(
            self.ledger.site,
            new=more.new,
            changed=more.changed,
            unchanged=more.unchanged,
            failed=more.failed,
        )
        old = self.written
        self.written = Written(
            old.new + more.new, old.changed + more.changed, old.found + more.found, old.lost + more.lost
        )
