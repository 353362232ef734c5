"""The outcomes of a batch as visits to be remembered."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, update

from sale_sofia.data.listing_schema import listings
from sale_sofia.data.visits import Visit
from sale_sofia.listings.page_errors import RemovedListing
from sale_sofia.scraping.outcomes import Failed, Found, Gone, Later, NotModified, Outcome, Read
from sale_sofia.scraping.urls import target
from sale_sofia.websites.registry import get_scraper

REMOVED_REASONS = frozenset({"removed", RemovedListing().code})
_DUE = (
    update(listings)
    .where(
        listings.c.site == bindparam("of_site"),
        listings.c.external_id == bindparam("of_external_id"),
        listings.c.closed_at.is_(None),
    )
    .values(revisit_at=bindparam("at"))
)


def moment(one: Outcome, now: float) -> float:
    """When the page was fetched."""
    return now if one.fetched_at is None else one.fetched_at


def visits_of(outcomes: Sequence[Outcome], site: str, job_id: str, now: float) -> list[Visit]:
    """The visits that saw no advert; the others are remembered with what they saw."""
    return [
        Visit(
            site,
            target(get_scraper(site), one.claim.url).key,
            job_id,
            moment(one, now),
            _verdict(one),
            one.seconds,
            one.kept.digest if one.kept else None,
        )
        for one in outcomes
        if not isinstance(one, Read | NotModified) and one.requests
    ]


def _verdict(one: Found | Gone | Failed | Later) -> str:
    """`ok`, what the page is instead of an advert, or the class of the error."""
    if isinstance(one, Found):
        return "ok"
    return "removed" if _is_removed(one) else one.reason.partition(":")[0]


def _is_removed(one: Outcome) -> bool:
    """Whether the portal says that there is no such advert: by its status, or by showing others instead."""
    return isinstance(one, Gone) and one.claim.kind == "listing" and one.reason in REMOVED_REASONS


def removed_adverts(connection: Connection, site: str, outcomes: Sequence[Outcome], now: float) -> None:
    """An advert whose page says that it is removed is looked at again at the next occasion."""
    gone = [one for one in outcomes if _is_removed(one)]
    rows = [
        {
            "of_site": site,
            "of_external_id": get_scraper(site).listing_id(one.claim.url),
            "at": moment(one, now),
        }
        for one in gone
    ]
    if rows:
        connection.execute(_DUE, rows)
