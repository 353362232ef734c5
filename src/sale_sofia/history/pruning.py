"""Deletes old rows for `prune` in short transactions: safe during crawls, and when killed."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from sqlalchemy import ColumnElement, Connection, FromClause, Table, and_, delete, exists, func, or_, select

from sale_sofia.crawl.tables import frontier, frontier_pruned, jobs
from sale_sofia.history.settings import ROWS_PRUNED_AT_ONCE
from sale_sofia.history.sightings import CARD
from sale_sofia.history.tables import drift_runs, listings, pages, scrape_history, searches, shown_adverts
from sale_sofia.storage.database import Database
from sale_sofia.storage.upserts import insert_into

Ids = tuple[int, int]
"""The first number, and the one after the last."""


def prune_visits(db: Database, *, before: float, at_once: int = ROWS_PRUNED_AT_ONCE) -> int:
    """Delete visits before a moment that changed nothing; returns how many.

    Visits that the history is built from stay, as do the last visit of each advert, the first of its page
    after a card changed it, and all visits of adverts with odd prices or missing values.
    """
    return _prune_through(db, scrape_history, partial(_prune_some_visits, before=before), at_once)


def prune_page_records(db: Database, *, before: float, at_once: int = ROWS_PRUNED_AT_ONCE) -> int:
    """Delete records of pages before a moment; returns how many.

    The last page of an address stays, and so does the last one from when the portal's pages were as usual:
    they are needed to parse again, and to compare changed pages with.
    """
    return _prune_through(db, pages, partial(_prune_some_records, before=before), at_once)


def prune_frontier(db: Database, *, before: float, at_once: int = ROWS_PRUNED_AT_ONCE) -> int:
    """Delete the frontier rows of jobs that ended before a moment; returns how many.

    Their counts and all failed rows stay, so a job's numbers and report do not change. Their searches are
    deleted too.
    """
    ended = select(jobs.c.id).where(jobs.c.finished_at < before, exists().where(*_can_go(jobs.c.id)))
    job_ids = db.run_read(lambda connection: connection.scalars(ended).all())
    old = select(jobs.c.id).where(jobs.c.finished_at < before)
    # Their sweeps hold the totals.
    theirs = select(searches.c.id).where(searches.c.job_id.in_(old))
    for table, search_id in ((shown_adverts, shown_adverts.c.search_id), (searches, searches.c.id)):
        db.run_write(partial(Connection.execute, statement=delete(table).where(search_id.in_(theirs))))
    pruned = 0
    for job_id in job_ids:
        while removed := db.run_write(partial(_prune_some_pages, job_id=job_id, most=at_once)):
            pruned += removed
    return pruned


def _prune_through(
    db: Database, table: Table, prune_some: Callable[[Ids, Connection], int], at_once: int
) -> int:
    """Go through all rows by id, `at_once` in each transaction."""
    last = db.run_read(lambda connection: connection.scalar(select(func.max(table.c.id))))
    portions = [(first, first + at_once) for first in range(0, (last or 0) + 1, at_once)]
    return sum(db.run_write(partial(prune_some, ids)) for ids in portions)


def _prune_some_visits(ids: Ids, connection: Connection, *, before: float) -> int:
    other = scrape_history.alias("other")
    same_page = _of_same_advert(other)
    newer = other.c.fetched_at > scrape_history.c.fetched_at
    # Odd prices and gaps count when they occur in a row: visits in between show that they did not.
    odd = or_(other.c.result == "quarantined", other.c.unseen.is_not(None))
    nothing = or_(
        scrape_history.c.listing_id.is_(None),
        and_(
            scrape_history.c.result == "unchanged",
            exists().where(same_page, newer),
            ~exists().where(same_page, odd),
            ~_is_confirming(),
        ),
    )
    return _delete(connection, scrape_history, ids, scrape_history.c.fetched_at < before, nothing)


def _of_same_advert(visit: FromClause) -> ColumnElement[bool]:
    """Whether it is a visit of the same advert, whichever of its flats that was."""
    own, twin = listings.alias(), listings.alias()
    return and_(
        own.c.id == scrape_history.c.listing_id,
        twin.c.site == own.c.site,
        twin.c.external_id == own.c.external_id,
        visit.c.listing_id == twin.c.id,
    )


def _is_confirming() -> ColumnElement[bool]:
    """Whether a visit is the first of the advert's page after a card changed it.

    Without it, a later page with another price would disprove the card's.
    """
    card, between = scrape_history.alias("card"), scrape_history.alias("between")
    earlier = (
        exists()
        .where(
            _of_same_advert(between),
            between.c.verdict != CARD,
            between.c.fetched_at >= card.c.fetched_at,
            between.c.fetched_at < scrape_history.c.fetched_at,
        )
        .correlate(scrape_history, card)
    )
    return exists().where(
        _of_same_advert(card),
        card.c.verdict == CARD,
        card.c.result == "changed",
        card.c.fetched_at <= scrape_history.c.fetched_at,
        ~earlier,
    )


def _prune_some_records(ids: Ids, connection: Connection, *, before: float) -> int:
    newer = pages.alias("newer")
    later = or_(
        newer.c.fetched_at > pages.c.fetched_at,
        and_(newer.c.fetched_at == pages.c.fetched_at, newer.c.id > pages.c.id),
    )
    # When the portal's last sound run was judged: `sites repair` compares pages from before and after it.
    sound = (drift_runs.c.site == pages.c.site, drift_runs.c.sound.is_(True))
    last_sound = select(func.max(drift_runs.c.judged_at)).where(*sound).correlate(pages)
    usual = func.coalesce(last_sound.scalar_subquery(), 0.0)
    stands_for_it = exists().where(
        newer.c.site == pages.c.site,
        newer.c.url == pages.c.url,
        newer.c.kind == pages.c.kind,
        later,
        newer.c.fetched_at < before,
        or_(newer.c.fetched_at <= usual, pages.c.fetched_at > usual),
    )
    return _delete(connection, pages, ids, stands_for_it)


def _delete(connection: Connection, table: Table, ids: Ids, *which: ColumnElement[bool]) -> int:
    these = delete(table).where(table.c.id >= ids[0], table.c.id < ids[1], *which)
    return connection.execute(these, execution_options={"preserve_rowcount": True}).rowcount


def _prune_some_pages(connection: Connection, *, job_id: str, most: int) -> int:
    """Replace rows by their count in one transaction, so the job's numbers never change."""
    # Lock the job first, as everyone who writes its rows does: no deadlock between two prunes.
    connection.execute(select(jobs.c.id).where(jobs.c.id == job_id).with_for_update(key_share=True))
    ids = select(frontier.c.id).where(*_can_go(job_id)).limit(most)
    removed = delete(frontier).where(frontier.c.id.in_(ids)).returning(frontier.c.kind, frontier.c.state)
    counted = Counter((row.kind, row.state) for row in connection.execute(removed))
    new = insert_into(connection, frontier_pruned)
    more = {"pages": frontier_pruned.c.pages + new.excluded.pages}
    add = new.on_conflict_do_update(index_elements=["job_id", "kind", "state"], set_=more)
    for (kind, state), count in counted.items():
        connection.execute(add, {"job_id": job_id, "kind": kind, "state": state, "pages": count})
    return counted.total()


def _can_go(job_id: ColumnElement[str] | str) -> tuple[ColumnElement[bool], ...]:
    """Failed rows stay, as people look them up long after their job. So does the last row of the table.

    SQLite would reuse its id for the next row, and an old claim would match that.
    """
    every = frontier.alias("every")
    last = select(func.max(every.c.id)).scalar_subquery()
    return frontier.c.job_id == job_id, frontier.c.state != "failed", frontier.c.id < last
