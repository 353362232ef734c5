"""Renders a world to pages with their truth, and writes them to a folder."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import TypeVar

from sale_sofia_simulator.model import RUBRICS, Advert, BazarAdvert, ImotAdvert, TwinAdvert, World
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portal import Robots
from sale_sofia_simulator.portals import bazar_bg as bazar
from sale_sofia_simulator.portals import bazar_listing, imot_listing
from sale_sofia_simulator.portals import imot_bg as imot
from sale_sofia_simulator.portals.alo_bg import AloPortal
from sale_sofia_simulator.portals.homes_bg import HomesPortal
from sale_sofia_simulator.portals.imoti_com import ImotiComPortal
from sale_sofia_simulator.portals.imoti_net import ImotiNetPortal
from sale_sofia_simulator.portals.olx_bg import OlxPortal
from sale_sofia_simulator.portals.suprimmo_group import LuximmoPortal, SuprimmoPortal
from sale_sofia_simulator.search_index import BAZAR_CITIES, TIERS, Scope, Stock
from sale_sofia_simulator.truth import REAL, Truth, bazar_truth, card_truth, imot_truth, search_truth
from sale_sofia_simulator.twins import DEALS, TwinPortal, twin_adverts
from sale_sofia_simulator.world import make_world

MARKER = ".sale-sofia-simulator"
_IMOT = "https://www.imot.bg/obiavi"
_BAZAR = "https://bazar.bg/obiavi"
_BAZAR_RUBRICS = {"sale": "prodazhba-apartamenti", "rent": "naemi-apartamenti"}
_TOO_MANY = 33_000
_A = TypeVar("_A", ImotAdvert, BazarAdvert)


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
    for advert in world.imot:
        yield _listing(advert, imot_listing.listing_page(advert), imot_truth(advert))
    for offer in world.bazar:
        yield _listing(offer, bazar_listing.listing_page(offer), bazar_truth(offer))
    yield from _imot_searches(world.imot)
    yield from _bazar_searches(world.bazar)
    yield from _imot_others(world)
    yield from _bazar_others(world)


def write_world(
    folder: Path, properties: int, seed: int, progress: Callable[[int, int], None] | None = None
) -> int:
    """Writes the pages, `manifest.jsonl` and `truth.json`, and returns the number of pages.

    A folder made by an earlier run is replaced; any other folder that is not empty is refused and left alone.
    """
    _prepare(folder)
    world = make_world(properties, seed)
    listings = 2 * properties
    truths: dict[str, Truth] = {}
    with (folder / "manifest.jsonl").open("w", encoding="utf-8") as manifest:
        for page in render_world(world):
            (folder / page.path).write_bytes(page.body)
            manifest.write(json.dumps({"site": page.site, "file": page.path, "url": page.url}) + "\n")
            truths[page.path] = page.truth
            if progress:
                progress(min(len(truths), listings), listings)
    (folder / "truth.json").write_text(json.dumps(truths, ensure_ascii=False, indent=1), encoding="utf-8")
    return len(truths)


def _prepare(folder: Path) -> None:
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


def _listing(advert: Advert, body: bytes, truth: Truth) -> RenderedPage:
    path = f"{advert.site}/detail__{advert.external_id}.html"
    return RenderedPage(advert.site, path, advert.url, body, truth)


def _scopes(adverts: Sequence[_A], address: Callable[[_A], str]) -> list[tuple[str, list[_A]]]:
    """The adverts of each search by its address, the largest first."""
    scopes: dict[str, list[_A]] = {}
    for advert in sorted(adverts, key=lambda advert: TIERS.index(advert.tier)):
        scopes.setdefault(address(advert), []).append(advert)
    return sorted(scopes.items(), key=lambda scope: -len(scope[1]))


def _imot_searches(adverts: Sequence[ImotAdvert]) -> Iterator[RenderedPage]:
    def address(advert: ImotAdvert) -> str:
        return f"{_IMOT}/{RUBRICS[advert.home.deal]}/{advert.home.place.city_slug}"

    def results(url: str, shown: Sequence[ImotAdvert], page: int, total: int, name: str) -> RenderedPage:
        truth = search_truth(
            "imot.bg",
            imot.page_url(url, page),
            [card_truth(advert, advert.url) for advert in shown],
            total=min(total, imot.MOST_RESULTS),
            capped=total > imot.MOST_RESULTS,
            next_url=imot.next_url(url, page, total),
        )
        body = imot.search_page(shown, url=url, page=page, total=total)
        return RenderedPage("imot.bg", f"imot.bg/search__{name}.html", truth["url"], body, truth)

    for number, (url, found) in enumerate(_scopes(adverts, address)):
        for page in range(1, imot.page_count(len(found)) + 1):
            shown = found[(page - 1) * imot.PAGE_SIZE : page * imot.PAGE_SIZE]
            yield results(url, shown, page, len(found), f"{number}-{page}")
    # The last page that a search of the whole country shows: a thousand of many more.
    sales = dict(_scopes(adverts, lambda advert: advert.home.deal)).get("sale", [])
    last = imot.page_count(_TOO_MANY)
    yield results(f"{_IMOT}/prodazhbi", sales[-imot.PAGE_SIZE :], last, _TOO_MANY, "capped")


def _bazar_searches(adverts: Sequence[BazarAdvert]) -> Iterator[RenderedPage]:
    def address(advert: BazarAdvert) -> str:
        return f"{_BAZAR}/{_BAZAR_RUBRICS[advert.home.deal]}/{BAZAR_CITIES[advert.home.place.city]}"

    for number, (url, found) in enumerate(_scopes(adverts, address)):
        for page in range(1, bazar.page_count(len(found)) + 1):
            shown = found[(page - 1) * bazar.PAGE_SIZE : page * bazar.PAGE_SIZE]
            truth = search_truth(
                "bazar.bg",
                bazar.page_url(url, page),
                [card_truth(advert, advert.url) for advert in shown],
                total=len(found),
                next_url=bazar.next_url(url, page, len(found)),
            )
            body = bazar.search_page(shown, url=url, page=page, total=len(found))
            path = f"bazar.bg/search__{number}-{page}.html"
            yield RenderedPage("bazar.bg", path, truth["url"], body, truth)


def _imot_others(world: World) -> Iterator[RenderedPage]:
    project = imot.make_project(Random(f"{world.seed}:project"))
    yield _other("imot.bg", "project", project.url, imot.project_page(project))
    gone = "https://www.imot.bg/obiava-1b175000000012345-prodava-dvustaen-apartament-grad-sofiya-tsentar"
    shown = [advert for advert in world.imot if advert.home.deal == "sale"][: imot.PAGE_SIZE]
    body = imot.search_page(shown, url=f"{_IMOT}/prodazhbi", page=1, total=len(shown))
    yield _other("imot.bg", "removed", gone, body)
    url = f"{_IMOT}/prodazhbi/grad-sofiya/tsentar/hotel"
    yield _empty("imot.bg", url, imot.empty_search_page(url))


def _bazar_others(world: World) -> Iterator[RenderedPage]:
    gone = "https://bazar.bg/obiava-49999999/prodawa-2-staen-gr-sofiia-tsentar"
    shown = world.bazar[: bazar.PAGE_SIZE]
    body = bazar.search_page(shown, url=f"{_BAZAR}/apartamenti/sofia", page=1, total=len(shown))
    yield _other("bazar.bg", "removed", gone, body)
    url = f"{_BAZAR}/prodazhba-apartamenti/sofia?asize[]=5&price_to=1"
    yield _empty("bazar.bg", url, bazar.empty_search_page(url))


def _other(site: str, kind: str, url: str, body: bytes) -> RenderedPage:
    return RenderedPage(site, f"{site}/{kind}.html", url, body, {"site": site, "kind": kind, "url": url})


def _empty(site: str, url: str, body: bytes) -> RenderedPage:
    truth = search_truth(site, url, [], total=0, next_url=None)
    return RenderedPage(site, f"{site}/search__empty.html", url, body, truth)


# The portals beside imot.bg and bazar.bg, by name, and their pages with what they truly say.

_PORTALS = (
    AloPortal, HomesPortal, ImotiComPortal, ImotiNetPortal, LuximmoPortal, OlxPortal, SuprimmoPortal,
)  # fmt: skip
TWIN_PORTALS: dict[str, type[TwinPortal]] = {portal.site: portal for portal in _PORTALS}
Results = Callable[[Sequence[TwinAdvert], str, int, int], bytes]
_NO_CACHE = 1


def render_twin(world: World, site: str) -> Iterator[RenderedPage]:
    """Every advert, every page of results and a search that found nothing, at the portal's real addresses."""
    portal = TWIN_PORTALS[site](REAL[site], Robots(), PageCache(_NO_CACHE))
    portal.show(Stock(twin_adverts(world, site)), world.now)
    for advert in portal.stock.originals:
        path, truth = f"{site}/detail__{advert.external_id}.html", portal.truth(advert)
        yield RenderedPage(site, path, truth["url"], portal.render(advert), truth)
    for deal in DEALS:
        adverts = [portal.stock.advert(number) for number in portal.index.find(Scope(deal))]
        for page in range(1, portal.pages(len(adverts)) + 1) if adverts else ():
            yield _search(portal, deal, page, adverts, f"search__{deal}-{page}")
    yield _search(portal, DEALS[0], 1, [], "search__empty")
    if isinstance(portal, ImotiComPortal):
        adverts = [portal.stock.advert(number) for number in portal.index.find(Scope(DEALS[0]))]
        yield _search(portal, DEALS[0], 1, adverts, "search__old", portal.old_results)


def _search(
    portal: TwinPortal,
    deal: str,
    page: int,
    adverts: list[TwinAdvert],
    name: str,
    results: Results | None = None,
) -> RenderedPage:
    shown, total = adverts[(page - 1) * portal.page_size : page * portal.page_size], len(adverts)
    body = (results or portal.results)(shown, deal, page, total)
    base, site = REAL[portal.site], portal.site
    url = base + portal.search_path(deal, page)
    following = portal.next_url(deal, page, total, base) if adverts else None
    cards = [card_truth(advert, base + portal.path_of(advert)) for advert in shown]
    if isinstance(portal, ImotiComPortal):
        cards = [card | {"family_id": advert.imot_id} for card, advert in zip(cards, shown, strict=True)]
    truth = search_truth(site, url, cards, total=total, next_url=following)
    return RenderedPage(site, f"{site}/{name}.html", url, body, truth)
