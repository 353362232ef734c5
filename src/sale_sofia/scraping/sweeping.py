"""The end of a sweep: whether it was complete, what it did not see, and what is therefore gone.

A sweep that is not complete says nothing: a block, a limit, a cap, pages that could not be read, a collapse
of the number of adverts or a drift of the portal's layout make absence unknown, never a removal.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from sqlalchemy import Connection

from sale_sofia.config.doctor import CLOCK_FAULT_SECONDS
from sale_sofia.config.history import LEAST_USUAL_ADVERTS, THIN_SHARE
from sale_sofia.config.settings import get_settings
from sale_sofia.config.site_config import known_starts
from sale_sofia.data.cards import Scope
from sale_sofia.data.delisting import count_misses, delist, to_look_at
from sale_sofia.data.drift import get_drift_run, open_drift
from sale_sofia.data.incidents import IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.data.job_model import Job
from sale_sofia.data.jobs import get_job
from sale_sofia.data.news import hold_first_seen, release_all
from sale_sofia.data.searches import Ended, searches_of
from sale_sofia.data.sweeps import (
    SweepFigures,
    adverts_seen,
    end_sweep,
    is_first_sweep,
    newest_card,
    scope_of,
    spaced,
    usual_adverts,
)
from sale_sofia.monitoring.drift_counts import LISTING, sections_of
from sale_sofia.scraping import frontier
from sale_sofia.scraping.coverage import Coverage
from sale_sofia.scraping.unread import verdict_on_adverts
from sale_sofia.scraping.urls import target
from sale_sofia.websites.registry import get_scraper


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
