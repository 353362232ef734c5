"""The report of one or several runs: results, health, photos, and comparison with earlier runs."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from sqlalchemy import Connection, func, select

from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.flats.tables import advert_photos
from sale_sofia.history.jobs import COPY_COUNTS
from sale_sofia.history.runs.facts import (
    RunComparison,
    RunFacts,
    beside,
    block_share,
    earlier_runs,
    read_run,
    share,
)
from sale_sofia.history.runs.health import HealthState, judge, worst
from sale_sofia.history.runs.incidents import review_run
from sale_sofia.history.runs.report_page import report_page
from sale_sofia.history.sweeps import Sweep
from sale_sofia.history.tables import listings
from sale_sofia.settings.files import atomic_write
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.error_log import FILE_NAME as ERROR_LOG
from sale_sofia.telemetry.error_log import ErrorLog, Line
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia.telemetry.metrics import DomainMetrics
from sale_sofia.telemetry.settings import (
    COMPARED_RUNS,
    EXAMPLE_TEXT_MAX,
    LONG_COMPARED_RUNS,
    REPORTS_FOLDER,
    STREAMED_ROWS,
    TOP_ERRORS,
)

# The numbers of a report: of one run, of several together, of one domain. Shares are from 0 to 1.

Numbers = dict[str, Any]


def summary(runs: Sequence[RunFacts]) -> Numbers:
    """Several runs together. What is committed with pages is from the database, the rest from counters."""
    counted = DomainMetrics()
    for run in runs:
        counted.merge(run.all_domains)
    done, failed = sum(run.pages.done for run in runs), sum(run.pages.failed for run in runs)
    return {
        "run_seconds": _seconds(sum(run.seconds for run in runs)),
        "pages_done": done,
        "pages_failed": failed,
        "pages_open": sum(run.pages.open for run in runs),
        "failure_share": _share(share(failed, done + failed)),
        "adverts": sum(run.pages.adverts for run in runs),
        "new": sum(run.job.new_listings for run in runs),
        "held_back": sum(run.held_back for run in runs),
        "changed": sum(run.job.changed_listings for run in runs),
        "unchanged": counted.unchanged,
        **{name: sum(getattr(run.job, name) for run in runs) for name in COPY_COUNTS},
        "requests": sum(run.job.requests for run in runs),
        "circuit_open_seconds": _seconds(sum(run.circuit_open_seconds for run in runs)),
        **_traffic(counted),
    }


def _domain(run: RunFacts, counted: DomainMetrics) -> Numbers:
    """One domain of a run, from its counters."""
    return {
        "requests": counted.requests,
        "verdicts": dict(sorted(counted.verdicts.items(), key=lambda item: (-item[1], item[0]))),
        "new": counted.new,
        "changed": counted.changed,
        "unchanged": counted.unchanged,
        "failed": counted.failed,
        "circuit_open_seconds": _seconds(run.open_seconds(counted)),
        **_traffic(counted),
    }


def _coverage(sweep: Sweep | None) -> Numbers | None:
    """The coverage of a run's searches; None for one of single adverts, or before its end."""
    if sweep is None or sweep.finished_at is None:
        return None
    names = ("complete", "announced", "reachable", "opened", "stored", "missing")
    return {"seen": sweep.adverts, **{name: getattr(sweep, name) for name in names}, "line": sweep.figures}


def _compared(comparison: RunComparison | None) -> Numbers | None:
    """The usual figures, and this run's ratio to them."""
    if comparison is None:
        return None
    return {name: _share(value) for name, value in asdict(comparison).items()}


def _traffic(counted: DomainMetrics) -> Numbers:
    times = counted.response
    quantiles = {f"p{percent}": _seconds(times.quantile(percent / 100)) for percent in (50, 95, 99)}
    return {
        "block_share": _share(block_share(counted)),
        "bytes": counted.bytes,
        "retries": counted.retries,
        "limiter_waits": counted.waits,
        "limiter_wait_seconds": _seconds(counted.waited_seconds),
        "response_seconds": {"count": times.count, "mean": _seconds(times.mean()), **quantiles},
    }


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


# The files of runs' reports, `DATA_DIR/reports/<job>.json` and `.html`: written atomically, pruned by age.

_OURS: Final = frozenset({".json", ".html", ".part"})
"""The suffixes of reports, and of unfinished ones of killed processes."""


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The reports of one installation."""

    settings: Settings

    @property
    def folder(self) -> Path:
        """The folder of the reports."""
        return self.settings.data_dir / REPORTS_FOLDER

    def write(self, job_id: str, session: Mapping[str, Any], *, now: float) -> Path:
        """Write the report of a session of one run, as JSON and HTML, and remove old ones."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # The job's id becomes a file name, even one from a foreign database: quote it.
        path = self.folder / f"{quote(job_id, safe='')}.json"
        write_whole(path, json.dumps(session["runs"][0], ensure_ascii=False, indent=2) + "\n")
        write_whole(path.with_suffix(".html"), report_page(session))
        self.prune(now=now)
        return path

    def prune(self, *, now: float) -> int:
        """Remove reports older than REPORT_RETENTION_DAYS; returns how many files."""
        before = now - timedelta(days=self.settings.report_retention_days).total_seconds()
        removed = 0
        for path in list(self.folder.iterdir()) if self.folder.is_dir() else ():
            with suppress(FileNotFoundError):  # another process may prune at the same time
                if path.suffix in _OURS and path.is_file() and path.lstat().st_mtime < before:
                    path.unlink()
                    removed += 1
        return removed


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically."""
    with atomic_write(path) as unfinished:
        unfinished.write_text(text, "utf-8")


# The most frequent errors of a run, by class, each with an example.


def _top_errors(connection: Connection, job_id: str, lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The classes with the most failed pages, then failed requests; equal ones alphabetically.

    A request counts even if its page succeeded later; the error log, which the lines are from, is rotated.
    """
    pages: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    examples: dict[str, dict[str, Any]] = {}
    failed = select(frontier.c.url, frontier.c.code, frontier.c.reason).where(
        frontier.c.job_id == job_id, frontier.c.state == "failed"
    )
    rows = connection.execution_options(yield_per=STREAMED_ROWS).execute(failed.order_by(frontier.c.id))
    for url, code, reason in rows:
        name = code or "unknown"
        pages[name] += 1
        examples.setdefault(name, {"url": url, "message": (reason or "")[:EXAMPLE_TEXT_MAX]})
    for line in lines:
        if line.get("job") == job_id:
            name = str(line.get("error_type"))
            requests[name] += 1
            message = str(line.get("message"))[:EXAMPLE_TEXT_MAX]
            examples.setdefault(name, {"url": line.get("url"), "message": message})
    worst = sorted(examples, key=lambda name: (-pages[name], -requests[name], name))
    return [
        {
            "class": name,
            "failed_pages": pages[name],
            "failed_requests": requests[name],
            "example": examples[name],
        }
        for name in worst[:TOP_ERRORS]
    ]


Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionReportGenerator:
    """Reports from the database and the error log. A run is a job; a crawl of several portals is several."""

    settings: Settings
    database: Database
    clock: Callable[[], float] = time.time

    def run(self, job_id: str) -> Report:
        """One run, even while it is running. Nothing is written.

        Raises:
            UnknownJob: there is no such job.
        """
        report: Report = self.session([job_id])["runs"][0]
        return report

    def session(self, job_ids: Sequence[str]) -> Report:
        """Several runs, and all of them together. Nothing is written."""
        return self.database.run_read(lambda connection: self._session(connection, job_ids))

    def latest(self) -> Report:
        """The newest run of each portal."""
        return self.session(self.database.run_read(_newest_jobs))

    def finish(self, job_id: str) -> Path:
        """At a run's end, open and close its incidents and write its report; idempotent.

        Each file is written atomically; returns the JSON one.
        """
        self.database.run_write(lambda c: review_run(c, job_id, self.settings, now=self.clock()))
        return ReportFiles(self.settings).write(job_id, self.session([job_id]), now=self.clock())

    def _session(self, connection: Connection, job_ids: Sequence[str]) -> Report:
        now = self.clock()
        runs = [read_run(connection, job_id, now=now) for job_id in job_ids]
        reports = [self._run(connection, run) for run in runs]
        state = worst(HealthState[report["health"]["state"].upper()] for report in reports)
        return {"generated_at": now, "health": state.word, "summary": summary(runs), "runs": reports}

    def _run(self, connection: Connection, run: RunFacts) -> Report:
        earlier = earlier_runs(connection, run, LONG_COMPARED_RUNS)
        comparison = beside(run, earlier[:COMPARED_RUNS])
        health = judge(run, comparison, self.settings)
        job = run.job
        return {
            "job_id": job.id,
            "site": job.site,
            "state": job.state.value,
            "created_at": job.created_at,
            "started_at": job.started_at,
            "finished_at": job.finished_at,
            "error": job.error,
            "health": {"state": health.state.word, "reasons": health.reasons},
            "summary": summary([run]),
            "coverage": _coverage(run.sweep),
            "domains": {name: _domain(run, counted) for name, counted in run.domains.items()},
            "top_errors": _top_errors(
                connection, job.id, ErrorLog(self.settings.data_dir / ERROR_LOG).read()
            ),
            "photos": _photos(connection, run),
            "comparison": _compared(comparison),
            "comparison_long": _compared(beside(run, earlier)),
            "incidents": [asdict(incident) for incident in open_incidents(connection, job.site)],
        }


def _photos(connection: Connection, run: RunFacts) -> Numbers:
    """Photos of the portal's adverts that were requested since the run began, by any crawl."""
    began = run.job.started_at
    if began is None:
        return PhotoCounts()._asdict()
    return count_photos(connection, since=began).get(run.job.site, PhotoCounts())._asdict()


def _newest_jobs(connection: Connection) -> list[str]:
    oldest_first = select(jobs.c.site, jobs.c.id).order_by(jobs.c.created_at, jobs.c.id)
    newest = {row.site: row.id for row in connection.execute(oldest_first)}
    return [newest[site] for site in sorted(newest)]


class PhotoCounts(NamedTuple):
    """The results of requesting photos of a portal's adverts."""

    asked: int = 0
    requests: int = 0
    """One for each photo, and one more for each further try."""
    kept: int = 0
    """Those that gave a picture to compare."""
    failed: int = 0


def count_photos(connection: Connection, *, since: float = 0.0) -> dict[str, PhotoCounts]:
    """By portal, the photos that were last requested since that moment."""
    requested, stored = func.count(), func.count(advert_photos.c.picture)
    query = (
        select(listings.c.site, requested, func.sum(advert_photos.c.requests), stored, requested - stored)
        .join_from(advert_photos, listings, listings.c.id == advert_photos.c.listing_id)
        .where(advert_photos.c.asked_at >= since)
        .group_by(listings.c.site)
    )
    return {row[0]: PhotoCounts(*map(int, row[1:])) for row in connection.execute(query)}
