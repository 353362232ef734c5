"""What came of one claimed page: the only thing a visit hands to the writer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, update

from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience.retry import PROBED
from sale_sofia.crawl.urls import Target, target
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.listings import Visit
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import FieldSeen, Listing
from sale_sofia.listings.page import RemovedListing
from sale_sofia.websites.base import CardReading
from sale_sofia.websites.registry import get_scraper


@dataclass(frozen=True, slots=True)
class Kept:
    """Which archived bytes a page has."""

    digest: str
    content_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    requests: int = 1
    """How often the portal was asked for it during this visit."""
    kept: Kept | None = None
    """The page, where it may be read again from the archive."""
    fetched_at: float | None = None
    """When the portal was asked last; the writer's moment where nobody says."""
    seconds: float | None = None
    """How long it took to answer."""


@dataclass(frozen=True, slots=True)
class Found(_Cost):
    """A page of results: its adverts, unless known already, join the frontier, and what follows from it."""

    claim: Claim
    adverts: tuple[tuple[SeenCard, Target], ...]
    following: Target | None = None
    """The next page of the same search."""
    sitemaps: tuple[Target, ...] = ()
    """Where an index of sitemaps leads."""
    total: int | None = None
    """How many adverts the portal says the search has."""
    exact: bool = True
    """Whether that is the number itself and not a bound."""
    capped: bool = False
    """The portal has more of it than it shows."""
    last_page: int | None = None
    """The number of the search's last page, where the page names it."""
    most: int | None = None
    """How many adverts of one search the portal is known to show."""
    most_pages: int | None = None
    """How many pages of one search it is known to answer."""
    stale_pages: int | None = None
    """After how many pages in a row without anything new its search ends, where the site file says so."""
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of the portal's filters that the page names, by the key of their query."""
    moved: bool = False
    """The portal answered with another address than the one that was asked for."""
    cards: tuple[CardReading, ...] = ()
    """What its cards say, in the order of `adverts`."""
    section: str = "search"
    """Which of the site file's sections its layout is."""


@dataclass(frozen=True, slots=True)
class Read(_Cost):
    """An advert."""

    claim: Claim
    listing: Listing
    etag: str | None = None
    last_modified: str | None = None
    seen: Mapping[str, FieldSeen] = field(default_factory=dict)
    """How its fields were found."""


@dataclass(frozen=True, slots=True)
class NotModified(_Cost):
    """An advert that is, by its portal's word, as it was when it was read last."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Gone(_Cost):
    """A page that is done and gives no data: removed, or a new building."""

    claim: Claim
    code: str


@dataclass(frozen=True, slots=True)
class Failed(_Cost):
    """A page that will not be tried again in this job."""

    claim: Claim
    code: str
    """The class of the error."""
    reason: str = ""
    page_digest: str | None = None
    """The archived bytes of an answer that could not be read."""
    unreadable: str | None = None
    """What is wrong with a page that came and could not be read."""
    forbidden: bool = False
    """Nothing was asked, for robots.txt forbids it."""


@dataclass(frozen=True, slots=True)
class Later(_Cost):
    """A page to be tried again some seconds after this is written; a refund gives its attempt back."""

    claim: Claim
    seconds_later: float
    code: str
    reason: str = ""
    refund: bool = False
    ended_as: str | None = None
    """The class of the error; None where nothing was asked."""
    all_pages: bool = False
    """Whether it is the domain that is not to be asked until then, and not only this page."""
    rests: bool = False
    """Whether it only found no place among others, and may be asked for again after so long."""

    @property
    def in_its_place(self) -> bool:
        """Whether nothing was learnt of the page itself, so that its turn comes as if it had not."""
        return self.all_pages or self.rests or self.ended_as == PROBED


Outcome = Found | Read | NotModified | Gone | Failed | Later


# The outcomes of a batch as visits to be remembered.

REMOVED_CODES = frozenset({"removed", RemovedListing().code})
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
    return "removed" if _is_removed(one) else one.code


def _is_removed(one: Outcome) -> bool:
    """Whether the portal says that there is no such advert: by its status, or by showing others instead."""
    return isinstance(one, Gone) and one.claim.kind == "listing" and one.code in REMOVED_CODES


def removed_adverts(connection: Connection, site: str, outcomes: Sequence[Outcome], now: float) -> None:
    """An advert whose page says that it is removed is looked at again at the next occasion."""
    listing_id = get_scraper(site).listing_id
    rows = [
        {"of_site": site, "of_external_id": listing_id(page.claim.url), "at": moment(page, now)}
        for page in outcomes
        if _is_removed(page)
    ]
    if rows:
        connection.execute(_DUE, rows)
