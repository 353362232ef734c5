"""Adverts that a job was to read and could not: from which share on it is not told as done.

One that its own search has just shown and whose page says that it is removed was not read either: a portal
that lists forty and has none of them is no portal of forty.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, case, exists, func, literal, or_, select

from sale_sofia.config.settings import get_settings
from sale_sofia.data.cards import Scope
from sale_sofia.data.crawl_schema import frontier as rows
from sale_sofia.data.history_schema import cards
from sale_sofia.data.job_model import JobState
from sale_sofia.data.sightings import listing_key
from sale_sofia.data.sweeps import scope_of
from sale_sofia.monitoring.shares import Share
from sale_sofia.scraping.incremental import UNCHANGED
from sale_sofia.scraping.visit_log import REMOVED_REASONS

_LISTED: Final = "it is listed, and its page says that it is removed"


@dataclass(frozen=True, slots=True)
class Adverts:
    """The adverts of a job by what came of them."""

    read: int = 0
    unread: int = 0
    unchanged: int = 0
    """Known from before, and not opened."""

    @property
    def none_was_read(self) -> bool:
        """Whether nothing is known of any of them."""
        return bool(self.unread) and not self.read and not self.unchanged

    def too_few_were_read(self, share: float) -> bool:
        """Whether so great a share of all, or surely of those that were opened, could not be read.

        Surely: the one new advert of a day may have a bad page, and says nothing of the portal.
        """
        opened = Share(self.unread, self.read + self.unread)
        everything = Share(self.unread, opened.whole + self.unchanged)
        return bool(self.unread) and (everything.value >= share or opened.least >= share)


def verdict_on_adverts(connection: Connection, job_id: str) -> tuple[JobState, str] | None:
    """How a job ends of whose adverts none, or too few, could be read, and why; None where all is well."""
    unread = _is_unread(scope_of(connection, job_id))
    adverts = _count(connection, job_id, unread)
    if not adverts.none_was_read and not adverts.too_few_were_read(get_settings().health_failure_critical):
        return None
    first = _first(connection, job_id, unread)
    if adverts.none_was_read:
        return JobState.FAILED, f"none of {adverts.unread} adverts could be read; {first}"
    opened = adverts.read + adverts.unread
    return JobState.PARTIAL, f"{adverts.unread} of {opened} opened adverts could not be read; {first}"


def _is_unread(scope: Scope | None) -> ColumnElement[bool]:
    failed = rows.c.state == "failed"
    if scope is None:
        return failed
    shown = exists().where(
        cards.c.scope_id == scope.id,
        cards.c.seen_at >= scope.since,
        rows.c.url_key == literal(listing_key("")) + cards.c.external_id,
    )
    return or_(failed, and_(rows.c.state == "done", rows.c.reason.in_(REMOVED_REASONS), shown))


def _count(connection: Connection, job_id: str, unread: ColumnElement[bool]) -> Adverts:
    ended = case((unread, "unread"), (rows.c.reason == UNCHANGED, "unchanged"), else_="read")
    own = (rows.c.job_id == job_id, rows.c.kind == "listing", rows.c.state.in_(("done", "failed")))
    # Grouped outside: as a bound expression it would be another one there than where it is selected.
    each = select(ended.label("ended")).where(*own).subquery()
    counted = select(each.c.ended, func.count()).group_by(each.c.ended)
    return Adverts(**{row[0]: row[1] for row in connection.execute(counted)})


def _first(connection: Connection, job_id: str, unread: ColumnElement[bool]) -> str:
    own = select(rows.c.url, rows.c.state, rows.c.reason).where(
        rows.c.job_id == job_id, rows.c.kind == "listing", unread
    )
    row = connection.execute(own.order_by(rows.c.id).limit(1)).one()
    return f"{row.url}: {row.reason if row.state == 'failed' else _LISTED}"
