"""What reading costs on the other portals, beside the parser each of them cannot do without.

A portal of plain HTML is measured against the bare selectolax parse of the same pages, one that keeps its
data as JSON against `json.loads` of the same JSON. Adverts are read and normalised whole, results up to the
cards.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

import measure
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page, decode_json
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.render import TWIN_PORTALS, RenderedPage, render_twin
from sale_sofia_simulator.world import make_world

SEED = 20261115
STATES = {
    "homes.bg": re.compile(r"window\.__PRELOADED_STATE__\s*=\s*"),
    "imoti.com": re.compile(r'id="ng-state"[^>]*>'),
    "olx.bg": re.compile(r"window\.__PRERENDERED_STATE__\s*=\s*"),
}


class Cost(NamedTuple):
    """CPU seconds over the same pages: all we do, and the parser alone."""

    pages: int
    ours: float
    parser: float

    @property
    def ratio(self) -> float:
        """How many times the parser's own cost."""
        return self.ours / self.parser


def measured(properties: int, rounds: int) -> dict[str, Cost]:
    """The cost of each portal's adverts and results."""
    world = make_world(properties, SEED)
    works: dict[str, Callable[[], object]] = {}
    sizes: dict[str, int] = {}
    for site in TWIN_PORTALS:
        pages = [
            page for page in render_twin(world, site) if "empty" not in page.path and "old" not in page.path
        ]
        for kind in ("listing", "search"):
            chosen = [page for page in pages if page.truth["kind"] == kind]
            name = f"{site} {kind}"
            sizes[name] = len(chosen)
            works[name] = reading(site, kind, chosen)
            works[f"{name} parser"] = parsing(site, chosen)
    best = measure.best_cpu_seconds(works, dict.fromkeys(works, rounds))
    return {name: Cost(size, best[name], best[f"{name} parser"]) for name, size in sizes.items()}


def reading(site: str, kind: str, pages: list[RenderedPage]) -> Callable[[], None]:
    """All we do with these pages."""
    scraper, asked = get_scraper(site), [Page(page.url, page.body) for page in pages]

    def work() -> None:
        for page in asked:
            if kind == "listing":
                normalise(scraper.listing(page)).model_dump()
            else:
                scraper.search(page)

    return work


def parsing(site: str, pages: list[RenderedPage]) -> Callable[[], None]:
    """The parser alone."""
    texts = [decode_json(page.body) for page in pages]
    data = [piece for text in texts for piece in json_of(site, text)] if site in STATES else []

    def work() -> None:
        for piece in data:
            json.loads(piece)
        for text in () if data else texts:
            LexborHTMLParser(text)

    return work


def json_of(site: str, text: str) -> list[bytes]:
    """The page's JSON; where it stands inside a string, that string and what it holds."""
    if text.startswith("{"):
        return [text.encode()]
    begin = STATES[site].search(text)
    if begin is None:
        raise SystemExit(f"{site}: a page without its state")
    value, end = json.JSONDecoder().raw_decode(text, begin.end())
    outer = text[begin.end() : end].encode()
    return [outer, value.encode()] if isinstance(value, str) else [outer]


def together(costs: Mapping[str, Cost], *, of_json: bool) -> float:
    """The ratio of all portals of one kind, each page of each counted once."""
    chosen = [cost for name, cost in costs.items() if (name.split()[0] in STATES) == of_json]
    return sum(cost.ours for cost in chosen) / sum(cost.parser for cost in chosen)


def show(costs: Mapping[str, Cost]) -> None:
    """A row for each portal and kind of page."""
    print(f"{'pages':24}{'ours ms':>10}{'parser ms':>12}{'ratio':>10}")
    for name, cost in costs.items():
        each = 1000 / cost.pages
        print(f"{name:24}{cost.ours * each:10.3f}{cost.parser * each:12.3f}{cost.ratio:9.2f}×")
