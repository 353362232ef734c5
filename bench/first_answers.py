"""How soon a buyer sees, and has opened, the flats that fit: ranked crawls beside the order of discovery.

Portals of their real size at their real rates, in virtual time: each request takes its turn, nothing else.
Kinds, prices, areas and neighbourhoods are drawn from the real adverts in ../shared/data. imoti.com has the
flats of imot.bg, bazar.bg nine of ten from there; homes.bg has its own. A flat is seen with the first card of
it that has an area (those of bazar.bg have none), and opened with the first page of it that is.

Ranks, turns of places, the sample of copies and the order of those that wait for a relative are the code's
own; that the frontier hands rows out so (by rank, every FAIR_TURNth claim by age, copies linked when their
turn comes) is shown by tests/contract/crawl/test_ranking.py and test_linking.py. Copies agree with what
they are copies of, as in a first crawl. All pages of results come first in every order.

Rows: `discovery` is the order in which portals show adverts, `newest` the newest first, each portal for
itself; `ranked` is what a crawl does; `scoped` is one that begins only the searches of the wished
neighbourhoods (all kinds of them), and opens only what may fit: `crawl --for PROFILE`, as it is meant to be.

The goals: of the narrow profile 95 % opened within 90 minutes; of the usual one 95 % seen within 60 minutes
and opened in a quarter of the time of discovery; no more requests than discovery takes. A profile meets them
in `ranked` or in `scoped`.
"""

import heapq
import math
import random
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq  # type: ignore[import-untyped]

import measure
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.crawl.frontier.frontier import REST
from sale_sofia.crawl.frontier.linking import is_sample
from sale_sofia.crawl.frontier.ranking import Wish, place_of, rank_of, waiting_rank, wish_of_search
from sale_sofia.crawl.settings import FAIR_TURN
from sale_sofia.listings.places import SOFIA, find_neighbourhood, neighbourhoods
from sale_sofia.websites.site_file import load_site_config

REAL = Path(__file__).parents[2] / "shared" / "data" / "sofia_adverts_dev.parquet"
SITES = ("imot.bg", "imoti.com", "bazar.bg", "homes.bg")
IMPORTED = {"imoti.com": 1.0, "bazar.bg": 0.91}
"""The share of a portal's adverts that are copies of imot.bg's (of 250 pages of bazar.bg 228)."""
NARROW = (
    "Люлин", "Младост 1", "Младост 4", "Овча купел", "Надежда 1", "Дружба 2", "Студентски град",
    "Манастирски ливади",
)  # fmt: skip
USUAL_PLACES = 40
WIDE_EUR = 200_000
KINDS = {"едностаен": 1, "двустаен": 2, "тристаен": 3, "четиристаен": 4, "многостаен": 5}
SEED = 26
QUICK_SHARE = 0.1
GOAL = 0.25
"""The share of the time of discovery in which flats must be opened."""
NARROW_MINUTES, SEEN_MINUTES = 90, 60
ORDERS = ("discovery", "newest", "ranked", "scoped")

Advert = dict[str, Any]


class Portal(NamedTuple):
    """Adverts in the order in which the portal shows them, and what it costs to ask."""

    adverts: Sequence[Advert]
    per_page: int
    seconds: float
    at_once: int
    shows_area: bool
    copies: bool


def main() -> None:
    """Print the minutes of each profile and order."""
    given = measure.options(__doc__)
    real = _real_adverts()
    share = QUICK_SHARE if given.quick else 1.0
    portals = _portals(real, share)
    found: dict[str, Any] = {}
    for name, query in _profiles(real).items():
        wish = wish_of_search(query)
        found[name] = {}
        for order in ORDERS:
            found[name][order] = told = _minutes(portals, wish, order)
            print(
                f"{name:8}{order:10}" + "".join(f"{key} {value:>8}  " for key, value in told.items()),
                flush=True,
            )
    goals = _goals(found, share)
    measure.finish(
        {"bench": "first_answers", **found, "goals": goals}, met=all(goals.values()), check=given.check
    )


def _goals(found: Mapping[str, Any], share: float) -> dict[str, bool]:
    """What of the goals is met; on smaller portals the minutes are as much fewer."""
    narrow, usual = found["narrow"], found["usual"]
    soon = {order: narrow[order]["opened_95"] <= NARROW_MINUTES * share for order in ("ranked", "scoped")}
    quarter = {
        order: usual[order]["opened_95"] <= GOAL * usual["discovery"]["opened_95"]
        for order in ("ranked", "scoped")
    }
    return {
        "narrow_opened": any(soon.values()),
        "usual_seen": min(usual[one]["seen_95"] for one in soon) <= SEEN_MINUTES * share,
        "usual_opened": any(quarter.values()),
        "requests": all(
            told[order]["requests"] <= told["discovery"]["requests"]
            for told in found.values()
            for order in ("ranked", "scoped")
        ),
    }


def _real_adverts() -> list[Advert]:
    rows = pq.read_table(REAL).to_pylist()
    return [
        {
            "deal": "sale", "city": SOFIA, "district": None, "property_type": "apartment",
            "rooms": KINDS[row["property_type"]], "price_eur": row["price"], "area_sqm": row["area"],
            "neighbourhood": place.name,
        }
        for row in rows
        if row["property_type"] in KINDS and row["price"] and row["neighbourhood"]
        if (place := find_neighbourhood(row["neighbourhood"])) is not None
    ]  # fmt: skip


def _profiles(real: Sequence[Advert]) -> Mapping[str, SearchQuery]:
    """Those of the issue; a name without a number is all neighbourhoods of that name."""
    named = [place.name for place in neighbourhoods() if any(_is_part(place.name, one) for one in NARROW)]
    most = [place for place, _ in Counter(one["neighbourhood"] for one in real).most_common(USUAL_PLACES)]
    return {
        "narrow": SearchQuery(rooms=(2, 3), neighbourhood=tuple(named)),
        "usual": SearchQuery(rooms=(2, 3, 4), neighbourhood=tuple(most)),
        "wide": SearchQuery(price_max=WIDE_EUR),
    }


def _is_part(name: str, whole: str) -> bool:
    return name == whole or (name.startswith(f"{whole} ") and not whole[-1].isdigit())


def _portals(real: Sequence[Advert], share: float) -> list[Portal]:
    """The portals; adverts of one flat have its number, and one age."""
    family: list[Advert] = []
    flats = 0
    portals = []
    for site in SITES:
        config, drawn = load_site_config(site), random.Random(f"{SEED} {site}")
        size = int(config.inventory.adverts * share)
        own = size - int(size * IMPORTED.get(site, 0.0))
        new = []
        for number in range(flats, flats + own):
            age = drawn.uniform(0, 200) * 86_400
            posted = datetime.fromtimestamp(NOW - age, UTC).isoformat()
            new.append({**drawn.choice(real), "flat": number, "age": age, "posted_at": posted})
        flats += own
        family = family or new
        shown = [*new, *drawn.sample(family, size - own)]
        drawn.shuffle(shown)
        adverts = [
            {
                **one, "id": number, "site": site, "external_id": f"{site}{number}", "opened_at": None,
                "generation": 1, "first_seen_at": NOW, "family_id": None,
            }
            for number, one in enumerate(shown)
        ]  # fmt: skip
        shows_area = any("area_sqm" in table.fields for table in config.searches.values())
        polite, per_page = config.politeness, config.inventory.per_page
        portals.append(
            Portal(adverts, per_page, polite.delay_seconds, polite.concurrency, shows_area, config.copies)
        )
    return portals


NOW = datetime(2026, 11, 17, tzinfo=UTC).timestamp()


@dataclass
class World:
    """What all portals' crawls have brought so far: when each flat was seen, and when opened."""

    wish: Wish
    order: str
    seen: dict[int, float] = field(default_factory=dict)
    opened: dict[int, float] = field(default_factory=dict)
    family: int = 0
    """Flats below this number have a family id."""
    requests: int = 0

    @property
    def links(self) -> bool:
        """Whether adverts are linked to relatives that were opened."""
        return self.order in ("ranked", "scoped")


@dataclass
class Crawl:
    """One portal's crawl: pages of results, then adverts as a process claims them."""

    portal: Portal
    world: World
    waiting: list[tuple[float, int]] = field(default_factory=list)
    copies: set[int] = field(default_factory=set)
    """Rows that are looked at again when their turn comes."""
    taken: set[int] = field(default_factory=set)
    rows: list[int] = field(default_factory=list)
    """By age."""
    turns: Counter[str] = field(default_factory=Counter)

    def requests(self) -> Generator[float, float, None]:
        """The seconds of each request; what it brings is in the world when the next is asked for."""
        for page in self._pages():
            now = yield self.portal.seconds
            for number in page:
                self._card(number, now)
        for number in self._claimed():
            now = yield self.portal.seconds
            self.world.opened.setdefault(self.portal.adverts[number]["flat"], now)
            if not self.portal.shows_area:
                self.world.seen.setdefault(self.portal.adverts[number]["flat"], now)

    def _pages(self) -> Iterator[Sequence[int]]:
        """Adverts page by page; of scoped crawls only those of searches in wished neighbourhoods."""
        searches: dict[str, list[int]] = defaultdict(list)
        wished = self.world.wish.allowed.get("neighbourhood") if self.world.order == "scoped" else None
        for number, one in enumerate(self.portal.adverts):
            if wished is None or one["neighbourhood"] in wished:
                searches[one["neighbourhood"] if wished else ""].append(number)
        size = self.portal.per_page
        for numbers in searches.values():
            yield from (numbers[first : first + size] for first in range(0, len(numbers), size))

    def _card(self, number: int, now: float) -> None:
        """A card came in: its flat is seen, and its advert waits, or is a copy already."""
        advert, world = self.portal.adverts[number], self.world
        flat = advert["flat"]
        if self.portal.shows_area:
            world.seen.setdefault(flat, now)
        if world.order == "scoped" and not world.wish.may_be(advert):
            return
        rank = self._rank(advert)
        if world.links and self.portal.copies and flat < self.world.family and not is_sample(advert):
            if flat in world.opened:
                return
            self.copies.add(number)
            rank = waiting_rank(int(rank))
        heapq.heappush(self.waiting, (rank, number))
        self.rows.append(number)

    def _rank(self, advert: Advert) -> float:
        if self.world.order == "discovery":
            return 0
        if self.world.order == "newest":
            return float(advert["age"])
        rank = rank_of(advert, [self.world.wish], frozenset(), now=NOW)
        if rank == REST:
            self.turns[place_of(advert)] += 1
            rank += self.turns[place_of(advert)]
        return rank

    def _claimed(self) -> Iterator[int]:
        """Some at once, by rank, and by age when it is the turn for that, without copies of opened flats."""
        oldest = turn = 0
        while True:
            by_age = self.world.links and turn % FAIR_TURN == 0
            turn += 1
            claims: list[int] = []
            while len(claims) < self.portal.at_once:
                while by_age and oldest < len(self.rows) and self.rows[oldest] in self.taken:
                    oldest += 1
                while self.waiting and self.waiting[0][1] in self.taken:
                    heapq.heappop(self.waiting)
                if not self.waiting:
                    break
                number = self.rows[oldest] if by_age else self.waiting[0][1]
                self.taken.add(number)
                if number not in self.copies or self.portal.adverts[number]["flat"] not in self.world.opened:
                    claims.append(number)
            if not claims:
                return
            yield from claims


def _minutes(portals: Sequence[Portal], wish: Wish, order: str) -> dict[str, Any]:
    """Until so many per cent of the flats that fit are seen and opened, all portals asked side by side."""
    world = World(wish, order, family=len(portals[0].adverts))
    asking: list[tuple[float, int, Generator[float, float, None]]] = []
    for number, portal in enumerate(portals):
        requests = Crawl(portal, world).requests()
        heapq.heappush(asking, (next(requests), number, requests))
    while asking:
        now, number, requests = heapq.heappop(asking)
        world.requests += 1
        try:
            heapq.heappush(asking, (now + requests.send(now), number, requests))
        except StopIteration:
            continue
    fitting = {one["flat"] for portal in portals for one in portal.adverts if wish.may_be(one)}
    seen = [world.seen.get(flat, math.inf) for flat in fitting]
    opened = [world.opened.get(flat, math.inf) for flat in fitting]
    return {
        "fitting": len(fitting),
        "seen_50": _share(seen, 0.5),
        "seen_95": _share(seen, 0.95),
        "opened_95": _share(opened, 0.95),
        "requests": world.requests,
    }


def _share(seconds: Sequence[float], share: float) -> float:
    return round(sorted(seconds)[math.ceil(len(seconds) * share) - 1] / 60, 1)


if __name__ == "__main__":
    main()
