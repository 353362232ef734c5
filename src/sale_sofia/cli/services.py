"""The parallel mode: services up and down, each Celery program by itself, crawls on workers."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Annotated

import typer
from sqlalchemy import Connection

from sale_sofia.alerts.after_crawl import alert_crawled
from sale_sofia.cli.console import log, out, say
from sale_sofia.cli.progress import GO_ON, LiveBars, conclude
from sale_sofia.crawl.frontier.jobs import SiteReport, known_job, report
from sale_sofia.crawl.frontier.planning import JobPlan
from sale_sofia.crawl.runners.lane import idle_processes
from sale_sofia.crawl.settings import LONGEST_CRAWL_SECONDS
from sale_sofia.installation import open_ready
from sale_sofia.operations import settings as fixed
from sale_sofia.operations.metrics import Exporter, serve_metrics
from sale_sofia.operations.services.celery import (
    beat_command,
    become,
    flower_command,
    flower_environment,
    program_environment,
    worker_command,
)
from sale_sofia.operations.services.ownership import DiskRoom, take_down
from sale_sofia.operations.services.processes import Interrupted, StopSignals
from sale_sofia.operations.services.redis import known_redis_url, stop_unused_redis
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.telemetry.logs import log_to_file
from sale_sofia.websites.site_file import enabled_sites


def metrics(
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than the default shows them to the network.")
    ] = fixed.METRICS_HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any that is free.")
    ] = fixed.METRICS_SERVER_PORT,
    once: Annotated[bool, typer.Option("--once", help="Print them on standard output instead.")] = False,
) -> None:
    """Serve metrics for Prometheus, until Ctrl-C."""
    settings = load_settings()
    if once:
        sys.stdout.write(Exporter(settings, open_ready(settings)).text())
        return
    with StopSignals() as signals, _serve_metrics(settings, host, port) as url:
        log_to_file(settings, "metrics")
        out.print(f"metrics: {url}", soft_wrap=True)
        out.file.flush()
        log.print("stop it with Ctrl-C")
        while not signals.requested:
            time.sleep(fixed.STOP_POLL_SECONDS)


def _serve_metrics(settings: Settings, host: str, port: int) -> AbstractContextManager[str]:
    return serve_metrics(Exporter(settings, open_ready(settings)).registry(), host, port)


def up(
    flower: Annotated[
        bool, typer.Option("--flower/--no-flower", help="Also Flower, where FLOWER_PASSWORD is set.")
    ] = True,
) -> None:
    """Start Redis, a Celery worker and beat, and keep them running until Ctrl-C or `sale-sofia down`.

    Where a portal uses proxies, the rotator too.
    """
    settings = load_settings()
    with Orchestrator(settings, shared=True, say=say) as services, ExitStack() as stack:
        metrics_url = None
        if settings.metrics_port is not None:
            metrics_url = stack.enter_context(
                _serve_metrics(settings, fixed.METRICS_HOST, settings.metrics_port)
            )
        services.with_room(partial(log_to_file, settings, "up"))
        try:
            services.start_celery()
            logs = f"worker (log: {services.fleet.worker.log}), beat (log: {services.fleet.beat.log})"
            say(f"running: Redis, {logs}")
            if idle := idle_processes(settings, enabled_sites()):
                say(idle)
            say(
                "crawl with `sale-sofia crawl --parallel`; "
                "stop with Ctrl-C, or with `sale-sofia down` elsewhere"
            )
            if metrics_url:
                say(f"metrics: {metrics_url}")
            if flower:
                services.with_room(services.fleet.start_flower)
            services.with_room(services.rotator.start)
            while True:
                services.supervise()
                time.sleep(fixed.SUPERVISE_SECONDS)
        except Interrupted:
            say("stopping what was started; a second signal stops it at once")
    say("stopped")


def down() -> None:
    """Stop the services that `sale-sofia up` runs on this DATA_DIR, and what a killed one left behind."""
    settings = load_settings()
    if take_down(settings):
        say("stopped")
        return
    with Orchestrator(settings, shared=True, say=say):
        stop_unused_redis(settings)
    say("nothing of `sale-sofia up` is left running")


def worker() -> None:
    """Run a Celery worker, on the Redis of REDIS_URL or of `sale-sofia up`, until Ctrl-C."""
    become(worker_command(), _environment(load_settings()))


def beat() -> None:
    """Run Celery beat, which wakes waiting jobs and starts scheduled crawls, until Ctrl-C."""
    settings = load_settings()
    become(
        beat_command(settings.data_dir / fixed.RUN_FOLDER / "beat-schedule-by-hand"), _environment(settings)
    )


def _environment(settings: Settings) -> dict[str, str]:
    DiskRoom(settings.data_dir, say).wait()  # a supervisor would give up after too many failed starts
    url = known_redis_url(settings)
    open_ready(settings)
    (settings.data_dir / fixed.RUN_FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    return program_environment(settings, url)


def flower(
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Port to listen on; FLOWER_PORT without it.")
    ] = None,
    address: Annotated[
        str, typer.Option(help="Address to listen on; another than the default shows it to the network.")
    ] = fixed.FLOWER_HOST,
) -> None:
    """Run Flower, which shows the tasks of the workers in a browser; it needs FLOWER_PASSWORD."""
    settings = load_settings()
    environ = flower_environment(settings, known_redis_url(settings))
    door = settings.flower_port if port is None else port
    log.print(f"http://{address}:{door}, user {fixed.FLOWER_USER}")
    become(flower_command(address, door), environ)


# Crawls on Celery workers: missing services are started, and stopped afterwards.


def crawl_in_parallel(settings: Settings, plans: Sequence[JobPlan], *, as_json: bool) -> None:
    """Crawl the portals on workers and print the result."""
    _run(settings, lambda services: services.start_all_sites_scraping(plans), as_json=as_json)


def resume_in_parallel(settings: Settings, job_ids: Sequence[str], *, as_json: bool) -> None:
    """Resume the jobs on workers and print the result."""
    _run(settings, lambda services: services.resume(job_ids), as_json=as_json)


def _run(settings: Settings, begin: Callable[[Orchestrator], object], *, as_json: bool) -> None:
    stopped = False
    with Orchestrator(settings, say=say) as services:
        services.with_room(partial(log_to_file, settings, "crawl"))
        joined = services.fleet.joined
        try:
            begin(services)
            if not joined and (idle := idle_processes(settings, _sites(services))):
                say(idle)
            with LiveBars(services.settings, log) as bars:
                read = partial(bars.read, job_ids=services.jobs)
                services.wait_for_scraping_completion(
                    services.jobs,
                    LONGEST_CRAWL_SECONDS,
                    lambda _: bars.show(services.database.run_read(read)),
                )
        except Interrupted:
            stopped = True
            if not joined:
                say("stopping the services; a second signal stops them at once")
    if not joined and not stopped:  # else the services that keep running do it
        alert_crawled(settings, services.database)
    reports = [services.database.run_read(partial(_report, job_id=job_id)) for job_id in services.jobs]
    advice = (
        "no longer waiting; the services of `sale-sofia up` go on with it, `sale-sofia cancel JOB` ends it"
        if joined
        else f"{GO_ON} --parallel"
    )
    conclude(services.database, reports, stopped=stopped, as_json=as_json, advice=advice)


def _sites(services: Orchestrator) -> list[str]:
    return [services.database.run_read(partial(known_job, job_id=job_id)).site for job_id in services.jobs]


def _report(connection: Connection, job_id: str) -> SiteReport:
    return report(connection, known_job(connection, job_id))
