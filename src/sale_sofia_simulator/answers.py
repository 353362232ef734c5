"""What is asked of a portal and what it answers."""

from dataclasses import dataclass
from typing import NamedTuple

from sale_sofia_simulator.search_index import NO_FILTERS, Filters, Scope

OK = 200


class Answer(NamedTuple):
    """What goes back to the client."""

    status: int
    body: bytes
    content_type: str
    location: str | None = None


class Search(NamedTuple):
    """A page of a search; `path` is the address of its first page, filters included."""

    scope: Scope
    page: int
    path: str
    filters: Filters = NO_FILTERS
    window: range | None = None
    """The places of the results that are wanted, where the portal counts results instead of pages."""


class Robots(NamedTuple):
    """What robots.txt says, or the status with which it fails."""

    status: int = OK
    crawl_delay: float | None = None

    def answer(self, *forbidden: str) -> Answer:
        """The file: what is closed for everybody, and the delay where there is one."""
        if self.status != OK:
            return Answer(self.status, b"", "text/plain")
        lines = ["User-agent: *", *(f"Disallow: {path}" for path in forbidden)]
        lines += [f"Crawl-delay: {self.crawl_delay:g}"] if self.crawl_delay is not None else []
        return Answer(OK, ("\n".join(lines) + "\n").encode(), "text/plain")


# How the searches of a simulated portal behave, where a test wants them otherwise than they really are.


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalOptions:
    """The defaults are what is known of the real portals. What a portal does not have, it ignores."""

    most_results: int | None = None
    """How many results of one search are shown; by default as many as the portal itself shows."""
    filters_ignored: bool = False
    """Whether every filter beside the place in the path is without effect."""
    total_follows_filter: bool = True
    """Whether the announced total is that of the filtered search; else that of the search without filters."""
    parts_redirect: bool = False
    """Whether imot.bg leads a neighbourhood that it does not have to its city, instead of a 404."""
    redirects: int = 0
    """How often an advert's address leads on, on the portal's own host, before the advert is shown."""
    interface_forbidden: bool = False
    """Whether robots.txt closes the JSON interface."""
    sitemap_rows: int = 5000
    """How many addresses a shard of the sitemap holds."""
    sitemap_overlap: float = 0.0
    """The share of each shard's rows that stand in another shard, in place of adverts that stand nowhere."""
    sitemap_lastmod: bool = True
    photos: bool = False
    """Whether photos are served, by the portal itself; else they have real addresses and nothing behind."""

    def __post_init__(self) -> None:
        if self.most_results is not None and self.most_results < 1:
            raise ValueError("most_results is at least 1")
        if self.sitemap_rows < 1 or not 0 <= self.sitemap_overlap < 1:
            raise ValueError("a shard has at least one row, and some of its own")


AS_REAL = PortalOptions()
