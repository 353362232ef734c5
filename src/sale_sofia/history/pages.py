"""Which archived pages belong to which address, so that everything can be parsed again."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, insert, or_, select

from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.tables import drift_runs, pages
from sale_sofia.storage.settings import PAGES_STREAMED_AT_ONCE

PageKind = Literal["listing", "search"]


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page as it was at one moment (seconds since 1970); its bytes are in the archive under `digest`."""

    site: str
    url: str
    kind: PageKind
    digest: str
    content_type: str | None
    fetched_at: float


PAGE_COLUMNS: Final = tuple(pages.c[name] for name in PageRecord.__dataclass_fields__)
"""The columns of a `PageRecord`, in its order."""


def record_pages(connection: Connection, batch: Sequence[PageRecord]) -> None:
    """Store a batch of pages, in this order. Needs a write transaction."""
    if batch:
        connection.execute(insert(pages), [asdict(page) for page in batch])


def latest_pages(connection: Connection, site: str | None = None) -> Iterator[PageRecord]:
    """The newest page of every advert's address, by site and address; streamed."""
    newer = pages.alias("newer")
    later = or_(
        newer.c.fetched_at > pages.c.fetched_at,
        and_(newer.c.fetched_at == pages.c.fetched_at, newer.c.id > pages.c.id),
    )
    same_address = and_(newer.c.site == pages.c.site, newer.c.url == pages.c.url, newer.c.kind == "listing")
    newest = select(*PAGE_COLUMNS).where(pages.c.kind == "listing", ~exists().where(same_address, later))
    if site is not None:
        newest = newest.where(pages.c.site == site)
    ordered = newest.order_by(pages.c.site, pages.c.url)
    rows = connection.execute(ordered, execution_options={"yield_per": PAGES_STREAMED_AT_ONCE})
    return (PageRecord(*row) for row in rows)


# Pages that could not be read, each with its archived page if there is one.


@dataclass(frozen=True, slots=True)
class FailedPage:
    """A page that its run gave up. Moments are seconds since 1970."""

    row_id: int
    job_id: str
    site: str
    url: str
    kind: str
    code: str | None
    reason: str | None
    attempts: int
    at: float
    """When its run began."""
    archived: bool
    """Whether a page of its address is archived."""


def failed_pages(connection: Connection, *, limit: int, site: str | None = None) -> list[FailedPage]:
    """The failed pages, those of the newest runs first."""
    query = _failed() if site is None else _failed().where(jobs.c.site == site)
    newest = query.order_by(jobs.c.created_at.desc(), frontier.c.id).limit(limit)
    return [FailedPage(*row) for row in connection.execute(newest)]


def count_failed_pages(connection: Connection) -> int:
    """How many pages failed."""
    return connection.scalar(select(func.count()).where(frontier.c.state == "failed")) or 0


def failed_page(connection: Connection, row_id: int) -> FailedPage | None:
    """The failed page of this row; None where it did not fail, or is no longer stored."""
    row = connection.execute(_failed().where(frontier.c.id == row_id)).first()
    return None if row is None else FailedPage(*row)


def _failed() -> Select[Any]:
    archived = exists().where(pages.c.site == jobs.c.site, pages.c.url == frontier.c.url)
    columns = (
        frontier.c.id, frontier.c.job_id, jobs.c.site, frontier.c.url, frontier.c.kind, frontier.c.code,
        frontier.c.reason, frontier.c.attempts, func.coalesce(jobs.c.started_at, jobs.c.created_at), archived,
    )  # fmt: skip
    return select(*columns).join(jobs, jobs.c.id == frontier.c.job_id).where(frontier.c.state == "failed")


def archived_page(connection: Connection, page: FailedPage) -> PageRecord | None:
    """The newest archived page of its address; None where there is none."""
    return _newest(connection, pages.c.site == page.site, pages.c.url == page.url)


def _newest(connection: Connection, *which: ColumnElement[bool]) -> PageRecord | None:
    newest = select(*PAGE_COLUMNS).where(*which).order_by(pages.c.fetched_at.desc(), pages.c.id.desc())
    row = connection.execute(newest.limit(1)).first()
    return None if row is None else PageRecord(*row)


# Archived pages of adverts from before and after a portal's pages changed.


@dataclass(frozen=True, slots=True)
class PagePair:
    """One advert's page before and after a change."""

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
    older = select(pages.c.url).where(*own, pages.c.fetched_at <= since)
    changed = select(pages.c.url).where(*own, pages.c.fetched_at > since, pages.c.url.in_(older))
    urls = changed.group_by(pages.c.url).order_by(newest.desc(), pages.c.url).limit(most)
    pairs = []
    for url in connection.scalars(urls).all():
        before = _newest(connection, *own, pages.c.url == url, pages.c.fetched_at <= since)
        after = _newest(connection, *own, pages.c.url == url, pages.c.fetched_at > since)
        if before and after:
            pairs.append(PagePair(before, after))
    return pairs
