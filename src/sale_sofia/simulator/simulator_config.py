"""What a running simulator is told: the adverts, the ports, and what goes wrong."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sale_sofia.simulator.faults import parse_faults
from sale_sofia.simulator.layouts import LAYOUTS
from sale_sofia.simulator.origin import REAL
from sale_sofia.simulator.portal_options import PortalOptions

SITES = tuple(REAL)
FAMILY = ("imot.bg", "bazar.bg")
"""The portals that are served unless others are named."""
ADMIN = "/__simulator__/"
MOST_DIFFERENT = 10_000
_FEW = 500
_HIGHEST_PORT = 65_535


def check_layouts(names: Sequence[str]) -> Sequence[str]:
    """The names of layouts, no two of one site; anything else is a `ValueError` of one sentence."""
    for name in names:
        if name not in LAYOUTS:
            raise ValueError(f"no layout {name!r}; allowed: {', '.join(LAYOUTS)}")
    if len({LAYOUTS[name].site for name in names}) < len(names):
        raise ValueError("a site has one layout at a time")
    return names


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
    etag: bool = False
    """Whether pages carry an ETag, and one that is named in a request is not sent again."""
    cache_megabytes: int = 256
    log: Path | None = None
    truth: Path | None = None

    def __post_init__(self) -> None:
        parse_faults(self.faults)
        check_layouts(self.layouts)
        self._refuse(not set(self.sites) <= set(SITES), f"the sites are {', '.join(SITES)}")
        self._refuse(not self.sites or len(set(self.sites)) < len(self.sites), "name each site once")
        self._refuse(self.properties < 0 or self.day < 0, "properties and day are not negative")
        self._refuse(
            self.port > 0 and self.port + len(self.sites) - 1 > _HIGHEST_PORT, "the port is too high"
        )
        self._refuse(self.distinct is not None and self.distinct < 1, "distinct is at least 1")
        self._refuse(self.copies and self.day > 0, "a world of copies has no days after its first")
        self._refuse(self.retry_after_seconds < 0, "retry_after_seconds is not negative")
        self._refuse(not set(self.options) <= set(SITES), "the options are of sites")

    @property
    def originals(self) -> int:
        """How many different adverts each portal has."""
        few = self.properties if self.properties <= MOST_DIFFERENT else _FEW
        return min(self.properties, few if self.distinct is None else self.distinct)

    @property
    def copies(self) -> bool:
        """Whether some adverts are copies of others: such a world starts at once and is served fast."""
        return self.originals < self.properties

    @staticmethod
    def _refuse(wrong: bool, sentence: str) -> None:  # noqa: FBT001
        if wrong:
            raise ValueError(f"the simulator cannot start: {sentence}")

    def as_json(self) -> str:
        """The same config for another process."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> "SimulatorConfig":
        """The config that `as_json` wrote."""
        values = json.loads(text)
        for name in ("log", "truth"):
            values[name] = Path(values[name]) if values[name] else None
        lists = {name: tuple(values[name]) for name in ("sites", "layouts")}
        options = {site: PortalOptions(**found) for site, found in values["options"].items()}
        return cls(**values | lists | {"options": options})
