"""One served portal: what it answers to each address. Knows nothing of HTTP connections."""

import gzip
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain, product
from typing import ClassVar, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

from sale_sofia_simulator.model import NOW, Advert, BazarAdvert, ImotAdvert, TwinAdvert
from sale_sofia_simulator.photos import Photo, draw, photos_of
from sale_sofia_simulator.pieces import PageCache, fill
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.truth import PHOTOS, Origin, Truth

# The adverts of one portal: all different, or a large number of copies of a few.

A = TypeVar("A", ImotAdvert, BazarAdvert, TwinAdvert)
_MINUTE = 60
MOST_COPIES = 100 * _MINUTE
_TWINS_APART = 20_000
"""Further than the numbers of any two originals: a property has every second one of at most 10 000 slots."""


class Stock(Generic[A]):
    """`total` adverts; number `n` is original `n % len(originals)`, under an id of its own.

    A copy differs from its original in its id, its address, the names of its photos and the second
    in which it was posted; no two adverts share an id.
    """

    def __init__(self, originals: Sequence[A], total: int | None = None) -> None:
        self.originals: Sequence[A] = originals
        count = len(originals) if total is None else total
        if count > MOST_COPIES * len(originals):
            raise ValueError(f"{len(originals)} adverts give at most {MOST_COPIES} copies each, not {count}")
        self._numbers = {self._new_id(number): number for number in range(count)}
        if len(self._numbers) != count:
            raise ValueError("two copies would share an id; choose another seed or number of adverts")

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, external_id: str) -> int | None:
        """The place of an advert, nothing for an id that is not here."""
        return self._numbers.get(external_id)

    def advert(self, number: int) -> A:
        """The advert, all its facts its own."""
        original, turn = self._original(number)
        return original if turn == 0 else _copy(original, number, turn)

    def page(self, number: int, original_page: bytes) -> bytes:
        """The page of a copy from the page of its original."""
        original, turn = self._original(number)
        for old, new in renames(original, number, turn).items() if turn else ():
            original_page = original_page.replace(old.encode(), new.encode())
        return original_page

    def _original(self, number: int) -> tuple[A, int]:
        turn, place = divmod(number, len(self.originals))
        return self.originals[place], turn

    def _new_id(self, number: int) -> str:
        original, turn = self._original(number)
        return renames(original, number, turn)[original.external_id] if turn else original.external_id


def renames(original: ImotAdvert | BazarAdvert | TwinAdvert, number: int, turn: int) -> dict[str, str]:
    """Each id of the original and what it becomes in a copy; in the imot.bg family all keep their length."""
    if isinstance(original, ImotAdvert):
        return {original.external_id: imot_id_of_copy(original.external_id, turn)}
    if isinstance(original, TwinAdvert):
        new = str(original.number + turn * _TWINS_APART)
        return {original.external_id: original.external_id.replace(str(original.number), new)}
    rest, family = (int(original.external_id) - 50_000_000) % 37, original.imot_id
    own = {original.external_id: str(50_000_000 + number * 37 + rest)}
    return own | ({family: imot_id_of_copy(family, turn)} if family else {})


def imot_id_of_copy(imot_id: str, turn: int) -> str:
    """Another second of the same minute, then other digits; the last three, the photos' folder, stay."""
    stamp = int(imot_id[2:12])
    second = (stamp + turn) % _MINUTE
    middle = (int(imot_id[12:14]) + turn // _MINUTE) % 100
    return f"{imot_id[:2]}{stamp - stamp % _MINUTE + second}{middle:02d}{imot_id[14:]}"


def _copy(original: A, number: int, turn: int) -> A:
    new = renames(original, number, turn)

    def renamed(text: str) -> str:
        for old, changed in new.items():
            text = text.replace(old, changed)
        return text

    second = (original.posted.second + turn) % _MINUTE - original.posted.second
    copy = replace(
        original,
        external_id=new[original.external_id],
        url=renamed(original.url),
        photos=tuple(map(renamed, original.photos)),
        posted=original.posted + timedelta(seconds=second),
    )
    if isinstance(copy, BazarAdvert) and copy.imot_id:
        return replace(copy, imot_id=new[copy.imot_id])
    if isinstance(copy, TwinAdvert):
        number = copy.number + turn * _TWINS_APART
        return replace(copy, number=number, imot_id=imot_id_of_copy(copy.imot_id, turn))
    return copy


TIERS = ("BEST", "TOP", "VIP", "")
BAZAR_CITIES = {"София": "sofia", "Търговище": "targovishte"}


class Scope(NamedTuple):
    """What is searched; nothing means everything."""

    deal: str | None = None
    city: str | None = None
    hood: str | None = None
    kind: str | None = None


class Filters(NamedTuple):
    """What narrows a search: any of these neighbourhoods and any of these kinds, within these prices."""

    hoods: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    least_eur: int | None = None
    most_eur: int | None = None


NO_FILTERS = Filters()


class SearchIndex:
    """Finds by any scope at once; every advert stands exactly once in each scope it belongs to."""

    def __init__(self, stock: Stock[A]) -> None:
        self._originals: Sequence[Advert] = stock.originals
        self._tiers = [TIERS.index(advert.tier) for advert in stock.originals]
        self._numbers: dict[Scope, list[int]] = {}
        self._narrowed: dict[tuple[Scope, Filters], Sequence[int]] = {}
        scopes = [list(_scopes_of(advert)) for advert in stock.originals]
        for number in sorted(range(len(stock)), key=self._rank):
            for scope in scopes[number % len(scopes)]:
                self._numbers.setdefault(scope, []).append(number)

    def find(self, scope: Scope, filters: Filters = NO_FILTERS) -> Sequence[int]:
        """The numbers of the adverts, promoted ones first; the same search is worked out once."""
        if filters == NO_FILTERS:
            return self._numbers.get(scope, ())
        if (scope, filters) not in self._narrowed:
            parts = product(filters.hoods or (scope.hood,), filters.kinds or (scope.kind,))
            lists = (self._numbers.get(scope._replace(hood=hood, kind=kind), ()) for hood, kind in parts)
            within = {number for number in chain.from_iterable(lists) if self._costs(number, filters)}
            self._narrowed[scope, filters] = sorted(within, key=self._rank)
        return self._narrowed[scope, filters]

    def cities(self) -> list[Scope]:
        """Both deals of each city that has adverts, in the order of their first adverts."""
        return [s for s in self._numbers if s.deal and s.city and not s.hood and not s.kind]

    def scopes(self) -> list[Scope]:
        """Every search that finds something, in a fixed order."""
        return sorted(self._numbers, key=lambda scope: tuple(part or "" for part in scope))

    def _costs(self, number: int, filters: Filters) -> bool:
        """Whether its price, shown or not, lies within the limits, both of which belong to them."""
        price = self._originals[number % len(self._originals)].money.amount_eur
        least, most = filters.least_eur, filters.most_eur
        return (least is None or price >= least) and (most is None or price <= most)

    def _rank(self, number: int) -> tuple[int, int]:
        return self._tiers[number % len(self._tiers)], number


def _scopes_of(advert: Advert) -> Iterator[Scope]:
    """Every search that finds this advert, in the words of its portal's addresses."""
    home, place = advert.home, advert.home.place
    city, hood = place.city_slug, place.slug
    if isinstance(advert, BazarAdvert):
        city, hood = BAZAR_CITIES[place.city], slug(place.neighbourhood)
    places = ((None, None), (city, None), (city, hood))
    for deal, (where, part), kind in product((home.deal, None), places, (home.kind.slug, None)):
        yield Scope(deal, where, part, kind)


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
        delay = "" if self.crawl_delay is None else f"Crawl-delay: {self.crawl_delay:g}\n"
        return Answer(OK, f"User-agent: *\nDisallow: {forbidden}\n{delay}".encode(), "text/plain")


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


class SitemapPaths(NamedTuple):
    """Where a portal keeps it; `shard` names the `group` of adverts and the `number` of the shard."""

    overview: str
    shard: str
    first: int = 1
    """The number of the first shard."""


def _xml(name: str, **values: object) -> Answer:
    return Answer(OK, fill(f"{name}.xml", **values).encode(), "application/xml")


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
        self._shards = self._new_shards()
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
        return self._sitemap(path) or self.other(path)

    def searched(self, search: Search) -> Answer:
        """The answer to a search."""
        return self._page(self._results(search))

    def matches(self, search: Search) -> Sequence[int]:
        """All that the search finds, shown or not."""
        filters = NO_FILTERS if self.options.filters_ignored else search.filters
        return self.index.find(search.scope, filters)

    def announced(self, search: Search) -> int:
        """How many the portal says there are."""
        follows = self.options.total_follows_filter
        return len(self.matches(search) if follows else self.index.find(search.scope))

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

    def gone(self, external_id: str) -> Answer:  # noqa: ARG002 - a portal may lead elsewhere
        """The answer for an advert that is not there any more."""
        return self.missing()

    @abstractmethod
    def truth(self, advert: A) -> Truth:
        """The truth of an advert at its real address."""

    @abstractmethod
    def render(self, advert: A) -> bytes:
        """The page of an advert."""

    def city_searches(self, home: str, parts: Sequence[str], *, split: bool) -> list[Scope]:
        """Both deals of `home`, and of another city where it has adverts; `split` by `parts`."""
        scopes = dict.fromkeys([Scope("sale", home), Scope("rent", home), *sorted(self.index.cities())])
        return [part for scope in scopes for part in (self._split(scope, parts) if split else (scope,))]

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
        return self.short_page(404, f"404 - {self.site}", "Страницата не е намерена.")

    def short_page(self, status: int, title: str, words: str) -> Answer:
        """A page with nothing but these words."""
        text = f"<html><head><title>{title}</title></head><body>{words}</body></html>"
        return Answer(status, text.encode(self.charset), self.content_type)

    def moved(self, path: str) -> Answer:
        """A redirect within the portal."""
        return Answer(302, b"", self.content_type, self.origin.base_url + path)

    def shown(self, numbers: Sequence[int], page: int) -> list[A]:
        """The adverts on one page of results."""
        on_page = numbers[(page - 1) * self.page_size : page * self.page_size]
        return [self.stock.advert(number) for number in on_page]

    def url_of(self, advert: A) -> str:
        """The served address of an advert."""
        return self.origin.url(advert.url)

    def sitemap_group(self, advert: A) -> str:  # noqa: ARG002 - a portal may have several
        """The part of the sitemap in which an advert stands."""
        return ""

    def _new_shards(self) -> dict[str, Sequence[int]]:
        """The address of each shard of the sitemap, and the numbers of its adverts."""
        paths = self.sitemap_paths
        numbers_by_path: dict[str, Sequence[int]] = {}
        if paths is None:
            return numbers_by_path
        groups: dict[str, list[int]] = {}
        names = [self.sitemap_group(advert) for advert in self.stock.originals]
        for number in range(len(self.stock)):
            groups.setdefault(names[number % len(names)], []).append(number)
        size = self.options.sitemap_rows
        own = round(size * (1 - self.options.sitemap_overlap))
        for group, numbers in groups.items():
            shards = [numbers[start : start + size] for start in range(0, len(numbers), size)]
            for place, shard in enumerate(shards):
                path = paths.shard.format(group=group, number=paths.first + place)
                numbers_by_path[path] = shard[:own] + shards[place - 1][: max(0, len(shard) - own)]
        return numbers_by_path

    def _sitemap(self, path: str) -> Answer | None:
        """The index or a shard, packed where its name says so; nothing at any other address."""
        if self.sitemap_paths and path == self.sitemap_paths.overview:
            return _xml("sitemap_index", places=[self.origin.base_url + shard for shard in self._shards])
        if path not in self._shards:
            return None
        adverts = map(self.stock.advert, self._shards[path])
        answer = _xml("sitemap", rows=[(self.url_of(advert), advert.updated) for advert in adverts])
        if not path.endswith(".gz"):
            return answer
        return answer._replace(body=gzip.compress(answer.body, mtime=0), content_type="application/gzip")

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
        place = number % len(self.stock.originals)
        original = self.stock.originals[place]
        body = self._cache.get(place, lambda: self.origin.body(self.render(original)))
        return self.stock.page(number, body)

    @abstractmethod
    def _results(self, search: Search) -> bytes:
        """A page of results; not kept: it is made faster than it would push listings out of memory."""
