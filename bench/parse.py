"""How fast a page becomes a listing, beside lxml, parsel and BeautifulSoup.

All read the same fields from the same rendered pages, and the values are compared before anything is timed.
The peers do only that; sale-sofia also does all it always does: refuse bad pages, read every other field,
check that the page agrees with itself, normalise. The goal is a whole listing for at most twice the CPU time
of the bare selectolax parse of the same pages. Then the other portals (`parse_portals.py`): plain HTML beside
the bare parse, JSON beside `json.loads` of the same bytes; the JSON portals together are within twice that.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from selectolax.lexbor import LexborHTMLParser

import crawler
import measure
import parse_portals
import peers
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.render import RenderedPage, render_world
from sale_sofia_simulator.world import make_world

GOAL = 2.0
QUICK_GOAL = 2.3  # fewer rounds: more of the machine's noise is left in the least time
SEED = 20261115
CHARSETS = {"imot.bg": "cp1251", "bazar.bg": "utf-8"}
SLOW_PEERS = frozenset({"BeautifulSoup"})


def main() -> None:
    """Measure, print a table, and end with one JSON object."""
    options = measure.options(__doc__)
    pages = rendered_pages(20 if options.quick else 150)
    readers = {"sale-sofia": read_ours, **peers.READERS}
    compare(pages, readers)
    works = {name: over(pages, reader) for name, reader in readers.items()}
    works["bare selectolax parse"] = over(pages, parse_only)
    many, few = (15, 3) if options.quick else (25, 3)
    best = measure.best_cpu_seconds(works, {name: few if name in SLOW_PEERS else many for name in works})
    costs = parse_portals.measured(20 if options.quick else 60, 7 if options.quick else 15)
    report(pages, best, costs, goal=QUICK_GOAL if options.quick else GOAL, check=options.check)


def rendered_pages(properties: int) -> list[RenderedPage]:
    """Adverts of both portals, the same number of each."""
    rendered = render_world(make_world(properties, SEED))
    return [page for page in rendered if page.truth["kind"] == "listing"]


def over(pages: Sequence[RenderedPage], reader: Callable[[RenderedPage], object]) -> Callable[[], None]:
    """A work that reads every page once."""

    def work() -> None:
        for page in pages:
            reader(page)

    return work


def parse_only(page: RenderedPage) -> LexborHTMLParser:
    """What the parser itself costs; no reader that uses it can be faster."""
    return LexborHTMLParser(page.body.decode(CHARSETS[page.site]))


def read_ours(page: RenderedPage) -> dict[str, Any]:
    """The whole listing."""
    return normalise(get_scraper(page.site).listing(Page(page.url, page.body))).model_dump()


def compare(pages: Sequence[RenderedPage], readers: Mapping[str, peers.Reader]) -> None:
    """Every reader must give the true value of every compared field of every page."""
    for page in pages:
        for name, reader in readers.items():
            read = reader(page)
            wrong = {
                field: read[field] for field in crawler.FIELDS if not same(read[field], page.truth[field])
            }
            if wrong:
                raise SystemExit(f"{name} reads {wrong} from {page.url}")


def same(read: object, truth: object) -> bool:
    """Equal, a list being the tuple of the same things."""
    return (list(read) if isinstance(read, tuple) else read) == truth


def report(
    pages: Sequence[RenderedPage],
    best: dict[str, float],
    costs: Mapping[str, parse_portals.Cost],
    *,
    goal: float,
    check: bool,
) -> None:
    """A row per reader, then per portal; the ratio is CPU time over the bare parser's."""
    bare = best["bare selectolax parse"]
    print(f"{len(pages)} pages of {len({page.site for page in pages})} portals")
    print(f"{'reader':24}{'pages/s':>10}{'CPU ms/page':>14}{'of bare parse':>16}")
    for name, seconds in sorted(best.items(), key=lambda item: item[1]):
        row = f"{len(pages) / seconds:10.0f}{seconds / len(pages) * 1000:14.2f}{seconds / bare:15.2f}×"
        print(f"{name:24}{row}")
    ratios = {name: round(seconds / bare, 3) for name, seconds in best.items()}
    cpu_ms = {name: round(seconds / len(pages) * 1000, 3) for name, seconds in best.items()}
    per_second = {name: round(len(pages) / seconds) for name, seconds in best.items()}
    parse_portals.show(costs)
    portals = {
        "html": round(parse_portals.together(costs, of_json=False), 3),
        "json": round(parse_portals.together(costs, of_json=True), 3),
    }
    result = {
        "bench": "parse",
        "pages": len(pages),
        "pages_per_second": per_second,
        "cpu_ms_per_page": cpu_ms,
        "of_bare_parse": ratios,
        "other_portals_of_parser": portals,
        "by_portal": {name: round(cost.ratio, 2) for name, cost in costs.items()},
        "goal": goal,
    }
    measure.finish(result, met=max(ratios["sale-sofia"], portals["json"]) <= goal, check=check)


if __name__ == "__main__":
    main()
