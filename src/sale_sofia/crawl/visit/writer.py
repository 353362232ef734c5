"""The one writer of a crawl: data and the rows' new states go into one transaction, or none of it does."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.searches import SearchSteps, add_found, fill_from_cards
from sale_sofia.crawl.frontier.sweeping import look_for_missing
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
from sale_sofia.history.cards import mark_opened
from sale_sofia.history.drift.counts import (
    EURO_SCALE,
    LISTING,
    Example,
    FactCounts,
    SectionCounts,
    Sections,
    counters_of,
    sections_of,
)
from sale_sofia.history.drift.judging import are_missed, floors_of, prices_are_doubtful
from sale_sofia.history.drift.store import lock_counters, store_counters
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
from sale_sofia.history.pages import PageKind, PageRecord, record_pages
from sale_sofia.history.price_meaning import PER_SQM, another_meaning, is_too_little
from sale_sofia.history.settings import HistoryRules
from sale_sofia.listings.model import FieldSeen, Listing
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.meter import NO_METER, Meter
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import FieldTable

# What the pages of a batch are like: how their fields were found, and what became of known prices.

_UNREADABLE = "Parse"
"""How the classes of errors begin that say that a page was had and could not be read."""
_ASKED = ("price_eur", "area_sqm", "deal", "property_type")
_HAS = {"price": "price_eur", "area": "area_sqm", "place": "city", "type": "property_type"}
"""What an advert must have to count as having each of these."""
_PRICE = "price"
"""The parser of prices."""
_NO_PRICES = frozenset({"price_unreadable", "currency_conflict", "price_eur_impossible"})
"""Flags of adverts whose text of a price is no word for "on request"."""
_Known = Mapping[str, KnownPrice]
_Seen = Mapping[str, FieldSeen]


def count_pages(connection: Connection, job_id: str, site: str, outcomes: Sequence[Outcome]) -> Sections:
    """Add these pages to what their run has counted, before they are stored; all it has counted so far."""
    more = observe(connection, site, outcomes)
    sections = sections_of(lock_counters(connection, job_id, site)) if more else {}
    for name, counts in more.items():
        _section(sections, name).merge(counts)
    if more:
        store_counters(connection, job_id, counters_of(sections))
    return sections


def observe(connection: Connection, site: str, outcomes: Sequence[Outcome]) -> Sections:
    """Everything countable of these pages; known prices are those stored before the pages are."""
    sections: Sections = {}
    known = known_prices(connection, site, _adverts(site, outcomes))
    for one in outcomes:
        if isinstance(one, Read):
            _count_listing(_section(sections, LISTING), site, one, known)
        elif isinstance(one, Found) and _has_cards(site, one):
            _count_results(_section(sections, one.section), site, one, known)
        elif isinstance(one, Failed) and one.reason.startswith(_UNREADABLE):
            _count_unreadable(_section(sections, one.claim.kind), one)
    return sections


def _section(sections: Sections, name: str) -> SectionCounts:
    return sections.setdefault(name, SectionCounts())


def _has_cards(site: str, one: Found) -> bool:
    """Whether it is a page of results: a sitemap says nothing of its adverts that could drift."""
    return one.section in get_scraper(site).config.searches


def _adverts(site: str, outcomes: Iterable[Outcome]) -> list[str]:
    read = [one.listing.external_id for one in outcomes if isinstance(one, Read)]
    pages = [one for one in outcomes if isinstance(one, Found) and _has_cards(site, one)]
    return read + [card.external_id for one in pages for card, _ in one.adverts]


def _count_listing(counts: SectionCounts, site: str, one: Read, known: _Known) -> None:
    example = _example(one)
    counts.pages += 1
    fields = get_scraper(site).config.listing.fields
    _count_fields(counts, fields, one.seen, example)
    count_facts(counts.facts, fields, one.listing, one.seen, example)
    facts = {name: getattr(one.listing, name) for name in _ASKED}
    _count_price(counts, facts, known.get(one.listing.external_id), example)


def _count_results(counts: SectionCounts, site: str, one: Found, known: _Known) -> None:
    tables = get_scraper(site).config.searches[one.section].fields
    example = _example(one)
    counts.pages += 1
    for (advert, _), card in zip(one.adverts, one.cards, strict=False):
        _count_fields(counts, tables, card.seen, example)
        facts = {name: card.facts.get(name) for name in _ASKED}
        _count_price(counts, facts, known.get(advert.external_id), example)
    if one.cards:
        _count_cards(counts, one, example)


def _count_cards(counts: SectionCounts, one: Found, example: Example) -> None:
    counts.note_few(len(one.cards), example)
    if one.following:
        counts.full_pages += 1
        counts.full_cards += len(one.cards)
    else:  # the last page of its search speaks for all of them
        counts.told += one.total or 0


def _count_unreadable(counts: SectionCounts, one: Failed) -> None:
    """By its own name: of `ParseSelector: layout_changed: no cards` that is `layout_changed`."""
    name, _, said = one.reason.partition(": ")
    reason = said.partition(":")[0] if ":" in said else name
    counts.unreadable[reason] = counts.unreadable.get(reason, 0) + 1
    counts.puzzle = counts.puzzle or Example(one.claim.url, one.page_digest)


def _count_fields(counts: SectionCounts, names: Iterable[str], seen: _Seen, example: Example) -> None:
    counts.seen += 1
    for name in names:
        field, found = counts.field(name), seen.get(name)
        if found is None or not found.read:
            field.missing = field.missing or example
        if found is None:
            continue
        field.read += found.read
        field.links[found.link] = field.links.get(found.link, 0) + 1
        if found.link:
            field.other = field.other or example


def count_facts(
    counts: FactCounts, fields: Mapping[str, FieldTable], listing: Listing, seen: _Seen, example: Example
) -> None:
    """Count what this advert has of that which every advert should have."""
    has = {name: getattr(listing, fact) is not None for name, fact in _HAS.items()}
    asked = not has["price"] and _on_request(fields, listing, seen)
    counts.adverts += 1
    for name, there in has.items():
        setattr(counts, name, getattr(counts, name) + there)
        if not there and not (asked and name == "price"):
            counts.missing.setdefault(name, example)
    counts.on_request += asked
    counts.both += has["price"] and has["area"]


def _on_request(fields: Mapping[str, FieldTable], listing: Listing, seen: _Seen) -> bool:
    """Whether a text stands where the price does, and is one of the known words for "no price is told"."""
    found = [name for name, table in fields.items() if table.parser[0] == _PRICE and name in seen]
    doubts = _NO_PRICES.union(f"{name}_conflict" for name in found)
    return bool(found) and doubts.isdisjoint(listing.flags)


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


def _example(one: Read | Found) -> Example:
    return Example(one.claim.url, one.kept.digest if one.kept else None)


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
