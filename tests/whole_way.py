"""The whole way once: three simulated portals over some days, crawled by real workers, told of, and shown."""

import json
import subprocess
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alert_servers import AlertServers, Came, alert_servers
from app_runs import store
from browser_pages import Window, chromium, window
from crawls import Row, run, site_folder, stored, truth
from dashboards import running_dashboard
from forked_simulators import start_forked
from parallel_crawls import QUICK, services_forked, until
from sale_sofia.crawl.runners.local import match_crawled
from sale_sofia.settings.model import Settings
from sale_sofia_simulator.model import ImotAdvert
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig
from sale_sofia_simulator.twins import make_twin
from sale_sofia_simulator.world import advance, world_on_day

SITES = ("imot.bg", "homes.bg", "alo.bg")
"""Pages in windows-1251; an interface of JSON; pages in UTF-8."""
ADVERTS, SEED = 12, 1597
DAYS = (0, 7, 9)
"""A world in which flats become cheaper and go until the second of these days; one is back on the third."""
PROFILE = "budget_eur: 5000000\nproperty_types: [apartment]\n"
RULES = """
channels:
  mail: {mail}
  hook: {hook}
buyer:
  - name: Апартаменти
    profile: default
    tell: [new, cut, back]
    cut_percent: 2
    channels: [mail, hook]
"""
CHANNELS = ("mail", "hook")
Key = tuple[str, str]
Prices = tuple[float, float]
Truth = dict[Key, Row]
Homes = dict[Key, int]


@dataclass
class Day:
    """What the portals really showed, and what was stored of it."""

    truth: Truth
    stored: list[Row] = field(default_factory=list)
    jobs: list[Row] = field(default_factory=list)
    """Of the last crawl of the day, as the command printed them."""


@dataclass
class Way:
    """A data folder at the end of the way, and what there was to be seen on it."""

    data: Path
    log: Path
    """Of the simulator: what it was asked for."""
    environment: dict[str, str]
    homes: Homes
    """The real flat behind every advert there ever was."""
    days: list[Day]
    servers: AlertServers
    view: Window

    @property
    def shown(self) -> set[Key]:
        """Every advert that was there on one of the days."""
        return {key for day in self.days for key in day.truth}

    @property
    def moves(self) -> dict[Key, Prices]:
        """The price of each advert on the first day and on the second, of those that print one."""
        first, second = self.days[0].truth, self.days[1].truth
        found = {key: (first[key]["price_eur"], second[key]["price_eur"]) for key in first.keys() & second}
        return {key: prices for key, prices in found.items() if None not in prices}

    @property
    def cuts(self) -> dict[Key, Prices]:
        """Those that became cheaper and are what the profile looks for."""
        return {key: (old, new) for key, (old, new) in self.moves.items() if new < old and self.wants({key})}

    @property
    def gone(self) -> set[Key]:
        """Not shown any more on the second day."""
        return set(self.days[0].truth.keys() - self.days[1].truth.keys())

    @property
    def back(self) -> set[Key]:
        """Of these, shown again on the third."""
        return self.gone & self.days[2].truth.keys()

    @property
    def returned(self) -> list[int]:
        """The real flats that are back, of those the profile looks for."""
        return sorted(self.wanted_flats(self.back))

    def wants(self, keys: AbstractSet[Key]) -> bool:
        """Whether the profile looks for what these adverts offer."""
        return bool(self.wanted_flats(keys))

    def wanted_flats(self, keys: AbstractSet[Key]) -> set[int]:
        """The real flats that these adverts offer, of those the profile looks for."""
        rows = {key: day.truth[key] for day in self.days for key in keys & day.truth.keys()}
        return {self.homes[key] for key, row in rows.items() if _is_wanted(row)}

    def may_want(self, keys: AbstractSet[Key]) -> bool:
        """Whether nothing that these adverts print on the last day, all of them, is against the profile."""
        rows = [self.days[-1].truth[key] for key in keys]
        return bool(rows) and all(
            row[name] in {value, None} for row in rows for name, value in WANTED.items()
        )

    def advert_at(self, address: str) -> Row | None:
        """What the advert at this address really shows, or showed last."""
        rows = (row for day in reversed(self.days) for row in day.truth.values())
        return next((row for row in rows if row["url"] == address), None)

    def home_of(self, row: Row) -> int:
        """The real flat that an advert offers."""
        return self.homes[row["site"], row["external_id"]]

    def ask(self, *words: str) -> Any:  # noqa: ANN401 - any JSON
        """What a command prints as JSON, or a list where it prints a line for each thing."""
        told = finished(run(self.data, *words, "--json", **self.environment))
        return json.loads(told) if words[0] != "changes" else [*map(json.loads, told.splitlines())]


WANTED = {"deal": "sale", "property_type": "apartment", "city": "София"}


def _is_wanted(row: Row) -> bool:
    return all(row[name] == value for name, value in WANTED.items())


def finished(told: subprocess.CompletedProcess[str]) -> str:
    assert told.returncode == 0, told.stderr
    return told.stdout


@contextmanager
def whole_way(folder: Path) -> Iterator[Way]:
    """Go all of it: portals, Redis, workers, beat, receivers of alerts, dashboard and browser are real."""
    data, log = folder / "data", folder / "log"
    (data / "profiles").mkdir(parents=True)
    (data / "profiles" / "default.yaml").write_text(PROFILE, "utf-8")
    config = SimulatorConfig(
        sites=SITES, properties=ADVERTS, seed=SEED, port=0, log=log, truth=folder / "truth"
    )
    with start_forked(config) as simulator, alert_servers() as servers, chromium() as browser:
        environment = _environment(folder / "sites", simulator)
        with (
            services_forked(data, **environment),
            running_dashboard(data, **environment) as dashboard,
            window(browser, dashboard.url) as view,
        ):
            way = Way(data, log, environment, _homes(), [], servers, view)
            _live(way, simulator)
            yield way


def _environment(folder: Path, simulator: RunningSimulator) -> dict[str, str]:
    for site in SITES:
        site_folder(folder, site, start_urls=simulator.start_urls(site))
    rates = {"DOMAIN_RATE_LIMITS": json.dumps(dict.fromkeys(SITES, 6000))}
    return {**QUICK, **rates, "SITES_DIR": str(folder)}


def _homes() -> Homes:
    """By the world itself; the same seed gives the same one."""
    world, adverts = world_on_day(ADVERTS, SEED, 0), list[ImotAdvert]()
    for day in range(1, DAYS[-1] + 1):
        adverts += world.imot
        world = advance(world, day, SEED)
    return {
        key: one.home.number
        for one in (*adverts, *world.imot)
        for key in (
            (SITES[0], one.external_id),
            *((site, make_twin(site, one).external_id) for site in SITES[1:]),
        )
    }


def _live(way: Way, simulator: RunningSimulator) -> None:
    _crawl(way, simulator)
    rules = RULES.format(mail=way.servers.mail_url, hook=way.servers.hook_url)
    (way.data / "alerts.yaml").write_text(rules, "utf-8")
    way.ask("alerts", "run")  # the rules learn what is there
    _pass(simulator, DAYS[1] - DAYS[0])
    _crawl(way, simulator)
    _crawl(way, simulator, again=True)  # what two sweeps have missed is gone
    _tell(way)
    _pass(simulator, DAYS[2] - DAYS[1])
    _crawl(way, simulator, "--full")
    _tell(way)


def _pass(simulator: RunningSimulator, days: int) -> None:
    for _ in range(days):
        simulator.advance()


def _crawl(way: Way, simulator: RunningSimulator, *more: str, again: bool = False) -> None:
    jobs = way.ask("crawl", *SITES, "--parallel", *more)["jobs"]
    _match(way.data)
    if again:
        way.days.pop()
    way.days.append(Day(truth(simulator), stored(way.data), jobs))


def _match(data: Path) -> None:
    """As the crawl's end does; whoever sees that a crawl has ended may be quicker than that."""
    database = store(data)
    match_crawled(Settings(data_dir=data), database)
    database.dispose()


def _tell(way: Way) -> None:
    """All that is to be told by now is told, whoever tells it: this command, the crawl's end or the beat."""
    until(lambda: way.ask("alerts", "run")["waiting"] == 0, "the last alert")


def flats_told(way: Way, channel: str, word: str) -> list[tuple[Row, Came]]:
    """Messages of this channel that begin with this word, each with the advert that it leads to, as it is."""
    return [
        (next(row for line in one.body.splitlines() if (row := way.advert_at(line))), one)
        for one in way.servers.came
        if one.channel == channel and one.subject.startswith(f"sale-sofia: {word}:")
    ]
