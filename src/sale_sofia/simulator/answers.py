"""What is asked of a portal and what it answers."""

from typing import NamedTuple

from sale_sofia.simulator.search_index import NO_FILTERS, Filters, Scope

OK = 200
FOUND = 302
FORBIDDEN = 403
NOT_FOUND = 404


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
