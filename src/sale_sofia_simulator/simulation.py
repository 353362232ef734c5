"""The world behind the portals of one process, and the passing of its days."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from sale_sofia_simulator.faults import LAYOUTS, Served, parse_faults
from sale_sofia_simulator.homes import settle_in_city
from sale_sofia_simulator.pieces import PageCache
from sale_sofia_simulator.portal import AS_REAL, OK, Answer, Portal, PortalOptions, Robots, Stock
from sale_sofia_simulator.portals.bazar_bg import BazarPortal
from sale_sofia_simulator.portals.imot_bg import ImotPortal
from sale_sofia_simulator.render import TWIN_PORTALS
from sale_sofia_simulator.truth import REAL
from sale_sofia_simulator.twins import twin_adverts
from sale_sofia_simulator.world import advance, as_made, moved, on_bazar, with_rivals, world_on_day

# What a running simulator is told: the adverts, the ports, and what goes wrong.

SITES = tuple(REAL)
FAMILY = ("imot.bg", "bazar.bg")
"""The portals that are served unless others are named."""
ADMIN = "/__simulator__/"
MOST_DIFFERENT = 10_000
_FEW = 500
_HIGHEST_PORT = 65_535


def check_layouts(names: Sequence[str], sites: Sequence[str]) -> Sequence[str]:
    """The names of layouts of these sites, no two of one; anything else is a `ValueError` of one sentence."""
    for name in names:
        if name not in LAYOUTS:
            raise ValueError(f"no layout {name!r}; allowed: {', '.join(LAYOUTS)}")
    if len({LAYOUTS[name].site for name in names}) < len(names):
        raise ValueError("a site has one layout at a time")
    for name in names:
        if LAYOUTS[name].site not in sites:
            raise ValueError(f"no layout {name!r} of {'; '.join(map(_layouts_of, sites))}")
    return names


def _layouts_of(site: str) -> str:
    own = [name for name, layout in LAYOUTS.items() if layout.site == site]
    return f"{site}, which has {', '.join(own) or 'no layouts'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorConfig:
    """Refuses values that make no sense with a `ValueError` of one sentence."""

    sites: tuple[str, ...] = FAMILY
    properties: int = 100
    """How many adverts each portal has on its first day."""
    seed: int = 1
    day: int = 0
    distinct: int | None = None
    """How many of the adverts are different, the rest are copies: by default all, but 500 of many."""
    host: str = "127.0.0.1"
    port: int = 8701
    """The port of the first site, the others follow; 0 takes any free ports."""
    faults: str = ""
    slow_seconds: float = 5.0
    retry_after_seconds: int = 1
    """How long a 429 asks to be left alone."""
    retry_after_as_date: bool = False
    """Whether it says so as a date, which knows only whole seconds."""
    crawl_delay: float | None = None
    robots_status: int = 200
    options: dict[str, PortalOptions] = field(default_factory=dict)
    """How the searches of a site behave; of one that is not named, as the real one's do."""
    layouts: tuple[str, ...] = ()
    """Changed layouts by their names, at most one for each site: pages as portals may serve them one day."""
    rivals: bool = False
    """Whether some flats are on bazar.bg at another price, or from another seller, than on imot.bg."""
    lifelike: bool = False
    """Whether it is a city to look at: known neighbourhoods, prices that follow them, texts that agree; with
    rivals, and a bazar.bg that has two in five of the adverts."""
    days_later: int = 0
    """By how much all moments come later than those of a simulated world, whose clock began in April 2026."""
    etag: bool = False
    """Whether pages carry an ETag, and one that is named in a request is not sent again."""
    log: Path | None = None
    truth: Path | None = None

    def __post_init__(self) -> None:
        parse_faults(self.faults)
        highest = self.port + len(self.sites) - 1 if self.port > 0 else 0
        wrong = {
            f"the sites are {', '.join(SITES)}": not set(self.sites) <= set(SITES),
            "name each site once": not self.sites or len(set(self.sites)) < len(self.sites),
            "properties and day are not negative": self.properties < 0 or self.day < 0,
            "the port is too high": highest > _HIGHEST_PORT,
            "distinct is at least 1": self.distinct is not None and self.distinct < 1,
            "a world of copies has no days after its first": self.copies and self.day > 0,
            "retry_after_seconds is not negative": self.retry_after_seconds < 0,
            "the options are of sites": not set(self.options) <= set(SITES),
        }
        for sentence, is_wrong in wrong.items():
            if is_wrong:
                raise ValueError(f"the simulator cannot start: {sentence}")
        check_layouts(self.layouts, self.sites)

    @property
    def originals(self) -> int:
        """How many different adverts each portal has."""
        few = self.properties if self.properties <= MOST_DIFFERENT else _FEW
        return min(self.properties, few if self.distinct is None else self.distinct)

    @property
    def copies(self) -> bool:
        """Whether some adverts are copies of others: such a world starts at once and is served fast."""
        return self.originals < self.properties

    def as_json(self) -> str:
        """The same config for another process."""
        return TypeAdapter(SimulatorConfig).dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> "SimulatorConfig":
        """The config that `as_json` wrote."""
        return TypeAdapter(cls).validate_json(text)


PORTALS: dict[str, type[Portal[Any]]] = {"imot.bg": ImotPortal, "bazar.bg": BazarPortal, **TWIN_PORTALS}
_PAGE_TYPES = ("text/html", "application/json")
_CACHE_BYTES = 256 * 1024 * 1024


class Simulation:
    """All portals always show the same day."""

    def __init__(self, config: SimulatorConfig, addresses: Mapping[str, str]) -> None:
        self._config = config
        self._settle = settle_in_city if config.lifelike else as_made
        self._world = world_on_day(config.originals, config.seed, config.day, self._settle)
        robots = Robots(config.robots_status, config.crawl_delay)
        room = _CACHE_BYTES // len(config.sites)
        self.portals = {
            site: PORTALS[site](url, robots, PageCache(room), config.options.get(site, AS_REAL))
            for site, url in addresses.items()
        }
        self.wear(config.layouts)
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
        served = Served(answer.body.decode(portal.charset), path, portal.listing_id(path) is not None)
        return answer._replace(body=layout.change(served).encode(portal.charset))

    def wear(self, names: Sequence[str]) -> None:
        """From now on portals have these layouts, and the usual one where none is named."""
        self._layouts = {
            LAYOUTS[name].site: LAYOUTS[name] for name in check_layouts(names, self._config.sites)
        }

    def advance(self) -> None:
        """Moves every portal to the next day; the truth file follows."""
        if self._config.copies:
            raise ValueError("a world of copies has no days after its first")
        self._world = advance(self._world, self.day + 1, self._config.seed, self._settle)
        self._show()

    def _show(self) -> None:
        total = self._config.properties if self._config.copies else None
        for site, portal in self.portals.items():
            later = timedelta(days=self._config.days_later)
            adverts = (
                [moved(advert, later) for advert in self._adverts(site)] if later else self._adverts(site)
            )
            portal.show(Stock(adverts, total), self._world.now + later)
            if self._config.copies:
                portal.warm()
        if self._config.truth:
            # A line of JSON for each listing; readers see the old day's file or the new one, never a half.
            path = self._config.truth
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.new")
            truths = chain.from_iterable(portal.truths() for portal in self.portals.values())
            with draft.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(truth, ensure_ascii=False) + "\n" for truth in truths)
            draft.replace(path)

    def _adverts(self, site: str) -> Sequence[Any]:
        if site in TWIN_PORTALS:
            return twin_adverts(self._world, site)
        if site == "imot.bg":
            return self._world.imot
        if self._config.lifelike:
            return on_bazar(with_rivals(self._world), self._config.seed)
        return with_rivals(self._world) if self._config.rivals else self._world.bazar
