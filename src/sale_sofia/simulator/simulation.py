"""The world behind the portals of one process, and the passing of its days."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from sale_sofia.simulator.answers import OK, Answer, Robots
from sale_sofia.simulator.bazar_portal import BazarPortal
from sale_sofia.simulator.days import advance, world_on_day
from sale_sofia.simulator.imot_portal import ImotPortal
from sale_sofia.simulator.layouts import LAYOUTS, changed
from sale_sofia.simulator.model import World
from sale_sofia.simulator.page_cache import PageCache
from sale_sofia.simulator.portal import Portal
from sale_sofia.simulator.portal_options import AS_REAL
from sale_sofia.simulator.rivals import with_rivals
from sale_sofia.simulator.simulator_config import SimulatorConfig, check_layouts
from sale_sofia.simulator.stock import Stock
from sale_sofia.simulator.twin_portals import TWIN_PORTALS
from sale_sofia.simulator.twins import twin_adverts

AnyPortal = Portal[Any]
PORTALS: dict[str, type[AnyPortal]] = {"imot.bg": ImotPortal, "bazar.bg": BazarPortal, **TWIN_PORTALS}
_PAGE_TYPES = ("text/html", "application/json")
_MEGABYTE = 1024 * 1024


class Simulation:
    """All portals always show the same day."""

    def __init__(self, config: SimulatorConfig, addresses: Mapping[str, str]) -> None:
        self._config = config
        self._world = world_on_day(config.originals, config.seed, config.day)
        self.portals = {site: _portal(config, site, url) for site, url in addresses.items()}
        self._layouts = {LAYOUTS[name].site: LAYOUTS[name] for name in config.layouts}
        self._show()

    @property
    def day(self) -> int:
        """How many days have passed."""
        return self._world.day

    def answer(self, site: str, path: str, query: str) -> Answer:
        """What the portal answers to a GET, in the layout it has now."""
        portal, layout = self.portals[site], self._layouts.get(site)
        answer = portal.answer(path, query)
        if layout is None or answer.status != OK or not answer.content_type.startswith(_PAGE_TYPES):
            return answer
        is_listing = portal.listing_id(path) is not None
        return answer._replace(body=changed(layout, answer.body, portal.charset, path, is_listing=is_listing))

    def wear(self, names: Sequence[str]) -> None:
        """From now on portals have these layouts, and the usual one where none is named."""
        self._layouts = {LAYOUTS[name].site: LAYOUTS[name] for name in check_layouts(names)}

    def advance(self) -> None:
        """Moves every portal to the next day; the truth file follows."""
        if self._config.copies:
            raise ValueError("a world of copies has no days after its first")
        self._world = advance(self._world, self.day + 1, self._config.seed)
        self._show()

    def _show(self) -> None:
        for portal in self.portals.values():
            portal.show(_stock(self._config, self._world, portal.site), self._world.now)
            if self._config.copies:
                portal.warm()
        if self._config.truth:
            _write_truths(self._config.truth, self.portals)


def _portal(config: SimulatorConfig, site: str, base_url: str) -> AnyPortal:
    robots = Robots(config.robots_status, config.crawl_delay)
    cache = PageCache(config.cache_megabytes * _MEGABYTE // len(config.sites))
    return PORTALS[site](base_url, robots, cache, config.options.get(site, AS_REAL))


def _stock(config: SimulatorConfig, world: World, site: str) -> Stock[Any]:
    total = config.properties if config.copies else None
    if site in TWIN_PORTALS:
        return Stock(twin_adverts(world, site), total)
    if site == "imot.bg":
        return Stock(world.imot, total)
    return Stock(with_rivals(world) if config.rivals else world.bazar, total)


def _write_truths(path: Path, portals: Mapping[str, AnyPortal]) -> None:
    """One JSON object a line for each listing; readers see the old day's file or the new one, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        file.writelines(_truth_lines(portals))
    draft.replace(path)


def _truth_lines(portals: Mapping[str, AnyPortal]) -> Iterator[str]:
    truths = chain.from_iterable(portal.truths() for portal in portals.values())
    return (json.dumps(truth, ensure_ascii=False) + "\n" for truth in truths)
