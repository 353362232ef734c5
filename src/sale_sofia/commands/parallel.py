"""Crawls on Celery workers: what is missing is started, what was started is stopped."""

from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Connection

from sale_sofia.commands.conclusion import GO_ON, conclude
from sale_sofia.commands.console import log
from sale_sofia.commands.live_bars import LiveBars
from sale_sofia.commands.saying import say
from sale_sofia.config.parallel import LONGEST_CRAWL_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.scraping.alerting import alert_crawled
from sale_sofia.scraping.jobs import SiteReport, known_job, report
from sale_sofia.scraping.planning import JobPlan
from sale_sofia.services.logs import log_to_file
from sale_sofia.services.stop_signals import Interrupted

Begin = Callable[[Orchestrator], Sequence[str]]


def crawl_in_parallel(settings: Settings, plans: Sequence[JobPlan], *, as_json: bool) -> None:
    """Crawl the portals on workers and say what came of it."""
    _run(settings, lambda services: list(services.start_all_sites_scraping(plans).values()), as_json=as_json)


def resume_in_parallel(settings: Settings, job_ids: Sequence[str], *, as_json: bool) -> None:
    """Go on with the jobs on workers and say what came of it."""

    def begin(services: Orchestrator) -> Sequence[str]:
        services.resume(job_ids)
        return job_ids

    _run(settings, begin, as_json=as_json)


def _run(settings: Settings, begin: Begin, *, as_json: bool) -> None:
    job_ids: Sequence[str] = ()
    stopped = False
    with Orchestrator(settings, say=say) as services:
        services.with_room(partial(log_to_file, settings, "crawl"))
        joined = services.fleet.joined
        try:
            job_ids = begin(services)
            _wait(services, job_ids)
        except Interrupted:
            stopped = True
            if not joined:
                say("stopping the services; a second signal stops them at once")
    if not joined and not stopped:  # else the services that go on do it
        alert_crawled(settings, services.database)
    reports = [services.database.run_read(partial(_report, job_id=job_id)) for job_id in job_ids]
    advice = (
        "no longer waiting; the services of `sale-sofia up` go on with it, `sale-sofia cancel JOB` ends it"
        if joined
        else f"{GO_ON} --parallel"
    )
    conclude(services.database, reports, stopped=stopped, as_json=as_json, advice=advice)


def _report(connection: Connection, job_id: str) -> SiteReport:
    return report(connection, known_job(connection, job_id))


def _wait(services: Orchestrator, job_ids: Sequence[str]) -> None:
    with LiveBars(services.settings, log) as bars:
        services.wait_for_scraping_completion(
            job_ids, LONGEST_CRAWL_SECONDS, lambda found: bars.show(found, services.start_redis())
        )
