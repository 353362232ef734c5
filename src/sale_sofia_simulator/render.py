"""Renders a world to pages with their truth, and writes them to a folder."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import TypeVar

from sale_sofia_simulator.model import RUBRICS, Advert, BazarAdvert, ImotAdvert, World
from sale_sofia_simulator.portals.bazar_bg import pages
from sale_sofia_simulator.portals.imot_bg import pages as imot_bg
from sale_sofia_simulator.search_index import BAZAR_CITIES, TIERS
from sale_sofia_simulator.truth import Truth, bare_truth, bazar_truth, imot_truth, search_truth
from sale_sofia_simulator.world import make_world

# The pages of a world that are no listings: searches, a project, removed adverts, empty searches.

_A = TypeVar("_A", ImotAdvert, BazarAdvert)
_IMOT = "https://www.imot.bg/obiavi"
_BAZAR = "https://bazar.bg/obiavi"
_BAZAR_RUBRICS = {"sale": "prodazhba-apartamenti", "rent": "naemi-apartamenti"}
_TOO_MANY = 33_000


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """One page: its bytes under `path` (relative to the folder), its address, and what it truly says."""

    site: str
    path: str
    url: str
    body: bytes
    truth: Truth


def other_pages(world: World) -> Iterator[RenderedPage]:
    """Every search with all its pages, then one page of each other kind."""
    yield from _imot_searches(world.imot)
    yield from _bazar_searches(world.bazar)
    yield from _imot_others(world)
    yield from _bazar_others(world)


def _imot_searches(adverts: Sequence[ImotAdvert]) -> Iterator[RenderedPage]:
    ranked = sorted(adverts, key=lambda advert: TIERS.index(advert.tier))
    scopes: dict[str, list[ImotAdvert]] = {}
    for advert in ranked:
        place, rubric = advert.home.place, RUBRICS[advert.home.deal]
        scopes.setdefault(f"{_IMOT}/{rubric}/{place.city_slug}", []).append(advert)
    for number, (url, found) in enumerate(_largest_first(scopes)):
        for page in range(1, imot_bg.page_count(len(found)) + 1):
            yield _imot_search(url, found, page, f"search__{number}-{page}")
    yield _capped_search(ranked)


def _largest_first(scopes: dict[str, list[_A]]) -> list[tuple[str, list[_A]]]:
    return sorted(scopes.items(), key=lambda scope: -len(scope[1]))


def _imot_search(url: str, found: Sequence[ImotAdvert], page: int, name: str) -> RenderedPage:
    shown = found[(page - 1) * imot_bg.PAGE_SIZE : page * imot_bg.PAGE_SIZE]
    return _imot_results(url, shown, page, len(found), name)


def _imot_results(url: str, shown: Sequence[ImotAdvert], page: int, total: int, name: str) -> RenderedPage:
    address = imot_bg.page_url(url, page)
    truth = search_truth(
        "imot.bg",
        address,
        shown,
        total=min(total, imot_bg.MOST_RESULTS),
        capped=total > imot_bg.MOST_RESULTS,
        next_url=imot_bg.next_url(url, page, total),
    )
    body = imot_bg.search_page(shown, url=url, page=page, total=total)
    return RenderedPage("imot.bg", f"imot.bg/{name}.html", address, body, truth)


def _capped_search(ranked: Sequence[ImotAdvert]) -> RenderedPage:
    """The last page that a search of the whole country shows: a thousand of many more."""
    last, shown = imot_bg.page_count(_TOO_MANY), _sales(ranked)[-imot_bg.PAGE_SIZE :]
    return _imot_results(f"{_IMOT}/prodazhbi", shown, last, _TOO_MANY, "search__capped")


def _sales(adverts: Sequence[ImotAdvert]) -> list[ImotAdvert]:
    return [advert for advert in adverts if advert.home.deal == "sale"]


def _bazar_searches(adverts: Sequence[BazarAdvert]) -> Iterator[RenderedPage]:
    scopes: dict[str, list[BazarAdvert]] = {}
    for advert in sorted(adverts, key=lambda advert: TIERS.index(advert.tier)):
        city, rubric = BAZAR_CITIES[advert.home.place.city], _BAZAR_RUBRICS[advert.home.deal]
        scopes.setdefault(f"{_BAZAR}/{rubric}/{city}", []).append(advert)
    for number, (url, found) in enumerate(_largest_first(scopes)):
        for page in range(1, pages.page_count(len(found)) + 1):
            yield _bazar_search(url, found, page, f"search__{number}-{page}")


def _bazar_search(url: str, found: Sequence[BazarAdvert], page: int, name: str) -> RenderedPage:
    shown = found[(page - 1) * pages.PAGE_SIZE : page * pages.PAGE_SIZE]
    address, total = pages.page_url(url, page), len(found)
    following = pages.next_url(url, page, total)
    truth = search_truth("bazar.bg", address, shown, total=total, capped=False, next_url=following)
    body = pages.search_page(shown, url=url, page=page, total=total)
    return RenderedPage("bazar.bg", f"bazar.bg/{name}.html", address, body, truth)


def _imot_others(world: World) -> Iterator[RenderedPage]:
    project = imot_bg.make_project(Random(f"{world.seed}:project"))
    yield _other("imot.bg", "project", project.url, imot_bg.project_page(project))
    gone = "https://www.imot.bg/obiava-1b175000000012345-prodava-dvustaen-apartament-grad-sofiya-tsentar"
    shown = _sales(world.imot)[: imot_bg.PAGE_SIZE]
    body = imot_bg.removed_page(shown, category=f"{_IMOT}/prodazhbi", total=len(shown))
    yield _other("imot.bg", "removed", gone, body)
    url = f"{_IMOT}/prodazhbi/grad-sofiya/tsentar/hotel"
    yield _empty("imot.bg", url, imot_bg.empty_search_page(url))


def _bazar_others(world: World) -> Iterator[RenderedPage]:
    gone = "https://bazar.bg/obiava-49999999/prodawa-2-staen-gr-sofiia-tsentar"
    shown = world.bazar[: pages.PAGE_SIZE]
    body = pages.removed_page(shown, category=f"{_BAZAR}/apartamenti/sofia", total=len(shown))
    yield _other("bazar.bg", "removed", gone, body)
    url = f"{_BAZAR}/prodazhba-apartamenti/sofia?asize[]=5&price_to=1"
    yield _empty("bazar.bg", url, pages.empty_search_page(url))


def _other(site: str, kind: str, url: str, body: bytes) -> RenderedPage:
    return RenderedPage(site, f"{site}/{kind}.html", url, body, bare_truth(site, kind, url))


def _empty(site: str, url: str, body: bytes) -> RenderedPage:
    truth = search_truth(site, url, (), total=0, capped=False, next_url=None)
    return RenderedPage(site, f"{site}/search__empty.html", url, body, truth)


__all__ = ["MARKER", "RenderedPage", "render_world", "write_world"]

MARKER = ".sale-sofia-simulator"


def render_world(world: World) -> Iterator[RenderedPage]:
    """Every listing, then the searches, then one page of each other kind; same world, same bytes."""
    for advert in world.imot:
        yield _listing(advert, imot_bg.listing_page(advert), imot_truth(advert))
    for offer in world.bazar:
        yield _listing(offer, pages.listing_page(offer), bazar_truth(offer))
    yield from other_pages(world)


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
    return RenderedPage(
        advert.site, f"{advert.site}/detail__{advert.external_id}.html", advert.url, body, truth
    )
