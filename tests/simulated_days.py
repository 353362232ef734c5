"""Days of a simulated portal, swept through the crawl's own code without a network, and what must come of it.

The expectation is worked out from the worlds alone: what each day's searches showed, what opened pages said.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from sqlalchemy import Connection, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.jobs import begin_job, end_job, known_job
from sale_sofia.crawl.urls import target
from sale_sofia.crawl.visit.outcomes import Failed, Found, Gone, Outcome, Read
from sale_sofia.crawl.visit.writer import Ledger, write_batch
from sale_sofia.history.cards import SeenCard, card_hash
from sale_sofia.history.jobs import get_job
from sale_sofia.history.listing_rows import VOLATILE_FIELDS, listing_fields
from sale_sofia.history.tables import WAS_ASKED, listing_changes, listings, market_events, price_points
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.model import World
from sale_sofia_simulator.truth import imot_truth

Mode = Literal["whole", "partial", "blocked", "collapsed"]
Truth = dict[str, Any]
Event = tuple[str, str, int]
"""What, which advert, on which day."""
SITE = "imot.bg"
START = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"
DAY = 86_400.0
EVENING = 1_776_800_000.0
PER_PAGE = 40
_ON_CARD = ("price_eur", "area_sqm", "floor", "floors_total", "rooms", "property_type", "neighbourhood")


def moment_of(day: int) -> float:
    return EVENING + day * DAY


def day_of(moment: float) -> int:
    return int((moment - EVENING) // DAY)


def card_of(truth: Truth) -> Truth:
    """What a card of imot.bg shows: of VAT only that it is not included."""
    shown = {name: truth[name] for name in _ON_CARD}
    return shown | {"vat": truth["vat"] if truth["vat"] == "excluded" else None}


@dataclass
class Portal:
    """One day of the portal: its adverts, and what is wrong with it."""

    truths: dict[str, Truth]
    mode: Mode

    @property
    def shown(self) -> list[Truth]:
        """In the order of the searches; a collapsed portal shows a third."""
        everything = list(self.truths.values())
        return everything[: len(everything) // 3] if self.mode == "collapsed" else everything

    def answer(self, claim: Claim) -> Outcome:
        site = get_scraper(SITE)
        if claim.kind == "listing":
            truth = self.truths.get(site.listing_id(claim.url) or "")
            return Read(claim, Listing.model_validate(truth)) if truth else Gone(claim, "removed")
        page = int(claim.url.rpartition("/p-")[2]) if "/p-" in claim.url else 1
        if self.mode == "blocked" or (self.mode == "partial" and page == 3):
            return Failed(claim, "HttpBlocked", "for the day (open the circuit)")
        return self._results(claim, page)

    def _results(self, claim: Claim, page: int) -> Found:
        site, cards = get_scraper(SITE), self.page(page)
        adverts = tuple(
            (SeenCard(one["external_id"], card_hash(card_of(one))), target(site, one["url"])) for one in cards
        )
        last = page * PER_PAGE >= len(self.shown)
        return Found(claim, adverts, None if last else target(site, f"{START}/p-{page + 1}"))

    def page(self, number: int) -> list[Truth]:
        return self.shown[(number - 1) * PER_PAGE : number * PER_PAGE]


@dataclass
class Days:
    """Sweeps day after day, and remembers what was shown and what was opened."""

    database: Database
    requests: list[int] = field(default_factory=list)
    opened: dict[str, list[tuple[int, Truth]]] = field(default_factory=lambda: defaultdict(list))
    portals: list[Portal] = field(default_factory=list)
    shown: list[list[Truth]] = field(default_factory=list)

    def sweep(self, world: World, mode: Mode = "whole") -> None:
        portal = Portal({one.external_id: imot_truth(one) for one in world.imot}, mode)
        day, now = len(self.portals), moment_of(len(self.portals))
        self.portals.append(portal)
        self.shown.append([])
        with self.database.write() as connection:
            job_id = begin_job(connection, get_scraper(SITE), [START], limit=None, now=now)
        while claims := self._claims(job_id, now):
            self._work(job_id, day, claims, now)
        with self.database.write() as connection:
            end_job(connection, known_job(connection, job_id), now=now)
            job = get_job(connection, job_id)
            self.requests.append(job.requests if job else 0)

    def _claims(self, job_id: str, now: float) -> list[Claim]:
        with self.database.write() as connection:
            return frontier.claim(connection, job_id, owner="test", count=25, now=now, lease_seconds=60)

    def _work(self, job_id: str, day: int, claims: list[Claim], now: float) -> None:
        portal = self.portals[day]
        outcomes = [portal.answer(claim) for claim in claims]
        for one in outcomes:
            if isinstance(one, Read):
                truth = portal.truths[one.listing.external_id]
                self.opened[one.listing.external_id].append((day, truth))
            if isinstance(one, Found):
                self.shown[day] += [portal.truths[card.external_id] for card, _ in one.adverts]
        with self.database.write() as connection:
            write_batch(connection, Ledger(job_id, SITE), outcomes, now=now)

    def expected(self) -> "Expectation":
        return Expectation(self)


def is_reused(old: Truth, new: Truth) -> bool:
    return all(
        None not in (old[name], new[name]) and old[name] != new[name] for name in ("area_sqm", "floor")
    )


def fields_of(truth: Truth) -> Truth:
    return listing_fields(Listing.model_validate(truth))


class Expectation:
    """What the worlds say must have been found, and when."""

    def __init__(self, days: Days) -> None:
        self.days = days

    def missed_cards(self) -> list[tuple[str, int]]:
        """Adverts that were not opened on a day on which their card first showed something new."""
        opened = {(key, day) for key, visits in self.days.opened.items() for day, _ in visits}
        cards: dict[str, Truth] = {}
        missed = []
        for day, shown in enumerate(self.days.shown):
            for truth in shown:
                key, card = truth["external_id"], card_of(truth)
                if cards.get(key) != card and (key, day) not in opened:
                    missed.append((key, day))
                cards[key] = card
        return missed

    def changes(self) -> list[tuple[str, int, str, Any, Any]]:
        """Every field that differs between two visits, on the day of the later one; another flat has none."""
        return sorted(self._changes(), key=repr)

    def _changes(self) -> Iterator[tuple[str, int, str, Any, Any]]:
        for key, visits in self.days.opened.items():
            for (_, before), (day, after) in pairwise(visits):
                if is_reused(before, after):
                    continue
                old, new = fields_of(before), fields_of(after)
                for name in sorted(new.keys() - VOLATILE_FIELDS):
                    if old[name] != new[name]:
                        yield key, day, name, old[name], new[name]

    def prices(self) -> list[tuple[str, int, Any, Any]]:
        """The first price of each flat, then each other one."""
        found = []
        for key, visits in self.days.opened.items():
            before: Truth | None = None
            for day, truth in visits:
                priced = ("price_eur", "price_bgn", "vat")
                if before is None or is_reused(before, truth) or any(before[n] != truth[n] for n in priced):
                    found.append((key, day, truth["price_eur"], truth["vat"]))
                before = truth
        return sorted(found, key=repr)

    def events(self) -> list[Event]:
        """What went, on the day of the first complete sweep without it; what came back; re-used ids."""
        return sorted([*self._comings_and_goings(), *self._reuses()])

    def _comings_and_goings(self) -> Iterator[Event]:
        missed: dict[str, list[int]] = defaultdict(list)
        gone: set[str] = set()
        known: set[str] = set()
        for day, (portal, shown) in enumerate(zip(self.days.portals, self.days.shown, strict=True)):
            ids = {truth["external_id"] for truth in shown}
            for key in sorted(ids & gone):
                yield "back", key, day
            gone -= ids
            known |= ids
            missed = defaultdict(list, {key: days for key, days in missed.items() if key not in ids})
            if portal.mode != "whole":
                continue
            for key in known - ids - gone:
                missed[key].append(day)
                if len(missed[key]) >= 2:
                    gone.add(key)
                    yield "gone", key, missed[key][0]

    def _reuses(self) -> Iterator[Event]:
        for key, visits in self.days.opened.items():
            for (_, before), (day, after) in pairwise(visits):
                if is_reused(before, after):
                    yield "reused", key, day


def stored_changes(connection: Connection) -> list[tuple[str, int, str, Any, Any]]:
    found = select(listings.c.external_id, listing_changes).join(listing_changes)
    rows = connection.execute(found).mappings()
    return sorted(
        ((r["external_id"], day_of(r["seen_at"]), r["field"], r["old"], r["new"]) for r in rows), key=repr
    )


def stored_prices(connection: Connection) -> list[tuple[str, int, Any, Any]]:
    found = select(listings.c.external_id, price_points).join(price_points).where(WAS_ASKED)
    rows = connection.execute(found).mappings()
    return sorted(
        ((r["external_id"], day_of(r["seen_at"]), r["price_eur"], r["vat"]) for r in rows), key=repr
    )


def stored_events(connection: Connection) -> list[Event]:
    found = select(listings.c.external_id, market_events.c.kind, market_events.c.reason, market_events.c.at)
    rows = connection.execute(found.join(market_events)).all()
    return sorted((_word(row.kind, row.reason), row.external_id, day_of(row.at)) for row in rows)


def _word(kind: str, reason: str) -> str:
    return "reused" if reason == "reused" else kind


def stored_firsts(connection: Connection) -> Mapping[tuple[str, int], int]:
    """The day each flat was first seen, by advert and generation."""
    rows = connection.execute(select(listings.c.external_id, listings.c.generation, listings.c.first_seen_at))
    return {(row.external_id, row.generation): day_of(row.first_seen_at) for row in rows}
