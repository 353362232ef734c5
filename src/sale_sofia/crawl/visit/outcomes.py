"""The outcome of one claimed page: the only thing a visit hands to the writer."""

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
    """The archived bytes of a page."""

    digest: str
    content_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    requests: int = 1
    """How often it was requested during this visit."""
    kept: Kept | None = None
    """The archived page, if it may be read again."""
    fetched_at: float | None = None
    """When the last request began; None: the time of writing is used."""
    seconds: float | None = None
    """How long the portal took to answer."""


@dataclass(frozen=True, slots=True)
class Found(_Cost):
    """A page of results: its adverts and what follows from it join the frontier, unless they are known."""

    claim: Claim
    adverts: tuple[tuple[SeenCard, Target], ...]
    following: Target | None = None
    """The next page of the same search."""
    sitemaps: tuple[Target, ...] = ()
    """The sitemaps of an index."""
    total: int | None = None
    """How many adverts the portal says the search has."""
    exact: bool = True
    """Whether the total is the number itself, not a bound."""
    capped: bool = False
    """The portal has more results than it shows."""
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
    """The portal redirected to another address than the requested one."""
    cards: tuple[CardReading, ...] = ()
    """What its cards say, in the order of `adverts`."""
    section: str = "search"
    """The section of the site file with its layout."""


@dataclass(frozen=True, slots=True)
class Read(_Cost):
    """An advert that was read."""

    claim: Claim
    listing: Listing
    etag: str | None = None
    last_modified: str | None = None
    seen: Mapping[str, FieldSeen] = field(default_factory=dict)
    """How its fields were found."""


@dataclass(frozen=True, slots=True)
class NotModified(_Cost):
    """An advert that, according to its portal, has not changed since it was last read."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Gone(_Cost):
    """A page that is done and has no data: removed, or a new building."""

    claim: Claim
    code: str


@dataclass(frozen=True, slots=True)
class Failed(_Cost):
    """A page that will not be tried again in this job."""

    claim: Claim
    code: str
    """The name of the error's class."""
    reason: str = ""
    page_digest: str | None = None
    """Digest of the archived answer that could not be read."""
    unreadable: str | None = None
    """Why a page that came could not be read."""
    forbidden: bool = False
    """Not requested, as robots.txt forbids it."""


@dataclass(frozen=True, slots=True)
class Later(_Cost):
    """A page to try again `seconds_later` after this is written; with `refund` it gets its attempt back."""

    claim: Claim
    seconds_later: float
    code: str
    reason: str = ""
    refund: bool = False
    ended_as: str | None = None
    """The name of the error's class, or `PROBED`; None when nothing was requested."""
    all_pages: bool = False
    """Whether the whole domain has to wait until then, not only this page."""
    rests: bool = False
    """Whether it only found no free place, and may be requested again after that time."""

    @property
    def in_its_place(self) -> bool:
        """Whether nothing was learnt about the page itself, so its due time stays."""
        return self.all_pages or self.rests or self.ended_as == PROBED


Outcome = Found | Read | NotModified | Gone | Failed | Later


# The outcomes of a batch as visits to record.

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


def moment(outcome: Outcome, now: float) -> float:
    """When the page was fetched; `now` if the outcome does not say."""
    return now if outcome.fetched_at is None else outcome.fetched_at


def visits_of(outcomes: Sequence[Outcome], site: str, job_id: str, now: float) -> list[Visit]:
    """The visits that saw no advert; the others are recorded with their sightings."""
    return [
        Visit(
            site,
            target(get_scraper(site), outcome.claim.url).key,
            job_id,
            moment(outcome, now),
            _verdict(outcome),
            outcome.seconds,
            outcome.kept.digest if outcome.kept else None,
        )
        for outcome in outcomes
        if not isinstance(outcome, Read | NotModified) and outcome.requests
    ]


def _verdict(outcome: Found | Gone | Failed | Later) -> str:
    """`ok`, what the page is instead of an advert, or the class of the error."""
    if isinstance(outcome, Found):
        return "ok"
    return "removed" if _is_removed(outcome) else outcome.code


def _is_removed(outcome: Outcome) -> bool:
    """Whether the portal says that the advert is gone: by its status, or by showing others instead."""
    return isinstance(outcome, Gone) and outcome.claim.kind == "listing" and outcome.code in REMOVED_CODES


def removed_adverts(connection: Connection, site: str, outcomes: Sequence[Outcome], now: float) -> None:
    """Make adverts due at once whose page says that they are removed, to be looked at again."""
    listing_id = get_scraper(site).listing_id
    rows = [
        {"of_site": site, "of_external_id": listing_id(outcome.claim.url), "at": moment(outcome, now)}
        for outcome in outcomes
        if _is_removed(outcome)
    ]
    if rows:
        connection.execute(_DUE, rows)
