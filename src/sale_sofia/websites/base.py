"""What every portal's adapter gives: bytes in, data out, no network, no clock, no database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

from sale_sofia.listings.model import FieldSeen, RawListing
from sale_sofia.listings.page import Page
from sale_sofia.websites.splitting import Hints, Parts

PageKind = Literal["listing", "search", "project"]


class CardReading(NamedTuple):
    """What a card says under the names of `Listing`, and how each of its fields was found."""

    facts: Mapping[str, Any] = {}
    seen: Mapping[str, FieldSeen] = {}


@dataclass(frozen=True)
class Card:
    """One advert on a page of results: who it is, and what the card already tells of it."""

    external_id: str
    url: str
    read: Callable[[], CardReading] = field(default=CardReading, repr=False, compare=False)

    @cached_property
    def reading(self) -> CardReading:
        """What the card says, read when first asked for."""
        return self.read()

    @property
    def facts(self) -> Mapping[str, Any]:
        """Under the names of `Listing`; only what the card says."""
        return self.reading.facts

    def filling(self, names: tuple[str, ...]) -> Mapping[str, Any]:
        """Of these facts, those that the card says, as JSON can hold them."""
        said = {name: self.facts[name] for name in names if name in self.facts}
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in said.items()
        }


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of results. No cards means the portal itself said that nothing was found."""

    site: str
    url: str
    cards: tuple[Card, ...]
    next_url: str | None
    total: int | None
    capped: bool
    """The portal has more results than it lets one page through."""
    verified_empty: bool
    section: str = "search"
    """Which of the site file's sections its layout is."""
    exact: bool = True
    """Whether the total is the number of results; of "1000+" only a lower bound is known."""
    last_page: int | None = None
    """The number of the last page, where the page names it."""
    most: int | None = None
    """How many results of one search the portal shows, where that is known."""
    most_pages: int | None = None
    """How many pages of one search it answers."""
    stale_pages: int | None = None
    """After how many pages in a row without anything new a search ends, where the site file says so."""
    fills: tuple[str, ...] = ()
    """Facts that a card may give to an advert whose own page lacks them."""
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Ids of the portal's filters that the page names, by the key of their query."""
    further: tuple[str, ...] = ()
    """Sitemaps that an index of them leads to."""


class Site(Protocol):
    """One portal."""

    @property
    def name(self) -> str:
        """The portal's name, which is also its domain everywhere."""

    @property
    def enabled(self) -> bool:
        """Whether it is crawled at all."""

    def kind_of(self, url: str) -> PageKind | None:
        """What an address of this portal leads to; None for an address it does not have."""

    def listing_id(self, url: str) -> str | None:
        """The id of the advert an address names; None for any other address."""

    def search(self, page: Page) -> SearchPage:
        """The results on a page, or a `PageError`; none only where the portal itself says so."""

    def listing(self, page: Page) -> RawListing:
        """The advert the address names, or a `PageError` that says what the page is instead."""

    def parts(self, url: str, hints: Hints) -> Parts:
        """Smaller searches that together cover this one, or the page that must be read before."""
