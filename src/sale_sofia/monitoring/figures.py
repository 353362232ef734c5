"""What the database says at this moment, for metrics: jobs, pages that wait, incidents, adverts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select

from sale_sofia.data.crawl_schema import frontier, jobs
from sale_sofia.data.history_schema import sweeps
from sale_sofia.data.job_model import FINISHED_STATES
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.telemetry_schema import incidents

Counts = Mapping[tuple[str, ...], int]
"""A domain and a word of few, and how many there are of it."""
_FINISHED = sorted(state.value for state in FINISHED_STATES)


@dataclass(frozen=True, slots=True)
class Figures:
    """What is cheap to look up at every scrape."""

    jobs_open: Counts = field(default_factory=dict)
    jobs_ended: Counts = field(default_factory=dict)
    frontier: Counts = field(default_factory=dict)
    """Pages of the open jobs by state."""
    incidents: Counts = field(default_factory=dict)
    """Open ones by kind."""
    gone: Mapping[str, int] = field(default_factory=dict)
    """Adverts that sweeps found to be gone, ever."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The adverts of one portal."""

    offered: int
    """On the market."""
    newest_at: float
    """When the newest was first seen, in seconds since 1970."""
    seen_at: float
    """When any was last seen."""


def read_figures(connection: Connection) -> Figures:
    """All of them, in one transaction; changes nothing."""
    ended = jobs.c.state.in_(_FINISHED)
    return Figures(
        jobs_open=_pairs(connection, _counted(jobs.c.site, jobs.c.state, ~ended)),
        jobs_ended=_pairs(connection, _counted(jobs.c.site, jobs.c.state, ended)),
        frontier=_pairs(connection, _open_pages(~ended)),
        incidents=_pairs(
            connection, _counted(incidents.c.site, incidents.c.kind, incidents.c.closed_at.is_(None))
        ),
        gone=_gone(connection),
    )


def read_stored(connection: Connection) -> dict[str, Stored]:
    """Each portal's adverts; looks at every one."""
    there = case((and_(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None)), 1), else_=0)
    newest, seen = func.max(listings.c.first_seen_at), func.max(listings.c.last_seen_at)
    rows = select(listings.c.site, func.sum(there), newest, seen).group_by(listings.c.site)
    return {site: Stored(int(offered), *moments) for site, offered, *moments in connection.execute(rows)}


def _counted(domain: Any, word: Any, which: ColumnElement[bool]) -> Select[Any]:  # noqa: ANN401 - columns
    return select(domain, word, func.count()).where(which).group_by(domain, word)


def _open_pages(is_open: ColumnElement[bool]) -> Select[Any]:
    return _counted(jobs.c.site, frontier.c.state, is_open).join_from(frontier, jobs)


def _pairs(connection: Connection, rows: Select[Any]) -> dict[tuple[str, ...], int]:
    return {(domain, word): count for domain, word, count in connection.execute(rows)}


def _gone(connection: Connection) -> dict[str, int]:
    rows = select(sweeps.c.site, func.sum(sweeps.c.gone)).group_by(sweeps.c.site)
    return {site: int(count or 0) for site, count in connection.execute(rows)}
