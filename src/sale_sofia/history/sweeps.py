"""Sweeps: the searches that a job goes through, and the adverts that they no longer show."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from functools import cache
from itertools import islice
from operator import itemgetter
from statistics import median
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from sale_sofia.crawl.tables import jobs
from sale_sofia.history.cards import Scope
from sale_sofia.history.jobs import JobState
from sale_sofia.history.listings import removed_since
from sale_sofia.history.market_events import MISSED, REMOVED, set_gone
from sale_sofia.history.settings import LEARNT_SECONDS, LOOKS_AT_ONCE, USUAL_SWEEPS
from sale_sofia.history.sightings import listing_key
from sale_sofia.history.tables import cards, learnt, listings, scopes, searches, shown_adverts, sweeps
from sale_sofia.settings.words import Said
from sale_sofia.storage.quick import Quick
from sale_sofia.storage.upserts import insert_for, insert_into
from sale_sofia.telemetry.incidents import IncidentKind, close_incident
from sale_sofia.websites.site_file import DelistingTable

COLLAPSED: Final = "sweep.collapsed"
"""The code of the reason of a sweep that saw far fewer adverts than is usual."""


@dataclass(frozen=True, slots=True)
class SweepFigures:
    """How many adverts a sweep was announced, could reach, saw, opened and read in full."""

    announced: int | None
    """By the portal; None where it does not say."""
    reachable: int
    """What can be seen within the caps that were met."""
    adverts: int
    """What was seen."""
    opened: int
    stored: int
    """Opened adverts with price and area."""
    missing: Said | None
    """Why adverts of the portal were not seen, in one line; None when these are all."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """One job's pass through its searches. Moments are seconds since 1970."""

    job_id: str
    site: str
    start_urls: tuple[str, ...]
    started_at: float
    finished_at: float | None
    complete: bool | None
    """None while it is running, and if its job was cancelled."""
    reason: Said | None
    """Why it is not complete."""
    announced: int | None
    reachable: int | None
    adverts: int | None
    opened: int | None
    stored: int | None
    missing: Said | None
    """Why adverts that were announced, or are known to be there, were not seen."""
    gone: int | None
    everything: bool
    cancelled: bool = False

    @property
    def figures(self) -> str:
        """How far it came, in one line."""
        announced = "an unknown number" if self.announced is None else spaced(self.announced)
        differs = self.announced is not None and self.reachable != self.announced
        reachable = f" ({spaced(self.reachable)} can be)" if differs else ""
        seen = f"{spaced(self.adverts)} of {announced} seen{reachable}"
        return f"{seen}, {spaced(self.opened)} opened, {spaced(self.stored)} with price and area"


def begin_sweep(  # noqa: PLR0913 - each is a choice of its own
    connection: Connection,
    *,
    job_id: str,
    site: str,
    searches: Sequence[str],
    everything: bool,
    now: float,
    looks_for: Mapping[str, Any] | None = None,
) -> None:
    """Begin the sweep of a job through these searches, in any order.

    With `looks_for` it is a scope of its own: the whole may have what it does not show.
    """
    start_urls = sorted(set(searches))
    scope_key = start_urls if looks_for is None else [start_urls, looks_for["wishes"]]
    digest = hashlib.sha256(json.dumps(scope_key, sort_keys=True).encode()).hexdigest()
    scope = insert_into(connection, scopes).values(site=site, digest=digest, start_urls=start_urls)
    connection.execute(scope.on_conflict_do_nothing())
    own = select(scopes.c.id).where(scopes.c.site == site, scopes.c.digest == digest)
    row = {"job_id": job_id, "scope_id": connection.execute(own).scalar_one(), "site": site}
    connection.execute(insert(sweeps).values(**row, everything=everything, started_at=now))


_SCOPE_OF = Quick(
    select(sweeps.c.scope_id, sweeps.c.site, sweeps.c.started_at, sweeps.c.everything).where(
        sweeps.c.job_id == bindparam("of_job")
    )
)


def scope_of(connection: Connection, job_id: str) -> Scope | None:
    """The searches a job goes through; None for a job of single adverts."""
    return next((Scope(*row) for row in _SCOPE_OF.rows(connection, {"of_job": job_id})), None)


def end_sweep(
    connection: Connection, job_id: str, figures: SweepFigures, *, reason: Said | None, gone: int, now: float
) -> None:
    """End the sweep: complete, or with the reason why it is not."""
    ended = {"complete": reason is None, "reason": reason, "gone": gone, **asdict(figures)}
    own = update(sweeps).where(sweeps.c.job_id == job_id)
    connection.execute(own.values(**ended, finished_at=now))


def adverts_seen(connection: Connection, scope: Scope) -> int:
    """How many adverts the sweep has seen so far."""
    seen = select(func.count()).where(cards.c.scope_id == scope.id, cards.c.seen_at >= scope.since)
    return int(connection.execute(seen).scalar_one())


def newest_card(connection: Connection, scope: Scope) -> float:
    """When an advert of these searches was seen last."""
    newest = select(func.max(cards.c.seen_at)).where(cards.c.scope_id == scope.id)
    return float(connection.execute(newest).scalar() or 0.0)


def usual_adverts(connection: Connection, scope: Scope) -> float | None:
    """The median of what the last complete sweeps of the scope saw; None before the first.

    Those before an accepted one do not count.
    """
    last = (
        select(sweeps.c.adverts, sweeps.c.reason)
        .where(sweeps.c.scope_id == scope.id, sweeps.c.complete.is_(True), sweeps.c.started_at < scope.since)
        .order_by(sweeps.c.started_at.desc(), sweeps.c.job_id.desc())
        .limit(USUAL_SWEEPS)
    )
    counts = []
    for row in connection.execute(last):
        counts.append(row.adverts)
        if row.reason is not None:
            break
    return median(counts) if counts else None


def accept_drop(connection: Connection, site: str, *, now: float) -> Sweep | None:
    """Make what the portal's last sweep saw the usual number of adverts, by a person's decision.

    The sweep counts as complete, and is the only complete one that has a reason. It delists nothing itself;
    the next ones do. None where the last sweep did not collapse.
    """
    ended = _ALL.where(sweeps.c.site == site, sweeps.c.finished_at.is_not(None))
    newest = ended.order_by(sweeps.c.started_at.desc(), sweeps.c.job_id.desc()).limit(1)
    last = next(iter(_sweeps(connection, newest)), None)
    if last is None or last.reason is None or last.reason.code != COLLAPSED:
        return None
    own = update(sweeps).where(sweeps.c.job_id == last.job_id)
    connection.execute(own.values(complete=True, reason=Said("sweep.accepted", why=last.reason)))
    close_incident(connection, IncidentKind.COLLAPSE, site, now=now)
    return last


def accepted_among(connection: Connection, job_ids: Sequence[str]) -> frozenset[str]:
    """Those of these jobs whose sweep was accepted."""
    chosen = select(sweeps.c.job_id).where(sweeps.c.job_id.in_(job_ids), sweeps.c.complete.is_(True))
    return frozenset(connection.scalars(chosen.where(sweeps.c.reason.is_not(None))))


def is_first_sweep(connection: Connection, scope: Scope) -> bool:
    """Whether no earlier sweep of these searches has ended."""
    earlier = select(sweeps.c.job_id).where(
        sweeps.c.scope_id == scope.id, sweeps.c.started_at < scope.since, sweeps.c.finished_at.is_not(None)
    )
    return connection.execute(earlier.limit(1)).first() is None


def list_sweeps(connection: Connection, limit: int, site: str | None = None) -> list[Sweep]:
    """The newest sweeps, the newest first."""
    own = [] if site is None else [sweeps.c.site == site]
    return _sweeps(
        connection, _ALL.where(*own).order_by(sweeps.c.started_at.desc(), sweeps.c.job_id.desc()).limit(limit)
    )


def get_sweep(connection: Connection, job_id: str) -> Sweep | None:
    """The sweep of a job; None for a job of single adverts."""
    return next(iter(_sweeps(connection, _ALL.where(sweeps.c.job_id == job_id))), None)


_CANCELLED = (jobs.c.state == JobState.CANCELLED.value) & sweeps.c.finished_at.is_(None)
_ALL: Any = (
    select(
        *(sweeps.c[field.name] for field in fields(Sweep) if field.name in sweeps.c),
        scopes.c.start_urls,
        _CANCELLED.label("cancelled"),
    )
    .select_from(sweeps)
    .join(scopes)
    .join(jobs, jobs.c.id == sweeps.c.job_id)
)


def _sweeps(connection: Connection, query: Any) -> list[Sweep]:  # noqa: ANN401 - a statement of any columns
    rows = connection.execute(query).mappings()
    return [Sweep(**{**row, "start_urls": tuple(row["start_urls"])}) for row in rows]


def spaced(number: int | None) -> str:
    """A number as people read it: 11 204."""
    return "?" if number is None else f"{number:,}".replace(",", " ")


# The searches of a job, and what was learnt about a portal's limits.


class Ended(StrEnum):
    """How a search ended."""

    READ = "read"
    """All it announced was shown, or its last page was read."""
    SPLIT = "split"
    """It was split into smaller ones."""
    WAITING = "waiting"
    """It will be split when the page with the ids of its parts is read."""
    CAPPED = "capped"
    """The portal shows no more of it, and it cannot be split."""
    SHORT = "short"
    """It ended before it showed what it announced."""
    EXCEEDED = "exceeded"
    """It showed far more than it announced, and went on."""
    ENDLESS = "endless"
    """It went on beyond the most pages or parts that are read of any search."""
    ABSENT = "absent"
    """The portal has no such search."""
    USELESS = "useless"
    """A part by a filter that changes nothing."""
    FORBIDDEN = "forbidden"
    """robots.txt forbids it, and another start was taken."""


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a job."""

    id: int
    job_id: str
    url: str
    """Its first page."""
    parent_id: int | None = None
    way: str | None = None
    """How its parent was split."""
    announced: int | None = None
    """How many adverts the portal says it has."""
    exact: bool = False
    """Whether that number is exact: "1000+", or an estimate from a number of pages, is not."""
    pages: int = 0
    shown: int = 0
    """Adverts on its pages, each page counted once."""
    different: int = 0
    """Different adverts on those of its pages that have a next page."""
    stale: int = 0
    """How many of its last pages brought nothing new."""
    first_digest: str | None = None
    last_digest: str | None = None
    next_url: str | None = None
    """The page after the last one read."""
    ended: Ended | None = None


def add_search(
    connection: Connection, job_id: str, url: str, *, parent_id: int | None = None, way: str | None = None
) -> int:
    """Add a search to the job, with no page read yet; returns its id."""
    row = {"job_id": job_id, "url": url, "parent_id": parent_id, "way": way}
    return int(connection.execute(insert(searches).values(row).returning(searches.c.id)).scalar_one())


# Built once: they run with every page of results.
_GET_SEARCH = Quick(select(searches).where(searches.c.id == bindparam("of_id")))
_KEEP_SEARCH = Quick(update(searches).where(searches.c.id == bindparam("of_id")))


def get_search(connection: Connection, search_id: int | None) -> Search | None:
    """The search with this id."""
    return next(map(_search, _GET_SEARCH.mappings(connection, {"of_id": search_id})), None)


def keep_search(connection: Connection, search: Search) -> None:
    """Store the search as it is now."""
    _KEEP_SEARCH.run(connection, [{"of_id": search.id, **asdict(search)}])


def note_shown(connection: Connection, search_id: int, external_ids: Iterable[str]) -> int:
    """Note the adverts on a page of the search; returns how many of them it has not shown before."""
    rows = [{"search_id": search_id, "external_id": advert} for advert in dict.fromkeys(external_ids)]
    return _showing(connection.dialect.name).run(connection, rows)


@cache
def _showing(dialect: str) -> Quick:
    return Quick(insert_for(dialect, shown_adverts).on_conflict_do_nothing())


def forget_shown(connection: Connection, search_id: int) -> None:
    """Delete which adverts an ended search has shown."""
    connection.execute(delete(shown_adverts).where(shown_adverts.c.search_id == search_id))


def count_searches(connection: Connection, job_id: str) -> int:
    """How many searches a job has."""
    own = select(func.count()).select_from(searches).where(searches.c.job_id == job_id)
    return int(connection.execute(own).scalar_one())


def searches_of(connection: Connection, job_id: str) -> list[Search]:
    """All searches of a job, in the order in which they were added."""
    return _read_searches(connection, searches.c.job_id == job_id)


def parts_of(connection: Connection, search: Search) -> list[Search]:
    """The parts of a search."""
    return _read_searches(connection, searches.c.parent_id == search.id)


def _read_searches(connection: Connection, which: ColumnElement[bool]) -> list[Search]:
    rows = connection.execute(select(searches).where(which).order_by(searches.c.id)).mappings()
    return [_search(row) for row in rows]


def _search(row: Mapping[Any, Any]) -> Search:
    return Search(**{**row, "ended": Ended(row["ended"]) if row["ended"] else None})


@dataclass(frozen=True, slots=True)
class LearntLimits:
    """What crawls learnt about a portal, unless it is too old."""

    most: int | None = None
    """How many adverts of one search it shows at most."""
    ids: Mapping[str, tuple[str, ...]] | None = None
    """The ids of its filters, by the key of their query."""
    useless: frozenset[str] = frozenset()
    """Ways to split a search that change nothing."""


_MOST, _IDS, _USELESS = "most", "ids:", "useless:"


_READ_LEARNT = Quick(
    select(learnt.c.name, learnt.c.value).where(
        learnt.c.site == bindparam("of_site"), learnt.c.learnt_at > bindparam("after")
    )
)


def read_learnt(connection: Connection, site: str, *, now: float) -> LearntLimits:
    """What was learnt about the portal."""
    parameters = {"of_site": site, "after": now - LEARNT_SECONDS}
    values = dict(_READ_LEARNT.rows(connection, parameters))
    return LearntLimits(
        values.get(_MOST),
        {name.removeprefix(_IDS): tuple(ids) for name, ids in values.items() if name.startswith(_IDS)},
        frozenset(name.removeprefix(_USELESS) for name in values if name.startswith(_USELESS)),
    )


def learn_most(connection: Connection, site: str, most: int, *, now: float) -> None:
    """Store how many adverts the portal showed of a search that has more."""
    _learn(connection, site, _MOST, most, now)


def learn_ids(connection: Connection, site: str, query: str, ids: Sequence[str], *, now: float) -> None:
    """Store the ids of one of the portal's filters."""
    _learn(connection, site, f"{_IDS}{query}", list(ids), now)


def learn_useless(connection: Connection, site: str, way: str, *, now: float) -> None:
    """Store that a way to split searches changes nothing."""
    _learn(connection, site, f"{_USELESS}{way}", way, now)


def learnt_rows(connection: Connection, site: str | None = None) -> list[dict[str, Any]]:
    """All that was learnt about a portal, or about all, for people."""
    query = select(learnt)
    rows = connection.execute(query.where(learnt.c.site == site) if site else query).mappings()
    return sorted(map(dict, rows), key=itemgetter("site", "name"))  # not by the order of a server's texts


def forget_learnt(connection: Connection, site: str) -> int:
    """Delete what was learnt, so that the next crawl learns it again; returns how many entries."""
    return connection.execute(delete(learnt).where(learnt.c.site == site)).rowcount


def _learn(connection: Connection, site: str, name: str, value: object, now: float) -> None:
    new = insert_into(connection, learnt).values(site=site, name=name, value=value, learnt_at=now)
    newest = {"value": new.excluded.value, "learnt_at": new.excluded.learnt_at}
    connection.execute(new.on_conflict_do_update(index_elements=["site", "name"], set_=newest))


# Adverts that searches no longer show: missed by complete sweeps, checked, and then gone.


_SAME_ADVERT = and_(
    listings.c.site == cards.c.site,
    listings.c.external_id == cards.c.external_id,
    listings.c.closed_at.is_(None),
)
_SEEN_SINCE = listings.c.last_seen_at > cards.c.missed_at
"""Other searches, or its own page, have shown the advert after its first miss: that one proves nothing."""


def _missing(scope: Scope, *columns: ColumnElement[object]) -> Select[*tuple[object, ...]]:
    """Adverts that the sweep has neither shown nor opened and that are not gone already."""
    return (
        select(*columns)
        .select_from(cards.join(listings, _SAME_ADVERT))
        .where(
            cards.c.scope_id == scope.id,
            cards.c.seen_at < scope.since,
            listings.c.last_seen_at < scope.since,
            listings.c.gone_at.is_(None),
        )
    )


def to_look_at(
    connection: Connection,
    scope: Scope,
    rule: DelistingTable,
    *,
    now: float,
    may_be: Callable[[Mapping[Any, Any]], bool] | None = None,
) -> list[str]:
    """The addresses of missing adverts whose own page must be checked; the longest missing first.

    Where absence counts, those that this sweep would delist; elsewhere, those due for a visit.
    With `may_be` only those for which it is true.
    """
    if not rule.look:
        return []
    misses = case((_SEEN_SINCE, 0), else_=cards.c.misses)
    last = misses + 1 >= rule.sweeps if rule.absence else listings.c.revisit_at <= now
    columns = [listings.c.url] if may_be is None else listings.c
    longest_first = _missing(scope, *columns).where(last).order_by(cards.c.seen_at)
    rows = connection.execute(longest_first if may_be else longest_first.limit(LOOKS_AT_ONCE)).mappings()
    return list(islice((row["url"] for row in rows if may_be is None or may_be(row)), LOOKS_AT_ONCE))


def count_misses(connection: Connection, scope: Scope, *, at: float) -> None:
    """Count a miss for each advert that a complete sweep did not show, and date the first one.

    An advert that was opened and is there starts again at zero: its page counts more than the search. So does
    one that was seen anywhere since its first miss: it cannot have been gone since then.
    """
    opened = select(listings.c.external_id).where(
        listings.c.site == scope.site, listings.c.closed_at.is_(None), listings.c.last_seen_at >= scope.since
    )
    unseen = (cards.c.scope_id == scope.id, cards.c.seen_at < scope.since)
    seen_since = exists().where(_SAME_ADVERT, _SEEN_SINCE)
    alive = or_(cards.c.external_id.in_(opened), seen_since)
    again = update(cards).where(*unseen, cards.c.misses > 0, alive)
    connection.execute(again.values(missed_at=None, misses=0))
    missed = update(cards).where(*unseen, cards.c.external_id.not_in(opened))
    connection.execute(
        missed.values(missed_at=func.coalesce(cards.c.missed_at, at), misses=cards.c.misses + 1)
    )


def delist(connection: Connection, scope: Scope, rule: DelistingTable, *, now: float) -> int:
    """Delist what the rule says is gone; returns how many adverts.

    Where absence counts, they are dated by the first complete sweep without them; elsewhere by the visit of
    their own page.
    """
    query = _missing(scope, listings.c.id, cards.c.external_id, cards.c.missed_at)
    if rule.absence:
        query = query.where(cards.c.misses >= rule.sweeps)
    rows = connection.execute(query.order_by(listings.c.id).with_for_update(of=listings)).all()
    removed: dict[str, float] = {}
    keys = [listing_key(row.external_id) for row in rows] if rule.look else []
    for first in range(0, len(keys), LOOKS_AT_ONCE):
        removed |= removed_since(connection, scope.site, keys[first : first + LOOKS_AT_ONCE], scope.since)
    since: dict[int, float] = {}
    for row in rows:
        key = listing_key(row.external_id)
        if not rule.look or key in removed:
            since[row.id] = row.missed_at if rule.absence else removed[key]
    set_gone(connection, since, now=now, reason=MISSED if rule.absence else REMOVED)
    return len(since)
