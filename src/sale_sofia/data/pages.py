"""Which archived bytes belong to which address, so that everything can be extracted again."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from sqlalchemy import Connection, Select, and_, exists, insert, or_, select

from sale_sofia.config.storage import PAGES_STREAMED_AT_ONCE
from sale_sofia.data.listing_schema import pages

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
"""What a `PageRecord` is made of, in its order."""


def record_pages(connection: Connection, batch: Sequence[PageRecord]) -> None:
    """Remember a batch of pages, in this order. Needs a write transaction."""
    if batch:
        connection.execute(insert(pages), [asdict(page) for page in batch])


def latest_pages(connection: Connection, site: str | None = None) -> Iterator[PageRecord]:
    """The newest page of every advert's address, by site and address; read piece by piece."""
    rows = connection.execute(_latest(site), execution_options={"yield_per": PAGES_STREAMED_AT_ONCE})
    return (PageRecord(*row) for row in rows)


def _latest(site: str | None) -> Select[Any]:
    newer = pages.alias("newer")
    later = or_(
        newer.c.fetched_at > pages.c.fetched_at,
        and_(newer.c.fetched_at == pages.c.fetched_at, newer.c.id > pages.c.id),
    )
    same_address = and_(newer.c.site == pages.c.site, newer.c.url == pages.c.url, newer.c.kind == "listing")
    statement = (
        select(*PAGE_COLUMNS)
        .where(pages.c.kind == "listing", ~exists().where(same_address, later))
        .order_by(pages.c.site, pages.c.url)
    )
    return statement if site is None else statement.where(pages.c.site == site)
