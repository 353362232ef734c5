"""Incidents that no run tells of: found by looking round from time to time."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, func, select

from sale_sofia.config.alerts import OWN_SITE
from sale_sofia.config.history import SECONDS_PER_HOUR
from sale_sofia.config.settings import Settings
from sale_sofia.data.crawl_schema import jobs
from sale_sofia.data.future_moments import future_sentence
from sale_sofia.data.incidents import Incident, IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.data.jobs import JobState, unfinished_jobs
from sale_sofia.listings.dates import SOFIA
from sale_sofia.monitoring.incidents import open_stuck_jobs, review_run
from sale_sofia.monitoring.run_facts import read_run

_BYTES_PER_MB = 1_000_000


def look_round(connection: Connection, settings: Settings, *, now: float) -> list[Incident]:
    """Open what is wrong and close what is over; called again it opens nothing twice.

    Jobs that stand still, circuits open for long, portals that were not crawled, a full disk, a clock that
    was set back.
    """
    return [
        *open_stuck_jobs(connection, settings, now=now),
        *_open_circuits(connection, settings, now),
        *_open_uncrawled(connection, settings, now),
        *_open_disk(connection, settings, now),
        *_open_future(connection, now),
    ]


def _open_future(connection: Connection, now: float) -> list[Incident]:
    """What was written by a clock that was ahead counts as newer than what is written now."""
    sentence = future_sentence(connection, now=now)
    if sentence is None:
        close_incident(connection, IncidentKind.CLOCK_AHEAD, OWN_SITE, now=now)
        return []
    return [open_incident(connection, Trouble(IncidentKind.CLOCK_AHEAD, OWN_SITE, sentence), now=now)]


def _open_circuits(connection: Connection, settings: Settings, now: float) -> list[Incident]:
    """A circuit that is open for long is an incident now, not only when its job ends, perhaps in days."""
    running = [job for job in unfinished_jobs(connection) if job.runner is not None and job.started_at]
    long = [
        job.id
        for job in running
        if read_run(connection, job.id, now=now).circuit_open_seconds >= settings.incident_circuit_seconds
    ]
    return [incident for one in long for incident in review_run(connection, one, settings, now=now)]


def _open_uncrawled(connection: Connection, settings: Settings, now: float) -> list[Incident]:
    """A portal that was crawled before, whose last complete crawl ended too long ago, and that none is at."""
    since = now - settings.incident_crawl_hours * SECONDS_PER_HOUR
    at_work = {
        job.site
        for job in unfinished_jobs(connection)
        if job.runner is not None and (job.started_at or 0) > since
    }
    ended = func.max(jobs.c.finished_at)
    complete = select(jobs.c.site, ended).where(jobs.c.state == JobState.COMPLETE.value).group_by(jobs.c.site)
    last: dict[str, float] = {row[0]: row[1] for row in connection.execute(complete)}
    late = {site: at for site, at in last.items() if at <= since and site not in at_work}
    for site in sorted(last.keys() - late.keys()):
        close_incident(connection, IncidentKind.NO_CRAWL, site, now=now)
    return [
        open_incident(connection, Trouble(IncidentKind.NO_CRAWL, site, _uncrawled(at)), now=now)
        for site, at in sorted(late.items())
    ]


def _uncrawled(at: float) -> str:
    return (
        f"the last complete crawl ended on {datetime.fromtimestamp(at, UTC).astimezone(SOFIA):%d.%m.%Y %H:%M}"
    )


def _open_disk(connection: Connection, settings: Settings, now: float) -> list[Incident]:
    free = free_mb(settings.data_dir)
    if free is None:
        return []  # a disk that cannot be asked is neither full nor not
    if free >= settings.min_free_disk_mb:
        close_incident(connection, IncidentKind.DISK_LOW, OWN_SITE, now=now)
        return []
    sentence = f"{free} MB are free where DATA_DIR is; at least {settings.min_free_disk_mb} MB are wanted"
    return [open_incident(connection, Trouble(IncidentKind.DISK_LOW, OWN_SITE, sentence), now=now)]


def free_mb(folder: Path) -> int | None:
    """Megabytes free on the folder's disk; None where that cannot be known."""
    nearest = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), None)
    try:
        return None if nearest is None else shutil.disk_usage(nearest).free // _BYTES_PER_MB
    except OSError:
        return None
