"""Which adverts are other than when one last looked, without reading those that are as they were."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import Column, Connection, func, select

from sale_sofia.config.insights import LATE_COMMIT_ROWS, LATE_COMMIT_SECONDS
from sale_sofia.data.description_schema import description_reads
from sale_sofia.data.history_schema import market_events, scrape_history
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.properties_state import portions
from sale_sofia.data.property_schema import listing_sources, match_state

Trace = tuple[int, float]
"""An advert, and the stamp that something left on it."""


class _Source(NamedTuple):
    advert: Column[int]
    stamp: Column[float]
    window: float
    """What was stamped so much before the newest may be committed after it."""


_SOURCES: Final = {
    "visits": _Source(scrape_history.c.listing_id, scrape_history.c.id, LATE_COMMIT_ROWS),
    "events": _Source(market_events.c.listing_id, market_events.c.id, LATE_COMMIT_ROWS),
    "seen": _Source(listings.c.id, listings.c.last_seen_at, LATE_COMMIT_SECONDS),
    "held": _Source(listings.c.id, listings.c.new_at, LATE_COMMIT_SECONDS),
    "read": _Source(description_reads.c.listing_id, description_reads.c.read_at, LATE_COMMIT_SECONDS),
}


@dataclass(frozen=True, slots=True)
class Traces:
    """What was to be seen at one look."""

    matched: int
    """How often adverts were matched; another number means that properties may be others."""
    newest: Mapping[str, float]
    recent: Mapping[str, frozenset[Trace]]


def look(connection: Connection, before: Traces | None = None) -> Traces:
    """The traces that can have come since the look before."""
    matched = connection.scalar(select(match_state.c.runs)) or 0
    newest = {name: _newest(connection, one.stamp) for name, one in _SOURCES.items()}
    since = newest if before is None else before.newest
    recent = {name: _recent(connection, one, since[name]) for name, one in _SOURCES.items()}
    return Traces(matched, newest, recent)


def _newest(connection: Connection, stamp: Column[float]) -> float:
    # Said though no maximum is null: so an index of those that are not is looked at.
    return connection.scalar(select(func.max(stamp)).where(stamp.is_not(None))) or 0.0


def changed_adverts(connection: Connection, before: Traces, after: Traces) -> set[int]:
    """The adverts on which something left a trace between two looks, with all that ever had the same id."""
    changed = {advert for name in _SOURCES for advert, _ in after.recent[name] - before.recent[name]}
    return changed | set(_same_ids(connection, changed))


def advert_properties(connection: Connection) -> dict[int, int]:
    """Advert → property, for those that were matched."""
    columns = select(listing_sources.c.listing_id, listing_sources.c.property_id)
    return {row[0]: row[1] for row in connection.execute(columns)}


def _recent(connection: Connection, source: _Source, since: float) -> frozenset[Trace]:
    chosen = select(source.advert, source.stamp).where(
        source.stamp > since - source.window, source.advert.is_not(None)
    )
    return frozenset((row[0], row[1]) for row in connection.execute(chosen))


def _same_ids(connection: Connection, adverts: Iterable[int]) -> Iterable[int]:
    """A portal that gives an id to another flat ends the listing that had it, and leaves no trace there."""
    other = listings.alias("other")
    same = (other.c.site == listings.c.site) & (other.c.external_id == listings.c.external_id)
    for some in portions(sorted(adverts)):
        joined = select(other.c.id).select_from(listings.join(other, same))
        yield from connection.scalars(joined.where(listings.c.id.in_(some)))
