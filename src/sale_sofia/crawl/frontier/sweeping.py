"""The end of a sweep: whether it was complete, what it did not see, and what is therefore gone.

A sweep that is not complete says nothing: a block, a limit, a cap, pages that could not be read, a collapse
of the number of adverts or a drift of the portal's layout make absence unknown, never a removal.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, literal, or_, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.searches import SITEMAP, UNCHANGED, is_enough
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import target
from sale_sofia.crawl.visit.outcomes import REMOVED_REASONS
from sale_sofia.history.cards import Scope
from sale_sofia.history.drift.counts import LISTING, Share, sections_of
from sale_sofia.history.drift.store import get_drift_run, open_drift
from sale_sofia.history.jobs import Job, JobState, get_job
from sale_sofia.history.news import hold_first_seen, release_all
from sale_sofia.history.settings import LEAST_USUAL_ADVERTS, SITEMAP_LEAST_UNIQUE, THIN_SHARE
from sale_sofia.history.sightings import listing_key
from sale_sofia.history.sweeps import (
    Ended,
    Search,
    SweepFigures,
    adverts_seen,
    count_misses,
    delist,
    end_sweep,
    is_first_sweep,
    newest_card,
    scope_of,
    searches_of,
    spaced,
    to_look_at,
    usual_adverts,
)
from sale_sofia.history.tables import cards
from sale_sofia.operations.settings import CLOCK_FAULT_SECONDS
from sale_sofia.settings.model import get_settings
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import known_starts

# Coverage: how much of what a portal announced its searches showed, and why some fell short.

_WITHOUT_END = frozenset({Ended.EXCEEDED, Ended.ENDLESS})
_FELL_SHORT = frozenset({Ended.CAPPED, Ended.SHORT, Ended.WAITING, None})


@dataclass(frozen=True)
class Coverage:
    """What the searches of a job announced and gave."""

    searches: Sequence[Search]

    @cached_property
    def _parts(self) -> Mapping[int | None, Sequence[Search]]:
        parts: dict[int | None, list[Search]] = {}
        for one in self.searches:
            if one.ended is not Ended.USELESS:
                parts.setdefault(one.parent_id, []).append(one)
        return parts

    @cached_property
    def _endless(self) -> Search | None:
        """One of which nobody knows how many adverts it has."""
        return next((one for one in self.searches if one.ended in _WITHOUT_END), None)

    @property
    def _starts(self) -> list[Search]:
        return [one for one in self._parts.get(None, ()) if one.ended is not Ended.FORBIDDEN]

    @cached_property
    def announced(self) -> int | None:
        """How many adverts the portal says there are; None where it does not say."""
        known = [self._announced(one) for one in self._starts]
        return None if not known or None in known or self._endless else sum(one or 0 for one in known)

    @cached_property
    def reachable(self) -> int:
        """How many of them it lets one see, by the caps that are known or were met."""
        return sum(self._reachable(one) for one in self._starts)

    def _announced(self, search: Search) -> int | None:
        if search.ended is Ended.ABSENT:
            return 0
        if search.ended is Ended.SPLIT and not search.exact:
            parts = sum(self._announced(one) or one.shown for one in self._parts.get(search.id, ()))
            return max(parts, search.announced or 0)
        # A bound that was reached, as of "1000+", says only that there are more.
        return None if _is_reached_bound(search) else search.announced

    def _reachable(self, search: Search) -> int:
        if search.ended is Ended.SPLIT:
            return sum(self._reachable(one) for one in self._parts.get(search.id, ()))
        return max(search.shown, search.announced or 0) if search.ended is Ended.READ else search.shown

    def shortfall(self, seen: int) -> str | None:
        """In one line why adverts are missing, when this many were seen; None when these are all."""
        if self._endless:
            return f"{self.figures(seen)}, {_went_on(self._endless)}"
        if any(one.way == SITEMAP for one in self.searches):
            return self._repeats(seen)
        if self.announced is not None and is_enough(seen, self.announced):
            return None
        why = next(self._reasons(), None)
        return why and f"{self.figures(seen)}, {why}"

    def figures(self, seen: int) -> str:
        """So many of so many were seen."""
        if self.announced is None:
            return f"{spaced(seen)} seen of an unknown number"
        return f"{spaced(seen)} of {spaced(self.announced)} seen"

    def _repeats(self, seen: int) -> str | None:
        """A sitemap that lists adverts twice is being rebuilt, and leaves out others meanwhile."""
        listed = self.announced or 0
        if seen >= listed * SITEMAP_LEAST_UNIQUE:
            return None
        return f"{spaced(seen)} different adverts among {spaced(listed)} of the sitemap: it is being rebuilt"

    def _reasons(self) -> Iterator[str]:
        leaves = [one for one in self.searches if one.ended in _FELL_SHORT]
        yield from self._caps([one for one in leaves if one.ended is Ended.CAPPED])
        yield from (_ended_early(one) for one in leaves if one.ended is not Ended.CAPPED and one.pages)
        yield from (f"{one.url} was not read" for one in leaves if not one.pages)
        yield from self._gaps()

    def _caps(self, capped: Sequence[Search]) -> Iterator[str]:
        if capped:
            most = Counter(one.shown for one in capped).most_common(1)[0][0]
            which = "" if len(capped) == 1 else f", and {len(capped)} searches have more"
            yield f"the portal shows {spaced(most)} of a query{which}{self._useless()}"

    def _useless(self) -> str:
        ways = sorted({one.way or "" for one in self.searches if one.ended is Ended.USELESS})
        return f"; its filter {', '.join(ways)} changes nothing" if ways else ""

    def _gaps(self) -> Iterator[str]:
        """Searches whose parts have less than the whole: some adverts are in none of them."""
        for one in self.searches:
            parts = self._parts.get(one.id, ())
            if one.ended is not Ended.SPLIT or one.announced is None:
                continue
            together = sum(self._announced(part) or part.shown for part in parts)
            if not is_enough(together, one.announced):
                absent = sum(part.ended is Ended.ABSENT for part in parts)
                gone = f", {absent} of them are not there" if absent else ""
                of_whole = f"{spaced(together)} of its {spaced(one.announced)}"
                yield f"the {len(parts)} parts of {one.url} have {of_whole}{gone}"


def _is_reached_bound(search: Search) -> bool:
    return not search.exact and search.announced is not None and search.announced <= search.shown


def _ended_early(search: Search) -> str:
    of = "" if search.announced is None else f" of {spaced(search.announced)}"
    stale = f": its last {search.stale} pages brought nothing new" if search.stale else ""
    return f"{search.url} ended after {spaced(search.shown)}{of}{stale}"


def _went_on(search: Search) -> str:
    if not search.different:
        return f"{search.url} leads to sitemaps without an end"
    announced = f", where it announced {spaced(search.announced)}" if search.ended is Ended.EXCEEDED else ""
    shown = f"{spaced(search.different)} adverts on {spaced(search.pages)} pages{announced}"
    return f"{search.url} went on without an end after {shown}"


# Adverts that a job was to read and could not: from which share on it is not told as done. One that its own
# search has just shown and whose page says that it is removed was not read either: a portal that lists
# forty and has none of them is no portal of forty.

_LISTED: Final = "it is listed, and its page says that it is removed"


@dataclass(frozen=True, slots=True)
class Adverts:
    """The adverts of a job by what came of them."""

    read: int = 0
    unread: int = 0
    unchanged: int = 0
    """Known from before, and not opened."""

    @property
    def none_was_read(self) -> bool:
        """Whether nothing is known of any of them."""
        return bool(self.unread) and not self.read and not self.unchanged

    def too_few_were_read(self, share: float) -> bool:
        """Whether so great a share of all, or surely of those that were opened, could not be read.

        Surely: the one new advert of a day may have a bad page, and says nothing of the portal.
        """
        opened = Share(self.unread, self.read + self.unread)
        everything = Share(self.unread, opened.whole + self.unchanged)
        return bool(self.unread) and (everything.value >= share or opened.least >= share)


def verdict_on_adverts(connection: Connection, job_id: str) -> tuple[JobState, str] | None:
    """How a job ends of whose adverts none, or too few, could be read, and why; None where all is well."""
    unread = _is_unread(scope_of(connection, job_id))
    adverts = _count(connection, job_id, unread)
    if not adverts.none_was_read and not adverts.too_few_were_read(get_settings().health_failure_critical):
        return None
    first = _first(connection, job_id, unread)
    if adverts.none_was_read:
        return JobState.FAILED, f"none of {adverts.unread} adverts could be read; {first}"
    opened = adverts.read + adverts.unread
    return JobState.PARTIAL, f"{adverts.unread} of {opened} opened adverts could not be read; {first}"


def _is_unread(scope: Scope | None) -> ColumnElement[bool]:
    failed = rows.c.state == "failed"
    if scope is None:
        return failed
    shown = exists().where(
        cards.c.scope_id == scope.id,
        cards.c.seen_at >= scope.since,
        rows.c.url_key == literal(listing_key("")) + cards.c.external_id,
    )
    return or_(failed, and_(rows.c.state == "done", rows.c.reason.in_(REMOVED_REASONS), shown))


def _count(connection: Connection, job_id: str, unread: ColumnElement[bool]) -> Adverts:
    ended = case((unread, "unread"), (rows.c.reason == UNCHANGED, "unchanged"), else_="read")
    own = (rows.c.job_id == job_id, rows.c.kind == "listing", rows.c.state.in_(("done", "failed")))
    # Grouped outside: as a bound expression it would be another one there than where it is selected.
    each = select(ended.label("ended")).where(*own).subquery()
    counted = select(each.c.ended, func.count()).group_by(each.c.ended)
    return Adverts(**{row[0]: row[1] for row in connection.execute(counted)})


def _first(connection: Connection, job_id: str, unread: ColumnElement[bool]) -> str:
    own = select(rows.c.url, rows.c.state, rows.c.reason).where(
        rows.c.job_id == job_id, rows.c.kind == "listing", unread
    )
    row = connection.execute(own.order_by(rows.c.id).limit(1)).one()
    return f"{row.url}: {row.reason if row.state == 'failed' else _LISTED}"


def look_for_missing(connection: Connection, job_id: str, *, now: float) -> int:
    """When the last search has ended: add the adverts whose own page must be asked; how many are new."""
    scope = scope_of(connection, job_id)
    if scope is None or frontier.count_rows(connection, job_id, "search").open:
        return 0
    job = get_job(connection, job_id)
    if job is None or _incomplete_because(connection, job, scope, now) is not None:
        return 0
    site = get_scraper(job.site)
    addresses = to_look_at(connection, scope, site.config.delisting, now=now)
    return frontier.add_targets(connection, job_id, [target(site, url) for url in addresses])


def finish_sweep(connection: Connection, job: Job, *, now: float) -> None:
    """To be called once, when a job ends: its sweep is judged, and what is gone is made so."""
    scope = scope_of(connection, job.id)
    if scope is None:
        return
    reason, gone = _incomplete_because(connection, job, scope, now), 0
    if reason is None:
        count_misses(connection, scope, at=now)
        gone = delist(connection, scope, get_scraper(job.site).config.delisting, now=now)
    found = _found(connection, job, scope)
    _tell(connection, job, scope, reason, found, now=now)
    end_sweep(connection, job.id, found, reason=reason, gone=gone, now=now)


def _tell(
    connection: Connection, job: Job, scope: Scope, reason: str | None, found: SweepFigures, *, now: float
) -> None:
    """Open and close what an operator hears of the sweep."""
    if reason is not None and (collapsed := _collapse(connection, scope)):
        trouble = Trouble(IncidentKind.COLLAPSE, job.site, f"{collapsed}; nothing is delisted", job.id)
        open_incident(connection, trouble, now=now)
    if found.missing is not None:
        if is_first_sweep(connection, scope):
            hold_first_seen(connection, job.id, now=now)
        said = f"{job.site}: {found.missing}; nothing is delisted"
        open_incident(connection, Trouble(IncidentKind.COVERAGE, job.site, said, job.id), now=now)
    elif reason is None:
        release_all(connection, job.site, now=now)
        close_incident(connection, IncidentKind.COVERAGE, job.site, now=now)


def _found(connection: Connection, job: Job, scope: Scope) -> SweepFigures:
    covered, seen = Coverage(searches_of(connection, job.id)), adverts_seen(connection, scope)
    run = get_drift_run(connection, job.id)
    read = sections_of(run.counters).get(LISTING) if run else None
    return SweepFigures(
        announced=covered.announced,
        reachable=covered.reachable,
        adverts=seen,
        opened=read.pages if read else 0,
        stored=read.facts.both if read else 0,
        # A job that saw nothing at all has failed, or is empty: that is told already.
        missing=_missing(connection, job, seen) if seen and job.listing_limit is None else None,
    )


def _incomplete_because(connection: Connection, job: Job, scope: Scope, now: float) -> str | None:
    return next(_shortcomings(connection, job, scope, now), None)


def _shortcomings(connection: Connection, job: Job, scope: Scope, now: float) -> Iterator[str]:
    covered, seen = Coverage(searches_of(connection, job.id)), adverts_seen(connection, scope)
    figures = f", {covered.figures(seen)}" if seen else ""
    searches = frontier.count_rows(connection, job.id, "search")
    if searches.open:
        yield f"{searches.open} searches were not read{figures}"
    if searches.failed:
        yield f"{searches.failed} of {searches.total} searches failed{figures}"
    adverts = frontier.count_rows(connection, job.id, "listing").total
    if job.listing_limit is not None and adverts >= job.listing_limit:
        yield f"limited to {job.listing_limit} adverts"
    if missing := _missing(connection, job, seen):
        yield missing
    if collapsed := _collapse(connection, scope):
        yield collapsed
    if newest_card(connection, scope) > now + CLOCK_FAULT_SECONDS:
        yield "adverts were seen later than now: the clock was set back"
    if bad := verdict_on_adverts(connection, job.id):
        yield bad[1]
    for incident in open_drift(connection, job.site):
        yield f"{incident.kind}: {incident.message}"


def _missing(connection: Connection, job: Job, seen: int) -> str | None:
    """Why not all adverts of the portal were seen, in one line."""
    searches = searches_of(connection, job.id)
    if absent := [one.url for one in searches if one.parent_id is None and one.ended is Ended.ABSENT]:
        return f"{len(absent)} searches are not there any more, for example {absent[0]}"
    return Coverage(searches).shortfall(seen) or _thin(job, seen)


def _thin(job: Job, seen: int) -> str | None:
    """A sweep of a whole portal that found far less than the portal is known to have.

    What it announced may itself be a part: a filter that is not honoured any more shrinks both.
    """
    config = get_scraper(job.site).config
    whole = job.listing_limit is None and job.start_urls == known_starts(job.site)
    real = {urlsplit(url).hostname for url in job.start_urls} <= set(config.hosts)
    if not whole or not real or seen >= config.inventory.adverts * THIN_SHARE:
        return None
    return f"{spaced(seen)} seen, where about {spaced(config.inventory.adverts)} are known to be there"


def _collapse(connection: Connection, scope: Scope) -> str | None:
    usual, seen = usual_adverts(connection, scope), adverts_seen(connection, scope)
    if usual is None or usual < LEAST_USUAL_ADVERTS or seen >= usual * get_settings().health_collapse_share:
        return None
    return f"collapsed: {seen} adverts, where {usual:g} are usual"
