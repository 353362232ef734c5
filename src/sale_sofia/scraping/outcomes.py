"""What came of one claimed page: the only thing a visit hands to the writer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sale_sofia.data.cards import SeenCard
from sale_sofia.listings.model import Listing
from sale_sofia.listings.raw import FieldSeen
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.urls import Target
from sale_sofia.websites.base import CardReading


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
    """A page of results: its adverts, unless known already, and further searches join the frontier."""

    claim: Claim
    adverts: tuple[tuple[SeenCard, Target], ...]
    further: tuple[Target, ...] = ()
    cut_off: bool = False
    """The portal shows no more of this search, and it cannot be cut into smaller ones."""
    cards: tuple[CardReading, ...] = ()
    """What its cards say, in the order of `adverts`."""
    section: str = "search"
    """Which of the site file's sections its layout is."""
    total: int | None = None
    """How many adverts the portal says the search has."""


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
    reason: str


@dataclass(frozen=True, slots=True)
class Failed(_Cost):
    """A page that will not be tried again in this job."""

    claim: Claim
    reason: str
    page_digest: str | None = None
    """The archived bytes of an answer that could not be read."""


@dataclass(frozen=True, slots=True)
class Later(_Cost):
    """A page to be tried again at a moment; a refund gives its attempt back."""

    claim: Claim
    due: float
    reason: str
    refund: bool = False
    all_pages: bool = False
    """Whether it is the domain that is not to be asked before that moment, and not only this page."""


Outcome = Found | Read | NotModified | Gone | Failed | Later
