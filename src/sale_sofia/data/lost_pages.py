"""Archived pages that the database names and that are not there, though nobody pruned them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, delete, select

from sale_sofia.config.backup import PAGE_CLOCK_SECONDS, PAGES_FOLDER
from sale_sofia.config.history import ROWS_PRUNED_AT_ONCE
from sale_sofia.config.storage import PAGES_STREAMED_AT_ONCE
from sale_sofia.data.backup_names import is_page, page_name
from sale_sofia.data.database import Database
from sale_sofia.data.listing_schema import pages


def lost_pages(db: Database, data_dir: Path) -> list[str]:
    """Their digests.

    The longest unseen are pruned first: what was seen after the oldest page that is there was never pruned.
    With a server's database none is told, as each machine has the pages that it fetched itself.
    """
    if db.url.get_backend_name() != "sqlite":
        return []
    since = _oldest(data_dir) + PAGE_CLOCK_SECONDS
    return sorted(set(db.run_read(lambda connection: list(_missing(connection, data_dir, since)))))


def forget_pages(db: Database, digests: Sequence[str]) -> int:
    """Let the database name these no longer; how many records that were."""
    parts = (digests[at : at + ROWS_PRUNED_AT_ONCE] for at in range(0, len(digests), ROWS_PRUNED_AT_ONCE))
    return sum(db.run_write(partial(_forget, digests=part)) for part in parts)


def _oldest(data_dir: Path) -> float:
    """When the page was seen that is unseen longest; where there is none, every page is lost."""
    return min(_times(data_dir / PAGES_FOLDER), default=-PAGE_CLOCK_SECONDS)


def _times(folder: Path) -> Iterator[float]:
    for path in folder.glob("??/*.zst"):
        with suppress(FileNotFoundError):  # another process may prune at the same time
            yield path.stat().st_mtime


def _missing(connection: Connection, data_dir: Path, since: float) -> Iterator[str]:
    named = select(pages.c.digest).where(pages.c.fetched_at > since)
    rows = connection.execution_options(yield_per=PAGES_STREAMED_AT_ONCE).execute(named)
    for (digest,) in rows:
        name = page_name(digest)
        if is_page(name) and not (data_dir / name).exists():
            yield digest


def _forget(connection: Connection, *, digests: Sequence[str]) -> int:
    these = delete(pages).where(pages.c.digest.in_(digests))
    return connection.execute(these, execution_options={"preserve_rowcount": True}).rowcount
