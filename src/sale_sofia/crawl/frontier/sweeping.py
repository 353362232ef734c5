"""The end of a sweep: whether it was complete, what it did not see, and what is therefore gone.

An incomplete sweep delists nothing: after a block, a limit, a cap, unreadable pages, a collapse of the number
of adverts or a drift of the portal's layout, absence proves nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, literal, or_, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.searches import SITEMAP, is_enough
from sale_sofia.crawl.frontier.wanted import wanted_of
from sale_sofia.crawl.tables import LEFT_ALONE, spoken
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.urls import target
from sale_sofia.crawl.visit.outcomes import REMOVED_CODES
from sale_sofia.history import sweeps
from sale_sofia.history.cards import Scope
from sale_sofia.history.drift.counts import LISTING, Share, sections_of
from sale_sofia.history.drift.store import get_drift_run, open_drift
from sale_sofia.history.jobs import Job, JobState, get_job
from sale_sofia.history.news import hold_first_seen, holding_runs, release_all, release_runs
from sale_sofia.history.settings import (
    CLOCK_FAULT_SECONDS,
    LEAST_USUAL_ADVERTS,
    SITEMAP_LEAST_UNIQUE,
    THIN_SHARE,
)
from sale_sofia.history.sightings import listing_key
from sale_sofia.history.sweeps import Ended, Search, SweepFigures, adverts_seen, scope_of, searches_of
from sale_sofia.history.tables import cards
from sale_sofia.settings.model import get_settings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import (
    IncidentKind,
    Trouble,
    close_incident,
    open_incident,
    open_incidents,
)
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import known_starts

# Coverage: how much of what a portal announced was shown by its searches, and why some fell short.


@dataclass(frozen=True)
class Coverage:
    """What the searches of a job announced and showed."""

    searches: Sequence[Search]

    @cached_property
    def _parts(self) -> Mapping[int | None, Sequence[Search]]:
        parts: dict[int | None, list[Search]] = {}
        for search in self.searches:
            if search.ended is not Ended.USELESS:
                parts.setdefault(search.parent_id, []).append(search)
        return parts

    @cached_property
    def _endless(self) -> Search | None:
        """A search whose number of adverts is unknown, if there is one."""
        endless = (search for search in self.searches if search.ended in {Ended.EXCEEDED, Ended.ENDLESS})
        return next(endless, None)

    @property
    def _starts(self) -> list[Search]:
        return [search for search in self._parts.get(None, ()) if search.ended is not Ended.FORBIDDEN]

    @cached_property
    def announced(self) -> int | None:
        """How many adverts the portal says there are; None where it does not say."""
        totals = [self._announced(search) for search in self._starts]
        return None if not totals or None in totals or self._endless else sum(total or 0 for total in totals)

    @cached_property
    def reachable(self) -> int:
        """How many of them can be seen, by the caps that were met."""
        return sum(self._reachable(search) for search in self._starts)

    def _announced(self, search: Search) -> int | None:
        if search.ended is Ended.ABSENT:
            return 0
        if search.ended is Ended.SPLIT and not search.exact:
            return max(self._announced_by_parts(search), search.announced or 0)
        if not search.exact and search.announced is not None and search.announced <= search.shown:
            return None  # a bound that was reached, as of "1000+", says only that there are more
        return search.announced

    def _announced_by_parts(self, search: Search) -> int:
        return sum(self._announced(part) or part.shown for part in self._parts.get(search.id, ()))

    def _reachable(self, search: Search) -> int:
        if search.ended is Ended.SPLIT:
            return sum(self._reachable(part) for part in self._parts.get(search.id, ()))
        return max(search.shown, search.announced or 0) if search.ended is Ended.READ else search.shown

    def shortfall(self, seen: int) -> Said | None:
        """Why adverts are missing when this many were seen, in one line; None when these are all."""
        if self._endless:
            return Said("sweep.short", figures=self.figures(seen), why=_went_on(self._endless))
        if any(search.way == SITEMAP or _is_read_in_part(search) for search in self.searches):
            listed = self.announced or 0
            if seen >= listed * SITEMAP_LEAST_UNIQUE:
                return None
            # A sitemap that lists adverts twice leaves out others.
            return Said("sweep.sitemap", unique=seen, listed=listed)
        if self.announced is not None and is_enough(seen, self.announced):
            return None
        why = next(self._reasons(), None)
        return why and Said("sweep.short", figures=self.figures(seen), why=why)

    def figures(self, seen: int) -> Said:
        """How many of how many were seen, in words."""
        if self.announced is None:
            return Said("sweep.seen_of_unknown", seen=seen)
        return Said("sweep.seen", seen=seen, all=self.announced)

    def _reasons(self) -> Iterator[Said]:
        if capped := [search.shown for search in self.searches if search.ended is Ended.CAPPED]:
            most = Counter(capped).most_common(1)[0][0]
            more = None if len(capped) == 1 else Said("sweep.more_capped", searches=len(capped))
            ways = sorted({search.way or "" for search in self.searches if search.ended is Ended.USELESS})
            useless = Said("sweep.useless", ways=ways) if ways else None
            yield Said("sweep.capped", most=most, more=more, useless=useless)
        short = [search for search in self.searches if search.ended in {Ended.SHORT, Ended.WAITING, None}]
        yield from (_ended_early(search) for search in short if search.pages)
        yield from (Said("sweep.unread", url=search.url) for search in short if not search.pages)
        yield from self._gaps()

    def _gaps(self) -> Iterator[Said]:
        """Searches whose parts together have less than the whole: some adverts are in none of them."""
        for search in self.searches:
            if search.ended is not Ended.SPLIT or search.announced is None:
                continue
            together = self._announced_by_parts(search)
            if not is_enough(together, search.announced):
                parts = self._parts.get(search.id, ())
                absent = sum(part.ended is Ended.ABSENT for part in parts)
                yield Said(
                    "sweep.parts",
                    parts=len(parts),
                    url=search.url,
                    shown=together,
                    all=search.announced,
                    absent=Said("sweep.absent_parts", absent=absent) if absent else None,
                )


def _is_read_in_part(search: Search) -> bool:
    """Whether it was read to its end without all it announced, as only a sitemap that repeats adverts is."""
    return search.ended is Ended.READ and not is_enough(search.shown, search.announced or 0)


def _ended_early(search: Search) -> Said:
    of = None if search.announced is None else Said("sweep.of_all", all=search.announced)
    stale = Said("sweep.stale", pages=search.stale) if search.stale else None
    return Said("sweep.ended", url=search.url, shown=search.shown, of=of, stale=stale)


def _went_on(search: Search) -> Said:
    if not search.different:
        return Said("sweep.sitemaps", url=search.url)
    exceeded = search.ended is Ended.EXCEEDED
    announced = Said("sweep.announced", all=search.announced) if exceeded else None
    values = {"shown": search.different, "pages": search.pages, "announced": announced}
    return Said("sweep.endless", url=search.url, **values)


# Adverts that a job could not read: above a certain share it does not count as complete. An advert that a
# search has just shown but whose page says that it is removed counts as unread too: a portal that lists forty
# adverts and has none of them was not read.


def verdict_on_adverts(connection: Connection, job_id: str) -> tuple[JobState, Said] | None:
    """The state of a job that could read none or too few of its adverts, and why; None where all is well."""
    is_unread = _is_unread(scope_of(connection, job_id))
    ended = case((is_unread, "unread"), (rows.c.code.in_(LEFT_ALONE), "unchanged"), else_="read")
    adverts = (rows.c.job_id == job_id, rows.c.kind == "listing")
    # Grouped in an outer query: its bound parameters would differ between SELECT and GROUP BY.
    each = select(ended.label("ended")).where(*adverts, rows.c.state.in_(("done", "failed"))).subquery()
    counted = connection.execute(select(each.c.ended, func.count()).group_by(each.c.ended))
    counts = Counter({row[0]: row[1] for row in counted})
    unread = counts["unread"]
    opened = Share(unread, counts["read"] + unread)
    everything = Share(unread, opened.whole + counts["unchanged"])
    # For opened ones the lower confidence bound counts: a single bad page on a day proves nothing.
    critical = get_settings().health_failure_critical
    if not unread or (everything.value < critical and opened.least < critical and unread < everything.whole):
        return None
    columns = select(rows.c.url, rows.c.state, rows.c.code, rows.c.reason).where(*adverts, is_unread)
    row = connection.execute(columns.order_by(rows.c.id).limit(1)).one()
    why = spoken(row.code, row.reason) if row.state == "failed" else Said("job.listed_removed")
    first = Said("job.page", url=row.url, why=why)
    if unread == everything.whole:
        return JobState.FAILED, Said("job.none_read", adverts=unread, first=first)
    return JobState.PARTIAL, Said("job.few_read", unread=unread, opened=opened.whole, first=first)


def _is_unread(scope: Scope | None) -> ColumnElement[bool]:
    failed = rows.c.state == "failed"
    if scope is None:
        return failed
    is_listed = exists().where(
        cards.c.scope_id == scope.id,
        cards.c.seen_at >= scope.since,
        rows.c.url_key == literal(listing_key("")) + cards.c.external_id,
    )
    return or_(failed, and_(rows.c.state == "done", rows.c.code.in_(REMOVED_CODES), is_listed))


def look_for_missing(connection: Connection, job_id: str, *, now: float) -> int:
    """After the last search: add the unseen adverts whose own pages must be checked; returns how many."""
    scope = scope_of(connection, job_id)
    if scope is None or frontier.has_open_searches(connection, job_id):
        return 0
    job = get_job(connection, job_id)
    if job is None or any(_shortcomings(connection, job, scope, now)):
        return 0
    site = get_scraper(job.site)
    wanted = wanted_of(connection, job_id)
    may_be = None if wanted is None else wanted.may_be
    addresses = sweeps.to_look_at(connection, scope, site.config.delisting, now=now, may_be=may_be)
    return frontier.add_targets(connection, job_id, [target(site, url) for url in addresses])


def finish_sweep(connection: Connection, job: Job, *, now: float) -> None:
    """Judge the sweep and delist what is gone. Call it once, when the job ends."""
    scope = scope_of(connection, job.id)
    if scope is None:
        return
    reason, gone = next(_shortcomings(connection, job, scope, now), None), 0
    if reason is None:
        sweeps.count_misses(connection, scope, at=now)
        gone = sweeps.delist(connection, scope, get_scraper(job.site).config.delisting, now=now)
    figures = _figures(connection, job, scope)
    # Incidents for the operator.
    if reason is not None and (collapsed := _collapse(connection, scope)):
        message = Said("trouble.nothing_delisted", why=collapsed)
        open_incident(connection, Trouble(IncidentKind.COLLAPSE, job.site, message, job.id), now=now)
    if figures.missing is not None:
        if sweeps.is_first_sweep(connection, scope):
            hold_first_seen(connection, job.id, now=now)
        message = Said("trouble.coverage", site=job.site, why=figures.missing)
        if _is_whole(job) or not _has_whole_missed(connection, job.site):
            open_incident(connection, Trouble(IncidentKind.COVERAGE, job.site, message, job.id), now=now)
    elif reason is None:
        _make_up(connection, job, scope, now=now)
    sweeps.end_sweep(connection, job.id, figures, reason=reason, gone=gone, now=now)


def _make_up(connection: Connection, job: Job, scope: Scope, *, now: float) -> None:
    """After a complete sweep: end what earlier ones of the same searches missed; the whole portal's ends all.

    A part of the portal says nothing about what the whole did not show.
    """
    if _is_whole(job):
        release_all(connection, job.site, now=now)
    else:
        holding = holding_runs(connection, job.site)
        earlier = [job_id for job_id in holding if _is_earlier(connection, job_id, job, scope)]
        release_runs(connection, job.site, earlier, now=now)
    for incident in open_incidents(connection, job.site):
        own = _is_earlier(connection, incident.job_id or "", job, scope)
        if incident.kind is IncidentKind.COVERAGE and (own or _is_whole(job)):
            close_incident(connection, IncidentKind.COVERAGE, job.site, now=now)


def _is_earlier(connection: Connection, job_id: str, job: Job, scope: Scope) -> bool:
    """Whether a run went through the same searches, or for the same names whose wishes were others then.

    Nobody goes through the searches of those wishes again.
    """
    ran = scope_of(connection, job_id)
    if ran is None or ran.id == scope.id:
        return ran is not None
    before = get_job(connection, job_id)
    if before is None or before.looks_for is None or job.looks_for is None:
        return False
    same_starts = sorted(before.start_urls) == sorted(job.start_urls)
    return same_starts and sorted(before.looks_for["names"]) == sorted(job.looks_for["names"])


def _has_whole_missed(connection: Connection, site: str) -> bool:
    """Whether the open incident is the whole portal's: one of a part would be closed by that part alone."""
    found = [one for one in open_incidents(connection, site) if one.kind is IncidentKind.COVERAGE]
    missed_by = (get_job(connection, one.job_id or "") for one in found)
    return any(job is not None and _is_whole(job) for job in missed_by)


def _is_whole(job: Job) -> bool:
    """Whether a job goes through the whole portal, for everything."""
    everything = job.listing_limit is None and job.looks_for is None
    return everything and job.start_urls == known_starts(job.site)


def _figures(connection: Connection, job: Job, scope: Scope) -> SweepFigures:
    covered, seen = Coverage(searches_of(connection, job.id)), adverts_seen(connection, scope)
    run = get_drift_run(connection, job.id)
    read = sections_of(run.counters).get(LISTING) if run else None
    return SweepFigures(
        announced=covered.announced,
        reachable=covered.reachable,
        adverts=seen,
        opened=read.pages if read else 0,
        stored=read.facts.both if read else 0,
        # A job that saw nothing at all is FAILED or EMPTY, which says enough.
        missing=_missing(connection, job, seen) if seen and job.listing_limit is None else None,
    )


def _shortcomings(connection: Connection, job: Job, scope: Scope, now: float) -> Iterator[Said]:
    """Why the sweep is not complete; reasons are computed lazily."""
    covered, seen = Coverage(searches_of(connection, job.id)), adverts_seen(connection, scope)
    figures = Said("sweep.and", what=covered.figures(seen)) if seen else None
    searches = frontier.count_rows(connection, job.id, "search")
    if searches.open:
        yield Said("sweep.open", searches=searches.open, figures=figures)
    if searches.failed:
        yield Said("sweep.failed", failed=searches.failed, searches=searches.total, figures=figures)
    adverts = frontier.count_rows(connection, job.id, "listing").total
    if job.listing_limit is not None and adverts >= job.listing_limit:
        yield Said("sweep.limited", adverts=job.listing_limit)
    if missing := _missing(connection, job, seen):
        yield missing
    if collapsed := _collapse(connection, scope):
        yield collapsed
    if sweeps.newest_card(connection, scope) > now + CLOCK_FAULT_SECONDS:
        yield Said("sweep.clock")
    if bad := verdict_on_adverts(connection, job.id):
        yield bad[1]
    for incident in open_drift(connection, job.site):
        yield Said("sweep.drift", kind=incident.kind.value, why=incident.message)


def _missing(connection: Connection, job: Job, seen: int) -> Said | None:
    """Why not all adverts of the portal were seen, in one line."""
    searches = searches_of(connection, job.id)
    if absent := [
        search.url for search in searches if search.parent_id is None and search.ended is Ended.ABSENT
    ]:
        return Said("sweep.absent", searches=len(absent), url=absent[0])
    if shortfall := Coverage(searches).shortfall(seen):
        return shortfall
    # A whole portal that shows far less than it is known to have: what it announced may itself be only a
    # part, since a broken filter shrinks both.
    config = get_scraper(job.site).config
    real = {urlsplit(url).hostname for url in job.start_urls} <= set(config.hosts)
    if not _is_whole(job) or not real or seen >= config.inventory.adverts * THIN_SHARE:
        return None
    return Said("sweep.thin", seen=seen, all=config.inventory.adverts)


def _collapse(connection: Connection, scope: Scope) -> Said | None:
    usual, seen = sweeps.usual_adverts(connection, scope), adverts_seen(connection, scope)
    if usual is None or usual < LEAST_USUAL_ADVERTS or seen >= usual * get_settings().health_collapse_share:
        return None
    return Said("sweep.collapsed", count=seen, usual=usual)
