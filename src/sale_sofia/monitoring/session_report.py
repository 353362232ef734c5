"""The report of a run, and of several together: what came of it, how healthy it was, what was usual."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from sale_sofia.config.monitoring import COMPARED_RUNS, LONG_COMPARED_RUNS
from sale_sofia.config.settings import Settings
from sale_sofia.data.crawl_schema import jobs
from sale_sofia.data.database import Database
from sale_sofia.data.incidents import open_incidents
from sale_sofia.monitoring.comparison import beside, earlier_runs
from sale_sofia.monitoring.health import HealthState, judge, worst
from sale_sofia.monitoring.incidents import review_run
from sale_sofia.monitoring.report_files import ReportFiles
from sale_sofia.monitoring.report_numbers import comparison_numbers, coverage_numbers, domain_numbers, summary
from sale_sofia.monitoring.run_facts import RunFacts, read_run
from sale_sofia.monitoring.top_errors import ErrorTally
from sale_sofia.resilience.error_log import FILE_NAME as ERROR_LOG
from sale_sofia.resilience.error_log import ErrorLog

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SessionReportGenerator:
    """Reports from the database and the error log. A run is a job; a crawl of several portals is several."""

    settings: Settings
    database: Database
    clock: Callable[[], float] = time.time

    def run(self, job_id: str) -> Report:
        """One run, also while it goes on. Nothing is written.

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
        """To be called at a run's end, any number of times: incidents are opened and closed, the report kept.

        Each of its files is there whole, or it is as it was before; returns the one for programs.
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
            "coverage": coverage_numbers(run.sweep),
            "domains": {name: domain_numbers(run, counted) for name, counted in run.domains.items()},
            "top_errors": self._errors(connection, job.id),
            "comparison": comparison_numbers(comparison),
            "comparison_long": comparison_numbers(beside(run, earlier)),
            "incidents": [asdict(one) for one in open_incidents(connection, job.site)],
        }

    def _errors(self, connection: Connection, job_id: str) -> list[Report]:
        tally = ErrorTally()
        tally.failed_pages(connection, job_id)
        tally.failed_requests(ErrorLog(self.settings.data_dir / ERROR_LOG).read(), job_id)
        return tally.top()


def _newest_jobs(connection: Connection) -> list[str]:
    oldest_first = select(jobs.c.site, jobs.c.id).order_by(jobs.c.created_at, jobs.c.id)
    newest = {row.site: row.id for row in connection.execute(oldest_first)}
    return [newest[site] for site in sorted(newest)]
