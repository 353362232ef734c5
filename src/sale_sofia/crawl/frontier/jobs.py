"""Creates jobs with their first rows, and ends them when the frontier is done."""

import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, delete, func, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.linking import review_copies
from sale_sofia.crawl.frontier.searches import begin_narrowed
from sale_sofia.crawl.frontier.sweeping import finish_sweep, verdict_on_adverts
from sale_sofia.crawl.frontier.wanted import Wanted
from sale_sofia.crawl.settings import JOB_ID_CHARACTERS
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.crawl.tables import frontier_places, spoken
from sale_sofia.crawl.urls import check_start_url, target
from sale_sofia.history.drift.runs import review_drift
from sale_sofia.history.drift.store import shortfalls
from sale_sofia.history.jobs import (
    COPY_COUNTS,
    Job,
    JobState,
    UnknownJob,
    after_all_others,
    create_job,
    get_job,
    set_job_state,
)
from sale_sofia.history.news import count_held
from sale_sofia.history.prices import close_if_settled
from sale_sofia.history.sweeps import Ended, begin_sweep, get_sweep, searches_of
from sale_sofia.settings.model import get_settings
from sale_sofia.settings.words import Said
from sale_sofia.websites.base import Site
from sale_sofia.websites.registry import get_scraper


@dataclass(frozen=True, slots=True)
class SiteReport:
    """The result of one portal's job."""

    job_id: str
    site: str
    state: str
    adverts: int
    new: int
    changed: int
    failed: int
    requests: int
    seconds: float
    error: str | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why pages failed, and how many for each reason."""
    shortfalls: Sequence[str] = ()
    """What its adverts have too seldom (`at_least`), each in a sentence."""
    held_back: int = 0
    """How many of its new adverts are not shown as new."""
    missing: str | None = None
    """Why adverts of the portal were not seen, in one line."""
    notes: Sequence[str] = ()
    """Things worth knowing though nothing is wrong, each in a sentence."""
    linked: int = 0
    """How many of its adverts were not opened: another portal's page of the same advert was."""
    sampled: int = 0
    """How many such adverts were opened anyway, as a check."""
    disagreed: int = 0
    """How many were opened because their cards differ from the other portal's page."""
    differing: int = 0
    """How many of the checked ones differed."""


def new_job_id(site: str) -> str:
    """A unique id that sorts by time; of a long name of a portal it has the beginning."""
    end = f"-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"
    return f"{site[: JOB_ID_CHARACTERS - len(end)]}{end}"


def known_job(connection: Connection, job_id: str) -> Job:
    """The job of this id, or an `UnknownJob` that says where to look."""
    job = get_job(connection, job_id)
    if job is None:
        raise UnknownJob(f"no job {job_id}; `sale-sofia jobs` lists them")
    return job


def begin_job(  # noqa: PLR0913 - each is a choice of its own
    connection: Connection,
    site: Site,
    start_urls: Sequence[str],
    *,
    limit: int | None,
    now: float,
    everything: bool = False,
    job_id: str | None = None,
    wanted: Wanted | None = None,
) -> str:
    """Create the job and its first rows in the caller's transaction, before anything runs; returns its id.

    With `everything` adverts are opened even where their cards are unchanged. Without `job_id` it gets a new
    id. With `wanted` it begins only searches that can hold that, and opens only adverts that may fit.
    """
    looks_for = None if wanted is None else wanted.stored()
    targets = [target(site, check_start_url(site, url)) for url in start_urls]
    job_id = job_id or new_job_id(site.name)
    create_job(
        connection,
        job_id=job_id,
        site=site.name,
        start_urls=list(start_urls),
        listing_limit=limit,
        now=after_all_others(connection, site.name, now),
        looks_for=looks_for,
    )
    frontier.add_targets(connection, job_id, [page for page in targets if page.kind != "search"])
    if searches := [page for page in targets if page.kind == "search"]:
        begin_narrowed(connection, job_id, site, list(dict.fromkeys(searches)))
        begin_sweep(
            connection,
            job_id=job_id,
            site=site.name,
            searches=[search.key for search in searches],
            everything=everything,
            now=now,
            looks_for=looks_for,
        )
    return job_id


def end_job(connection: Connection, job: Job, *, now: float) -> JobState:
    """Finish the job if no page is left; calling it again changes nothing."""
    if job.state.finished or frontier.count_rows(connection, job.id).open:
        return job.state
    close_frontier(connection, job, now=now)
    state, error = _verdict(connection, job.id)
    set_job_state(connection, job.id, state, now=now, error=error)
    return state


def close_frontier(connection: Connection, job: Job, *, now: float) -> None:
    """When no page is left: judge drift, sweep and copies once, and set the job to AGGREGATING.

    Of concurrent callers one judges: whoever changes the state, as `job` may be out of date.
    """
    if not job.state.takes_pages or not set_job_state(connection, job.id, JobState.AGGREGATING, now=now):
        return
    state, _ = _verdict(connection, job.id)
    review_drift(connection, job, state, get_scraper(job.site).config, get_settings(), now=now)
    finish_sweep(connection, job, now=now)  # after the drift review: a drifted portal delists nothing
    review_copies(connection, known_job(connection, job.id), now=now)
    connection.execute(delete(frontier_places).where(frontier_places.c.job_id == job.id))
    close_if_settled(connection, {job.site}, now=now)  # doubtful adverts may be gone


def _verdict(connection: Connection, job_id: str) -> tuple[JobState, Said | None]:
    """The final state: FAILED if no page or advert could be read, EMPTY if there was no advert."""
    if not frontier.count_rows(connection, job_id).done:
        failed = select(rows.c.url, rows.c.code, rows.c.reason).where(
            rows.c.job_id == job_id, rows.c.state == "failed"
        )
        first = connection.execute(failed.order_by(rows.c.id).limit(1)).first()
        why = first and Said("job.page", url=first.url, why=spoken(first.code, first.reason))
        return JobState.FAILED, why
    if not frontier.count_rows(connection, job_id, "listing").total:
        if known_job(connection, job_id).looks_for and _all_read(connection, job_id):
            return JobState.COMPLETE, None
        return JobState.EMPTY, Said("job.no_advert")
    return verdict_on_adverts(connection, job_id) or (JobState.COMPLETE, None)


def _all_read(connection: Connection, job_id: str) -> bool:
    """Whether every search was read: a portal may have nothing of what is looked for."""
    read = {Ended.READ, Ended.SPLIT, Ended.ABSENT}
    return all(search.ended in read for search in searches_of(connection, job_id))


def copy_notes(*, linked: int, sampled: int, disagreed: int, differing: int) -> Iterator[str]:
    """A sentence on the adverts that another portal has too, if there are any."""
    if linked or sampled or disagreed:
        yield (
            f"adverts whose cards say what another portal's pages say: {linked} not opened, {sampled} opened "
            f"to check it ({differing} said something else); opened as their cards disagree: {disagreed}"
        )


def report(connection: Connection, job: Job, error: str | None = None) -> SiteReport:
    """The report on a job, from its rows."""
    adverts = frontier.count_rows(connection, job.id, "listing")
    everything = frontier.count_rows(connection, job.id)
    query = select(rows.c.code, func.count()).where(rows.c.job_id == job.id, rows.c.state == "failed")
    failures = connection.execute(query.group_by(rows.c.code))
    reasons = Counter(dict(sorted((code or "unknown", pages) for code, pages in failures)))
    searches = searches_of(connection, job.id)
    forbidden = [search.url for search in searches if search.ended is Ended.FORBIDDEN]
    useless = sorted({search.way or "" for search in searches if search.ended is Ended.USELESS})
    copies = {name: getattr(job, name) for name in COPY_COUNTS}
    return SiteReport(
        job_id=job.id,
        site=job.site,
        state=job.state.value,
        adverts=adverts.done,
        new=job.new_listings,
        changed=job.changed_listings,
        failed=everything.failed,
        requests=job.requests,
        seconds=job.worked_seconds,
        error=error or job.error,
        reasons=dict(reasons.most_common()),
        shortfalls=[shortfall["found"] for shortfall in shortfalls(connection, job.id)],
        held_back=count_held(connection, job.id),
        missing=sweep.missing if (sweep := get_sweep(connection, job.id)) else None,
        **copies,
        notes=[
            *copy_notes(**copies),
            *(f"robots.txt forbids {url}, another start was taken" for url in forbidden),
            *(f"the filter {way} changes nothing and is not used" for way in useless),
        ],
    )
