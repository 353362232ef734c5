"""Sweeps: which searches a job goes through, and whether what it did not see is missing."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from sale_sofia.config.history import USUAL_SWEEPS
from sale_sofia.data.cards import Scope
from sale_sofia.data.history_schema import cards, scopes, sweeps
from sale_sofia.data.upserts import insert_into


@dataclass(frozen=True, slots=True)
class SweepFigures:
    """How far a sweep came: what was announced, what of it can be seen, was seen, opened, read in full."""

    announced: int | None
    """What the portal says there is; None where it does not say."""
    reachable: int
    """What of it the portal lets through, by the caps that are known or were met."""
    adverts: int
    """What was seen."""
    opened: int
    stored: int
    """Of those opened, the adverts with their price and their area."""
    missing: str | None
    """In one line why adverts of the portal were not seen; None when these are all."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """One job's way through its searches. Moments are seconds since 1970."""

    job_id: str
    site: str
    start_urls: tuple[str, ...]
    started_at: float
    finished_at: float | None
    complete: bool | None
    """None while it goes on."""
    reason: str | None
    """Why it says nothing of what it did not show."""
    announced: int | None
    reachable: int | None
    adverts: int | None
    opened: int | None
    stored: int | None
    missing: str | None
    """Why adverts that were announced, or are known to be there, were not seen."""
    gone: int | None
    everything: bool

    @property
    def figures(self) -> str:
        """How far it came, in one line."""
        announced = "an unknown number" if self.announced is None else spaced(self.announced)
        reachable = "" if self.reachable == self.announced else f" ({spaced(self.reachable)} can be)"
        seen = f"{spaced(self.adverts)} of {announced} seen{reachable}"
        return f"{seen}, {spaced(self.opened)} opened, {spaced(self.stored)} with price and area"


def begin_sweep(
    connection: Connection, *, job_id: str, site: str, searches: Sequence[str], everything: bool, now: float
) -> None:
    """A job begins to go through these searches; their order says nothing."""
    connection.execute(
        insert(sweeps).values(
            job_id=job_id,
            scope_id=_scope_id(connection, site, sorted(set(searches))),
            site=site,
            everything=everything,
            started_at=now,
        )
    )


def _scope_id(connection: Connection, site: str, searches: list[str]) -> int:
    digest = hashlib.sha256(json.dumps(searches).encode()).hexdigest()
    row = {"site": site, "digest": digest, "start_urls": searches}
    connection.execute(insert_into(connection, scopes).values(row).on_conflict_do_nothing())
    found = select(scopes.c.id).where(scopes.c.site == site, scopes.c.digest == digest)
    return int(connection.execute(found).scalar_one())


def scope_of(connection: Connection, job_id: str) -> Scope | None:
    """The searches a job goes through; None for a job of single adverts."""
    columns = (sweeps.c.scope_id, sweeps.c.site, sweeps.c.started_at, sweeps.c.everything)
    row = connection.execute(select(*columns).where(sweeps.c.job_id == job_id)).first()
    return None if row is None else Scope(*row)


def end_sweep(
    connection: Connection, job_id: str, found: SweepFigures, *, reason: str | None, gone: int, now: float
) -> None:
    """The sweep is over: complete, or with the reason why it is not."""
    ended = {"complete": reason is None, "reason": reason, "gone": gone, **asdict(found)}
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
    """What the last complete sweeps of the scope saw; None before the first."""
    last = (
        select(sweeps.c.adverts)
        .where(sweeps.c.scope_id == scope.id, sweeps.c.complete.is_(True), sweeps.c.started_at < scope.since)
        .order_by(sweeps.c.started_at.desc())
        .limit(USUAL_SWEEPS)
    )
    counts = list(connection.execute(last).scalars())
    return median(counts) if counts else None


def is_first_sweep(connection: Connection, scope: Scope) -> bool:
    """Whether nobody has been through these searches before."""
    earlier = select(sweeps.c.job_id).where(
        sweeps.c.scope_id == scope.id, sweeps.c.started_at < scope.since, sweeps.c.finished_at.is_not(None)
    )
    return connection.execute(earlier.limit(1)).first() is None


def list_sweeps(connection: Connection, limit: int, site: str | None = None) -> list[Sweep]:
    """The newest sweeps, the newest first."""
    own = [] if site is None else [sweeps.c.site == site]
    return _sweeps(connection, _ALL.where(*own).order_by(sweeps.c.started_at.desc()).limit(limit))


def get_sweep(connection: Connection, job_id: str) -> Sweep | None:
    """The sweep of a job; None for a job of single adverts."""
    return next(iter(_sweeps(connection, _ALL.where(sweeps.c.job_id == job_id))), None)


_ALL: Any = select(
    *(sweeps.c[one.name] for one in fields(Sweep) if one.name in sweeps.c), scopes.c.start_urls
).join(scopes)


def _sweeps(connection: Connection, chosen: Any) -> list[Sweep]:  # noqa: ANN401 - a statement of any columns
    rows = connection.execute(chosen).mappings()
    return [Sweep(**{**row, "start_urls": tuple(row["start_urls"])}) for row in rows]


def spaced(number: int | None) -> str:
    """A number as people read it: 11 204."""
    return "?" if number is None else f"{number:,}".replace(",", " ")
