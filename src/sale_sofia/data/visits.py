"""The log of pages asked for: what came of each visit, and how long it is remembered."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import Connection, and_, delete, func, insert, or_, select

from sale_sofia.config.history import VISITS_PRUNED_AT_ONCE
from sale_sofia.data.database import Database
from sale_sofia.data.history_schema import scrape_history

_LONGEST_KEY: Final = 500
_LONGEST_VERDICT: Final = 40


@dataclass(frozen=True, slots=True)
class Visit:
    """A page that was asked for and gave no advert: a search, a removed advert, a failure."""

    site: str
    url_key: str
    job_id: str | None
    fetched_at: float
    verdict: str
    seconds: float | None = None
    page_digest: str | None = None


def record_visits(connection: Connection, visits: Sequence[Visit]) -> None:
    """Remember visits. Those that saw an advert are remembered with its sighting."""
    if visits:
        connection.execute(insert(scrape_history), [_row(visit) for visit in visits])


def _row(visit: Visit) -> dict[str, object]:
    return {
        "site": visit.site,
        "url_key": visit.url_key[:_LONGEST_KEY],
        "job_id": visit.job_id,
        "fetched_at": visit.fetched_at,
        "verdict": visit.verdict[:_LONGEST_VERDICT],
        "seconds": visit.seconds,
        "page_digest": visit.page_digest,
    }


def prune_visits(db: Database, *, before: float, at_once: int = VISITS_PRUNED_AT_ONCE) -> int:
    """Forget the visits before a moment that changed nothing; those that the history is made of stay.

    Of each advert its last visit stays too. Done in many short transactions: a crawl goes on beside it, and a
    kill loses nothing. Says how many were forgotten.
    """
    last = db.run_read(lambda connection: connection.scalar(select(func.max(scrape_history.c.id))))
    firsts = range(0, (last or 0) + 1, at_once)
    return sum(
        db.run_write(partial(_prune_some, before=before, ids=(first, first + at_once))) for first in firsts
    )


def _prune_some(connection: Connection, *, before: float, ids: tuple[int, int]) -> int:
    """Of the visits from the first of the ids on, and before the other."""
    newer = scrape_history.alias("newer")
    is_last = ~(
        select(newer.c.id)
        .where(
            newer.c.site == scrape_history.c.site,
            newer.c.url_key == scrape_history.c.url_key,
            newer.c.fetched_at > scrape_history.c.fetched_at,
            newer.c.listing_id.is_not(None),
        )
        .exists()
    )
    nothing = or_(
        scrape_history.c.listing_id.is_(None), and_(scrape_history.c.result == "unchanged", ~is_last)
    )
    these = and_(scrape_history.c.id >= ids[0], scrape_history.c.id < ids[1])
    old = delete(scrape_history).where(these, scrape_history.c.fetched_at < before, nothing)
    return connection.execute(old, execution_options={"preserve_rowcount": True}).rowcount


def removed_since(connection: Connection, site: str, keys: Sequence[str], since: float) -> dict[str, float]:
    """Of these pages, those that said themselves to be removed, with the first moment since then."""
    first = func.min(scrape_history.c.fetched_at).label("first")
    said = (
        select(scrape_history.c.url_key, first)
        .where(
            scrape_history.c.site == site,
            scrape_history.c.url_key.in_(keys),
            scrape_history.c.verdict == "removed",
            scrape_history.c.fetched_at >= since,
        )
        .group_by(scrape_history.c.url_key)
    )
    return {row.url_key: row.first for row in connection.execute(said)}
