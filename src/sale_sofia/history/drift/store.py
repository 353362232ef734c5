"""How the pages of each run were, and whether a portal's data is held back because they are not as usual."""

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
"""Incidents that say that a portal's pages are no longer read as they are."""
_NOTHING_AS_JSON: Final = ("null", "[]")

# Made once: they are run with every commit of a crawl.
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
    """Whether an incident of pages that changed is open for the portal: `open_drift`, quickly."""
    return bool(_OPEN_DRIFT.rows(connection, {"of_site": site}))


def open_drift(connection: Connection, site: str | None = None) -> list[Incident]:
    """The open incidents of pages that changed."""
    return [one for one in open_incidents(connection, site) if one.kind in DRIFT_KINDS]


@dataclass(frozen=True, slots=True)
class DriftRun:
    """How the pages of one run were. Moments are seconds since 1970."""

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
"""What this process stored last, by its text: it is read anew when somebody else has added to it."""


def lock_counters(connection: Connection, job_id: str, site: str) -> Sections:
    """What a run has counted so far; nobody else adds to it before this transaction ends."""
    found = _COUNTED.rows(connection, {"of_job": job_id})
    if not found:
        row = {"job_id": job_id, "site": site, "counters": {}}
        connection.execute(insert_into(connection, drift_runs).values(row).on_conflict_do_nothing())
        found = _COUNTED.rows(connection, {"of_job": job_id})
    text: str = found[0][0]
    return _stored.pop(text, None) or sections_of(json.loads(text))


def store_counters(connection: Connection, job_id: str, sections: Sections) -> None:
    """Keep what a run has counted, in the transaction that stores its pages."""
    text = Spelled(to_json(counters_of(sections)))
    _STORE.run(connection, [{"of_job": job_id, "counted": text}])
    _stored[text] = sections
    if len(_stored) > REMEMBERED_COUNTERS:
        del _stored[next(iter(_stored))]


def get_drift_run(connection: Connection, job_id: str) -> DriftRun | None:
    """What a run has counted; None where no page of it was read."""
    found = connection.execute(select(drift_runs).where(drift_runs.c.job_id == job_id)).mappings().first()
    return None if found is None else DriftRun(**found)


def shortfalls(connection: Connection, job_id: str) -> list[Mapping[str, Any]]:
    """What a run that has ended found too seldom on its adverts (`at_least`), unless a person accepted it."""
    found = connection.execute(select(drift_runs.c.findings).where(drift_runs.c.job_id == job_id)).scalar()
    return [one for one in found or () if one.get("kind") == IncidentKind.DRIFT_FLOOR]


def sound_runs(connection: Connection, run: DriftRun, most: int) -> list[DriftRun]:
    """The last runs of the same searches that say what is usual, the newest first, without this one."""
    alike = (
        drift_runs.c.site == run.site,
        drift_runs.c.scope_id.is_not_distinct_from(run.scope_id),
        drift_runs.c.listing_limit.is_not_distinct_from(run.listing_limit),
        drift_runs.c.job_id != run.job_id,
        drift_runs.c.sound.is_(True),
    )
    newest = select(drift_runs).where(*alike).order_by(drift_runs.c.judged_at.desc()).limit(most)
    return [DriftRun(**row) for row in connection.execute(newest).mappings()]


def last_run(connection: Connection, site: str) -> DriftRun | None:
    """The run of the portal that was judged last."""
    newest = select(drift_runs).where(drift_runs.c.site == site, drift_runs.c.judged_at.is_not(None))
    found = connection.execute(newest.order_by(drift_runs.c.judged_at.desc()).limit(1)).mappings().first()
    return None if found is None else DriftRun(**found)


def judge_run(connection: Connection, run: DriftRun) -> None:
    """Keep what was found of a run."""
    kept = ("scope_id", "listing_limit", "firsts", "findings", "sound", "judged_at")
    values = {name: getattr(run, name) for name in kept}
    connection.execute(update(drift_runs).where(drift_runs.c.job_id == run.job_id).values(values))


def accept_last(connection: Connection, site: str) -> DriftRun | None:
    """From now on the portal's last run, and no earlier one, says what is usual; None where there is none."""
    newest = last_run(connection, site)
    if newest is not None:
        earlier = update(drift_runs).where(drift_runs.c.site == site, drift_runs.c.job_id != newest.job_id)
        connection.execute(earlier.values(sound=False))
        own = update(drift_runs).where(drift_runs.c.job_id == newest.job_id)
        connection.execute(own.values(sound=True, findings=[]))
    return newest


# What a run whose pages are not read as they are says of prices and types: held back, and let go.


def hold_prices(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """The prices this run moved, or showed in another meaning, say nothing; how many adverts keep theirs."""
    # A price may have moved on the card, and be confirmed by the page: neither says anything.
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
    """What this run said anew of the kind of a property says nothing; how many adverts those are."""
    changed = exists().where(
        listing_changes.c.listing_id == scrape_history.c.listing_id,  # which is indexed
        listing_changes.c.visit_id == scrape_history.c.id,
        listing_changes.c.field.in_(TYPE_FIELDS),
    )
    new = scrape_history.c.result == "new"
    chosen = and_(scrape_history.c.job_id == job_id, or_(changed, new), scrape_history.c.held_type.is_(False))
    return _mark(connection, chosen, rules, {"held_type": True}, now=now)


def release_types(connection: Connection, site: str, rules: HistoryRules, *, now: float) -> int:
    """What was held back of the kinds of a portal's properties is believed after all."""
    chosen = and_(scrape_history.c.site == site, scrape_history.c.held_type.is_(True))
    return _mark(connection, chosen, rules, {"held_type": False}, now=now)


def hold_gaps(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """What the adverts of this run do not show says nothing; of how many that changes something."""
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
    """What these visits do not show counts after all; for how many adverts that changes something."""
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
    """Mark all visits, also those that miss nothing as far as is known; work out anew those that do."""
    marks = {"held_gaps": held}
    gaps = or_(scrape_history.c.unseen.is_not(None), emptied)
    worked_out = _mark(connection, and_(seen, gaps), rules, marks, now=now)
    connection.execute(update(scrape_history).where(seen).values(marks))
    return worked_out


def release_prices(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """What was held back of this run is believed after all; how many adverts that are."""
    chosen = and_(scrape_history.c.job_id == job_id, scrape_history.c.held.is_(True))
    return _mark(connection, chosen, rules, {"held": False}, now=now)


def _mark(
    connection: Connection, chosen: ColumnElement[bool], rules: HistoryRules, marks: Marks, *, now: float
) -> int:
    """Work the adverts of these visits out anew; how many adverts that are."""
    columns = (scrape_history.c.id, listings.c.site, listings.c.external_id)
    joined = scrape_history.join(listings, scrape_history.c.listing_id == listings.c.id)
    visits: dict[Key, dict[int, Marks]] = defaultdict(dict)
    for visit, site, external_id in connection.execute(select(*columns).select_from(joined).where(chosen)):
        visits[site, external_id][visit] = marks
    for key in sorted(visits):  # two writers who lock rows take them in the same order
        work_out_anew(connection, key, rules, visits[key], now=now)
    return len(visits)


def held_jobs(connection: Connection, site: str) -> Iterable[str]:
    """The runs of a portal of which prices are held back, the oldest first."""
    held = (scrape_history.c.site == site, scrape_history.c.held.is_(True))
    found = select(scrape_history.c.job_id).where(*held).group_by(scrape_history.c.job_id)
    jobs = connection.scalars(found.order_by(func.min(scrape_history.c.fetched_at)))
    return [job for job in jobs if job is not None]
