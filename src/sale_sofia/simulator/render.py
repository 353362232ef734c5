"""Renders a world to pages with their truth, and writes them to a folder."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree

from sale_sofia.simulator import bazar_bg, imot_bg
from sale_sofia.simulator.model import Advert, World
from sale_sofia.simulator.other_pages import RenderedPage, other_pages
from sale_sofia.simulator.truth import Truth, bazar_truth, imot_truth
from sale_sofia.simulator.world import make_world

__all__ = ["MARKER", "RenderedPage", "render_world", "write_world"]

MARKER = ".sale-sofia-simulator"


def render_world(world: World) -> Iterator[RenderedPage]:
    """Every listing, then the searches, then one page of each other kind; same world, same bytes."""
    for advert in world.imot:
        yield _listing(advert, imot_bg.listing_page(advert), imot_truth(advert))
    for offer in world.bazar:
        yield _listing(offer, bazar_bg.listing_page(offer), bazar_truth(offer))
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
