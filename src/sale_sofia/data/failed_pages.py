"""Pages that could not be read, each with its archived bytes where they were kept."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from sale_sofia.data.crawl_schema import frontier, jobs
from sale_sofia.data.listing_schema import pages
from sale_sofia.data.pages import PAGE_COLUMNS, PageRecord


@dataclass(frozen=True, slots=True)
class FailedPage:
    """A page that its run gave up. Moments are seconds since 1970."""

    row_id: int
    job_id: str
    site: str
    url: str
    kind: str
    reason: str | None
    attempts: int
    at: float
    """When its run began."""


def failed_pages(connection: Connection, *, limit: int, site: str | None = None) -> list[FailedPage]:
    """Those of the newest runs first."""
    columns = (
        frontier.c.id, frontier.c.job_id, jobs.c.site, frontier.c.url, frontier.c.kind, frontier.c.reason,
        frontier.c.attempts, func.coalesce(jobs.c.started_at, jobs.c.created_at),
    )  # fmt: skip
    chosen = select(*columns).join(jobs, jobs.c.id == frontier.c.job_id).where(frontier.c.state == "failed")
    if site is not None:
        chosen = chosen.where(jobs.c.site == site)
    newest = chosen.order_by(jobs.c.created_at.desc(), frontier.c.id).limit(limit)
    return [FailedPage(*row) for row in connection.execute(newest)]


def archived_page(connection: Connection, page: FailedPage) -> PageRecord | None:
    """What was last kept of its address; None where nothing was."""
    newest = (
        select(*PAGE_COLUMNS)
        .where(pages.c.site == page.site, pages.c.url == page.url)
        .order_by(pages.c.fetched_at.desc(), pages.c.id.desc())
        .limit(1)
    )
    row = connection.execute(newest).first()
    return None if row is None else PageRecord(*row)
