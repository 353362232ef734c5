"""What came of one claimed page: the only thing a visit hands to the writer."""

from dataclasses import dataclass

from sale_sofia.listings.model import Listing
from sale_sofia.scraping.frontier import Claim
from sale_sofia.scraping.urls import Target


@dataclass(frozen=True, slots=True)
class Kept:
    """Which archived bytes a good page has."""

    digest: str
    content_type: str | None


@dataclass(frozen=True, slots=True)
class Found:
    """A page of results: its adverts and further searches join the frontier."""

    claim: Claim
    targets: tuple[Target, ...]
    kept: Kept | None = None


@dataclass(frozen=True, slots=True)
class Read:
    """An advert."""

    claim: Claim
    listing: Listing
    kept: Kept | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """A page that is done and gives no data: removed, or a new building."""

    claim: Claim
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A page that will not be tried again in this job."""

    claim: Claim
    reason: str
    asked: bool = True
    """Whether the portal was asked for it at all."""


@dataclass(frozen=True, slots=True)
class Later:
    """A page to be tried again at a moment; a refund gives its attempt back."""

    claim: Claim
    due: float
    reason: str
    refund: bool = False
    asked: bool = True
    """Whether the portal was asked for it at all."""


Outcome = Found | Read | Gone | Failed | Later
