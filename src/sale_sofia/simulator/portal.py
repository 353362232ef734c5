"""One served portal: what it answers to each address. Knows nothing of HTTP connections."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import ClassVar, Generic
from urllib.parse import parse_qs

from sale_sofia.simulator.answers import FOUND, NOT_FOUND, OK, Answer, Robots, Search
from sale_sofia.simulator.clock import NOW
from sale_sofia.simulator.origin import REAL, Origin
from sale_sofia.simulator.page_cache import PageCache
from sale_sofia.simulator.search_index import SearchIndex
from sale_sofia.simulator.stock import A, Stock
from sale_sofia.simulator.truth import Truth


class Portal(ABC, Generic[A]):
    """A portal at one origin. The same adverts always give the same bytes."""

    site: ClassVar[str]
    content_type: ClassVar[str]
    charset: ClassVar[str]
    forbidden: ClassVar[str]
    """The path that robots.txt closes."""
    page_size: ClassVar[int]

    def __init__(self, base_url: str, robots: Robots, cache: PageCache) -> None:
        self.origin = Origin(self.site, base_url)
        self._robots = robots
        self._cache = cache
        self.show(Stock(()), NOW)

    def show(self, stock: Stock[A], now: datetime) -> None:
        """Puts these adverts up, as they are at `now`; whatever was up before is gone."""
        self.stock: Stock[A] = stock
        self.now = now
        self.index = SearchIndex(stock)
        self._cache.clear()

    def warm(self) -> None:
        """Renders every original once, so that no request waits for it."""
        for number in range(len(self.stock.originals)):
            self._listing(number)

    def answer(self, path: str, query: str = "") -> Answer:
        """The answer to a GET of this path."""
        if path == "/robots.txt":
            return self._robots.answer(self.forbidden)
        if external_id := self.listing_id(path):
            number = self.stock.number(external_id)
            return self.gone(external_id) if number is None else self._page(self._listing(number))
        if search := self.search(path, _page_number(query)):
            return self._page(self._results(search))
        return self.other(path)

    def truths(self) -> Iterator[Truth]:
        """The truth of every listing as it is served."""
        for number in range(len(self.stock)):
            yield self.origin.truth(self.truth(self.stock.advert(number)))

    @abstractmethod
    def start_urls(self, *, split: bool = False) -> list[str]:
        """Searches that together find each advert exactly once; `split` keeps each within the cap."""

    @abstractmethod
    def listing_id(self, path: str) -> str | None:
        """The id in the address of an advert."""

    @abstractmethod
    def search(self, path: str, page: int | None) -> Search | None:
        """The search at this address, nothing for an address the portal does not know."""

    @abstractmethod
    def gone(self, external_id: str) -> Answer:
        """The answer for an advert that is not there any more."""

    @abstractmethod
    def truth(self, advert: A) -> Truth:
        """The truth of an advert at its real address."""

    @abstractmethod
    def render(self, advert: A) -> bytes:
        """The page of an advert."""

    @abstractmethod
    def render_search(self, search: Search, found: Sequence[int]) -> bytes:
        """A page of results; beyond the last it is the last."""

    @abstractmethod
    def render_empty(self, url: str) -> bytes:
        """A search that found nothing."""

    def other(self, path: str) -> Answer:  # noqa: ARG002 - a portal may know more addresses
        """The answer for any other address."""
        return self.missing()

    def missing(self) -> Answer:
        """There is no such page."""
        head = f"<head><title>404 - {self.site}</title></head>"
        text = f"<html>{head}<body>Страницата не е намерена.</body></html>"
        return Answer(NOT_FOUND, text.encode(self.charset), self.content_type)

    def moved(self, path: str) -> Answer:
        """A redirect within the portal."""
        return Answer(FOUND, b"", self.content_type, self.origin.base_url + path)

    def shown(self, found: Sequence[int], page: int) -> list[A]:
        """The adverts on one page of results."""
        numbers = found[(page - 1) * self.page_size : page * self.page_size]
        return [self.stock.advert(number) for number in numbers]

    def _page(self, body: bytes) -> Answer:
        return Answer(OK, body, self.content_type)

    def _listing(self, number: int) -> bytes:
        original = self.stock.original_number(number)
        return self.stock.page(number, self._cache.get(original, lambda: self._rendered(original)))

    def _rendered(self, original: int) -> bytes:
        return self.origin.body(self.render(self.stock.originals[original]))

    def _results(self, search: Search) -> bytes:
        """Not kept: a search page is made faster than it would push listings out of memory."""
        found = self.index.find(search.scope)
        url = REAL[self.site] + search.path
        return self.origin.body(self.render_search(search, found) if found else self.render_empty(url))


def _page_number(query: str) -> int | None:
    """The page that the query asks for; nothing where it asks for no page there could be."""
    text = parse_qs(query).get("page", ["1"])[0]
    return int(text) if text.isascii() and text.isdigit() and int(text) else None
