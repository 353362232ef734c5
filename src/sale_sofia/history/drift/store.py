"""Stores the counts of each run's pages, and holds a portal's data back while they are not as usual."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    cast,
    exists,
    false,
    func,
    or_,
    select,
    update,
)

from sale_sofia.history.drift.counts import Sections, counters_of, sections_of
from sale_sofia.history.settings import REMEMBERED_COUNTERS, HistoryRules
from sale_sofia.history.sightings import Key, Marks, work_out_anew
from sale_sofia.history.tables import drift_runs, listing_changes, listings, price_points, scrape_history
from sale_sofia.history.timeline import KEPT_FIELDS, TYPE_FIELDS
from sale_sofia.storage.connections import Spelled, to_json
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_into
from sale_sofia.telemetry.incidents import Incident, IncidentKind, open_incidents
from sale_sofia.telemetry.tables import incidents

Counters = dict[str, Any]
DRIFT: Final = "drift"
DRIFT_KINDS: Final = tuple(kind for kind in IncidentKind if DRIFT in kind)
"""Incidents of portals whose pages are no longer read correctly."""
_NOTHING_AS_JSON: Final = ("null", "[]")

# Built once: they run with every commit of a crawl.
_COUNTED = Quick(
    select(cast(drift_runs.c.counters, Text))
    .where(drift_runs.c.job_id == bindparam("of_job"))
    .with_for_update()
)
_STORE = Quick(
    update(drift_runs)
    .where(drift_runs.c.job_id == bindparam("of_job"))
    .values(counters=bindparam("counted", type_=drift_runs.c.counters.type))
)


_OPEN_DRIFT = Quick(
    select(incidents.c.id).where(
        incidents.c.site == bindparam("of_site"),
        incidents.c.kind.in_([kind.value for kind in DRIFT_KINDS]),
        incidents.c.closed_at.is_(None),
    )
)


def is_drifting(connection: Connection, site: str) -> bool:
    """Whether the portal has an open drift incident: a fast `open_drift`."""
    return bool(_OPEN_DRIFT.rows(connection, {"of_site": site}))


def open_drift(connection: Connection, site: str | None = None) -> list[Incident]:
    """The open drift incidents."""
    return [incident for incident in open_incidents(connection, site) if incident.kind in DRIFT_KINDS]


@dataclass(frozen=True, slots=True)
class DriftRun:
    """The counts and the verdict of one run's pages. Moments are seconds since 1970."""

    job_id: str
    site: str
    counters: Counters
    scope_id: int | None = None
    listing_limit: int | None = None
    firsts: Mapping[str, str] | None = None
    """The first selector of each field, by its name."""
    findings: Sequence[Mapping[str, Any]] | None = None
    sound: bool | None = None
    judged_at: float | None = None


_stored: Final[dict[str, Sections]] = {}
"""What this process stored last, by its JSON text: any other text in the database is parsed again."""


def lock_counters(connection: Connection, job_id: str, site: str) -> Sections:
    """What a run has counted so far, locked until this transaction ends."""
    rows = _COUNTED.rows(connection, {"of_job": job_id})
    if not rows:
        row = {"job_id": job_id, "site": site, "counters": {}}
        connection.execute(insert_into(connection, drift_runs).values(row).on_conflict_do_nothing())
        rows = _COUNTED.rows(connection, {"of_job": job_id})
    text: str = rows[0][0]
    return _stored.pop(text, None) or sections_of(json.loads(text))


def store_counters(connection: Connection, job_id: str, sections: Sections) -> None:
    """Store what a run has counted, in the transaction that stores its pages."""
    text = Spelled(to_json(counters_of(sections)))
    _STORE.run(connection, [{"of_job": job_id, "counted": text}])
    _stored[text] = sections
    if len(_stored) > REMEMBERED_COUNTERS:
        del _stored[next(iter(_stored))]


def get_drift_run(connection: Connection, job_id: str) -> DriftRun | None:
    """What a run has counted; None where no page of it was read."""
    row = connection.execute(select(drift_runs).where(drift_runs.c.job_id == job_id)).mappings().first()
    return None if row is None else DriftRun(**row)


def shortfalls(connection: Connection, job_id: str) -> list[Mapping[str, Any]]:
    """The facts that an ended run found on too few adverts (`at_least`), unless a person accepted it."""
    findings = connection.execute(select(drift_runs.c.findings).where(drift_runs.c.job_id == job_id)).scalar()
    return [finding for finding in findings or () if finding.get("kind") == IncidentKind.DRIFT_FLOOR]


def sound_runs(connection: Connection, run: DriftRun, most: int) -> list[DriftRun]:
    """The last sound runs of the same searches, the newest first, without this one."""
    alike = (
        drift_runs.c.site == run.site,
        drift_runs.c.scope_id.is_not_distinct_from(run.scope_id),
        drift_runs.c.listing_limit.is_not_distinct_from(run.listing_limit),
        drift_runs.c.job_id != run.job_id,
        drift_runs.c.sound.is_(True),
    )
    newest = (
        select(drift_runs)
        .where(*alike)
        .order_by(drift_runs.c.judged_at.desc(), drift_runs.c.job_id.desc())
        .limit(most)
    )
    return [DriftRun(**row) for row in connection.execute(newest).mappings()]


def last_run(connection: Connection, site: str) -> DriftRun | None:
    """The run of the portal that was judged last."""
    newest = select(drift_runs).where(drift_runs.c.site == site, drift_runs.c.judged_at.is_not(None))
    row = (
        connection.execute(
            newest.order_by(drift_runs.c.judged_at.desc(), drift_runs.c.job_id.desc()).limit(1)
        )
        .mappings()
        .first()
    )
    return None if row is None else DriftRun(**row)


def judge_run(connection: Connection, run: DriftRun) -> None:
    """Store the verdict on a run."""
    names = ("scope_id", "listing_limit", "firsts", "findings", "sound", "judged_at")
    values = {name: getattr(run, name) for name in names}
    connection.execute(update(drift_runs).where(drift_runs.c.job_id == run.job_id).values(values))


def accept_last(connection: Connection, site: str) -> DriftRun | None:
    """Make the portal's last run the only baseline; None where there is none."""
    newest = last_run(connection, site)
    if newest is not None:
        earlier = update(drift_runs).where(drift_runs.c.site == site, drift_runs.c.job_id != newest.job_id)
        connection.execute(earlier.values(sound=False))
        own = update(drift_runs).where(drift_runs.c.job_id == newest.job_id)
        connection.execute(own.values(sound=True, findings=[]))
    return newest


# Holding back and releasing prices, types and gaps of a run whose pages are not read correctly.


def hold_prices(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """Disregard prices that this run moved or showed in another meaning; returns the number of adverts."""
    # A price may have moved on the card and been confirmed by the page: neither counts.
    by = scrape_history.alias("by")
    moved = exists().where(
        price_points.c.listing_id == scrape_history.c.listing_id,  # which is indexed
        price_points.c.visit_id == by.c.id,
        by.c.job_id == job_id,
    )
    doubted = scrape_history.c.odd.is_not(None)
    chosen = and_(scrape_history.c.job_id == job_id, or_(moved, doubted), scrape_history.c.held.is_(False))
    return _mark(connection, chosen, rules, {"held": True}, now=now)


def hold_types(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """Disregard new property types of this run; returns how many adverts it affects."""
    changed = exists().where(
        listing_changes.c.listing_id == scrape_history.c.listing_id,  # which is indexed
        listing_changes.c.visit_id == scrape_history.c.id,
        listing_changes.c.field.in_(TYPE_FIELDS),
    )
    new = scrape_history.c.result == "new"
    chosen = and_(scrape_history.c.job_id == job_id, or_(changed, new), scrape_history.c.held_type.is_(False))
    return _mark(connection, chosen, rules, {"held_type": True}, now=now)


def release_types(connection: Connection, site: str, rules: HistoryRules, *, now: float) -> int:
    """Believe the property types of a portal that were held back."""
    chosen = and_(scrape_history.c.site == site, scrape_history.c.held_type.is_(True))
    return _mark(connection, chosen, rules, {"held_type": False}, now=now)


def hold_gaps(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """Disregard values that adverts of this run do not show; returns how many adverts that changes."""
    emptied = exists().where(
        listing_changes.c.listing_id == scrape_history.c.listing_id,  # which is indexed
        listing_changes.c.visit_id == scrape_history.c.id,
        listing_changes.c.field.in_(KEPT_FIELDS),
        cast(listing_changes.c.new, Text).in_(_NOTHING_AS_JSON),
    )
    seen = and_(
        scrape_history.c.job_id == job_id,
        scrape_history.c.listing_id.is_not(None),
        scrape_history.c.held_gaps.is_(False),
    )
    return _mark_gaps(connection, seen, emptied, rules, held=True, now=now)


def release_gaps(
    connection: Connection, chosen: ColumnElement[bool], rules: HistoryRules, *, now: float
) -> int:
    """Count values that these visits do not show as gone after all; returns how many adverts that changes."""
    seen = and_(chosen, scrape_history.c.held_gaps.is_(True))
    return _mark_gaps(connection, seen, false(), rules, held=False, now=now)


def _mark_gaps(
    connection: Connection,
    seen: ColumnElement[bool],
    emptied: ColumnElement[bool],
    rules: HistoryRules,
    *,
    held: bool,
    now: float,
) -> int:
    """Mark all visits, even those without gaps; recompute only the adverts of those with gaps."""
    marks = {"held_gaps": held}
    gaps = or_(scrape_history.c.unseen.is_not(None), emptied)
    worked_out = _mark(connection, and_(seen, gaps), rules, marks, now=now)
    connection.execute(update(scrape_history).where(seen).values(marks))
    return worked_out


def release_prices(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """Believe the prices of this run that were held back; returns how many adverts it affects."""
    chosen = and_(scrape_history.c.job_id == job_id, scrape_history.c.held.is_(True))
    return _mark(connection, chosen, rules, {"held": False}, now=now)


def _mark(
    connection: Connection, chosen: ColumnElement[bool], rules: HistoryRules, marks: Marks, *, now: float
) -> int:
    """Set the marks and recompute the adverts of these visits; returns how many adverts there are."""
    columns = (scrape_history.c.id, listings.c.site, listings.c.external_id)
    joined = scrape_history.join(listings, scrape_history.c.listing_id == listings.c.id)
    visits: dict[Key, dict[int, Marks]] = defaultdict(dict)
    for visit, site, external_id in connection.execute(select(*columns).select_from(joined).where(chosen)):
        visits[site, external_id][visit] = marks
    for key in sorted(visits):  # the same lock order for all writers
        work_out_anew(connection, key, rules, visits[key], now=now)
    return len(visits)


def held_jobs(connection: Connection, site: str) -> Iterable[str]:
    """The runs of a portal with prices held back, the oldest first."""
    held = (scrape_history.c.site == site, scrape_history.c.held.is_(True))
    query = select(scrape_history.c.job_id).where(*held).group_by(scrape_history.c.job_id)
    jobs = connection.scalars(query.order_by(func.min(scrape_history.c.fetched_at)))
    return [job for job in jobs if job is not None]
