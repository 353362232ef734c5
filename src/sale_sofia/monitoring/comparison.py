"""A run beside the last ones of the same portal and the same search."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import Connection, select

from sale_sofia.config.monitoring import COMPARED_JOBS, COMPARED_RUNS
from sale_sofia.data.crawl_schema import jobs
from sale_sofia.data.jobs import JobState
from sale_sofia.monitoring.run_facts import PageCounts, RunFacts, count_pages


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was usual, as medians over `runs` earlier runs; and what share of it this run has."""

    runs: int
    requests: float
    adverts: float
    failure_share: float
    requests_ratio: float | None
    adverts_ratio: float | None
    """None where usual is nothing."""

    def collapsed(self, least: float) -> bool:
        """Whether there are fewer adverts than this share of what is usual."""
        return self.adverts_ratio is not None and self.adverts_ratio < least


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """What is compared of a run of before."""

    requests: int
    pages: PageCounts


def compare(connection: Connection, run: RunFacts) -> Comparison | None:
    """The run beside up to seven earlier ones; None for the first of its kind."""
    return beside(run, earlier_runs(connection, run, COMPARED_RUNS))


def beside(run: RunFacts, earlier: Sequence[EarlierRun]) -> Comparison | None:
    """The run beside these; None beside none."""
    if not earlier:
        return None
    usual_requests = median(one.requests for one in earlier)
    usual_adverts = median(one.pages.adverts for one in earlier)
    return Comparison(
        runs=len(earlier),
        requests=usual_requests,
        adverts=usual_adverts,
        failure_share=median(one.pages.failure_share for one in earlier),
        requests_ratio=_ratio(run.job.requests, usual_requests),
        adverts_ratio=_ratio(run.pages.adverts, usual_adverts),
    )


def earlier_runs(connection: Connection, run: RunFacts, most: int) -> list[EarlierRun]:
    """So many of the runs before this one that it can be compared with, the newest first.

    Only runs that completed count, with the same start addresses and limit: what failed, or was another
    search, says nothing of what the portal usually shows.
    """
    requests = _earlier_requests(connection, run, most)
    pages = count_pages(connection, list(requests))
    return [EarlierRun(asked, pages[job_id]) for job_id, asked in requests.items()]


def _earlier_requests(connection: Connection, run: RunFacts, most: int) -> dict[str, int]:
    """The requests of each comparable earlier run, by its job."""
    job = run.job
    earlier = (
        select(jobs.c.id, jobs.c.requests, jobs.c.start_urls, jobs.c.listing_limit)
        .where(
            jobs.c.site == job.site,
            jobs.c.state == JobState.COMPLETE.value,
            jobs.c.created_at < job.created_at,
        )
        .order_by(jobs.c.created_at.desc())
        .limit(COMPARED_JOBS)
    )
    alike = [
        row
        for row in connection.execute(earlier)
        if _same(row.start_urls, job.start_urls) and row.listing_limit == job.listing_limit
    ]
    return {row.id: row.requests for row in alike[:most]}


def _same(one: Sequence[str], other: Sequence[str]) -> bool:
    return sorted(one) == sorted(other)


def _ratio(now: float, usual: float) -> float | None:
    return now / usual if usual else None
