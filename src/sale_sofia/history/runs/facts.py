"""One run from the database: its job, how its pages ended, what its processes counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from sqlalchemy import Connection, func, select, union_all

from sale_sofia.crawl.tables import frontier, frontier_pruned, jobs
from sale_sofia.history.drift.store import open_drift, shortfalls
from sale_sofia.history.jobs import NEWEST_JOB_FIRST, Job, JobState, UnknownJob, get_job
from sale_sofia.history.news import count_held
from sale_sofia.history.settings import LEAST_USUAL_ADVERTS
from sale_sofia.history.sweeps import Sweep, accepted_among, get_sweep
from sale_sofia.telemetry.incidents import IncidentKind
from sale_sofia.telemetry.metrics import DomainMetrics, read_metrics
from sale_sofia.telemetry.settings import COMPARED_JOBS, COMPARED_RUNS

_REFUSALS = ("blocked", "rate_limited")


@dataclass(slots=True)
class PageCounts:
    """How a run's pages ended; `adverts` are those read."""

    done: int = 0
    failed: int = 0
    open: int = 0
    adverts: int = 0

    @property
    def failure_share(self) -> float:
        """The share of failed pages among those that ended."""
        return share(self.failed, self.done + self.failed)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run, running or ended."""

    job: Job
    pages: PageCounts
    domains: dict[str, DomainMetrics]
    now: float
    shortfalls: Sequence[Mapping[str, Any]] = ()
    """Facts that too few of its adverts have (`at_least`), as found at its end."""
    held_back: int = 0
    """How many adverts that it saw first are not shown as new."""
    sweep: Sweep | None = None
    """Its pass through its searches; None for a run of single adverts."""
    drift: Sequence[IncidentKind] = ()
    """The open drift incidents of its portal."""
    all_domains: DomainMetrics = field(default_factory=DomainMetrics, init=False)

    def __post_init__(self) -> None:
        for counted in self.domains.values():
            self.all_domains.merge(counted)

    @property
    def seconds(self) -> float:
        """From its start to its end, or until now."""
        start, end = self._window()
        return max(0.0, end - start)

    @property
    def block_share(self) -> float:
        """The share of requests that were blocked or rate-limited."""
        return block_share(self.all_domains)

    @property
    def circuit_open_seconds(self) -> float:
        """How long the portal's circuit was open during the run."""
        return self.open_seconds(self.all_domains)

    @property
    def circuit_open_share(self) -> float:
        """The share of the run's time with an open circuit."""
        return share(self.circuit_open_seconds, self.seconds)

    def open_seconds(self, counted: DomainMetrics) -> float:
        """How long a domain's circuit was open during the run; predictions beyond its end are cut off."""
        return counted.circuit_open.seconds_within(*self._window())

    def _window(self) -> tuple[float, float]:
        job = self.job
        start = job.created_at if job.started_at is None else job.started_at
        return start, self.now if job.finished_at is None else job.finished_at


def read_run(connection: Connection, job_id: str, *, now: float) -> RunFacts:
    """The run of a job.

    Raises:
        UnknownJob: there is no such job.
    """
    job = get_job(connection, job_id)
    if job is None:
        raise UnknownJob(f"no job {job_id}; `sale-sofia jobs` lists them")
    return RunFacts(
        job,
        count_pages(connection, [job_id])[job_id],
        read_metrics(connection, job_id),
        now,
        shortfalls(connection, job_id),
        count_held(connection, job_id),
        get_sweep(connection, job_id),
        [incident.kind for incident in open_drift(connection, job.site)],
    )


def count_pages(connection: Connection, job_ids: Sequence[str]) -> dict[str, PageCounts]:
    """How the pages of each of the runs ended."""
    counts = {job_id: PageCounts() for job_id in job_ids}
    groups = (frontier.c.job_id, frontier.c.kind, frontier.c.state)
    grouped = select(*groups, func.count()).where(frontier.c.job_id.in_(job_ids)).group_by(*groups)
    pruned = select(frontier_pruned).where(frontier_pruned.c.job_id.in_(job_ids))
    for job_id, kind, state, rows in connection.execute(union_all(grouped, pruned)):
        ended = counts[job_id]
        if state == "done":
            ended.done += rows
            ended.adverts += rows if kind == "listing" else 0
        elif state == "failed":
            ended.failed += rows
        else:
            ended.open += rows
    return counts


def block_share(counted: DomainMetrics) -> float:
    """The share of requests that were blocked or rate-limited."""
    return share(sum(counted.verdicts.get(verdict, 0) for verdict in _REFUSALS), counted.requests)


def share(part: float, whole: float) -> float:
    """A part of a whole; 0 of nothing."""
    return part / whole if whole else 0.0


# Comparison of a run with the last ones of the same portal and search.


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Medians over `runs` earlier runs, and this run's ratio to them."""

    runs: int
    requests: float
    adverts: float
    failure_share: float
    requests_ratio: float | None
    adverts_ratio: float | None
    """None where the median is 0."""

    def collapsed(self, least: float) -> bool:
        """Whether there are fewer adverts than this share of the usual number, which must not be tiny."""
        enough = self.adverts >= LEAST_USUAL_ADVERTS
        return enough and self.adverts_ratio is not None and self.adverts_ratio < least


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The compared figures of an earlier run."""

    requests: int
    pages: PageCounts


def compare(connection: Connection, run: RunFacts) -> RunComparison | None:
    """The run compared with up to COMPARED_RUNS earlier ones; None for the first of its kind."""
    return beside(run, earlier_runs(connection, run, COMPARED_RUNS))


def beside(run: RunFacts, earlier: Sequence[EarlierRun]) -> RunComparison | None:
    """The run compared with these; None without any."""
    if not earlier:
        return None
    usual_requests = median(past.requests for past in earlier)
    usual_adverts = median(past.pages.adverts for past in earlier)
    return RunComparison(
        runs=len(earlier),
        requests=usual_requests,
        adverts=usual_adverts,
        failure_share=median(past.pages.failure_share for past in earlier),
        requests_ratio=run.job.requests / usual_requests if usual_requests else None,
        adverts_ratio=run.pages.adverts / usual_adverts if usual_adverts else None,
    )


def earlier_runs(connection: Connection, run: RunFacts, most: int) -> list[EarlierRun]:
    """Up to `most` earlier runs that this one can be compared with, the newest first.

    Only complete runs with the same start addresses, limit and goal count: a failed run or another search
    says nothing about what the portal usually shows. None before one whose sweep a person accepted.
    """
    job = run.job
    earlier = (
        select(*(jobs.c[name] for name in ("id", "requests", "start_urls", "listing_limit", "looks_for")))
        .where(
            jobs.c.site == job.site,
            jobs.c.state == JobState.COMPLETE.value,
            jobs.c.created_at < job.created_at,
        )
        .order_by(*NEWEST_JOB_FIRST)
        .limit(COMPARED_JOBS)
    )
    alike = [
        row
        for row in connection.execute(earlier)
        if sorted(row.start_urls) == sorted(job.start_urls)
        and (row.listing_limit, row.looks_for) == (job.listing_limit, job.looks_for)
    ][:most]
    accepted = accepted_among(connection, [row.id for row in alike])
    last = next((place for place, row in enumerate(alike) if row.id in accepted), most)
    alike = alike[: last + 1]
    pages = count_pages(connection, [row.id for row in alike])
    return [EarlierRun(row.requests, pages[row.id]) for row in alike]
