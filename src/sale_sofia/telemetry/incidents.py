"""Incidents: problems for a person to look at, open until they are over. Alerts are made from these rows."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, RowMapping, select, update

from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.upserts import insert_into
from sale_sofia.telemetry.tables import incidents

log: Final = logging.getLogger(__name__)


class IncidentKind(StrEnum):
    """All kinds of incidents."""

    EMPTY_JOB = "empty_job"
    FAILED_JOB = "failed_job"
    PARTIAL_JOB = "partial_job"
    COLLAPSE = "collapse"
    COVERAGE = "coverage"
    COPIES = "copies"
    CIRCUIT_OPEN_LONG = "circuit_open_long"
    STUCK_JOB = "stuck_job"
    PRICE_MEANING = "price_meaning"
    LARGE_PROPERTY = "large_property"
    MATCHING_FAILED = "matching_failed"
    PHOTOS_FAILED = "photos_failed"
    SCORING_FAILED = "scoring_failed"
    NO_CRAWL = "no_crawl"
    DISK_LOW = "disk_low"
    CLOCK_AHEAD = "clock_ahead"
    ALERTS_FAILED = "alerts_failed"
    CHANNEL_SILENT = "channel_silent"
    DRIFT_CARDS = "drift_cards"
    DRIFT_UNREADABLE = "drift_unreadable"
    DRIFT_FILL = "drift_fill"
    DRIFT_SELECTOR = "drift_selector"
    DRIFT_PRICE = "drift_price"
    DRIFT_PRICE_PER_SQM = "drift_price_per_sqm"
    DRIFT_FLOOR = "drift_floor"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A problem detected with a portal."""

    kind: IncidentKind
    site: str
    message: Said
    job_id: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Incident:
    """A trouble as it is stored. Moments are seconds since 1970."""

    id: int
    kind: IncidentKind
    site: str
    job_id: str | None
    opened_at: float
    seen_at: float
    """When the problem was last seen."""
    closed_at: float | None
    message: Said
    details: dict[str, Any]


def open_incident(connection: Connection, trouble: Trouble, *, now: float) -> Incident:
    """Open or update the incident of this kind and site: one, however many processes see it."""
    new = insert_into(connection, incidents).values(
        kind=trouble.kind.value,
        site=trouble.site,
        job_id=trouble.job_id,
        opened_at=now,
        seen_at=now,
        message=trouble.message,
        details=trouble.details,
    )
    updated = {name: new.excluded[name] for name in ("job_id", "seen_at", "message", "details")}
    upsert = new.on_conflict_do_update(
        index_elements=["kind", "site"], index_where=incidents.c.closed_at.is_(None), set_=updated
    )
    return _incident(connection.execute(upsert.returning(*incidents.c)).mappings().one())


def close_incident(connection: Connection, kind: IncidentKind, site: str, *, now: float) -> bool:
    """Close the open incident; `False` if there was none."""
    chosen = (incidents.c.kind == kind.value, incidents.c.site == site, incidents.c.closed_at.is_(None))
    return bool(connection.execute(update(incidents).where(*chosen).values(closed_at=now)).rowcount)


def open_incidents(connection: Connection, site: str | None = None) -> list[Incident]:
    """Return all open incidents, or those of one site, the oldest first."""
    chosen = select(incidents).where(incidents.c.closed_at.is_(None))
    if site is not None:
        chosen = chosen.where(incidents.c.site == site)
    rows = connection.execute(chosen.order_by(incidents.c.opened_at, incidents.c.id)).mappings()
    return [_incident(row) for row in rows]


def newest_incidents(connection: Connection, limit: int) -> list[Incident]:
    """Return the open ones, then the closed ones; each with the newest first."""
    is_over = incidents.c.closed_at.is_not(None)
    ordered = select(incidents).order_by(is_over, incidents.c.opened_at.desc(), incidents.c.id.desc())
    return [_incident(row) for row in connection.execute(ordered.limit(limit)).mappings()]


def _incident(row: RowMapping) -> Incident:
    return Incident(**{**row, "kind": IncidentKind(row["kind"])})


# Work after a crawl may fail without the crawl failing.


class Aftermath(NamedTuple):
    """Work after a crawl, and the incident that its failure opens."""

    name: str
    kind: IncidentKind
    site: str
    again: str
    """The command that repeats it."""


def attempt(
    database: Database,
    aftermath: Aftermath,
    work: Callable[[], object],
    *expected: type[Exception],
    clock: Callable[[], float] = time.time,
) -> bool:
    """Do the work; never raises, `False` if it failed.

    A failure is logged (with its trace, unless the message says what is wrong, as `expected` ones do) and,
    where the database can be written, opens the incident; success closes it.
    """
    try:
        work()
        database.run_write(partial(close_incident, kind=aftermath.kind, site=aftermath.site, now=clock()))
    except Exception as error:
        is_expected = isinstance(error, (DatabaseError, OSError, *expected))
        log.warning("%s failed: %s", aftermath.name, error, exc_info=not is_expected)
        why = Said.of(error if str(error) else type(error).__name__)
        message = Said(f"trouble.{aftermath.kind}", why=why, again=aftermath.again)
        trouble = Trouble(aftermath.kind, aftermath.site, message)
        try:
            database.run_write(partial(open_incident, trouble=trouble, now=clock()))
        except DatabaseError as unwritten:
            log.warning("that %s failed could not be stored: %s", aftermath.name, unwritten)
        return False
    return True
