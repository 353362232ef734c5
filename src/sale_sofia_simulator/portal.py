"""One served portal: what it answers to each address. Knows nothing of HTTP connections."""

import gzip
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, NamedTuple
from urllib.parse import parse_qs, urlsplit

from sale_sofia_simulator.model import NOW
from sale_sofia_simulator.photos import Photo, draw, photos_of
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.search_index import NO_FILTERS, A, Filters, Scope, SearchIndex, Stock
from sale_sofia_simulator.truth import PHOTOS, Origin, Truth

# What is asked of a portal and what it answers.

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

    @property
    def deal(self) -> str:
        """Sale, where nothing else is said."""
        return self.scope.deal or "sale"


class Robots(NamedTuple):
    """What robots.txt says, or the status with which it fails."""

    status: int = OK
    crawl_delay: float | None = None

    def answer(self, forbidden: str) -> Answer:
        """The file: what is closed for everybody, and the delay where there is one."""
        if self.status != OK:
            return Answer(self.status, b"", "text/plain")
        lines = ["User-agent: *", f"Disallow: {forbidden}"]
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
    sitemap_rows: int = 5000
    """How many addresses a shard of the sitemap holds."""
    sitemap_overlap: float = 0.0
    """The share of each shard's rows that stand in another shard, in place of adverts that stand nowhere."""
    photos: bool = False
    """Whether photos are served, by the portal itself; else they have real addresses and nothing behind."""

    def __post_init__(self) -> None:
        if self.most_results is not None and self.most_results < 1:
            raise ValueError("most_results is at least 1")
        if self.sitemap_rows < 1 or not 0 <= self.sitemap_overlap < 1:
            raise ValueError("a shard has at least one row, and some of its own")


AS_REAL = PortalOptions()


# A portal's sitemap: an index of shards, and in each shard the addresses of adverts.

_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class SitemapPaths(NamedTuple):
    """Where a portal keeps it; `shard` names the `group` of adverts and the `number` of the shard."""

    overview: str
    shard: str
    first: int = 1
    """The number of the first shard."""


class Sitemap:
    """The adverts of each group by their numbers; `row` gives the address of one and when it was updated."""

    def __init__(
        self,
        paths: SitemapPaths,
        groups: Mapping[str, Sequence[int]],
        row: Callable[[int], tuple[str, datetime]],
        options: PortalOptions,
    ) -> None:
        self._overview = paths.overview
        self._row = row
        self._shards: dict[str, Sequence[int]] = {}
        size = options.sitemap_rows
        own = round(size * (1 - options.sitemap_overlap))
        for group, numbers in groups.items():
            shards = [numbers[start : start + size] for start in range(0, len(numbers), size)]
            for place, shard in enumerate(shards):
                path = paths.shard.format(group=group, number=paths.first + place)
                self._shards[path] = [*shard[:own], *shards[place - 1][: max(0, len(shard) - own)]]

    def answer(self, path: str, base_url: str) -> Answer | None:
        """The index or a shard, packed where its name says so; nothing at any other address."""
        if path == self._overview:
            places = "".join(f"<sitemap><loc>{base_url}{shard}</loc></sitemap>\n" for shard in self._shards)
            return _xml(f"<sitemapindex {_NAMESPACE}>\n{places}</sitemapindex>\n")
        if path not in self._shards:
            return None
        found = _xml(f"<urlset {_NAMESPACE}>\n{''.join(map(self._line, self._shards[path]))}</urlset>\n")
        if not path.endswith(".gz"):
            return found
        return found._replace(body=gzip.compress(found.body, mtime=0), content_type="application/gzip")

    def _line(self, number: int) -> str:
        url, updated = self._row(number)
        return f"<url><loc>{url}</loc><lastmod>{updated.isoformat()}</lastmod></url>\n"


def _xml(text: str) -> Answer:
    return Answer(OK, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode(), "application/xml")


Query = Mapping[str, list[str]]
_NO_CAP = 1_000_000_000
_HOP = "hop="


class Portal(ABC, Generic[A]):
    """A portal at one origin. The same adverts always give the same bytes."""

    site: ClassVar[str]
    content_type: ClassVar[str]
    charset: ClassVar[str]
    listing_path: ClassVar[re.Pattern[str]]
    """The address of an advert, with its id as the only group."""
    forbidden: ClassVar[str]
    """The path that robots.txt closes."""
    page_size: ClassVar[int]
    most_results: ClassVar[int] = _NO_CAP
    """How many results of one search the real portal shows."""
    sitemap_paths: ClassVar[SitemapPaths | None] = None

    def __init__(
        self, base_url: str, robots: Robots, cache: PageCache, options: PortalOptions = AS_REAL
    ) -> None:
        self.origin = Origin(self.site, base_url, photos=options.photos)
        self.options = options
        self.most = options.most_results or self.most_results
        self._robots = robots
        self._cache = cache
        self.show(Stock(()), NOW)

    def show(self, stock: Stock[A], now: datetime) -> None:
        """Puts these adverts up, as they are at `now`; whatever was up before is gone."""
        self.stock: Stock[A] = stock
        self.now = now
        self.index = SearchIndex(stock)
        self._sitemap = self._new_sitemap()
        self._pictures: dict[str, Photo] = {}
        self._cache.clear()

    def warm(self) -> None:
        """Renders every original once, so that no request waits for it."""
        for number in range(len(self.stock.originals)):
            self._listing(number)

    def answer(self, path: str, query: str = "") -> Answer:
        """The answer to a GET of this path."""
        if path == "/robots.txt":
            return self._robots.answer(self.forbidden)
        if self.options.photos and path.startswith(PHOTOS):
            return self._photo(path)
        if external_id := self.listing_id(path):
            hop = int(query.removeprefix(_HOP) or 0) if query.startswith(_HOP) else 0
            if hop < self.options.redirects:
                return self.moved(f"{path}?{_HOP}{hop + 1}")
            number = self.stock.number(external_id)
            return self.gone(external_id) if number is None else self._page(self._listing(number))
        if search := self.search(path, parse_qs(query, keep_blank_values=True)):
            return self.searched(search)
        found = self._sitemap.answer(path, self.origin.base_url) if self._sitemap else None
        return found or self.other(path)

    def searched(self, search: Search) -> Answer:
        """The answer to a search."""
        return self._page(self._results(search))

    def matches(self, search: Search) -> Sequence[int]:
        """All that the search finds, shown or not."""
        filters = NO_FILTERS if self.options.filters_ignored else search.filters
        return self.index.find(search.scope, filters)

    def announced(self, search: Search) -> int:
        """How many the portal says there are."""
        if self.options.total_follows_filter:
            return len(self.matches(search))
        return len(self.index.find(search.scope))

    def truths(self) -> Iterator[Truth]:
        """The truth of every listing as it is served."""
        for number in range(len(self.stock)):
            truth = self.truth(self.stock.advert(number))
            photos = [self.origin.photo(url) for url in truth["photo_urls"]]
            yield truth | {"url": self.origin.url(truth["url"]), "photo_urls": photos}

    @abstractmethod
    def start_urls(self, *, split: bool = False) -> list[str]:
        """Searches that together find each advert exactly once; `split` keeps each within the cap."""

    def listing_id(self, path: str) -> str | None:
        """The id in the address of an advert; the words around it may be any."""
        match = self.listing_path.fullmatch(path)
        return match[1] if match else None

    @abstractmethod
    def search(self, path: str, query: Query) -> Search | None:
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

    def city_searches(self, home: str, parts: Sequence[str], *, split: bool) -> list[Scope]:
        """Both deals of `home`, and of another city where it has adverts; `split` by `parts`."""
        wanted = dict.fromkeys([Scope("sale", home), Scope("rent", home)])
        wanted |= dict.fromkeys(
            s for s in self.index.scopes() if s.deal and s.city and not s.hood and not s.kind
        )
        return [part for scope in wanted for part in (self._split(scope, parts) if split else (scope,))]

    def _split(self, scope: Scope, parts: Sequence[str]) -> Iterator[Scope]:
        """The search itself, or its smaller searches where the portal would not show all of it."""
        if not parts or len(self.index.find(scope)) <= self.most:
            yield scope
            return
        name, *deeper = parts
        for part in self.index.scopes():
            if getattr(part, name) and part._replace(**{name: None}) == scope:
                yield from self._split(part, deeper)

    def other(self, path: str) -> Answer:  # noqa: ARG002 - a portal may know more addresses
        """The answer for any other address."""
        return self.missing()

    def missing(self) -> Answer:
        """There is no such page."""
        return self._note(404, f"404 - {self.site}", "Страницата не е намерена.")

    def refused(self) -> Answer:
        """The portal does not let one in here."""
        return self._note(403, "403 Forbidden", self.site)

    def _note(self, status: int, title: str, words: str) -> Answer:
        text = f"<html><head><title>{title}</title></head><body>{words}</body></html>"
        return Answer(status, text.encode(self.charset), self.content_type)

    def moved(self, path: str) -> Answer:
        """A redirect within the portal."""
        return Answer(302, b"", self.content_type, self.origin.base_url + path)

    def shown(self, found: Sequence[int], page: int) -> list[A]:
        """The adverts on one page of results."""
        numbers = found[(page - 1) * self.page_size : page * self.page_size]
        return [self.stock.advert(number) for number in numbers]

    def url_of(self, advert: A) -> str:
        """The served address of an advert."""
        return self.origin.url(advert.url)

    def sitemap_group(self, advert: A) -> str:  # noqa: ARG002 - a portal may have several
        """The part of the sitemap in which an advert stands."""
        return ""

    def _new_sitemap(self) -> Sitemap | None:
        if self.sitemap_paths is None:
            return None
        groups: dict[str, list[int]] = {}
        names = [self.sitemap_group(advert) for advert in self.stock.originals]
        for number in range(len(self.stock)):
            groups.setdefault(names[number % len(names)], []).append(number)
        return Sitemap(self.sitemap_paths, groups, self._row, self.options)

    def _row(self, number: int) -> tuple[str, datetime]:
        advert = self.stock.advert(number)
        return self.url_of(advert), advert.updated

    def shown_on(self, number: int) -> dict[str, Photo]:
        """What the photos of an advert show, by the paths at which they are served, in their order."""
        advert = self.stock.advert(number)
        urls = [urlsplit(self.origin.photo(url)) for url in self.truth(advert)["photo_urls"]]
        return dict(zip((url.path for url in urls), photos_of(advert, len(urls)), strict=True))

    def _photo(self, path: str) -> Answer:
        if not self._pictures:
            for number in range(len(self.stock)):
                self._pictures |= self.shown_on(number)
        photo = self._pictures.get(path)
        return Answer(OK, draw(photo), "image/jpeg") if photo else self.missing()

    def _page(self, body: bytes) -> Answer:
        return Answer(OK, body, self.content_type)

    def _listing(self, number: int) -> bytes:
        original = number % len(self.stock.originals)

        def rendered() -> bytes:
            return self.origin.body(self.render(self.stock.originals[original]))

        return self.stock.page(number, self._cache.get(original, rendered))

    @abstractmethod
    def _results(self, search: Search) -> bytes:
        """A page of results; not kept: it is made faster than it would push listings out of memory."""
