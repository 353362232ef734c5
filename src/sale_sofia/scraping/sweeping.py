"""The end of a sweep: whether it was complete, what it did not see, and what is therefore gone.

A sweep that is not complete says nothing: a block, a limit, a cap, a page that could not be read, a collapse
of the number of adverts or a drift of the portal's layout make absence unknown, never a removal.
"""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, func, select

from sale_sofia.config.history import LEAST_USUAL_ADVERTS
from sale_sofia.config.settings import get_settings
from sale_sofia.data.cards import Scope
from sale_sofia.data.delisting import count_misses, delist, to_look_at
from sale_sofia.data.drift import open_drift
from sale_sofia.data.incidents import IncidentKind, Trouble, open_incident
from sale_sofia.data.job_model import Job
from sale_sofia.data.jobs import get_job
from sale_sofia.data.schema import frontier as rows
from sale_sofia.data.sweeps import adverts_seen, end_sweep, scope_of, usual_adverts
from sale_sofia.scraping import frontier
from sale_sofia.scraping.urls import target
from sale_sofia.websites.registry import get_scraper

CUT_OFF: Final = "capped: the portal shows no more of it, and it cannot be cut"
"""Why a search that was read does not stand for all its adverts."""


def look_for_missing(connection: Connection, job_id: str, *, now: float) -> int:
    """When the last search has ended: add the adverts whose own page must be asked; how many are new."""
    scope = scope_of(connection, job_id)
    if scope is None or frontier.count_rows(connection, job_id, "search").open:
        return 0
    job = get_job(connection, job_id)
    if job is None or _incomplete_because(connection, job, scope) is not None:
        return 0
    site = get_scraper(job.site)
    addresses = to_look_at(connection, scope, site.config.delisting, now=now)
    return frontier.add_targets(connection, job_id, [target(site, url) for url in addresses])


def finish_sweep(connection: Connection, job: Job, *, now: float) -> None:
    """To be called once, when a job ends: its sweep is judged, and what is gone is made so."""
    scope = scope_of(connection, job.id)
    if scope is None:
        return
    reason, gone = _incomplete_because(connection, job, scope), 0
    if reason is None:
        count_misses(connection, scope, at=now)
        gone = delist(connection, scope, get_scraper(job.site).config.delisting, now=now)
    elif collapsed := _collapse(connection, scope):
        trouble = Trouble(IncidentKind.COLLAPSE, job.site, f"{collapsed}; nothing is delisted", job.id)
        open_incident(connection, trouble, now=now)
    seen = adverts_seen(connection, scope)
    end_sweep(connection, job.id, reason=reason, adverts=seen, gone=gone, now=now)


def _incomplete_because(connection: Connection, job: Job, scope: Scope) -> str | None:
    return next(_shortcomings(connection, job, scope), None)


def _shortcomings(connection: Connection, job: Job, scope: Scope) -> Iterator[str]:
    searches = frontier.count_rows(connection, job.id, "search")
    if searches.open:
        yield f"{searches.open} searches were not read"
    if searches.failed:
        yield f"{searches.failed} of {searches.total} searches failed"
    yield from _read_in_part(connection, job.id)
    adverts = frontier.count_rows(connection, job.id, "listing").total
    if job.listing_limit is not None and adverts >= job.listing_limit:
        yield f"limited to {job.listing_limit} adverts"
    if collapsed := _collapse(connection, scope):
        yield collapsed
    for incident in open_drift(connection, job.site):
        yield f"{incident.kind}: {incident.message}"


def _read_in_part(connection: Connection, job_id: str) -> Iterator[str]:
    """Searches that came to an end with a reason: capped, or not there any more."""
    ended = (
        rows.c.job_id == job_id,
        rows.c.kind == "search",
        rows.c.state == "done",
        rows.c.reason.is_not(None),
    )
    counted = select(rows.c.reason, func.count()).where(*ended).group_by(rows.c.reason)
    for reason, count in connection.execute(counted.order_by(rows.c.reason)):
        yield f"{count} searches: {reason}"


def _collapse(connection: Connection, scope: Scope) -> str | None:
    usual, seen = usual_adverts(connection, scope), adverts_seen(connection, scope)
    if usual is None or usual < LEAST_USUAL_ADVERTS or seen >= usual * get_settings().health_collapse_share:
        return None
    return f"collapsed: {seen} adverts, where {usual:g} are usual"
