"""The one writer of a crawl: data and the rows' new states go into one transaction, or none of it does."""

import asyncio
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
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
from sale_sofia.history.price_meaning import PER_SQM, another_meaning, is_too_little
from sale_sofia.history.settings import HistoryRules
from sale_sofia.listings.model import FieldSeen, Listing
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.metrics import NO_METER, Meter
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import FieldTable

# What the pages of a batch are like: how their fields were found, and what became of known prices.

_PRICE_FACTS = ("price_eur", "area_sqm", "deal", "property_type")
_HAS = {"price": "price_eur", "area": "area_sqm", "place": "city", "type": "property_type"}
"""What an advert must have to count as having each of these."""
_NO_PRICES = frozenset({"price_unreadable", "currency_conflict", "price_eur_impossible"})
"""Flags of adverts whose text of a price is no word for "on request"."""
_Seen = Mapping[str, FieldSeen]
_NOT_FOUND: Final[tuple[int | None, bool]] = (None, False)


def count_pages(connection: Connection, job_id: str, site: str, outcomes: Sequence[Outcome]) -> Sections:
    """Add these pages to what their run has counted, before they are stored; all it has counted so far.

    Known prices are those stored before the pages are.
    """
    config = get_scraper(site).config
    adverts = [page for page in outcomes if isinstance(page, Read)]
    # A sitemap says nothing of its adverts that could drift.
    results = [page for page in outcomes if isinstance(page, Found) and page.section in config.searches]
    puzzles = [(page, page.unreadable) for page in outcomes if isinstance(page, Failed) and page.unreadable]
    if not (adverts or results or puzzles):
        return {}
    shown = [card.external_id for page in results for card, _ in page.adverts]
    prices = known_prices(connection, site, [page.listing.external_id for page in adverts] + shown)
    sections = lock_counters(connection, job_id, site)
    for page in adverts:
        counts, example = _begin_page(sections, LISTING, page)
        _count_fields(counts, config.listing.fields, page.seen, example)
        count_facts(counts.facts, config.listing.fields, page.listing, page.seen, example)
        facts = {name: getattr(page.listing, name) for name in _PRICE_FACTS}
        _count_price(counts, facts, prices.get(page.listing.external_id), example)
    for found in results:
        counts, example = _begin_page(sections, found.section, found)
        _count_results(counts, config.searches[found.section].fields, found, prices, example)
    for failed, reason in puzzles:
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
    for (advert, _), card in zip(page.adverts, page.cards, strict=False):
        _count_fields(counts, fields, card.seen, example)
        facts = {name: card.facts.get(name) for name in _PRICE_FACTS}
        _count_price(counts, facts, prices.get(advert.external_id), example)
    if not page.cards:
        return
    counts.note_few(len(page.cards), example)
    if page.following:
        counts.full_pages += 1
        counts.full_cards += len(page.cards)
    else:  # the last page of its search speaks for all of them
        counts.told += page.total or 0


def _count_fields(counts: SectionCounts, names: Iterable[str], seen: _Seen, example: Example) -> None:
    counts.seen += 1
    fields = counts.fields
    for name in names:
        field = fields.get(name) or counts.field(name)
        link, read = seen.get(name, _NOT_FOUND)
        if read:
            field.read += 1
        elif field.missing is None:
            field.missing = example
        if link is not None:
            field.links[link] = field.links.get(link, 0) + 1
            if link and field.other is None:
                field.other = example


def count_facts(
    counts: FactCounts, fields: Mapping[str, FieldTable], listing: Listing, seen: _Seen, example: Example
) -> None:
    """Count what this advert has of that which every advert should have."""
    has = {name: getattr(listing, fact) is not None for name, fact in _HAS.items()}
    on_request = False
    if not has["price"]:  # a text may stand there that is one of the known words for "no price is told"
        found = [name for name, table in fields.items() if table.parser[0] == "price" and name in seen]
        doubts = _NO_PRICES.union(f"{name}_conflict" for name in found)
        on_request = bool(found) and doubts.isdisjoint(listing.flags)
    counts.adverts += 1
    for name, there in has.items():
        setattr(counts, name, getattr(counts, name) + there)
        if not there and not (on_request and name == "price"):
            counts.missing.setdefault(name, example)
    counts.on_request += on_request
    counts.both += has["price"] and has["area"]


def _count_price(
    counts: SectionCounts, facts: Mapping[str, Any], known: KnownPrice | None, example: Example
) -> None:
    price = facts["price_eur"]
    if price is None:
        return
    if facts["deal"] != "rent":
        counts.prices.add(price / EURO_SCALE)
    counts.priced += 1
    old = known._asdict() if known else None
    if (old and another_meaning(old, facts) == PER_SQM) or is_too_little(facts):
        counts.per_sqm += 1
    if known and known.price_eur:
        counts.ratios.add(price / known.price_eur)
        if price != known.price_eur:
            counts.odd = counts.odd or example


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
    ended: int = field(default=0, compare=False)
    """Pages that came to their end."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Where a crawl writes: its job, its portal, how many adverts it may have, how their history is kept."""

    job_id: str
    site: str
    limit: int | None = None
    rules: HistoryRules = DEFAULT_RULES
    conditional: bool = False
    """Whether the portal is asked for adverts it may call unmodified."""
    chunk_size: int | None = None
    """Pages in one of the batches that the job counts."""


def prepare(ledger: Ledger, outcomes: Sequence[Outcome], now: float) -> Sightings:
    """What the batch will store, by claim: worked out before the transaction, so that it holds no lock."""
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

    With them the `seconds` that were worked for them, and the job's batches that they fill: `in_chunk` pages
    of the one in hand had ended before.
    """
    sightings = prepare(ledger, outcomes, now) if prepared is None else prepared
    ours = frontier.still_ours(connection, [page.claim for page in outcomes])
    kept = [page for page in outcomes if page.claim.id in ours]
    counted = count_pages(connection, ledger.job_id, ledger.site, kept)
    held = prices_are_doubtful(counted, get_settings())
    if held:
        sightings = {claim: replace(sighting, held=True) for claim, sighting in sightings.items()}
    floors = {name: Floor(share, ()) for name, share in get_scraper(ledger.site).config.at_least}
    held_news = are_missed(counted, floors)
    if held_news:
        sightings = {claim: replace(sighting, held_news=True) for claim, sighting in sightings.items()}
    if is_drifting(connection, ledger.site):
        sightings = {claim: replace(sighting, held_gaps=True) for claim, sighting in sightings.items()}
    saved = _save(connection, ledger, kept, sightings, now)
    source = Source(ledger.job_id, held=held, held_news=held_news, rules=ledger.rules)
    found = _add_pages(connection, ledger, kept, now, source)
    requests = sum(page.requests for page in outcomes)
    new, changed, unchanged = (saved.count(result) for result in ("new", "changed", "unchanged"))
    ended = sum(not isinstance(page, Later) for page in kept)
    chunks = (in_chunk + ended) // ledger.chunk_size if ledger.chunk_size else 0
    counts = {"requests": requests, "new": new, "changed": changed, "chunks": chunks}
    add_job_counts(connection, ledger.job_id, **counts, seconds=seconds)
    if any(page.claim.kind == "search" for page in kept):
        found += look_for_missing(connection, ledger.job_id, now=now)
    failed = sum(isinstance(page, Failed) and page.claim.kind == "listing" for page in kept)
    return Written(new, changed, found, len(outcomes) - len(kept), unchanged, failed, ended)


def _save(
    connection: Connection, ledger: Ledger, outcomes: Sequence[Outcome], sightings: Sightings, now: float
) -> list[SaveResult]:
    """Store the adverts that were seen; one that was read answers for all that its card showed until then."""
    read = [page for page in outcomes if isinstance(page, Read)]
    seen = fill_from_cards(connection, ledger.site, [sightings[page.claim.id] for page in read])
    saved = save_listings(connection, seen, ledger.rules)
    if sample := [page.listing for page in read if page.claim.kin == Kin.SAMPLE]:
        check_sample(connection, ledger.job_id, ledger.site, sample, now=now)
    removed_adverts(connection, ledger.site, outcomes, now)
    listing_id = get_scraper(ledger.site).listing_id
    same = [
        SameAgain(listing_id(page.claim.url) or "", moment(page, now), page.seconds)
        for page in outcomes
        if isinstance(page, NotModified)
    ]
    unmodified = save_unmodified(connection, ledger.site, same, job_id=ledger.job_id, rules=ledger.rules)
    opened = {page.listing.external_id: moment(page, now) for page in read}
    mark_opened(connection, ledger.site, opened | {advert.external_id: advert.at for advert in same})
    return saved + ["unchanged"] * unmodified


def _add_pages(
    connection: Connection, ledger: Ledger, outcomes: Sequence[Outcome], now: float, source: Source
) -> int:
    """Add what the pages lead to, remember the visits and end the rows; how many pages are new."""
    pages = [page for page in outcomes if isinstance(page, Found)]
    steps = SearchSteps(connection, ledger.job_id, get_scraper(ledger.site), now)
    found = add_found(connection, steps, pages, limit=ledger.limit, now=now, source=source)
    # Of pages of results that are not there or could not be had: how many others are asked instead.
    lost = [page for page in outcomes if isinstance(page, Gone | Failed) and page.claim.kind == "search"]
    replaced = {page.claim.id: count for page in lost if (count := steps.unanswered(page))}
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
    _end_rows(connection, ledger.job_id, outcomes, replaced.keys(), now)
    return found + sum(replaced.values())


def _end_rows(
    connection: Connection, job_id: str, outcomes: Sequence[Outcome], replaced: Container[int], now: float
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
    if shut := [page.seconds_later for page in later if page.all_pages]:
        frontier.shut(connection, job_id, seconds=min(shut), now=now)
    ends: list[tuple[Claim, str, str | None, str | None]] = []
    for page in outcomes:
        if isinstance(page, Failed) and page.claim.id in replaced:
            ends.append((page.claim, "done", page.code, f"{page.reason}; another way was taken"))
        elif isinstance(page, Failed):
            ends.append((page.claim, "failed", page.code, page.reason))
        elif not isinstance(page, Later):
            ends.append((page.claim, "done", page.code if isinstance(page, Gone) else None, None))
    frontier.finish(connection, ends)


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How long a commit waits for company: for so many outcomes, or for so many seconds."""

    outcomes: int
    seconds: float


class WorkTime:
    """How long a run has worked for its job, and how much of it the job does not know yet.

    Each commit notes it, so that a run that is killed loses only what came after its last one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._noted_until = clock()

    @property
    def total(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._began

    def since_noted(self) -> tuple[float, float]:
        """Seconds that are not noted yet, and the moment up to which they are: give it to `note`."""
        now = self._clock()
        return now - self._noted_until, now

    def note(self, until: float) -> None:
        """What was worked until then is committed."""
        self._noted_until = until


Alongside = Callable[[Connection, int], Callable[[], None]]
"""What is done in the transaction of a batch of so many pages; what it gives is called once that is kept."""


def _nothing() -> None: ...


class GroupWriter:
    """Commits what has come in since the last commit, together. `write` returns when its outcome is safe.

    A visitor takes no further page before its last one is committed, so after a crash at most as many pages
    are fetched again as there are visitors.
    """

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        patience: BatchLimits,
        clock: Callable[[], float],
        meter: Meter = NO_METER,
    ) -> None:
        self._database = database
        self.work = WorkTime()  # of a run that began before, its own is put here
        self._meter = meter
        self.ledger = ledger
        self._patience = patience
        self._clock = clock
        self._waiting: list[tuple[Outcome, asyncio.Future[None]]] = []
        self._enough = asyncio.Event()
        self._busy = asyncio.Lock()
        self.written = Written()
        self.alongside: Alongside = lambda _connection, _pages: _nothing
        self._in_chunk = 0

    @property
    def has_open_chunk(self) -> bool:
        """Whether pages have ended of a batch that is not full."""
        return self._in_chunk > 0

    async def write(self, outcome: Outcome) -> None:
        """Have the outcome committed; raises what the database raises, for everyone in the batch."""
        safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((outcome, safe))
        if len(self._waiting) >= self._patience.outcomes:
            self._enough.set()
        async with self._busy:
            if not safe.done():
                # A transaction costs as much as several adverts, so it waits a moment for more of them.
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._patience.seconds):
                        await self._enough.wait()
                await self._commit()
        await safe

    async def _commit(self) -> None:
        batch, self._waiting = self._waiting, []
        self._enough.clear()
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
            more, committed = await self._database.run_write_async(
                lambda connection: (write(connection), self.alongside(connection, len(outcomes)))
            )
            self.work.note(until)
            committed()
            if self.ledger.chunk_size:
                self._in_chunk = (self._in_chunk + more.ended) % self.ledger.chunk_size
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            for _, safe in batch:
                safe.set_exception(error)
            return
        counts = {
            "new": more.new,
            "changed": more.changed,
            "unchanged": more.unchanged,
            "failed": more.failed,
        }
        self._meter.stored(self.ledger.site, **counts)
        old = self.written
        self.written = Written(
            old.new + more.new, old.changed + more.changed, old.found + more.found, old.lost + more.lost
        )
        for _, safe in batch:
            safe.set_result(None)
