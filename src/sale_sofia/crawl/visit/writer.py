"""The only writer of a crawl: data and the rows' new states are committed together, or not at all."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Final

from sqlalchemy import Connection

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.linking import check_sample
from sale_sofia.crawl.frontier.searches import SearchSteps, add_found, fill_from_cards
from sale_sofia.crawl.frontier.sweeping import look_for_missing
from sale_sofia.crawl.tables import Kin
from sale_sofia.crawl.visit.outcomes import (
    Failed,
    Found,
    Gone,
    Later,
    NotModified,
    Outcome,
    Read,
    moment,
    removed_adverts,
    visits_of,
)
from sale_sofia.history.cards import Source, mark_opened
from sale_sofia.history.drift.counts import (
    EURO_SCALE,
    LISTING,
    Example,
    FactCounts,
    SectionCounts,
    Sections,
)
from sale_sofia.history.drift.judging import Floor, are_missed, prices_are_doubtful
from sale_sofia.history.drift.store import is_drifting, lock_counters, store_counters
from sale_sofia.history.jobs import add_job_counts
from sale_sofia.history.listings import (
    DEFAULT_RULES,
    KnownPrice,
    SameAgain,
    SaveResult,
    Sighting,
    known_prices,
    record_visits,
    save_listings,
    save_unmodified,
)
from sale_sofia.history.pages import PageRecord, record_pages
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.timeline import PER_SQM, another_meaning, is_too_little
from sale_sofia.listings.model import FieldSeen, Listing
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.metrics import NO_METER, Meter
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import FieldTable

# Counts of a batch's pages, to notice drift: how fields were found, and how known prices changed.

_PRICE_FACTS = ("price_eur", "area_sqm", "deal", "property_type")
_FACT_FIELDS = {"price": "price_eur", "area": "area_sqm", "place": "city", "type": "property_type"}
"""The field that an advert must have for each fact that is counted."""
_NO_PRICES = frozenset({"price_unreadable", "currency_conflict", "price_eur_impossible"})
"""Flags of adverts whose price text does not mean "on request"."""
_Seen = Mapping[str, FieldSeen]
_Reading = tuple[_Seen, Example]
"""How the fields of an advert were found, and its page."""
_NOT_FOUND: Final = FieldSeen(0, read=False)


def count_pages(connection: Connection, job_id: str, site: str, outcomes: Sequence[Outcome]) -> Sections:
    """Add these pages to the counts of their run; returns all its counts, none if no page here counts.

    Call it before the pages are stored: their prices are compared with the stored ones.
    """
    config = get_scraper(site).config
    adverts = [page for page in outcomes if isinstance(page, Read)]
    # A sitemap has no facts about adverts that could drift.
    result_pages = [page for page in outcomes if isinstance(page, Found) and page.section in config.searches]
    unreadable = [
        (page, page.unreadable) for page in outcomes if isinstance(page, Failed) and page.unreadable
    ]
    if not (adverts or result_pages or unreadable):
        return {}
    card_ids = [card.external_id for page in result_pages for card, _ in page.adverts]
    prices = known_prices(connection, site, [page.listing.external_id for page in adverts] + card_ids)
    sections = lock_counters(connection, job_id, site)
    readings: list[_Reading] = []
    for page in adverts:
        counts, example = _begin_page(sections, LISTING, page)
        readings.append((page.seen, example))
        count_facts(counts.facts, config.listing.fields, page.listing, page.seen, example)
        facts = {name: getattr(page.listing, name) for name in _PRICE_FACTS}
        _count_price(counts, facts, prices.get(page.listing.external_id), example)
    if readings:
        _count_fields(sections[LISTING], config.listing.fields, readings)
    for result_page in result_pages:
        counts, example = _begin_page(sections, result_page.section, result_page)
        _count_results(counts, config.searches[result_page.section].fields, result_page, prices, example)
    for failed, reason in unreadable:
        counts = _section(sections, failed.claim.kind)
        counts.unreadable[reason] = counts.unreadable.get(reason, 0) + 1
        counts.puzzle = counts.puzzle or Example(failed.claim.url, failed.page_digest)
    store_counters(connection, job_id, sections)
    return sections


def _section(sections: Sections, name: str) -> SectionCounts:
    if name not in sections:
        sections[name] = SectionCounts()
    return sections[name]


def _begin_page(sections: Sections, name: str, page: Read | Found) -> tuple[SectionCounts, Example]:
    counts = _section(sections, name)
    counts.pages += 1
    return counts, Example(page.claim.url, page.kept.digest if page.kept else None)


def _count_results(
    counts: SectionCounts,
    fields: Iterable[str],
    page: Found,
    prices: Mapping[str, KnownPrice],
    example: Example,
) -> None:
    _count_fields(counts, fields, [(card.seen, example) for card in page.cards])
    for (advert, _), card in zip(page.adverts, page.cards, strict=False):
        facts = {name: card.facts.get(name) for name in _PRICE_FACTS}
        _count_price(counts, facts, prices.get(advert.external_id), example)
    if not page.cards:
        return
    counts.note_few(len(page.cards), example)
    if page.following:
        counts.full_pages += 1
        counts.full_cards += len(page.cards)
    else:  # the total on the last page counts for its search
        counts.told += page.total or 0


def _count_fields(counts: SectionCounts, names: Iterable[str], readings: Sequence[_Reading]) -> None:
    """Count how each field was found; equal findings at once, as adverts of a portal are alike."""
    counts.seen += len(readings)
    read: Counter[str] = Counter()
    found = Counter(chain.from_iterable(seen.items() for seen, _ in readings))
    for (name, (link, is_read)), number in found.items():
        field = counts.field(name)
        field.links[link] = field.links.get(link, 0) + number
        read[name] += number * is_read
        if link and field.other is None:
            field.other = next(page for seen, page in readings if seen.get(name, _NOT_FOUND).link)
    for name in names:
        field = counts.field(name)
        field.read += read[name]
        if field.missing is None and read[name] < len(readings):
            field.missing = next(page for seen, page in readings if not seen.get(name, _NOT_FOUND).read)


def count_facts(
    counts: FactCounts, fields: Mapping[str, FieldTable], listing: Listing, seen: _Seen, example: Example
) -> None:
    """Count which of the facts that all adverts should have are there."""
    has = {name: getattr(listing, field_name) is not None for name, field_name in _FACT_FIELDS.items()}
    on_request = False
    if not has["price"]:  # the page may say in known words that the price is on request
        price_fields = [name for name, table in fields.items() if table.parser[0] == "price" and name in seen]
        doubts = _NO_PRICES.union(f"{name}_conflict" for name in price_fields)
        on_request = bool(price_fields) and doubts.isdisjoint(listing.flags)
    counts.adverts += 1
    for name, is_present in has.items():
        setattr(counts, name, getattr(counts, name) + is_present)
        if not is_present and not (on_request and name == "price"):
            counts.missing.setdefault(name, example)
    counts.on_request += on_request
    counts.both += has["price"] and has["area"]


def _count_price(
    counts: SectionCounts, facts: Mapping[str, Any], stored: KnownPrice | None, example: Example
) -> None:
    price = facts["price_eur"]
    if price is None:
        return
    if facts["deal"] != "rent":
        counts.prices.add(price / EURO_SCALE)
    counts.priced += 1
    stored_fields = stored._asdict() if stored else None
    if (stored_fields and another_meaning(stored_fields, facts) == PER_SQM) or is_too_little(facts):
        counts.per_sqm += 1
    if stored and stored.price_eur:
        counts.ratios.add(price / stored.price_eur)
        if price != stored.price_eur:
            counts.odd = counts.odd or example


Sightings = Mapping[int, Sighting]


@dataclass(frozen=True, slots=True)
class Written:
    """What a batch changed."""

    new: int = 0
    changed: int = 0
    found: int = 0
    lost: int = 0
    """Outcomes that came too late: the row is no longer ours, so nothing of them was written."""
    unchanged: int = 0
    failed: int = 0
    ended: int = field(default=0, compare=False)
    """Pages that are done or failed for good."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a crawl writes for: its job and portal, its limit of adverts, and the rules of their history."""

    job_id: str
    site: str
    limit: int | None = None
    rules: HistoryRules = DEFAULT_RULES
    conditional: bool = False
    """Whether adverts are requested conditionally."""
    chunk_size: int | None = None
    """Pages in one of the chunks that the job counts; None: it counts none."""


def prepare(ledger: Ledger, outcomes: Sequence[Outcome], now: float) -> Sightings:
    """The sightings to store, by claim id; computed before the transaction, so that no lock is held."""
    return {
        page.claim.id: Sighting(
            page.listing,
            seen_at=moment(page, now),
            job_id=ledger.job_id,
            page_digest=page.kept.digest if page.kept else None,
            seconds=page.seconds,
            etag=page.etag if ledger.conditional else None,
            last_modified=page.last_modified if ledger.conditional else None,
        ).prepared()
        for page in outcomes
        if isinstance(page, Read)
    }


def write_batch(  # noqa: PLR0913 - each is a matter of its own
    connection: Connection,
    ledger: Ledger,
    outcomes: Sequence[Outcome],
    *,
    now: float,
    prepared: Sightings | None = None,
    seconds: float = 0.0,
    in_chunk: int = 0,
) -> Written:
    """Write a batch in the caller's transaction: each row's end is committed with its data, never without.

    The job gets the `seconds` of work and the chunks that are now full; `in_chunk` pages of the open chunk
    had ended before.
    """
    sightings = prepare(ledger, outcomes, now) if prepared is None else prepared
    our_ids = frontier.still_ours(connection, [page.claim for page in outcomes])
    pages = [page for page in outcomes if page.claim.id in our_ids]
    sections = count_pages(connection, ledger.job_id, ledger.site, pages)
    hold_prices = prices_are_doubtful(sections, get_settings())
    if hold_prices:
        sightings = {claim: replace(sighting, held=True) for claim, sighting in sightings.items()}
    floors = {name: Floor(share, ()) for name, share in get_scraper(ledger.site).config.at_least}
    hold_news = are_missed(sections, floors)
    if hold_news:
        sightings = {claim: replace(sighting, held_news=True) for claim, sighting in sightings.items()}
    if is_drifting(connection, ledger.site):
        sightings = {claim: replace(sighting, held_gaps=True) for claim, sighting in sightings.items()}
    saved = _save(connection, ledger, pages, sightings, now)
    source = Source(ledger.job_id, held=hold_prices, held_news=hold_news, rules=ledger.rules)
    added = _add_pages(connection, ledger, pages, now, source)
    requests = sum(page.requests for page in outcomes)
    new, changed, unchanged = (saved.count(result) for result in ("new", "changed", "unchanged"))
    ended = sum(not isinstance(page, Later) for page in pages)
    chunks = (in_chunk + ended) // ledger.chunk_size if ledger.chunk_size else 0
    counts = {"requests": requests, "new": new, "changed": changed, "chunks": chunks}
    add_job_counts(connection, ledger.job_id, **counts, seconds=seconds)
    if any(page.claim.kind == "search" for page in pages):
        added += look_for_missing(connection, ledger.job_id, now=now)
    failed = sum(isinstance(page, Failed) and page.claim.kind == "listing" for page in pages)
    return Written(new, changed, added, len(outcomes) - len(pages), unchanged, failed, ended)


def _save(
    connection: Connection, ledger: Ledger, outcomes: Sequence[Outcome], sightings: Sightings, now: float
) -> list[SaveResult]:
    """Store the adverts that were seen; reading one covers all that its card showed before."""
    read_pages = [page for page in outcomes if isinstance(page, Read)]
    full_sightings = fill_from_cards(
        connection, ledger.site, [sightings[page.claim.id] for page in read_pages]
    )
    saved = save_listings(connection, full_sightings, ledger.rules)
    if sample := [page.listing for page in read_pages if page.claim.kin == Kin.SAMPLE]:
        check_sample(connection, ledger.job_id, ledger.site, sample, now=now)
    removed_adverts(connection, ledger.site, outcomes, now)
    listing_id = get_scraper(ledger.site).listing_id
    unmodified = [
        SameAgain(listing_id(page.claim.url) or "", moment(page, now), page.seconds)
        for page in outcomes
        if isinstance(page, NotModified)
    ]
    unmodified_count = save_unmodified(
        connection, ledger.site, unmodified, job_id=ledger.job_id, rules=ledger.rules
    )
    opened_at = {page.listing.external_id: moment(page, now) for page in read_pages}
    mark_opened(connection, ledger.site, opened_at | {advert.external_id: advert.at for advert in unmodified})
    return saved + ["unchanged"] * unmodified_count


def _add_pages(
    connection: Connection, ledger: Ledger, outcomes: Sequence[Outcome], now: float, source: Source
) -> int:
    """Add what the pages lead to, record the visits and end the rows; returns how many pages are new."""
    result_pages = [page for page in outcomes if isinstance(page, Found)]
    steps = SearchSteps(connection, ledger.job_id, get_scraper(ledger.site), now)
    added = add_found(connection, steps, result_pages, limit=ledger.limit, now=now, source=source)
    # For pages of results that are gone or failed: how many other pages were added instead.
    unanswered = [
        page for page in outcomes if isinstance(page, Gone | Failed) and page.claim.kind == "search"
    ]
    replacements = {page.claim.id: count for page in unanswered if (count := steps.unanswered(page))}
    record_visits(connection, visits_of(outcomes, ledger.site, ledger.job_id, now))
    records = [
        PageRecord(
            ledger.site,
            page.claim.url,
            "search" if page.claim.kind == "search" else "listing",
            page.kept.digest,
            page.kept.content_type,
            moment(page, now),
        )
        for page in outcomes
        if page.kept
    ]
    record_pages(connection, records)
    _end_rows(connection, ledger.job_id, outcomes, replacements.keys(), now)
    return added + sum(replacements.values())


def _end_rows(
    connection: Connection, job_id: str, outcomes: Sequence[Outcome], replaced_ids: Container[int], now: float
) -> None:
    later = [page for page in outcomes if isinstance(page, Later)]
    waits = [
        frontier.PutOff(
            page.claim,
            page.seconds_later,
            page.code,
            page.reason,
            page.refund,
            page.ended_as,
            in_its_place=page.in_its_place,
        )
        for page in later
    ]
    frontier.postpone(connection, waits, now=now)
    if shut_seconds := [page.seconds_later for page in later if page.all_pages]:
        frontier.shut(connection, job_id, seconds=min(shut_seconds), now=now)
    ends: list[tuple[Claim, str, str | None, str | None]] = []
    for page in outcomes:
        if isinstance(page, Failed) and page.claim.id in replaced_ids:
            ends.append((page.claim, "done", page.code, f"{page.reason}; another way was taken"))
        elif isinstance(page, Failed):
            ends.append((page.claim, "failed", page.code, page.reason))
        elif not isinstance(page, Later):
            ends.append((page.claim, "done", page.code if isinstance(page, Gone) else None, None))
    frontier.finish(connection, ends)


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """When a batch is committed: with this many outcomes, or after this many seconds."""

    outcomes: int
    seconds: float


class WorkTime:
    """How long a run has worked for its job, and how much of that is not stored with the job yet.

    Each commit stores it, so a killed run loses only the time since its last commit.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._noted_until = clock()

    @property
    def total(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._began

    def since_noted(self) -> tuple[float, float]:
        """Seconds not stored yet, and the moment they reach up to: pass it to `note` after the commit."""
        now = self._clock()
        return now - self._noted_until, now

    def note(self, until: float) -> None:
        """Remember that the work until then is committed."""
        self._noted_until = until


Alongside = Callable[[Connection, int], Callable[[], None]]
"""Called in the transaction of a batch, with its number of pages; the result is called after the commit."""


def _nothing() -> None: ...


class GroupWriter:
    """Commits all outcomes since the last commit together. `write` returns when its outcome is committed.

    A visitor takes no further page before that, so after a crash at most one page per visitor is fetched
    again.
    """

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        limits: BatchLimits,
        clock: Callable[[], float],
        meter: Meter = NO_METER,
    ) -> None:
        self._database = database
        self.work = WorkTime()  # replaced by the run's own if it began earlier
        self._meter = meter
        self.ledger = ledger
        self._limits = limits
        self._clock = clock
        self._waiting: list[tuple[Outcome, asyncio.Future[None]]] = []
        self._batch_full = asyncio.Event()
        self._commit_lock = asyncio.Lock()
        self.written = Written()
        self.alongside: Alongside = lambda _connection, _pages: _nothing
        self._in_chunk = 0

    @property
    def has_open_chunk(self) -> bool:
        """Whether a chunk has been begun and is not full yet."""
        return self._in_chunk > 0

    async def write(self, outcome: Outcome) -> None:
        """Wait until the outcome is committed; a database error is raised to all callers of the batch."""
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((outcome, committed))
        if len(self._waiting) >= self._limits.outcomes:
            self._batch_full.set()
        async with self._commit_lock:
            if not committed.done():
                # A transaction costs as much as several adverts, so wait a moment for more of them.
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._limits.seconds):
                        await self._batch_full.wait()
                await self._commit()
        await committed

    async def _commit(self) -> None:
        batch, self._waiting = self._waiting, []
        self._batch_full.clear()
        outcomes, now = [outcome for outcome, _ in batch], self._clock()
        try:
            sightings = prepare(self.ledger, outcomes, now)
            seconds, until = self.work.since_noted()
            write = partial(
                write_batch,
                ledger=self.ledger,
                outcomes=outcomes,
                now=now,
                prepared=sightings,
                seconds=seconds,
                in_chunk=self._in_chunk,
            )
            written, after_commit = await self._database.run_write_async(
                lambda connection: (write(connection), self.alongside(connection, len(outcomes)))
            )
            self.work.note(until)
            after_commit()
            if self.ledger.chunk_size:
                self._in_chunk = (self._in_chunk + written.ended) % self.ledger.chunk_size
        except Exception as error:  # noqa: BLE001 - all waiting callers must get it, whatever it is
            for _, committed in batch:
                committed.set_exception(error)
            return
        counts = {
            "new": written.new,
            "changed": written.changed,
            "unchanged": written.unchanged,
            "failed": written.failed,
        }
        self._meter.stored(self.ledger.site, **counts)
        total = self.written
        self.written = Written(
            total.new + written.new,
            total.changed + written.changed,
            total.found + written.found,
            total.lost + written.lost,
        )
        for _, committed in batch:
            committed.set_result(None)
