"""What follows from a page of results: the next page, splitting its search into parts, or the search's end.

Portals show a part of what they announce: the first thousand of a search, the first 199 pages, or the last
page again and again. A search is followed to its end; if that comes before all adverts were shown, it is
split into smaller ones by filters of the portal, by its site file and what earlier crawls learnt. A search
without an end is stopped: when several pages in a row bring nothing new, when it shows far more than it
announced, or at a bound. All counts are in the database, so a killed crawl continues them.
"""

import hashlib
import logging
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Final
from urllib.parse import urljoin

from pydantic import ValidationError
from sqlalchemy import Connection, Integer, bindparam, func, or_, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import REST
from sale_sofia.crawl.frontier.linking import Kinship, is_copying, note_copies, of_cards
from sale_sofia.crawl.frontier.ranking import current_wishes, rank_adverts
from sale_sofia.crawl.frontier.wanted import NARROWED, find_unwanted, wanted_of
from sale_sofia.crawl.tables import LEFT_ALONE, EndCode, Kin
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import Target, target
from sale_sofia.crawl.visit.outcomes import Failed, Found, Gone, moment
from sale_sofia.history import sweeps
from sale_sofia.history.cards import UNKNOWN_SOURCE, Scope, SeenCard, Source, card_facts, see_cards
from sale_sofia.history.jobs import add_copy_counts
from sale_sofia.history.settings import (
    CAP_LEAST_ADVERTS,
    CARDS_AT_ONCE,
    COVERAGE_SLACK,
    LEAST_COVERAGE,
    SITEMAP_MOST_DEPTH,
)
from sale_sofia.history.sightings import Sighting, listing_key
from sale_sofia.history.sweeps import Ended, LearntLimits, Search, scope_of, searches_of
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import get_settings
from sale_sofia.storage.quick import Quick
from sale_sofia.telemetry.settings import DRIFT_SAMPLE_SHARE
from sale_sofia.websites.base import Site
from sale_sofia.websites.engine import IDS, TableSite
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import all_starts, known_starts, path_and_query
from sale_sofia.websites.splitting import Hints

log: Final = logging.getLogger(__name__)
SITEMAP: Final = "sitemap"
"""The `way` of the parts of a sitemap index."""


def begin_searches(
    connection: Connection,
    job_id: str,
    targets: Sequence[Target],
    *,
    parent_id: int | None = None,
    way: str | None = None,
) -> int:
    """Add searches that begin at these addresses, each with its first page; returns how many are new."""
    new = frontier.without_known(connection, job_id, targets)
    for page in new:
        search_id = sweeps.add_search(connection, job_id, page.url, parent_id=parent_id, way=way)
        frontier.add_targets(connection, job_id, [page], search_id=search_id)
    return len(new)


def begin_narrowed(connection: Connection, job_id: str, site: Site, targets: Sequence[Target]) -> int:
    """Begin the parts of these searches that can hold what the job is for; returns how many are new.

    The start is stored as their parent, as if it had been split: a part that the portal lacks is no loss.
    """
    wanted, new = wanted_of(connection, job_id), 0
    for whole in targets:
        urls = (whole.url,) if wanted is None else wanted.narrow(site, whole.url)
        if urls == (whole.url,):
            new += begin_searches(connection, job_id, [whole])
            continue
        search_id = sweeps.add_search(connection, job_id, whole.url)
        sweeps.keep_search(connection, Search(search_id, job_id, whole.url, ended=Ended.SPLIT))
        parts = [target(site, url) for url in urls]
        new += begin_searches(connection, job_id, parts, parent_id=search_id, way=NARROWED)
    return new


def is_enough(shown: int, announced: int) -> bool:
    """Whether the shown adverts count as all that were announced."""
    return shown >= announced * LEAST_COVERAGE or announced - shown <= COVERAGE_SLACK


@dataclass
class SearchSteps:
    """Decides for the searches of one job, in the transaction that stores their pages."""

    connection: Connection
    job_id: str
    site: TableSite
    now: float

    @cached_property
    def learnt(self) -> LearntLimits:
        """What earlier crawls and this one have learnt about the portal's limits."""
        return sweeps.read_learnt(self.connection, self.site.name, now=self.now)

    def read(self, page: Found) -> int:
        """Handle a page of results that was read; returns how many pages are added to the frontier."""
        before = sweeps.get_search(self.connection, page.claim.search_id)
        if before is None:  # a page without a search: its completeness does not matter
            return self._add_page(page.following, None)
        self._learn(page)
        if page.section == IDS:
            return self._reopen_waiting()
        if before.ended is not None:
            return 0  # another page has ended it meanwhile
        if page.moved and before.parent_id is not None and not before.pages:
            return self._end(before, Ended.ABSENT)
        return self._go_on(before, page)

    def unanswered(self, outcome: Gone | Failed) -> int:
        """Handle a page of results that is gone or failed; returns how many pages are added instead."""
        search = sweeps.get_search(self.connection, outcome.claim.search_id)
        if search is None:
            return 0
        if search.ended is Ended.WAITING:
            return self._reopen_waiting()
        if isinstance(outcome, Failed):
            return self._begin_elsewhere(search) if outcome.forbidden else 0
        if search.ended is None:
            return self._finish(search, None) if search.pages else self._end(search, Ended.ABSENT)
        return 0

    def _begin_elsewhere(self, search: Search) -> int:
        """When robots.txt forbids a start of the portal: begin at the next one, on the same host."""
        whole = sweeps.get_search(self.connection, search.parent_id) if search.way == NARROWED else search
        alternatives = all_starts(self.site.name) if known_starts(self.site.name) else ()
        starts = [list(map(path_and_query, urls)) for urls in alternatives]
        own = path_and_query((whole or search).url)
        positions = [position for position, urls in enumerate(starts) if own in urls]
        is_start = whole is not None and whole.parent_id is None
        if not is_start or not positions or positions[-1] + 1 >= len(starts):
            return 0
        others = [target(self.site, urljoin(search.url, url)) for url in starts[positions[-1] + 1]]
        log.warning(
            "%s: robots.txt forbids %s; the crawl begins at %s", self.site.name, search.url, others[0].url
        )
        self._end(search, Ended.FORBIDDEN)
        return begin_narrowed(self.connection, self.job_id, self.site, others) or 1

    def _learn(self, page: Found) -> None:
        for query, ids in page.ids.items():
            if (self.learnt.ids or {}).get(query) != ids:
                sweeps.learn_ids(self.connection, self.site.name, query, ids, now=self.now)
                self._look_again()

    def _look_again(self) -> None:
        """Read what was learnt again at its next use."""
        self.__dict__.pop("learnt", None)

    def _go_on(self, before: Search, page: Found) -> int:
        search = _after_page(before, page)
        if page.sitemaps:
            return self._cut_index(search, page.sitemaps)
        first = search.pages == 1 and before.pages == 0
        parent = sweeps.get_search(self.connection, search.parent_id) if first else None
        doubtful = parent is not None and _has_all_of(search, parent)
        if parent is not None and doubtful:
            search = self._beside_others(search, parent)
            if search.ended is Ended.USELESS:
                return self._drop_way(search, parent)
        if first and not doubtful and self._is_capped(search, page) and (added := self._cut_up(search, page)):
            return added
        if search.pages > before.pages and page.following and not _is_last(search, page):
            return self._follow(search, page)
        return self._finish(search, page)

    def _follow(self, before: Search, page: Found) -> int:
        """Read on while pages bring new adverts and no bound is reached."""
        settings = get_settings()
        new = sweeps.note_shown(self.connection, before.id, (card.external_id for card, _ in page.adverts))
        search = replace(before, different=before.different + new, stale=0 if new else before.stale + 1)
        announced = search.announced if search.exact else None
        if search.stale >= (page.stale_pages or settings.search_stale_pages):
            whole = announced is not None and is_enough(search.different, announced)
            return self._conclude(replace(search, shown=search.different), page, whole=whole)
        # One page of tolerance on top of the factor: small totals are imprecise.
        bound = math.inf if announced is None else announced * settings.search_total_factor
        if search.different > bound + len(page.adverts):
            return self._end(search, Ended.EXCEEDED)
        if search.pages >= settings.search_max_pages:
            return self._end(search, Ended.ENDLESS)
        self._end(search, None)
        # Nothing is added if the job has the page already: the pages lead in a circle.
        return self._add_page(page.following, search.id) or self._finish(search, page)

    def _cut_index(self, search: Search, sitemaps: Sequence[Target]) -> int:
        """Read the sitemaps of an index, unless they are nested too deep or too many."""
        depth = 0
        above: Search | None = search
        while above is not None:
            depth, above = depth + 1, sweeps.get_search(self.connection, above.parent_id)
        if depth > SITEMAP_MOST_DEPTH or not self._may_be_cut(len(sitemaps)):
            return self._end(search, Ended.ENDLESS)
        return self._cut(search, sitemaps, SITEMAP)

    def _may_be_cut(self, parts: int) -> bool:
        """Whether the job may have this many more searches."""
        return sweeps.count_searches(self.connection, self.job_id) + parts <= get_settings().search_max_parts

    def _is_capped(self, search: Search, page: Found) -> bool:
        most = self.learnt.most
        return page.capped or (most is not None and search.announced is not None and search.announced > most)

    def _cut_up(self, search: Search, page: Found | None) -> int:
        """Split the search by the first way that works; returns 0 where none does."""
        hints = self._hints(search, page)
        while True:
            parts = self.site.parts(search.url, hints)
            if parts.urls and not self._may_be_cut(len(parts.urls)):
                return 0
            if parts.urls:
                return self._cut(search, [target(self.site, url) for url in parts.urls], parts.way)
            if parts.ids_page is None:
                return 0
            # Wait until this page is read, unless that was tried already.
            if self._add_page(target(self.site, parts.ids_page), search.id) or self._waiting():
                self._end(search, Ended.WAITING)
                return 1
            hints = replace(hints, useless=hints.useless | {parts.way})  # its ids could not be read

    def _hints(self, search: Search, page: Found | None) -> Hints:
        is_total_known = search.exact or (page is not None and page.last_page is not None)
        by_pages = page.most_pages * len(page.adverts) if page and page.most_pages else None
        by_file = [table.most for table in self.site.config.searches.values() if table.most]
        most = (page.most if page else None) or by_pages or self.learnt.most or min(by_file, default=None)
        return Hints(
            total=search.announced if is_total_known else None,
            most=most,
            ids=self.learnt.ids or {},
            useless=self.learnt.useless,
        )

    def _cut(self, search: Search, parts: Sequence[Target], way: str) -> int:
        self._end(search, Ended.SPLIT)
        return begin_searches(self.connection, self.job_id, parts, parent_id=search.id, way=way)

    def _reopen_waiting(self) -> int:
        """When the page of ids was read or failed: split the searches waiting for it, or continue them."""
        waiting = self._waiting()
        for search in waiting:
            self._end(search, None)
        return sum(self._reopened(search) for search in waiting)

    def _waiting(self) -> list[Search]:
        own = searches_of(self.connection, self.job_id)
        return [search for search in own if search.ended is Ended.WAITING]

    def _reopened(self, search: Search) -> int:
        """Split the search, or continue after its first page."""
        search = replace(search, ended=None)
        if added := self._cut_up(search, None):
            return added
        if search.next_url is None:
            return self._finish(search, None)
        return self._end(search, None) + self._add_page(target(self.site, search.next_url), search.id)

    def _beside_others(self, search: Search, parent: Search) -> Search:
        """Compare a part as large as the whole with other such parts: equal ones prove the filter useless.

        Where they show other adverts, only the total ignores the filter, and it is not believed.
        """
        others = [part for part in sweeps.parts_of(self.connection, parent) if part.id != search.id]
        alike = [part for part in others if _has_all_of(part, parent)]
        if any(part.first_digest == search.first_digest for part in alike):
            return replace(search, ended=Ended.USELESS)
        for part in alike:
            sweeps.keep_search(self.connection, replace(part, announced=None, exact=False))
        disbelieved = alike or any(part.pages and part.announced is None for part in others)
        return replace(search, announced=None, exact=False) if disbelieved else search

    def _drop_way(self, search: Search, parent: Search) -> int:
        """Stop using a filter that changes nothing: drop its parts, and read their parent in another way."""
        sweeps.learn_useless(self.connection, self.site.name, search.way or "", now=self.now)
        self._look_again()
        parts = [part for part in sweeps.parts_of(self.connection, parent) if part.way == search.way]
        for part in parts:
            sweeps.keep_search(self.connection, replace(part, ended=Ended.USELESS))
        frontier.drop_searches(self.connection, self.job_id, [part.id for part in parts])
        return self._reopened(parent)

    def _finish(self, search: Search, page: Found | None) -> int:
        """Conclude a search after its last page: all was shown, or a cap was met."""
        return self._conclude(search, page, whole=self._is_whole(search, page))

    def _conclude(self, search: Search, page: Found | None, *, whole: bool) -> int:
        if whole:
            announced = search.announced if search.exact else search.shown
            return self._end(replace(search, announced=announced, exact=True), Ended.READ)
        if search.shown < CAP_LEAST_ADVERTS:
            return self._end(search, Ended.SHORT)
        sweeps.learn_most(self.connection, self.site.name, search.shown, now=self.now)
        self._look_again()
        return self._cut_up(search, page) or self._end(search, Ended.CAPPED)

    def _is_whole(self, search: Search, page: Found | None) -> bool:
        if page is not None and page.section == SITEMAP:
            return True  # it has no further page; whether it lists too many twice, the whole sweep tells
        if search.announced is not None and search.exact:
            return is_enough(search.shown, search.announced)
        if page is None:
            return search.announced is None
        if page.capped and (search.announced is not None or page.total is None):
            return False
        if page.following is not None:  # the same page again, or the last one the portal serves
            most = page.most or self.learnt.most
            return not _is_last(search, page) and most is not None and search.shown + len(page.adverts) < most
        return page.last_page is None or search.pages >= page.last_page

    def _end(self, search: Search, ended: Ended | None) -> int:
        sweeps.keep_search(self.connection, replace(search, ended=ended))
        if ended is not None and search.different:
            sweeps.forget_shown(self.connection, search.id)
        return 0

    def _add_page(self, page: Target | None, search_id: int | None) -> int:
        pages = [page] if page else []
        return frontier.add_targets(self.connection, self.job_id, pages, search_id=search_id)


def _after_page(search: Search, page: Found) -> Search:
    """The search updated by this page; a repeated page changes nothing.

    Where the portal gives no total, it is estimated from the number of its last page. A total that was not
    believed on the first page is not believed later.
    """
    ids = sorted(card.external_id for card, _ in page.adverts)
    digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    if search.pages and digest == search.last_digest:
        return search
    announced, exact = search.announced, search.exact
    if page.total is not None and (not search.pages or (page.adverts and search.announced is not None)):
        announced, exact = page.total, page.exact
    elif search.announced is None and page.last_page and page.adverts:
        announced, exact = page.last_page * len(page.adverts), False
    return replace(
        search,
        announced=announced,
        exact=exact,
        pages=search.pages + 1,
        shown=search.shown + len(page.adverts),
        first_digest=search.first_digest or digest,
        last_digest=digest,
        next_url=page.following.url if page.following else None,
    )


def _is_last(search: Search, page: Found) -> bool:
    """Whether the portal serves no page after this one."""
    return page.most_pages is not None and search.pages >= page.most_pages


def _has_all_of(part: Search, whole: Search) -> bool:
    if not (part.exact and whole.exact and part.announced and whole.announced):
        return False
    return part.announced >= whole.announced


# What a page of results adds to a job: adverts whose card is unchanged are done without being opened.


def add_found(
    connection: Connection,
    steps: SearchSteps,
    pages: Sequence[Found],
    *,
    limit: int | None,
    now: float,
    source: Source = UNKNOWN_SOURCE,
) -> int:
    """Add the adverts of the pages and what follows from them; `limit` bounds the number of adverts.

    The facts on their cards are stored too, as far as the `source` is believed.
    """
    if not pages:
        return 0
    job_id = steps.job_id
    scope = scope_of(connection, job_id)
    room = math.inf
    if limit is not None:
        room = limit - frontier.count_rows(connection, job_id, "listing").total
    adverts = searches = 0
    for page in pages:
        own = replace(source, page_digest=page.kept.digest if page.kept else None)
        for first in range(0, len(page.adverts), CARDS_AT_ONCE):
            batch: Sequence[tuple[SeenCard, Target]] = page.adverts[first : first + CARDS_AT_ONCE]
            if limit is not None:
                batch = _within(connection, job_id, batch, limit=int(room) - adverts)
            if batch:
                adverts += _add_adverts(connection, job_id, scope, batch, at=moment(page, now), source=own)
        if adverts < room:
            searches += steps.read(page)
    return adverts + searches


def _within(
    connection: Connection, job_id: str, adverts: Sequence[tuple[SeenCard, Target]], *, limit: int
) -> Sequence[tuple[SeenCard, Target]]:
    """The adverts without the new ones beyond the limit; those that the job has do not count.

    A portal may repeat the same adverts on top of every page.
    """
    if limit <= 0:
        return ()
    unknown = frontier.without_known(connection, job_id, [page for _, page in adverts])
    left_out = set(list(dict.fromkeys(page.key for page in unknown))[limit:])
    return [(card, page) for card, page in adverts if page.key not in left_out]


def _add_adverts(
    connection: Connection,
    job_id: str,
    scope: Scope | None,
    adverts: Sequence[tuple[SeenCard, Target]],
    *,
    at: float,
    source: Source,
) -> int:
    if scope is None:
        return frontier.add_targets(connection, job_id, [target for _, target in adverts])
    cards = [card for card, _ in adverts]
    kinships: dict[str, Kinship] = {}

    def spared(wanted: set[str]) -> set[str]:
        if is_copying(scope.site):
            own = [card for card in cards if card.external_id in wanted]
            kinships.update(of_cards(connection, scope.site, own, at=at))
        return {name for name, kinship in kinships.items() if kinship.kin is Kin.LINKED}

    # At least this many are opened, so that a change of the page layout is noticed at once.
    most = get_settings().drift_sample_pages
    least = most - _count_adverts(connection, job_id, most, opened=True)
    if least:
        there = len(cards) + _count_adverts(connection, job_id, int(most / DRIFT_SAMPLE_SHARE))
        least = max(0, least - most + min(most, int(there * DRIFT_SAMPLE_SHARE)))
    to_open = see_cards(connection, scope, cards, at=at, least=least, source=source, spared=spared)
    others = find_unwanted(connection, job_id, scope.site, cards)
    to_open -= others
    kinships = {name: kinship for name, kinship in kinships.items() if name not in others}
    for name in to_open.intersection(kinships):
        if kinships[name].kin is Kin.LINKED:  # opened anyway, to reach that number
            kinships[name] = replace(kinships[name], kin=Kin.SAMPLE)
    note_copies(connection, kinships.values(), at=at)
    kins = {name: kinship.kin for name, kinship in kinships.items()}
    new = [(card.external_id, target) for card, target in adverts if card.external_id in to_open]
    added = _add_ranked(connection, job_id, scope.site, new, kins, at)
    linked = [target for card, target in adverts if kins.get(card.external_id) is Kin.LINKED]
    ranks = _ranks_of_left(connection, job_id, scope.site, {card.external_id for card in cards} - to_open, at)
    added[Kin.LINKED] = frontier.add_targets(connection, job_id, linked, done=EndCode.LINKED, ranks=ranks)
    copies = {"linked": added[Kin.LINKED], "sampled": added[Kin.SAMPLE], "disagreed": added[Kin.DIFFERS]}
    add_copy_counts(connection, job_id, **copies)
    handled = to_open.union(name for name, kin in kins.items() if kin is Kin.LINKED)
    same = [target for card, target in adverts if card.external_id not in handled | others]
    left = [target for card, target in adverts if card.external_id in others]
    unopened = frontier.add_targets(connection, job_id, same, done=EndCode.UNCHANGED, ranks=ranks)
    unopened += frontier.add_targets(connection, job_id, left, done=EndCode.UNWANTED)
    return added.total() + unopened


def _ranks_of_left(
    connection: Connection, job_id: str, site: str, external_ids: Collection[str], at: float
) -> dict[str, int]:
    """The ranks of adverts that are not opened: they count as fitting or not, but take no turn."""
    if not external_ids:
        return {}
    names = sorted(external_ids)
    placed = dict.fromkeys(names, REST)
    wishes = current_wishes(connection)
    ranked = rank_adverts(connection, job_id, site, names, wishes, now=at, placed=placed)
    return {listing_key(name): rank for name, rank in ranked.items()}


def _add_ranked(
    connection: Connection,
    job_id: str,
    site: str,
    adverts: Sequence[tuple[str, Target]],
    kins: Mapping[str, Kin],
    at: float,
) -> Counter[Kin | None]:
    """Add adverts to be opened, with their ranks; returns how many of each kin are new."""
    unknown = set(frontier.without_known(connection, job_id, [target for _, target in adverts]))
    if not unknown:
        return Counter()
    new = {name: target for name, target in adverts if target in unknown}
    waiting = {name for name in new if kins.get(name) is Kin.WAITS}
    wishes = current_wishes(connection)
    ranked = rank_adverts(connection, job_id, site, list(new), wishes, now=at, waiting=waiting)
    ranks = {listing_key(name): rank for name, rank in ranked.items()}
    groups: dict[Kin | None, list[Target]] = {}
    for name, page in new.items():
        groups.setdefault(kins.get(name), []).append(page)
    return Counter(
        {
            kin: frontier.add_targets(connection, job_id, targets, ranks=ranks, kin=kin)
            for kin, targets in groups.items()
        }
    )


def _count_adverts(connection: Connection, job_id: str, most: int, *, opened: bool = False) -> int:
    """How many adverts the job has, or with `opened` has to open, counted up to `most`."""
    [(counted,)] = _counting(opened=opened).rows(connection, {"of_job": job_id, "most": most})
    return int(counted)


@cache
def _counting(*, opened: bool) -> Quick:
    own = [rows.c.job_id == bindparam("of_job"), rows.c.kind == "listing"]
    if opened:
        own.append(or_(rows.c.code.is_(None), rows.c.code.not_in(LEFT_ALONE)))
    some = select(rows.c.id).where(*own).limit(bindparam("most", type_=Integer))
    return Quick(select(func.count()).select_from(some.subquery()))


# Facts that a portal prints only on its cards are added to the adverts, whose own pages lack them.


def fill_from_cards(connection: Connection, site: str, sightings: Sequence[Sighting]) -> list[Sighting]:
    """The sightings with the facts that only their cards have; each such fact is named in `flags`."""
    if not any(table.fills for table in get_scraper(site).config.searches.values()):
        return list(sightings)
    facts = card_facts(connection, site, [sighting.listing.external_id for sighting in sightings])
    return [_filled(sighting, facts.get(sighting.listing.external_id, {})) for sighting in sightings]


def _filled(sighting: Sighting, facts: Mapping[str, Any]) -> Sighting:
    fields = sighting.listing.model_dump()
    lacking = {name: value for name, value in facts.items() if fields.get(name) in (None, ())}
    if not lacking:
        return sighting
    flags = (*sighting.listing.flags, *(f"{name}_from_card" for name in lacking))
    try:
        listing = Listing.model_validate({**fields, **lacking, "flags": flags})
    except ValidationError:  # an old card with a value that is no longer valid
        return sighting
    return replace(sighting, listing=listing)
