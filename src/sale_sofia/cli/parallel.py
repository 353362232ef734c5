"""Crawls on Celery workers: what is missing is started, what was started is stopped."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Self

from redis import RedisError
from rich.console import Console
from rich.progress import TaskID, TextColumn
from sqlalchemy import Connection

from sale_sofia.alerts.after_crawl import alert_crawled
from sale_sofia.cli.console import log, say
from sale_sofia.cli.progress import (
    GO_ON,
    NARROW_BAR,
    TOLD,
    Outlooks,
    ProgressLines,
    Shown,
    conclude,
    make_bars,
)
from sale_sofia.crawl.frontier.jobs import SiteReport, known_job, report
from sale_sofia.crawl.frontier.planning import JobPlan
from sale_sofia.crawl.resilience.breaker import CircuitStatus
from sale_sofia.crawl.resilience.errors import ServiceRedis
from sale_sofia.crawl.resilience.factory import get_circuit_breaker
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.runners.lane import idle_processes
from sale_sofia.crawl.runners.progress import Progress
from sale_sofia.crawl.settings import LONGEST_CRAWL_SECONDS
from sale_sofia.operations.services.processes import Interrupted
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.logs import log_to_file
from sale_sofia.telemetry.settings import LIVE_RATE_SECONDS

_MINUTE = 60.0


class Pace:
    """How fast a job moved lately."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def per_minute(self, done: int, now: float) -> float | None:
        """Pages per minute over the last while; None before anything can be said."""
        self._seen.append((now, done))
        while self._seen[0][0] < now - LIVE_RATE_SECONDS:
            self._seen.popleft()
        then, before = self._seen[0]
        return (done - before) / (now - then) * _MINUTE if now > then else None


def pace_text(progress: Progress, per_minute: float | None) -> str:
    """Rate and remaining time, as far as the pages known by now tell."""
    left = progress.total_urls - progress.result_count - progress.error_count
    if not per_minute:
        return "?/min"
    minutes, seconds = divmod(round(left / per_minute * _MINUTE), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{per_minute:.0f}/min, {hours}:{minutes:02}:{seconds:02} left"


class LiveBars:
    """A bar per portal on a terminal, lines elsewhere; it only reads."""

    def __init__(
        self, settings: Settings, console: Console, told: Callable[[str], str] = lambda _job_id: ""
    ) -> None:
        self._settings = settings
        self._told = told
        self._lines = ProgressLines(console)
        self._bars = make_bars(
            console,
            TextColumn("{task.fields[pace]}"),
            TextColumn("circuit {task.fields[circuit]}"),
            TOLD,
            width=NARROW_BAR,
        )
        self._tasks: dict[str, TaskID] = {}
        self._paces: dict[str, Pace] = {}

    def show(self, found: Sequence[Progress], redis_url: str) -> None:
        """Draw the jobs as they are now."""
        if self._bars.disable:
            self._lines.show([_shown(one, self._told(one.job_id)) for one in found])
            return
        circuits = circuit_states(self._settings, redis_url)
        for one in found:
            done = one.result_count + one.error_count
            pace = self._paces.setdefault(one.job_id, Pace()).per_minute(done, time.monotonic())
            circuit = circuits[one.site].state.value.lower() if one.site in circuits else "?"
            text = pace_text(one, pace)
            if one.job_id not in self._tasks:
                self._tasks[one.job_id] = self._bars.add_task(one.site, pace=text, circuit=circuit, told="")
            task, told = self._tasks[one.job_id], self._told(one.job_id)
            self._bars.update(
                task, completed=done, total=one.total_urls, pace=text, circuit=circuit, told=told
            )

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()


def _shown(one: Progress, told: str) -> Shown:
    return Shown(one.job_id, one.site, one.status, one.result_count + one.error_count, one.total_urls, told)


def circuit_states(settings: Settings, redis_url: str) -> Mapping[str, CircuitStatus]:
    """The portals' circuits as the workers share them; none while Redis does not answer."""

    async def read() -> Mapping[str, CircuitStatus]:
        async with connect(redis_url) as redis:
            return await get_circuit_breaker(settings, redis).get_all_states()

    try:
        return asyncio.run(read())
    except (RedisError, ServiceRedis, OSError):
        return {}


def crawl_in_parallel(settings: Settings, plans: Sequence[JobPlan], *, as_json: bool) -> None:
    """Crawl the portals on workers and say what came of it."""
    _run(settings, lambda services: services.start_all_sites_scraping(plans), as_json=as_json)


def resume_in_parallel(settings: Settings, job_ids: Sequence[str], *, as_json: bool) -> None:
    """Go on with the jobs on workers and say what came of it."""
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
            outlooks = Outlooks()

            def told(job_id: str) -> str:
                return services.database.run_read(partial(outlooks.told, job_id=job_id))

            with LiveBars(services.settings, log, told) as bars:
                services.wait_for_scraping_completion(
                    services.jobs,
                    LONGEST_CRAWL_SECONDS,
                    lambda found: bars.show(found, services.start_redis()),
                )
        except Interrupted:
            stopped = True
            if not joined:
                say("stopping the services; a second signal stops them at once")
    if not joined and not stopped:  # else the services that go on do it
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
