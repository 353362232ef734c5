"""Archived pages of adverts from before and after a portal's pages changed."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, select

from sale_sofia.data.drift_schema import drift_runs
from sale_sofia.data.listing_schema import pages
from sale_sofia.data.pages import PAGE_COLUMNS, PageRecord


@dataclass(frozen=True, slots=True)
class PagePair:
    """One advert's page as it was, and as it is."""

    before: PageRecord
    after: PageRecord


def sound_until(connection: Connection, site: str, before: float) -> float | None:
    """When the last sound run before a moment ended; None where there was none."""
    ended = select(func.max(drift_runs.c.judged_at)).where(
        drift_runs.c.site == site, drift_runs.c.sound.is_(True), drift_runs.c.judged_at < before
    )
    return connection.execute(ended).scalar()


def page_pairs(connection: Connection, site: str, since: float, most: int) -> list[PagePair]:
    """Adverts with a page from before the moment and one from after it, the newest of each."""
    newest = func.max(pages.c.fetched_at).label("newest")
    own = (pages.c.site == site, pages.c.kind == "listing")
    changed = select(pages.c.url, newest).where(*own, pages.c.fetched_at > since).group_by(pages.c.url)
    found = connection.execute(changed.order_by(newest.desc(), pages.c.url).limit(most * 2)).all()
    pairs = [_pair(connection, site, row.url, since) for row in found]
    return [one for one in pairs if one is not None][:most]


def _pair(connection: Connection, site: str, url: str, since: float) -> PagePair | None:
    before = _newest(connection, site, url, pages.c.fetched_at <= since)
    after = _newest(connection, site, url, pages.c.fetched_at > since)
    return PagePair(before, after) if before and after else None


def _newest(connection: Connection, site: str, url: str, when: ColumnElement[bool]) -> PageRecord | None:
    chosen = select(*PAGE_COLUMNS).where(
        pages.c.site == site, pages.c.url == url, pages.c.kind == "listing", when
    )
    row = connection.execute(chosen.order_by(pages.c.fetched_at.desc()).limit(1)).first()
    return None if row is None else PageRecord(*row)
