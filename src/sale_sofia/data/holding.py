"""What a run whose pages are not read as they are says of prices and types: held back, and let go."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select

from sale_sofia.config.history import HistoryRules
from sale_sofia.data.history_schema import scrape_history
from sale_sofia.data.late_sightings import Marks, work_out_anew
from sale_sofia.data.listing_schema import listing_changes, listings, price_points
from sale_sofia.data.sightings import Key
from sale_sofia.data.timeline import TYPE_FIELDS

_Visits = Mapping[Key, list[int]]


def hold_prices(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """The prices this run moved, or showed in another meaning, say nothing; how many adverts keep theirs."""
    moved = exists().where(
        price_points.c.listing_id == scrape_history.c.listing_id,  # which is indexed
        price_points.c.visit_id == scrape_history.c.id,
    )
    doubted = scrape_history.c.odd.is_not(None)
    chosen = and_(scrape_history.c.job_id == job_id, or_(moved, doubted), scrape_history.c.held.is_(False))
    return _mark(connection, _visits(connection, chosen), rules, {"held": True}, now=now)


def hold_types(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """What this run said anew of the kind of a property says nothing; how many adverts those are."""
    changed = exists().where(
        listing_changes.c.listing_id == scrape_history.c.listing_id,  # which is indexed
        listing_changes.c.visit_id == scrape_history.c.id,
        listing_changes.c.field.in_(TYPE_FIELDS),
    )
    new = scrape_history.c.result == "new"
    chosen = and_(scrape_history.c.job_id == job_id, or_(changed, new), scrape_history.c.held_type.is_(False))
    return _mark(connection, _visits(connection, chosen), rules, {"held_type": True}, now=now)


def release_types(connection: Connection, site: str, rules: HistoryRules, *, now: float) -> int:
    """What was held back of the kinds of a portal's properties is believed after all."""
    chosen = and_(scrape_history.c.site == site, scrape_history.c.held_type.is_(True))
    return _mark(connection, _visits(connection, chosen), rules, {"held_type": False}, now=now)


def release_prices(connection: Connection, job_id: str, rules: HistoryRules, *, now: float) -> int:
    """What was held back of this run is believed after all; how many adverts that are."""
    chosen = and_(scrape_history.c.job_id == job_id, scrape_history.c.held.is_(True))
    return _mark(connection, _visits(connection, chosen), rules, {"held": False}, now=now)


def _visits(connection: Connection, chosen: ColumnElement[bool]) -> _Visits:
    """The visits by their advert."""
    columns = (scrape_history.c.id, listings.c.site, listings.c.external_id)
    joined = scrape_history.join(listings, scrape_history.c.listing_id == listings.c.id)
    found: dict[Key, list[int]] = defaultdict(list)
    for visit, site, external_id in connection.execute(select(*columns).select_from(joined).where(chosen)):
        found[site, external_id].append(visit)
    return found


def _mark(connection: Connection, visits: _Visits, rules: HistoryRules, marks: Marks, *, now: float) -> int:
    for key in sorted(visits):  # two writers who lock rows take them in the same order
        work_out_anew(connection, key, rules, dict.fromkeys(visits[key], marks), now=now)
    return len(visits)


def held_jobs(connection: Connection, site: str) -> Iterable[str]:
    """The runs of a portal of which prices are held back, the oldest first."""
    held = (scrape_history.c.site == site, scrape_history.c.held.is_(True))
    found = select(scrape_history.c.job_id).where(*held).group_by(scrape_history.c.job_id)
    jobs = connection.scalars(found.order_by(func.min(scrape_history.c.fetched_at)))
    return [job for job in jobs if job is not None]
