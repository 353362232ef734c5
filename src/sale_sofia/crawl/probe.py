"""First contact with a portal: a few polite requests, and a verdict on how well it is read."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

from sale_sofia.crawl.fetch.base import Fetcher, Response
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.resilience import errors as tree
from sale_sofia.crawl.resilience.errors import CrawlError, HttpBlocked
from sale_sofia.crawl.resilience.limiter import slowed
from sale_sofia.crawl.settings import (
    ADVERTS,
    ENOUGH_SHARE,
    FIELDS,
    FREE_TEXTS,
    NAME_ONLY,
    PERSONAL,
    REQUESTS,
    START_CHARACTERS,
    TURN_SECONDS,
)
from sale_sofia.crawl.visit.apart import JudgeApart, page_bounds
from sale_sofia.crawl.visit.assembly import make_fetcher, request_maker, robots_gate
from sale_sofia.crawl.visit.judging import Judge, page_of
from sale_sofia.crawl.visit.outcomes import Found, Gone, NotModified, Read
from sale_sofia.crawl.visit.politely import NoMoreRequests, PoliteFetcher, polite_gate
from sale_sofia.listings.model import FACTS, Listing
from sale_sofia.listings.numbers import says_no_price
from sale_sofia.listings.page import Page, ProjectPage
from sale_sofia.settings.model import Settings
from sale_sofia.websites.base import SearchPage
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.reading import Answer, check_page, search_answer
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import SiteConfigError, all_starts, path_and_query
from sale_sofia.websites.sitemaps import SECTION as SITEMAP

_SECONDS_PER_MINUTE = 60
Step = Callable[[str, str, int], None]
"""Called before each step: the portal, what is requested next, and the number of requests so far."""
Outcome = Found | Read | NotModified | Gone

# The first matching class counts, so subclasses come first.
_KINDS: Final[Mapping[type[CrawlError], str]] = {
    tree.HttpBlocked: "blocked",
    tree.HttpRateLimit: "rate limited",
    tree.HttpServer: "server error",
    tree.HttpError: "refused",
    tree.ParseSelector: "layout changed",
    tree.ParseOtherPage: "other page",
    tree.ParseError: "unreadable",
    tree.AddressRefused: "not allowed",
    tree.LeftAlone: "not asked",
    NoMoreRequests: "not asked",
    tree.NetworkTimeout: "timeout",
    tree.NetworkError: "no answer",
}
_SHUT: Final = frozenset({"blocked", "rate limited"})
"""Answers after which no more adverts are requested."""
_NOTHING_FOUND: Final = "the portal says that nothing was found"
_AWAY: Final = frozenset({"removed", "project"})
"""Pages that are not an advert of a flat, through no fault of the parser."""


class Reading(StrEnum):
    """How well a portal is read."""

    WELL = "reads well"
    IN_PART = "reads in part"
    NOT_AT_ALL = "does not read"


@dataclass(frozen=True, slots=True)
class ProbedAdvert:
    """What was read of one advert."""

    listing: Listing
    price_on_request: bool = False
    """The page itself says that the price is on request."""
    not_understood: Mapping[str, str] = field(default_factory=dict)
    """Texts that were found but could not be parsed, by field of the site file."""

    @property
    def facts(self) -> dict[str, Any]:
        """The facts it has, by name."""
        values = {name: getattr(self.listing, name) for name in FACTS}
        return {name: value for name, value in values.items() if value not in (None, ())}

    def has(self, key: str) -> bool:
        """Whether it has one of the fields that matter."""
        return any(name in self.facts for name in FIELDS[key]) or (key == "price" and self.price_on_request)


@dataclass(frozen=True, slots=True)
class Look:
    """One page of the portal that was read, or why it was not."""

    what: str
    """For people: results, next page, advert."""
    url: str
    kind: str
    """search, listing, removed or project; for an unreadable page, the kind of failure."""
    problem: str | None = None
    """Why it could not be read, in words."""
    block: str | None = None
    """The kind of block, if there is one."""
    answer: Response | None = None
    search: SearchPage | None = None
    advert: ProbedAdvert | None = None

    @property
    def status(self) -> int | None:
        """The HTTP status, where there was an answer."""
        return self.answer.status if self.answer else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What was seen of a portal, and what it means."""

    site: str
    requests: int = 0
    start_url: str | None = None
    """Where it began; None where nothing could be requested."""
    forbidden: tuple[str, ...] = ()
    """Start addresses that robots.txt forbids."""
    robots: Response | None = None
    crawl_delay: float | None = None
    seconds_per_request: float
    refusal: str | None = None
    """Why no page could be requested."""
    results: Look | None = None
    next_page: Look | None = None
    adverts: tuple[Look, ...] = ()

    @property
    def looks(self) -> tuple[Look, ...]:
        """All pages but robots.txt, in the order of a reader."""
        return tuple(look for look in (self.results, self.next_page, *self.adverts) if look)

    @property
    def opened(self) -> tuple[Look, ...]:
        """The adverts that count: not those that are gone."""
        return tuple(look for look in self.adverts if look.kind not in _AWAY)

    @property
    def read(self) -> tuple[ProbedAdvert, ...]:
        """The adverts that could be read."""
        return tuple(look.advert for look in self.opened if look.advert and not look.problem)

    @property
    def verdict(self) -> Reading:
        """How well the portal is read."""
        if self._why_not_at_all():
            return Reading.NOT_AT_ALL
        return Reading.IN_PART if self.reasons else Reading.WELL

    @property
    def reasons(self) -> list[str]:
        """What keeps it from reading well; empty where it does."""
        nothing = self._why_not_at_all()
        return [nothing] if nothing else list(self._why_in_part())

    @property
    def sentence(self) -> str:
        """The verdict with its reasons."""
        return f"{self.verdict} ({'; '.join(self.reasons)})" if self.reasons else self.verdict

    @property
    def new_on_next_page(self) -> int | None:
        """Adverts of the next page that the first does not have; None where one of them could not be read."""
        if not (self.results and self.results.search and self.next_page and self.next_page.search):
            return None
        first = {card.external_id for card in self.results.search.cards}
        return len({card.external_id for card in self.next_page.search.cards} - first)

    def count(self, key: str) -> int:
        """How many of the adverts have one of the fields that matter."""
        return sum(advert.has(key) for advert in self.read)

    def _why_not_at_all(self) -> str | None:
        if self.refusal:
            return self.refusal
        if self.results and self.results.problem:
            return f"results: {self.results.problem}"
        if self.read:
            return None
        problems = dict.fromkeys(look.problem or look.kind for look in self.adverts)
        return f"no advert could be read: {', '.join(problems) or 'the results lead to none'}"

    def _why_in_part(self) -> Iterator[str]:
        if self.results and self.results.search:
            yield from self._why_not_all_pages(self.results.search)
        if failed := [look for look in self.opened if look.problem]:
            problems = ", ".join(dict.fromkeys(str(look.problem) for look in failed))
            yield f"{len(failed)} of {len(self.opened)} adverts not read: {problems}"
        counts = {name: self.count(name) for name in FIELDS}
        few = [name for name, count in counts.items() if count < ENOUGH_SHARE * len(self.opened)]
        if few:
            yield ", ".join(f"{name} {counts[name]} of {len(self.opened)}" for name in few)

    def _why_not_all_pages(self, first: SearchPage) -> Iterator[str]:
        if self.next_page and self.next_page.problem:
            yield f"next page: {self.next_page.problem}"
        elif self.new_on_next_page == 0:
            yield "the next page repeats the first"
        elif self.next_page is None and first.total is None:
            yield "no next page and no announced total: nothing says whether there is more"
        elif self.next_page is None and (first.total or 0) > len(first.cards) and first.section != SITEMAP:
            yield f"no next page, though {first.total} adverts are announced and {len(first.cards)} shown"


def probe_sites(
    settings: Settings, sites: Sequence[str], start_urls: tuple[str, ...], step: Step
) -> list[Probe]:
    """Probe all portals concurrently, each at its own rate; `start_urls` replace its own starts."""

    async def probe_all() -> list[Probe]:
        fetcher = make_fetcher(settings)
        try:
            return await asyncio.gather(
                *(_probe(settings, site, start_urls, fetcher, step) for site in sites)
            )
        finally:
            await fetcher.close()

    return asyncio.run(probe_all())


async def _probe(
    settings: Settings, name: str, start_urls: tuple[str, ...], fetcher: Fetcher, step: Step
) -> Probe:
    site = get_scraper(name)
    rate = rate_per_minute(settings, site.config)
    refused = partial(Probe, site=name, seconds_per_request=_SECONDS_PER_MINUTE / rate)
    try:
        ways = (start_urls,) if start_urls else all_starts(name)
    except SiteConfigError as error:
        return refused(refusal=f"not asked: {error}")
    if site.config.proxies.use:
        return refused(refusal="not asked: it is asked through proxies alone, and a probe asks directly")
    polite = PoliteFetcher(
        fetcher=fetcher,
        gate=polite_gate(settings, site.config, rate),
        domain=name,
        longest_wait=TURN_SECONDS,
        most_redirects=REQUESTS,
        most=REQUESTS,
    )
    guest = _Guest(settings, site, ways, polite, step)
    try:
        return await guest.visit(rate)
    finally:
        guest.judge.close()
        await polite.gate.close()


class _Guest:
    """Looks at one portal like a first-time visitor."""

    def __init__(
        self,
        settings: Settings,
        site: TableSite,
        ways: Sequence[tuple[str, ...]],
        polite: PoliteFetcher,
        step: Step,
    ) -> None:
        self._settings = settings
        self._site = site
        self._ways = ways
        self._polite = polite
        self._step = step
        self._starts = tuple(url for way in ways for url in way)
        self._request_for = request_maker(settings, site.config, self._starts)
        self._robots = robots_gate(settings, polite, self._request_for, {})
        # In a process of its own, which can be ended; what passes there is safe to parse here again.
        self.judge = JudgeApart(Judge(site, site.config.proof), page_bounds(settings))

    async def visit(self, rate: float) -> Probe:
        """The whole probe, in at most `REQUESTS` requests."""
        self._tell("robots.txt")
        start, forbidden = await self._begin()
        delay = None if start is None else await self._robots.crawl_delay(start)
        robots = self._polite.answers[-1] if self._polite.answers else None
        seen: dict[str, Any] = {"robots": robots, "crawl_delay": delay}
        if delay is not None and delay > TURN_SECONDS:
            seen["refusal"] = (
                f"not asked: its Crawl-delay is {delay:g} s, a probe waits {TURN_SECONDS:g} s at most"
            )
        elif start is not None:
            rate = await self._slow_down(rate, delay)
            seen |= await self._look_around(start)
        elif self._polite.trouble:
            seen["refusal"] = f"robots.txt could not be had: {self._polite.trouble[0]}"
        else:
            seen["refusal"] = f"robots.txt forbids {', '.join(map(path_and_query, forbidden))}"
        self._tell("done")
        return Probe(
            site=self._site.name,
            start_url=start,
            forbidden=forbidden,
            seconds_per_request=_SECONDS_PER_MINUTE / rate,
            requests=self._polite.sent,
            **seen,
        )

    def _tell(self, label: str) -> None:
        self._step(self._site.name, label, self._polite.sent)

    async def _begin(self) -> tuple[str | None, tuple[str, ...]]:
        """The first address that may be requested, and the forbidden ones before it."""
        forbidden: list[str] = []
        with suppress(tree.LeftAlone):  # recorded in `trouble`
            for url in self._starts:
                if await self._robots.allowed(url):
                    return url, tuple(forbidden)
                if await self._robots.can_be_had(url):
                    forbidden.append(url)
        return None, tuple(forbidden)

    async def _slow_down(self, rate: float, crawl_delay: float | None) -> float:
        """Apply the Crawl-delay, known only now that robots.txt was read; returns the rate from here on."""
        slow = slowed(rate, crawl_delay)
        if crawl_delay:
            await self._polite.gate.close()
            await asyncio.sleep(_SECONDS_PER_MINUTE / slow)
            self._polite.gate = polite_gate(self._settings, self._site.config, slow, crawl_delay)
        return slow

    async def _look_around(self, start: str) -> dict[str, Any]:
        """Read the results, adverts, then the next page: a portal without one may still have adverts."""
        if self._site.kind_of(start) == "listing":
            way = next(way for way in self._ways if start in way)
            return {"adverts": await self._open([url for url in way if self._site.kind_of(url) == "listing"])}
        results = await self._results(start)
        if results.search is None or not results.search.cards:
            return {"results": results}
        cards, further = results.search.cards, results.search.next_url
        # First, middle and last before all others: the first ones are often promoted.
        spread = {
            card.external_id: card.url for card in (cards[0], cards[len(cards) // 2], cards[-1], *cards)
        }
        adverts = await self._open(list(spread.values()), reserved=1 if further else 0)
        next_page = await self._look("next page", "search", further) if further else None
        return {"results": results, "adverts": adverts, "next_page": next_page}

    async def _results(self, start: str) -> Look:
        """The first page of results; from an index of sitemaps, the first sitemap that has adverts."""
        results = await self._look("results", "search", start)
        waiting = list(results.search.further) if results.search else []
        while waiting and results.search and not results.search.cards and self._polite.sent < REQUESTS:
            results = await self._look("results", "search", waiting.pop(0))
            waiting[:0] = results.search.further if results.search else ()
        return results

    async def _open(self, urls: Sequence[str], reserved: int = 0) -> tuple[Look, ...]:
        """Open adverts until there are enough, we are blocked, or only `reserved` requests are left."""
        looks: list[Look] = []
        for number, url in enumerate(urls, start=1):
            counted = sum(look.kind not in _AWAY for look in looks)
            is_shut = any(look.kind in _SHUT for look in looks)
            if is_shut or counted == ADVERTS or self._polite.sent + reserved >= REQUESTS:
                break
            looks.append(await self._look(f"advert {number}", "listing", url))
        return tuple(looks)

    async def _look(self, label: str, kind: str, url: str) -> Look:
        self._tell(label)
        claim, before = Claim(0, kind, url, 1, 0), len(self._polite.answers)

        async def judged(response: Response) -> tuple[Outcome, Response]:
            return await self.judge.outcome(claim, response, datetime.now(UTC)), response

        try:
            if not await self._robots.allowed(url):
                return Look(label, url, "not allowed", "not asked: robots.txt does not allow it")
            outcome, answer = await self._polite.ask(self._request_for(url), judged, self._robots.allowed)
        except CrawlError as error:
            last = self._polite.answers[-1] if len(self._polite.answers) > before else None
            word = next((word for kind, word in _KINDS.items() if isinstance(error, kind)), "no answer")
            block = error.block_kind if isinstance(error, HttpBlocked) else None
            return Look(label, url, word, f"{error} ({block})" if block else str(error), block, last)
        return self._good(label, outcome, answer)

    def _good(self, label: str, outcome: Outcome, answer: Response) -> Look:
        page = page_of(outcome.claim, answer)
        match outcome:
            case Found():
                search = self._site.search(page)
                empty = "the sitemap lists none that count" if search.section == SITEMAP else _NOTHING_FOUND
                problem = None if search.cards else f"no adverts: {empty}"
                return Look(label, search.url, "search", problem, answer=answer, search=search)
            case Read():
                advert = _advert(outcome.listing, self._site, page)
                problem = None if advert.facts.keys() - NAME_ONLY else "it holds nothing but its id and title"
                return Look(label, page.url, "listing", problem, answer=answer, advert=advert)
            case _:
                is_project = isinstance(outcome, Gone) and outcome.code == ProjectPage().code
                wrong = None if outcome.claim.kind == "listing" else f"it is not there (HTTP {answer.status})"
                return Look(label, page.url, "project" if is_project else "removed", wrong, answer=answer)


def _advert(listing: Listing, site: TableSite, page: Page) -> ProbedAdvert:
    on_request = any(
        extracted.parser == "price" and says_no_price("\n".join(extracted.texts))
        for extracted in site.listing(page).fields.values()
    )
    checked = check_page(site, page)
    texts = {row["field"]: str(row["text"]) for row in checked["fields"]}
    unread = {name: texts[name] for name in checked["unread"] if not says_no_price(texts[name])}
    return ProbedAdvert(listing, on_request, unread)


# A probe as JSON, and as files: the raw pages and a fixture of the values read. The values hold no phone and
# no seller's name: they may be attached to a bug report.

_PHONE: Final = re.compile(r"(?<!\w)\+?\d(?:[\s./()-]{0,2}\d){7,13}(?!\d)")


class NotEmpty(ValueError):
    """A folder that holds something already."""


def without_phones(text: str) -> str:
    """The text with each phone number replaced."""
    return _PHONE.sub("[number]", text)


def make_folder(folder: Path) -> None:
    """Create the folder before anything is requested. Raises `NotEmpty`: it holds something already."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise NotEmpty(f"{folder} is not an empty folder; name another to keep the pages in")


def keep(folder: Path, probes: Sequence[Probe]) -> None:
    """Write the pages, `manifest.jsonl` for `sale-sofia parse --manifest`, `truth.json` and `probe.json`."""
    lines: list[str] = []
    truth: dict[str, Answer] = {}
    for probe in probes:
        (folder / probe.site).mkdir()
        if probe.robots:
            (folder / probe.site / "robots.txt").write_bytes(probe.robots.body)
        for look in probe.looks:
            if not look.answer:
                continue
            ending = "json" if Page(look.url, look.answer.body).is_json else "html"
            name = f"{probe.site}/{look.what.replace(' ', '-')}.{ending}"
            (folder / name).write_bytes(look.answer.body)
            line = {"site": probe.site, "file": name, **_seen(look)}
            lines.append(json.dumps(line, ensure_ascii=False) + "\n")
            if values := values_of(probe.site, look):
                truth[name] = values
    (folder / "manifest.jsonl").write_text("".join(lines), "utf-8")
    (folder / "truth.json").write_text(json.dumps(truth, ensure_ascii=False, indent=1) + "\n", "utf-8")
    whole = {"probes": [as_json(probe) for probe in probes]}
    (folder / "probe.json").write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", "utf-8")


def as_json(probe: Probe) -> Answer:
    """The whole probe, as JSON."""
    return {
        "site": probe.site,
        "verdict": probe.verdict,
        "reasons": probe.reasons,
        "requests": probe.requests,
        "seconds_per_request": probe.seconds_per_request,
        "robots": {
            "status": probe.robots.status if probe.robots else None,
            "allowed": probe.start_url is not None,
            "crawl_delay": probe.crawl_delay,
            "forbidden": list(probe.forbidden),
        },
        "start_url": probe.start_url,
        "new_on_next_page": probe.new_on_next_page,
        "fields": {name: {"adverts": probe.count(name), "of": len(probe.opened)} for name in FIELDS},
        "pages": [
            {"what": look.what, **_seen(look), "values": values_of(probe.site, look)} for look in probe.looks
        ],
    }


def _seen(look: Look) -> Answer:
    return {
        "url": look.url,
        "status": look.status,
        "content_type": look.answer.headers.get("content-type") if look.answer else None,
        "kind": look.kind,
        "problem": look.problem,
        "block": look.block,
    }


def values_of(site: str, look: Look) -> Answer | None:
    """The values read from a page, in the form of the real pages' truth; None where there are none.

    A value that may hold a phone number is left out, so that those that remain are unchanged.
    """
    if look.search:
        answer = search_answer(look.search)
        return {**answer, "cards": [_impersonal(card) for card in answer["cards"]]}
    if not look.advert:
        return None if look.problem else {"site": site, "kind": look.kind, "url": look.url}
    values = look.advert.listing.model_dump(mode="json")
    values["photo_count"] = len(values.pop("photo_urls"))
    if description := values.pop("description"):
        description = _PHONE.split(description, maxsplit=1)[0][:START_CHARACTERS].rstrip()
    return _impersonal({**values, "description_start": description})


def _impersonal(values: Mapping[str, Any]) -> Answer:
    return {
        name: value
        for name, value in values.items()
        if name not in PERSONAL and not (name in FREE_TEXTS and _PHONE.search(str(value)))
    }
