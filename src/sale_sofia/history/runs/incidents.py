"""Opens and closes incidents, at a run's end and while it is running."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, exists, func, literal, select, union_all

from sale_sofia.alerts.tables import alert_messages
from sale_sofia.crawl.tables import frontier, jobs, schedule_slots
from sale_sofia.history.jobs import FINISHED_STATES, JobState, unfinished_jobs
from sale_sofia.history.runs.facts import RunComparison, RunFacts, compare, read_run
from sale_sofia.history.runs.health import END_FINDINGS, collapse_sentence, has_collapsed
from sale_sofia.history.settings import CLOCK_FAULT_SECONDS, OWN_SITE, SECONDS_PER_HOUR
from sale_sofia.history.tables import listings
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import (
    Incident,
    IncidentKind,
    Trouble,
    close_incident,
    open_incident,
    open_incidents,
)
from sale_sofia.telemetry.tables import incidents, run_metrics

_MOMENTS: Final = (
    ("jobs", jobs.c.created_at),
    ("jobs", jobs.c.finished_at),
    ("incidents", incidents.c.seen_at),
    ("scheduled crawls", schedule_slots.c.taken_at),
    ("alerts", alert_messages.c.made_at),
)
# The newest sighting of each portal: its index begins with the portal.
_PORTALS: Final = select(jobs.c.site).distinct().subquery()
_LAST_SEEN: Final = select(func.max(listings.c.last_seen_at)).where(listings.c.site == _PORTALS.c.site)
_NEWEST: Final = union_all(
    *(select(literal(name), func.max(column)) for name, column in _MOMENTS),
    select(literal("adverts"), _LAST_SEEN.scalar_subquery()),
)


def future_sentence(connection: Connection, *, now: float) -> Said | None:
    """A sentence on what in the database is dated in the future; None where nothing is."""
    ahead: dict[str, float] = {}
    for name, newest in connection.execute(_NEWEST):
        if newest is not None and newest > now + CLOCK_FAULT_SECONDS:
            ahead[name] = max(ahead.get(name, 0.0), newest - now)
    if not ahead:
        return None
    hours = max(ahead.values()) / SECONDS_PER_HOUR
    return Said("trouble.clock_ahead", what=list(ahead), hours=hours)


_BAD_ENDS = {
    JobState.EMPTY: IncidentKind.EMPTY_JOB,
    JobState.FAILED: IncidentKind.FAILED_JOB,
    JobState.PARTIAL: IncidentKind.PARTIAL_JOB,
}


def review_run(connection: Connection, job_id: str, settings: Settings, *, now: float) -> list[Incident]:
    """Open and close the incidents of a run's portal; returns those of the run. Idempotent.

    Only a portal's newest run counts: older ones are out of date.
    """
    run = read_run(connection, job_id, now=now)
    newer = select(jobs.c.id).where(
        jobs.c.site == run.job.site,
        jobs.c.created_at > run.job.created_at,
        jobs.c.started_at.is_not(None),
    )
    if connection.execute(newer.limit(1)).first() is not None:
        return []
    comparison = compare(connection, run)
    begun = dict(_begun(run, comparison, settings))
    over = {IncidentKind.STUCK_JOB} if run.job.state.finished else set()
    if run.job.state is JobState.COMPLETE:
        over |= {*_BAD_ENDS.values(), IncidentKind.CIRCUIT_OPEN_LONG}
        # Its sweep compares with complete ones alone, and may have found what this comparison no longer does.
        its_own = {one.kind for one in open_incidents(connection, run.job.site) if one.job_id == job_id}
        over |= {IncidentKind.COLLAPSE} - its_own if comparison else set()
    for kind in over - begun.keys():
        close_incident(connection, kind, run.job.site, now=now)
    details = {
        "adverts": run.pages.adverts,
        "failed_pages": run.pages.failed,
        "requests": run.job.requests,
        "block_share": round(run.block_share, 4),
        "circuit_open_seconds": round(run.circuit_open_seconds, 3),
    }
    return [
        open_incident(connection, Trouble(kind, run.job.site, sentence, job_id, details), now=now)
        for kind, sentence in begun.items()
    ]


def open_stuck_jobs(connection: Connection, settings: Settings, *, now: float) -> list[Incident]:
    """Open an incident for each portal whose unfinished job has not moved for too long; close the others'.

    A job moves when one of its pages is leased or put off, or when counters of it come in.
    """
    stuck = unmoved_jobs(connection, now - settings.incident_stuck_seconds)
    for site in {*connection.scalars(select(jobs.c.site).distinct())} - stuck.keys():
        close_incident(connection, IncidentKind.STUCK_JOB, site, now=now)
    sentence = Said("trouble.stuck_job", seconds=settings.incident_stuck_seconds)
    return [
        open_incident(connection, Trouble(IncidentKind.STUCK_JOB, site, sentence, job_id), now=now)
        for site, job_id in sorted(stuck.items())
    ]


def _begun(
    run: RunFacts, comparison: RunComparison | None, settings: Settings
) -> Iterator[tuple[IncidentKind, Said]]:
    if kind := _BAD_ENDS.get(run.job.state):
        yield kind, run.job.error or Said(END_FINDINGS[run.job.state][1])
    if comparison and has_collapsed(run, comparison, settings):
        yield IncidentKind.COLLAPSE, collapse_sentence(run, comparison)
    if run.circuit_open_seconds >= settings.incident_circuit_seconds:
        yield IncidentKind.CIRCUIT_OPEN_LONG, Said("trouble.circuit", seconds=run.circuit_open_seconds)


def unmoved_jobs(connection: Connection, since: float) -> dict[str, str]:
    """The newest job of each portal, by portal, if it has a runner and has not moved since that moment."""
    newer = jobs.alias("newer")
    leased = select(func.max(frontier.c.lease_until)).where(
        frontier.c.job_id == jobs.c.id, frontier.c.state == "leased"
    )
    waiting = select(func.max(frontier.c.not_before)).where(
        frontier.c.job_id == jobs.c.id, frontier.c.state == "pending"
    )
    counted = select(func.max(run_metrics.c.updated_at)).where(run_metrics.c.job_id == jobs.c.id)
    moments = (
        jobs.c.started_at,
        jobs.c.shut_until,
        *(query.scalar_subquery() for query in (leased, waiting, counted)),
    )
    unmoved = select(jobs.c.site, jobs.c.id).where(
        jobs.c.state.not_in([state.value for state in sorted(FINISHED_STATES)]),
        jobs.c.runner.is_not(None),  # a stopped job waits for a person, not for a worker
        jobs.c.created_at < since,
        ~exists().where(newer.c.site == jobs.c.site, newer.c.created_at > jobs.c.created_at),
        *(func.coalesce(moment, 0.0) < since for moment in moments),
    )
    return {row.site: row.id for row in connection.execute(unmoved)}


# Incidents that do not belong to a run: found by periodic checks.

_BYTES_PER_MB = 1_000_000


def look_round(connection: Connection, settings: Settings, *, now: float) -> list[Incident]:
    """Open and close the incidents of periodic checks; idempotent.

    Stuck jobs, circuits open for long, portals that were not crawled, a full disk, a clock that was set back.
    """
    return [
        *open_stuck_jobs(connection, settings, now=now),
        *_open_circuits(connection, settings, now),
        *_open_uncrawled(connection, settings, now),
        *_open_disk(connection, settings, now),
        *_open_future(connection, now),
    ]


def _open_future(connection: Connection, now: float) -> list[Incident]:
    """Rows written by a clock that was ahead count as newer than those written now."""
    sentence = future_sentence(connection, now=now)
    if sentence is None:
        close_incident(connection, IncidentKind.CLOCK_AHEAD, OWN_SITE, now=now)
        return []
    return [open_incident(connection, Trouble(IncidentKind.CLOCK_AHEAD, OWN_SITE, sentence), now=now)]


def _open_circuits(connection: Connection, settings: Settings, now: float) -> list[Incident]:
    """A circuit that is open for long is an incident now, not only at its job's end, perhaps in days."""
    running = [job for job in unfinished_jobs(connection) if job.runner is not None and job.started_at]
    job_ids = [
        job.id
        for job in running
        if read_run(connection, job.id, now=now).circuit_open_seconds >= settings.incident_circuit_seconds
    ]
    return [incident for job_id in job_ids for incident in review_run(connection, job_id, settings, now=now)]


def _open_uncrawled(connection: Connection, settings: Settings, now: float) -> list[Incident]:
    """A portal whose last complete crawl ended too long ago, and that is not being crawled."""
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
    opened = []
    for site, at in sorted(late.items()):
        ended_at = datetime.fromtimestamp(at, UTC).astimezone(SOFIA)
        sentence = Said("trouble.no_crawl", at=f"{ended_at:%d.%m.%Y %H:%M}")
        opened.append(open_incident(connection, Trouble(IncidentKind.NO_CRAWL, site, sentence), now=now))
    return opened


def _open_disk(connection: Connection, settings: Settings, now: float) -> list[Incident]:
    free = free_mb(settings.data_dir)
    if free is None:
        return []  # unknown, so neither open nor close
    if free >= settings.min_free_disk_mb:
        close_incident(connection, IncidentKind.DISK_LOW, OWN_SITE, now=now)
        return []
    sentence = Said("trouble.disk_low", free=free, least=settings.min_free_disk_mb)
    return [open_incident(connection, Trouble(IncidentKind.DISK_LOW, OWN_SITE, sentence), now=now)]


def free_mb(folder: Path) -> int | None:
    """Megabytes free on the folder's disk; None where that is unknown."""
    nearest = next((path for path in (folder, *folder.parents) if os.path.lexists(path)), None)
    try:
        return None if nearest is None else shutil.disk_usage(nearest).free // _BYTES_PER_MB
    except OSError:
        return None
