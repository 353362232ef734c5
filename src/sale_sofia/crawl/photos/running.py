"""Photos on demand: of shortlisted flats, and of adverts that may be one flat, until that is decided.

Each is fetched from its portal's photo hosts, within their rate and robots.txt.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final, NamedTuple, Self
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import Connection

from sale_sofia.buyer.evaluations import statuses
from sale_sofia.crawl.fetch.base import Fetcher, Request, Response
from sale_sofia.crawl.fetch.robots import Rules, known_delay
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.photos.decoding import Decoder
from sale_sofia.crawl.resilience.errors import (
    CrawlError,
    HttpBlocked,
    HttpClient,
    HttpRateLimit,
    HttpServer,
    LeftAlone,
    NetworkError,
    ParseError,
    ParseHostile,
    RobotsDisallowed,
    ServiceError,
)
from sale_sofia.crawl.resilience.gate import Gate
from sale_sofia.crawl.resilience.limiter import slowed
from sale_sofia.crawl.runners.runners import SiteBusy, site_lock
from sale_sofia.crawl.visit.assembly import make_fetcher, robots_gate
from sale_sofia.crawl.visit.politely import PoliteFetcher, open_gate, with_its_pause
from sale_sofia.flats.merging import is_offered
from sale_sofia.flats.photos.pictures import signature
from sale_sofia.flats.photos.store import (
    Doubt,
    Gallery,
    PhotoResult,
    SavedPicture,
    StoredPhoto,
    find_doubts,
    requests_left,
    save_photo,
    stock_pictures,
    stored_photos,
)
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.settings import ENOUGH_SHARED, INCIDENT_SITE, LONGEST_ADDRESS, TRIED_IN_VAIN
from sale_sofia.flats.store import listing_rows, members_of
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import Aftermath, IncidentKind, attempt
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.site_file import SiteConfig

_KEPT_OUT = frozenset(
    {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS}
)

_ACCEPTED = {"Accept": "image/jpeg,image/webp,image/png"}
"""The formats we decode; a browser's own list would bring newer ones."""


class PhotoPlace(NamedTuple):
    """Where a photo is fetched."""

    url: str
    netloc: str
    """The only host contacted for it."""
    domain: str
    """The name under which the gate counts the requests."""
    rate: float
    """Requests per minute."""


def place_of(settings: Settings, site: str, advert_url: str, url: str) -> PhotoPlace | None:
    """Where a photo is fetched; None: nowhere, as it is not on a photo host of its portal.

    Photos on a portal's own host share the rate of its pages. For an advert that was found elsewhere than on
    its portal (a simulator's) only photos on that host are fetched, never any of the real portal. None are
    fetched of a portal that is switched off or has no site file any more.
    """
    if site not in AVAILABLE_SITES or not get_scraper(site).enabled:
        return None
    config = get_scraper(site).config
    try:
        parts, found_at = urlsplit(url), urlsplit(advert_url)
        host, own = parts.hostname or "", found_at.netloc.lower()
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or len(url) > LONGEST_ADDRESS:
        return None
    netloc = parts.netloc.lower()
    at_home = (found_at.hostname or "") in config.hosts
    if netloc == own:  # an address without a scheme has that of its page
        url = urlunsplit(parts._replace(scheme=found_at.scheme))
    if netloc == own or (at_home and host in config.hosts):
        return PhotoPlace(url, netloc, config.site, rate_per_minute(settings, config))
    domain = next((name for name in config.photo_hosts if host == name or host.endswith(f".{name}")), None)
    if domain is None or not at_home:
        return None
    return PhotoPlace(url, netloc, domain, settings.rate_limit(domain, settings.photo_rate_per_minute))


class PhotoAnswer(NamedTuple):
    """The bytes of a photo, or why there are none, and what it cost."""

    body: bytes
    requests: int
    error: CrawlError | None = None


@dataclass(slots=True, kw_only=True)
class PhotoFetcher:
    """Fetches photos; close it at the end. Never raises for what a server does."""

    settings: Settings
    fetcher: Fetcher
    gate: Gate
    rates: dict[str, float]
    _rules: dict[str, Rules]
    _origins: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, settings: Settings, fetcher: Fetcher) -> Self:
        """A fetcher with the same kind of gate as crawls."""
        rates: dict[str, float] = {}
        rules: dict[str, Rules] = {}
        origins: dict[str, str] = {}

        def delay_of(domain: str) -> float | None:
            return known_delay(rules, origins[domain]) if settings.robots_obeyed else None

        def rate_of(domain: str) -> float:
            return slowed(rates[domain], delay_of(domain))

        gate = open_gate(settings, rate_of, lambda _: 1, delay_of)
        return cls(settings=settings, fetcher=fetcher, gate=gate, rates=rates, _rules=rules, _origins=origins)

    async def fetch(self, site: str, place: PhotoPlace) -> PhotoAnswer:
        """One photo, whole and within its size."""
        self.rates[place.domain], self._origins[place.domain] = place.rate, place.url
        polite, request_for = self._polite(place.domain), self._request_for(place, get_scraper(site).config)
        robots = robots_gate(self.settings, self._polite(place.domain), request_for, self._rules)
        may_ask = robots.allowed if self.settings.robots_obeyed else None
        try:
            if may_ask is not None and not await may_ask(place.url):
                raise RobotsDisallowed(f"robots.txt of {place.netloc} forbids it")
            body = await polite.ask(request_for(place.url), _body, may_ask)
        except CrawlError as error:
            return PhotoAnswer(b"", polite.sent, error)
        return PhotoAnswer(body, polite.sent)

    def _polite(self, domain: str) -> PoliteFetcher:
        """A new one for each photo, as it keeps every answer."""
        return PoliteFetcher(
            fetcher=self.fetcher,
            gate=self.gate,
            domain=domain,
            longest_wait=self.settings.longest_polite_wait,
            most_redirects=self.settings.fetch_max_redirects,
        )

    def _request_for(self, place: PhotoPlace, config: SiteConfig) -> "partial[Request]":
        return partial(
            Request,
            hosts=frozenset({place.netloc}),
            connect_timeout_seconds=min(
                config.politeness.connect_timeout_seconds, self.settings.http_timeout
            ),
            timeout_seconds=min(config.politeness.read_timeout_seconds, self.settings.http_timeout),
            max_bytes=self.settings.photo_max_bytes,
            headers=_ACCEPTED,
        )

    async def close(self) -> None:
        """Close the gate; the caller closes the fetcher."""
        await self.gate.close()


async def _body(response: Response) -> bytes:
    """The picture's bytes; any other answer is raised as a `CrawlError`, from which the gate learns."""
    sentence = f"{response.url}: answered {response.status}"
    error: CrawlError | None = None
    if response.status == HTTPStatus.TOO_MANY_REQUESTS:
        error = HttpRateLimit(sentence)
    elif response.status in _KEPT_OUT:
        error = HttpBlocked(sentence)
    elif response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        error = HttpServer(sentence)
    elif response.status != HTTPStatus.OK:
        error = HttpClient(sentence)
    elif not response.headers.get("content-type", "").lower().startswith("image/"):
        error = ParseHostile(f"{response.url}: no picture by its own type")
    if error is None:
        return response.body
    raise with_its_pause(error, response)


log: Final = logging.getLogger(__name__)
SHORTLISTED: Final = frozenset({"shortlist", "viewing", "offer"})
"""Statuses of flats that the buyer is interested in."""
_LOCK: Final = "photos"
_BLANK: Final = "Blank"
_ANOTHER_TIME: Final = (NetworkError, HttpServer, HttpRateLimit, HttpBlocked, ServiceError)
"""Errors of the network or the server, worth another try; a broken photo stays broken."""
Progress = Callable[["PhotoSummary"], object]


class PhotoSummary(NamedTuple):
    """What a run did."""

    asked: int = 0
    """Photos that were requested."""
    requests: int = 0
    kept: int = 0
    """Those that gave a picture to compare."""
    failed: int = 0
    doubts: int = 0
    """Pairs of adverts that may be one flat, with photos to look at."""
    ended: str = "done"
    """Why no more were requested: `done`, `budget`, `time`, `stopped`."""
    moved: int = 0
    """Adverts whose property, or the reason for it, changed by these photos."""
    seconds: float = 0.0


class _Advert(NamedTuple):
    site: str
    url: str
    photo_urls: tuple[str, ...]


@dataclass(slots=True)
class _Plan:
    """The photos that are worth fetching, and those that are stored already."""

    left: int
    gallery: Gallery
    doubts: list[Doubt]
    shortlisted: list[int]
    adverts: dict[int, _Advert]
    photos: dict[int, dict[int, StoredPhoto]]
    stock: set[int]
    """Pictures that do not show one particular flat."""
    closed: set[str] = field(default_factory=set)
    """Domains that are left alone for the rest of the run."""

    def candidates(self, most: int) -> Iterator[tuple[int, int]]:
        """Adverts and gallery positions, the most important first; takes stored results into account."""
        for listing_id in self.shortlisted:
            yield from ((listing_id, position) for position in range(most))
        for position in range(most):
            for doubt in self.doubts:
                if self._is_open(doubt, position):
                    yield doubt.low, position
                    yield doubt.high, position

    def _is_open(self, doubt: Doubt, position: int) -> bool:
        low, high = self._pictures(doubt.low), self._pictures(doubt.high)
        shared = len(low & high)
        return shared < ENOUGH_SHARED and (shared > 0 or position < TRIED_IN_VAIN)

    def _pictures(self, listing_id: int) -> set[int]:
        photos = self.photos.get(listing_id, {}).values()
        return {photo.picture for photo in photos if photo.picture is not None} - self.stock

    def keep(self, result: PhotoResult, stored: SavedPicture | None) -> None:
        """Add the result of one request."""
        self.left -= result.requests
        photo = StoredPhoto(result.url, stored.picture if stored else None, is_settled=True)
        self.photos.setdefault(result.listing_id, {})[result.position] = photo
        if stored is not None and result.signature is not None:
            self.gallery.add(stored.picture, result.signature)
            self.stock |= {stored.picture} if stored.stock else set()


def _read_plan(connection: Connection, settings: Settings) -> _Plan:
    left = requests_left(connection, settings.photo_budget)
    doubts = find_doubts(connection, settings.photo_doubt_probability) if left else []
    flats = [flat_id for flat_id, status in statuses(connection).items() if status in SHORTLISTED]
    shortlisted = [source.listing_id for source in members_of(connection, flats)]
    ids = {*shortlisted, *(listing_id for doubt in doubts for listing_id in (doubt.low, doubt.high))}
    adverts = {
        row["id"]: _Advert(row["site"], row["url"], tuple(row["photo_urls"]))
        for row in listing_rows(connection, sorted(ids))
        if row["photo_urls"] and is_offered(row) and not row["under_construction"]
    }
    return _Plan(
        left=left,
        gallery=Gallery.read(connection) if left else Gallery(),
        doubts=[doubt for doubt in doubts if doubt.low in adverts and doubt.high in adverts],
        shortlisted=[listing_id for listing_id in shortlisted if listing_id in adverts],
        adverts=adverts,
        photos=stored_photos(connection, adverts),
        stock=stock_pictures(connection),
    )


@dataclass(slots=True)
class PhotoRun:
    """Fetches photos one by one; each is stored before the next is requested."""

    settings: Settings
    database: Database
    clock: Callable[[], float] = field(default_factory=lambda: time.time)
    stopped: Callable[[], bool] = lambda: False
    progress: Progress = lambda _: None
    summary: PhotoSummary = field(default_factory=PhotoSummary)

    def run(self) -> PhotoSummary:
        """Fetch the photos worth it, then match again. Raises `SiteBusy`: another process is doing it."""
        started = time.monotonic()
        with site_lock(self.database, self.settings.data_dir / "locks", _LOCK):
            plan = self.database.run_read(partial(_read_plan, settings=self.settings))
            self._tell(doubts=len(plan.doubts))
            if not plan.left:
                self._tell(ended="budget")
            elif plan.adverts:
                asyncio.run(self._ask_for_all(plan, started + self.settings.photo_seconds))
        if self.summary.kept:
            self._tell(
                moved=PropertyMatching(self.settings, self.database, clock=self.clock).match_new().moved
            )
        self._tell(seconds=time.monotonic() - started)
        log.info("photos of adverts in doubt", extra=self.summary._asdict())
        return self.summary

    async def _ask_for_all(self, plan: _Plan, until: float) -> None:
        async with AsyncExitStack() as stack:
            fetcher = make_fetcher(self.settings)
            stack.push_async_callback(fetcher.close)
            photos = PhotoFetcher.open(self.settings, fetcher)
            stack.push_async_callback(photos.close)
            decoder = Decoder(self.settings)
            stack.callback(decoder.close)
            for listing_id, position in plan.candidates(self.settings.photo_per_advert):
                place = self._place(plan, listing_id, position)
                if place is None:
                    continue
                if ended := self._must_end(plan, until):
                    self._tell(ended=ended)
                    return
                answer = await photos.fetch(plan.adverts[listing_id].site, place)
                await self._take(plan, listing_id, position, place, answer, decoder)

    def _must_end(self, plan: _Plan, until: float) -> str | None:
        if self.stopped():
            return "stopped"
        if plan.left <= 0:
            return "budget"
        return "time" if time.monotonic() >= until else None

    def _place(self, plan: _Plan, listing_id: int, position: int) -> PhotoPlace | None:
        """Where to fetch a photo; None: there is none, it is stored, or it cannot be fetched now."""
        advert = plan.adverts[listing_id]
        if position >= len(advert.photo_urls):
            return None
        url, photo = advert.photo_urls[position], plan.photos.get(listing_id, {}).get(position)
        if photo is not None and photo.url == url and photo.is_settled:
            return None
        place = place_of(self.settings, advert.site, advert.url, url)
        return None if place is None or place.domain in plan.closed else place

    async def _take(
        self,
        plan: _Plan,
        listing_id: int,
        position: int,
        place: PhotoPlace,
        answer: PhotoAnswer,
        decoder: Decoder,
    ) -> None:
        error, seen = answer.error, None
        if isinstance(error, LeftAlone):
            plan.closed.add(place.domain)
        if error is not None and not answer.requests:
            return  # nothing was sent, so there is nothing to store
        if error is None:
            try:
                seen = await decoder.look(answer.body)
            except (ParseError, ServiceError) as problem:
                error = problem
        picture = signature(seen.tiles) if seen else None
        number = plan.gallery.find(picture) if picture else None
        result = PhotoResult(
            listing_id,
            position,
            plan.adverts[listing_id].photo_urls[position],
            answer.requests,
            code=type(error).__name__ if error else None if picture else _BLANK,
            again=isinstance(error, _ANOTHER_TIME),
            signature=picture,
            thumbnail=seen.thumbnail if seen and picture else None,
        )
        self._keep(plan, result, number)

    def _keep(self, plan: _Plan, result: PhotoResult, number: int | None) -> None:
        stored = self.database.run_write(partial(save_photo, photo=result, number=number, now=self.clock()))
        plan.keep(result, stored)
        done = self.summary
        self._tell(
            asked=done.asked + 1,
            requests=done.requests + result.requests,
            kept=done.kept + (stored is not None),
            failed=done.failed + (stored is None),
        )

    def _tell(self, **changes: object) -> None:
        self.summary = self.summary._replace(**changes)  # type: ignore[arg-type]
        self.progress(self.summary)


_AFTERMATH: Final = Aftermath(
    "photos", IncidentKind.PHOTOS_FAILED, INCIDENT_SITE, "sale-sofia properties photos"
)


def fetch_photos(
    settings: Settings,
    database: Database,
    clock: Callable[[], float] = time.time,
    stopped: Callable[[], bool] = lambda: False,
    going_on: Callable[[], object] = lambda: None,
) -> bool:
    """Fetch photos for the doubts that a crawl left; never raises, `False` if it failed. Resumable.

    `going_on` is called after each photo.
    """

    def fetch() -> None:
        try:
            PhotoRun(settings, database, clock, stopped, lambda _: going_on()).run()
        except SiteBusy:
            return  # another crawl has ended at the same time and does it for both

    return attempt(database, _AFTERMATH, fetch, clock=clock)
