"""The log of pages asked for: what came of each visit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, insert, select

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
