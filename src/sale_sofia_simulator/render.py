"""Renders a world to pages with their truth, and writes them to a folder."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import rmtree
from types import ModuleType
from typing import Any, Final
from urllib.parse import parse_qs

from sale_sofia_simulator.model import Advert, BazarAdvert, ImotAdvert, TwinAdvert, World
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portal import Robots, Scope, Search, SearchIndex, Stock
from sale_sofia_simulator.portals import bazar_bg as bazar
from sale_sofia_simulator.portals import imot_bg as imot
from sale_sofia_simulator.portals.alo_bg import AloPortal
from sale_sofia_simulator.portals.homes_bg import HomesPortal
from sale_sofia_simulator.portals.imoti_com import ImotiComPortal
from sale_sofia_simulator.portals.imoti_net import ImotiNetPortal
from sale_sofia_simulator.portals.olx_bg import OlxPortal
from sale_sofia_simulator.portals.suprimmo_group import LuximmoPortal, SuprimmoPortal
from sale_sofia_simulator.truth import REAL, Truth, bazar_truth, card_truth, imot_truth, search_truth
from sale_sofia_simulator.twins import DEALS, TwinPortal, twin_adverts
from sale_sofia_simulator.world import make_world

MARKER = ".sale-sofia-simulator"
_IMOT = "https://www.imot.bg/obiavi"
_BAZAR = "https://bazar.bg/obiavi"
_TOO_MANY = 33_000
_FAMILY: Final[Mapping[str, ModuleType]] = {"imot.bg": imot, "bazar.bg": bazar}


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """One page: its bytes under `path` (relative to the folder), its address, and what it truly says."""

    site: str
    path: str
    url: str
    body: bytes
    truth: Truth


def render_world(world: World) -> Iterator[RenderedPage]:
    """Every listing, then the searches, then one page of each other kind; same world, same bytes."""
    adverts: tuple[ImotAdvert | BazarAdvert, ...] = (*world.imot, *world.bazar)
    for advert in adverts:
        truth = imot_truth(advert) if isinstance(advert, ImotAdvert) else bazar_truth(advert)
        path, portal = f"{advert.site}/detail__{advert.external_id}.html", _FAMILY[advert.site]
        yield RenderedPage(advert.site, path, advert.url, portal.listing_page(advert), truth)
    yield from _searches("imot.bg", world.imot)
    yield from _searches("bazar.bg", world.bazar)
    # A project, an advert that is gone and a search that finds nothing.
    project = imot.make_project(Random(f"{world.seed}:project"))
    yield _other("imot.bg", "project", project.url, imot.project_page(project))
    sales = [advert for advert in world.imot if advert.home.deal == "sale"][: imot.PAGE_SIZE]
    gone = "https://www.imot.bg/obiava-1b175000000012345-prodava-dvustaen-apartament-grad-sofiya-tsentar"
    body = imot.search_page(sales, url=f"{_IMOT}/prodazhbi", page=1, total=len(sales))
    yield _other("imot.bg", "removed", gone, body)
    yield _empty("imot.bg", f"{_IMOT}/prodazhbi/grad-sofiya/tsentar/hotel")
    shown = world.bazar[: bazar.PAGE_SIZE]
    gone = "https://bazar.bg/obiava-49999999/prodawa-2-staen-gr-sofiia-tsentar"
    body = bazar.search_page(shown, url=f"{_BAZAR}/apartamenti/sofia", page=1, total=len(shown))
    yield _other("bazar.bg", "removed", gone, body)
    yield _empty("bazar.bg", f"{_BAZAR}/prodazhba-apartamenti/sofia?asize[]=5&price_to=1")


def write_world(
    folder: Path, properties: int, seed: int, progress: Callable[[int, int], None] | None = None
) -> int:
    """Writes the pages, `manifest.jsonl` and `truth.json`, and returns the number of pages.

    A folder made by an earlier run is replaced; any other folder that is not empty is refused and left alone.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; the pages need a folder")
    if folder.exists() and any(folder.iterdir()) and not (folder / MARKER).is_file():
        raise ValueError(f"{folder} is not empty and was not made by the simulator; choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARKER).write_text(
        "Made by the simulator of sale-sofia; it may replace this folder.\n", encoding="utf-8"
    )
    for site in ("imot.bg", "bazar.bg"):
        rmtree(folder / site, ignore_errors=True)
        (folder / site).mkdir()
    listings = 2 * properties
    truths: dict[str, Truth] = {}
    with (folder / "manifest.jsonl").open("w", encoding="utf-8") as manifest:
        for page in render_world(make_world(properties, seed)):
            (folder / page.path).write_bytes(page.body)
            manifest.write(json.dumps({"site": page.site, "file": page.path, "url": page.url}) + "\n")
            truths[page.path] = page.truth
            if progress:
                progress(min(len(truths), listings), listings)
    (folder / "truth.json").write_text(json.dumps(truths, ensure_ascii=False, indent=1), encoding="utf-8")
    return len(truths)


def _searches(site: str, adverts: Sequence[Any]) -> Iterator[RenderedPage]:
    """Each page of both deals of each city, the largest search first."""
    portal, index = _FAMILY[site], SearchIndex(Stock(adverts))
    size = portal.PAGE_SIZE
    for number, scope in enumerate(sorted(index.cities(), key=lambda scope: -len(index.find(scope)))):
        found = [adverts[place] for place in index.find(scope)]
        for page in range(1, portal.page_count(len(found)) + 1):
            shown, url = found[(page - 1) * size : page * size], REAL[site] + portal.search_path(scope)
            yield _results(site, url, shown, page, len(found), f"{number}-{page}")
    if site == "imot.bg":
        # The last page that a search of the whole country shows: a thousand of many more.
        sales = [adverts[place] for place in index.find(Scope("sale"))]
        last = imot.page_count(_TOO_MANY)
        yield _results(site, f"{_IMOT}/prodazhbi", sales[-size:], last, _TOO_MANY, "capped")


def _results(site: str, url: str, shown: Sequence[Advert], page: int, total: int, name: str) -> RenderedPage:
    portal = _FAMILY[site]
    most = imot.MOST_RESULTS if site == "imot.bg" else total
    truth = search_truth(
        site,
        portal.page_url(url, page),
        [card_truth(advert, advert.url) for advert in shown],
        total=min(total, most),
        capped=total > most,
        next_url=portal.next_url(url, page, total),
    )
    body = portal.search_page(shown, url=url, page=page, total=total)
    return RenderedPage(site, f"{site}/search__{name}.html", truth["url"], body, truth)


def _other(site: str, kind: str, url: str, body: bytes) -> RenderedPage:
    return RenderedPage(site, f"{site}/{kind}.html", url, body, {"site": site, "kind": kind, "url": url})


def _empty(site: str, url: str) -> RenderedPage:
    body: bytes = _FAMILY[site].empty_search_page(url)
    truth = search_truth(site, url, [], total=0, next_url=None)
    return RenderedPage(site, f"{site}/search__empty.html", url, body, truth)


# The portals beside imot.bg and bazar.bg, by name, and their pages with what they truly say.

_PORTALS = (
    AloPortal, HomesPortal, ImotiComPortal, ImotiNetPortal, LuximmoPortal, OlxPortal, SuprimmoPortal,
)  # fmt: skip
TWIN_PORTALS: dict[str, type[TwinPortal]] = {portal.site: portal for portal in _PORTALS}
Results = Callable[[Search, Sequence[TwinAdvert], int], bytes]
_NO_CACHE = 1


def render_twin(world: World, site: str) -> Iterator[RenderedPage]:
    """Every advert, every page of results and a search that found nothing, at the portal's real addresses."""
    portal = TWIN_PORTALS[site](REAL[site], Robots(), PageCache(_NO_CACHE))
    portal.show(Stock(twin_adverts(world, site)), world.now)
    for advert in portal.stock.originals:
        path, truth = f"{site}/detail__{advert.external_id}.html", portal.truth(advert)
        yield RenderedPage(site, path, truth["url"], portal.render(advert), truth)
    for deal in DEALS:
        total = len(portal.index.find(Scope(deal)))
        for page in range(1, portal.pages(total) + 1) if total else ():
            yield _search(portal, deal, page, f"search__{deal}-{page}")
    if isinstance(portal, ImotiComPortal):
        yield _search(portal, DEALS[0], 1, "search__old", portal.old_results)
    portal.show(Stock(()), world.now)
    yield _search(portal, DEALS[0], 1, "search__empty")


def _search(
    portal: TwinPortal, deal: str, page: int, name: str, results: Results | None = None
) -> RenderedPage:
    path = portal.search_path(deal, page)
    search = portal.search(path.partition("?")[0], parse_qs(path.partition("?")[2]))
    if search is None:
        raise ValueError(f"{portal.site} has no search at {path}")
    shown, total = portal.on_page(search), portal.announced(search)
    body = (results or portal.results)(search, shown, total)
    base, site = REAL[portal.site], portal.site
    following = portal.next_url(deal, page, total, base) if shown else None
    cards = [card_truth(advert, base + portal.path_of(advert)) for advert in shown]
    if isinstance(portal, ImotiComPortal):
        cards = [card | {"family_id": advert.imot_id} for card, advert in zip(cards, shown, strict=True)]
    truth = search_truth(site, base + path, cards, total=total, next_url=following)
    return RenderedPage(site, f"{site}/{name}.html", base + path, body, truth)
