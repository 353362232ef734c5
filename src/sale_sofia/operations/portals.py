"""The state of each portal: its runs beside the usual, how full its fields are, its last job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, Text, and_, case, cast, func, select

from sale_sofia.crawl.frontier.estimate import Outlook, read_outlook
from sale_sofia.crawl.frontier.frontier import Counts, count_rows
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.tables import frontier, frontier_pruned, jobs
from sale_sofia.history.jobs import FINISHED_STATES, NEWEST_JOB_FIRST
from sale_sofia.history.runs.facts import block_share
from sale_sofia.history.runs.health import PortalFacts, PortalVerdict, RunData, judge_portal
from sale_sofia.history.runs.incidents import unmoved_jobs
from sale_sofia.history.tables import listings, sweeps
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia.telemetry.metrics import DomainMetrics, read_metrics
from sale_sofia.telemetry.settings import HEALTH_RUNS

FILLED: Final = (
    "price_eur", "area_sqm", "floor", "rooms", "neighbourhood", "construction", "year_built", "phones",
    "photo_urls", "description",
)  # fmt: skip
"""Fields whose fill rate is shown."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended, with its results. Moments are seconds since 1970."""

    job_id: str
    site: str
    state: str
    started_at: float
    finished_at: float | None
    adverts: int
    new: int
    changed: int
    gone: int
    failed: int
    requests: int
    complete: bool | None
    """Whether adverts that it did not see are gone; None for a run without searches."""
    reason: str | None
    announced: int | None = None
    """How many adverts the portal said there are."""


@dataclass(frozen=True, slots=True)
class PortalRow:
    """What an operator needs to know about one portal."""

    site: str
    verdict: PortalVerdict
    last_listing_at: float | None
    adverts: int
    """Stored and on the market."""
    expected: float | None
    runs: Sequence[Run] = ()
    """The newest first."""
    fill: Mapping[str, float] = field(default_factory=dict)
    """Field → share of the adverts that have it."""
    doubted: int = 0
    """Adverts whose price is not believed."""
    metrics: DomainMetrics = field(default_factory=DomainMetrics)
    """Counters of the newest run."""

    @property
    def newest(self) -> Run | None:
        """The last run that ended."""
        return self.runs[0] if self.runs else None

    @property
    def block_share(self) -> float | None:
        """The share of the newest run's requests that were blocked; None without requests."""
        return block_share(self.metrics) if self.metrics.requests else None


Stored = Mapping[str, Mapping[str, Any]]
"""For each portal the number of adverts on the market, of those in doubt, and of those with each field."""


def read_portals(
    connection: Connection,
    sites: Sequence[str],
    settings: Settings,
    *,
    now: float,
    stored: Stored | None = None,
) -> list[PortalRow]:
    """The portals in the given order; pass `stored` if it was counted since the last change of an advert."""
    unmoved = unmoved_jobs(connection, now - settings.incident_stuck_seconds)
    stored = count_stored(connection) if stored is None else stored
    newest = _last_seen(connection)
    incidents = open_incidents(connection)
    rows = []
    for site in sites:
        kinds = frozenset(incident.kind for incident in incidents if incident.site == site)
        runs = read_runs(connection, site)
        usual = [run.adverts for run in runs[1:] if run.adverts] or [
            run.adverts for run in runs if run.adverts
        ]
        expected = median(usual) if usual else None
        brought = [RunData(run.adverts, run.new, run.changed) for run in runs]
        counted = read_metrics(connection, runs[0].job_id) if runs else {}
        found = stored.get(site, {})
        adverts, last = found.get("adverts", 0), newest.get(site)
        row = PortalRow(
            site=site,
            verdict=judge_portal(PortalFacts(now, last, brought, expected, kinds, site in unmoved)),
            last_listing_at=last,
            adverts=adverts,
            expected=expected,
            runs=runs,
            fill={name: found[name] / adverts for name in FILLED} if adverts else {},
            doubted=found.get("doubted", 0),
            metrics=counted.get(site, DomainMetrics()),
        )
        rows.append(row)
    return rows


def read_runs(connection: Connection, site: str | None = None, limit: int = HEALTH_RUNS) -> list[Run]:
    """Runs that have ended, the newest first."""
    failed = (
        select(func.count())
        .where(frontier.c.job_id == jobs.c.id, frontier.c.state == "failed")
        .scalar_subquery()
    )
    columns = (
        jobs.c.id, jobs.c.site, jobs.c.state, func.coalesce(jobs.c.started_at, jobs.c.created_at),
        jobs.c.finished_at, func.coalesce(sweeps.c.adverts, _listing_pages()), jobs.c.new_listings,
        jobs.c.changed_listings, func.coalesce(sweeps.c.gone, 0), failed, jobs.c.requests,
        sweeps.c.complete, sweeps.c.reason, sweeps.c.announced,
    )  # fmt: skip
    chosen = select(*columns).outerjoin(sweeps, sweeps.c.job_id == jobs.c.id)
    chosen = chosen.where(jobs.c.state.in_(sorted(state.value for state in FINISHED_STATES)))
    if site is not None:
        chosen = chosen.where(jobs.c.site == site)
    newest = chosen.order_by(*NEWEST_JOB_FIRST).limit(limit)
    return [Run(*tuple(row)) for row in connection.execute(newest)]


def _listing_pages() -> Any:  # noqa: ANN401 - a scalar subquery of any type
    """Adverts that a run without searches read, including those whose rows were pruned since."""
    stored = select(func.count()).where(*_read_adverts(frontier))
    pruned = select(func.sum(frontier_pruned.c.pages)).where(*_read_adverts(frontier_pruned))
    return stored.scalar_subquery() + func.coalesce(pruned.scalar_subquery(), 0)


def _read_adverts(table: Table) -> tuple[ColumnElement[bool], ...]:
    return table.c.job_id == jobs.c.id, table.c.state == "done", table.c.kind == "listing"


def count_stored(connection: Connection) -> Stored:
    """Count what is stored of each portal; scans every advert, and changes only when one of them does."""
    on_market = and_(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None))
    columns = [
        listings.c.site,
        func.count().label("adverts"),
        func.count(listings.c.odd_price_eur).label("doubted"),
        *(func.sum(case((_has(name), 1), else_=0)).label(name) for name in FILLED),
    ]
    rows = connection.execute(select(*columns).where(on_market).group_by(listings.c.site)).mappings()
    return {row["site"]: dict(row) for row in rows}


def _last_seen(connection: Connection) -> dict[str, float]:
    """When an advert of each portal was last seen; unlike `count_stored`, it changes without a change."""
    newest = select(listings.c.site, func.max(listings.c.last_seen_at)).group_by(listings.c.site)
    return {row[0]: row[1] for row in connection.execute(newest)}


def _has(name: str) -> Any:  # noqa: ANN401 - a condition of SQL
    column = listings.c[name]
    if name in {"phones", "photo_urls"}:
        return cast(column, Text) != "[]"
    if isinstance(column.type, Text):
        return and_(column.is_not(None), column != "")
    return column.is_not(None)


# What is stored of each portal, and what its last job did.


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """One portal: what is stored of it, and what its last job did."""

    site: str
    adverts: int
    last_seen_at: float | None
    job_id: str | None
    job_state: str | None
    pending: int
    failed: int
    outlook: Outlook | None = None
    """What a running job has found, and how long it will still take."""


def site_statuses(connection: Connection, sites: Sequence[str], settings: Settings) -> list[SiteStatus]:
    """The portals in the given order; remaining time is estimated at the rates of these settings."""
    statuses = []
    for site in sites:
        offered = (listings.c.site == site, listings.c.gone_at.is_(None), listings.c.closed_at.is_(None))
        stored = select(func.count(), func.max(listings.c.last_seen_at)).where(*offered)
        adverts, last_seen_at = connection.execute(stored).one()
        newest = select(jobs.c.id).where(jobs.c.site == site).order_by(*NEWEST_JOB_FIRST).limit(1)
        job_id = connection.execute(newest).scalar()
        job = known_job(connection, job_id) if job_id else None
        state = job.state.value if job else None
        counts = count_rows(connection, job_id) if job_id else Counts()
        outlook = read_outlook(connection, job, settings) if job else None
        pages = (counts.open, counts.failed)
        statuses.append(SiteStatus(site, adverts, last_seen_at, job_id, state, *pages, outlook))
    return statuses
