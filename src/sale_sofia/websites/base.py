"""The interface of a portal's adapter: bytes in, data out, no network, no clock, no database."""

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
    """The facts of a card under the names of `Listing`, and how each of its fields was found."""

    facts: Mapping[str, Any] = {}
    seen: Mapping[str, FieldSeen] = {}


@dataclass(frozen=True)
class SearchCard:
    """An advert on a page of results: its id and address, and the facts on its card."""

    external_id: str
    url: str
    read: Callable[[], CardReading] = field(default=CardReading, repr=False, compare=False)

    @cached_property
    def reading(self) -> CardReading:
        """The facts of the card, parsed on first use."""
        return self.read()

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts on the card, under the names of `Listing`."""
        return self.reading.facts

    def filling(self, names: tuple[str, ...]) -> Mapping[str, Any]:
        """Return those of these facts that the card has, as JSON values."""
        facts = {name: self.facts[name] for name in names if name in self.facts}
        return {
            name: value.isoformat() if isinstance(value, datetime) else value for name, value in facts.items()
        }


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of results. It has no cards only if the portal itself says that nothing was found."""

    site: str
    url: str
    cards: tuple[SearchCard, ...]
    next_url: str | None
    total: int | None
    capped: bool
    """The portal has more results than it shows of one search."""
    verified_empty: bool
    section: str = "search"
    """The section of the site file with its layout."""
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
    """Ids of the portal's filters on the page, by the key of their query."""
    further: tuple[str, ...] = ()
    """The sitemaps of an index."""


class Site(Protocol):
    """One portal."""

    @property
    def name(self) -> str:
        """The portal's name, which is also its domain everywhere."""

    @property
    def enabled(self) -> bool:
        """Whether it is crawled at all."""

    def kind_of(self, url: str) -> PageKind | None:
        """Return the kind of page at an address; None for an address that the portal does not have."""

    def listing_id(self, url: str) -> str | None:
        """Return the id of the advert of an address; None for any other address."""

    def search(self, page: Page) -> SearchPage:
        """Return the results on a page, or raise `PageError`; none only if the portal itself says so."""

    def listing(self, page: Page) -> RawListing:
        """Return the advert of the address, or raise the `PageError` that says what the page is instead."""

    def parts(self, url: str, hints: Hints) -> Parts:
        """Return smaller searches that together cover this one, or the page that must be read first."""
