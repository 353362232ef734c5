"""How soon a buyer sees, and has opened, the flats that fit: ranked crawls beside the order of discovery.

Portals of their real size at their real rates, in virtual time: each request takes its turn, nothing else.
Kinds, prices, areas and neighbourhoods are drawn from the real adverts in ../shared/data. Ranks are the real
ones; that the frontier hands rows out so (by rank, every FAIR_TURNth claim by age) is shown by
tests/contract/scraping/test_ranking.py. All pages of results come first in every order. "Seen" is with price
and area, which on a portal whose cards have no area (bazar.bg) is when the advert is opened.

The goal: narrow and wide profiles have 95 % of their flats opened in a quarter of the time of discovery, for
no more requests. The usual one is most of these adverts: no order can hurry it.
"""

import heapq
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq  # type: ignore[import-untyped]

import measure
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.crawl.frontier.ranking import Wish, rank_of, wish_of_search
from sale_sofia.crawl.settings import FAIR_TURN
from sale_sofia.listings.places import SOFIA, find_neighbourhood, neighbourhoods
from sale_sofia.websites.site_file import load_site_config

REAL = Path(__file__).parents[2] / "shared" / "data" / "sofia_adverts_dev.parquet"
SITES = ("imot.bg", "imoti.com", "bazar.bg", "homes.bg")
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

Advert = dict[str, Any]


class Portal(NamedTuple):
    """Adverts in the order in which the portal shows them, and what it costs to ask."""

    adverts: Sequence[Advert]
    per_page: int
    seconds: float
    at_once: int
    shows_area: bool


def main() -> None:
    """Print the minutes of each profile and order."""
    given = measure.options(__doc__)
    real = _real_adverts()
    portals = [_portal(site, real, QUICK_SHARE if given.quick else 1.0) for site in SITES]
    found: dict[str, Any] = {}
    for name, query in _profiles(real).items():
        wish = wish_of_search(query)
        found[name] = {}
        for order in ("discovery", "newest", "ranked"):
            found[name][order] = told = _minutes(portals, wish, order)
            print(
                f"{name:8}{order:10}" + "".join(f"{key} {value:>8}  " for key, value in told.items()),
                flush=True,
            )
    requests = {told["requests"] for orders in found.values() for told in orders.values()}
    hurried = [found[name] for name in ("narrow", "wide")]
    sooner = all(one["ranked"]["opened_95"] <= GOAL * one["discovery"]["opened_95"] for one in hurried)
    met = sooner and len(requests) == 1
    measure.finish({"bench": "first_answers", **found}, met=met, check=given.check)


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


def _portal(site: str, real: Sequence[Advert], share: float) -> Portal:
    config, drawn = load_site_config(site), random.Random(f"{SEED} {site}")
    adverts = []
    for number in range(int(config.inventory.adverts * share)):
        began = drawn.uniform(0, 200) * 86_400
        own = {"id": number, "external_id": f"{site}{number}", "opened_at": None, "generation": 1}
        posted = datetime.fromtimestamp(NOW - began, UTC).isoformat()
        dated = {"first_seen_at": NOW, "posted_at": posted, "family_id": None}
        adverts.append({**drawn.choice(real), **own, **dated, "age": began})
    shows_area = any("area_sqm" in table.fields for table in config.searches.values())
    politeness = config.politeness
    return Portal(
        adverts, config.inventory.per_page, politeness.delay_seconds, politeness.concurrency, shows_area
    )


NOW = datetime(2026, 11, 17, tzinfo=UTC).timestamp()


def _minutes(portals: Sequence[Portal], wish: Wish, order: str) -> dict[str, Any]:
    """Until so many per cent of what fits are seen and opened, all portals asked side by side."""
    seen: list[float] = []
    opened: list[float] = []
    requests = 0
    for portal in portals:
        pages = math.ceil(len(portal.adverts) / portal.per_page)
        requests += pages + len(portal.adverts)
        for place, number in enumerate(_opened(portal, wish, order)):
            if wish.may_be(portal.adverts[number]):
                opened.append((pages + place + 1) * portal.seconds)
                shown = (number // portal.per_page + 1) * portal.seconds
                seen.append(shown if portal.shows_area else opened[-1])
    return {
        "fitting": len(opened),
        "seen_50": _share(seen, 0.5),
        "seen_95": _share(seen, 0.95),
        "opened_95": _share(opened, 0.95),
        "requests": requests,
    }


def _share(seconds: Sequence[float], share: float) -> float:
    return round(sorted(seconds)[math.ceil(len(seconds) * share) - 1] / 60, 1)


def _opened(portal: Portal, wish: Wish, order: str) -> Iterator[int]:
    """The adverts by their places on the portal, in the order in which they are opened."""
    adverts = portal.adverts
    if order == "discovery":
        yield from range(len(adverts))
    elif order == "newest":
        yield from sorted(range(len(adverts)), key=lambda number: adverts[number]["age"])
    else:
        yield from _ranked(portal, [rank_of(one, [wish], frozenset(), now=NOW) for one in adverts])


def _ranked(portal: Portal, ranks: Sequence[int]) -> Iterator[int]:
    """As a process claims them: some at once, by rank, and by age when it is the turn for that."""
    waiting = [(rank, number) for number, rank in enumerate(ranks)]
    heapq.heapify(waiting)
    taken, oldest, turn = set[int](), 0, 0
    while len(taken) < len(ranks):
        for _ in range(portal.at_once):
            if turn % FAIR_TURN == 0:
                while oldest in taken:
                    oldest += 1
                number = oldest
            else:
                while waiting and waiting[0][1] in taken:
                    heapq.heappop(waiting)
                number = waiting[0][1] if waiting else len(ranks)
            if number < len(ranks):
                taken.add(number)
                yield number
        turn += 1


if __name__ == "__main__":
    main()
