"""Portals of our own: copies of a known one under other names, each in a process and at a rate of its own."""

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from crawls import Row, requests
from forked_simulators import start_forked
from parallel_world import surroundings
from sale_sofia.crawl.frontier.planning import JobPlan
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.registry import page_limits
from sale_sofia.websites.site_file import CONFIG_FOLDER, load_site_config
from sale_sofia_simulator.simulation import SimulatorConfig

ROBOTS = "/robots.txt"
SECONDS_PER_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Portal:
    """What a portal is like, before it runs."""

    name: str
    adverts: int
    per_minute: float
    like: str = "bazar.bg"
    concurrency: int = 2
    faults: str = ""
    slow_seconds: float = 5.0
    seed: int = 1
    distinct: int | None = None
    file_per_minute: float | None = None
    """What its site file allows, where DOMAIN_RATE_LIMITS says less."""

    @property
    def seconds_per_request(self) -> float:
        """At its rate."""
        return SECONDS_PER_MINUTE / self.per_minute


@dataclass(frozen=True, slots=True)
class RunningPortal:
    """A portal at work, and what it was asked for."""

    portal: Portal
    start_urls: tuple[str, ...]
    log: Path
    truth: Path

    def requests(self) -> list[Row]:
        """Every page it was asked for, but robots.txt, which is nobody's turn."""
        return [row for row in requests(self.log) if row["path"] != ROBOTS]

    def times(self) -> list[float]:
        """When it was asked, in order."""
        return sorted(row["t"] for row in self.requests())

    def makespan(self) -> float:
        """Seconds from the first request to the last."""
        times = self.times()
        return times[-1] - times[0]

    def bound(self) -> float:
        """Seconds that as many requests take at least, at its rate."""
        return (len(self.times()) - 1) * self.portal.seconds_per_request

    def adverts(self) -> set[str]:
        """The ids of all its adverts, from its truth."""
        rows = [json.loads(line) for line in self.truth.read_text("utf-8").splitlines()]
        return {row["external_id"] for row in rows if row["kind"] == "listing"}


@contextmanager
def portals(folder: Path, wanted: Sequence[Portal]) -> Iterator[dict[str, RunningPortal]]:
    """The portals, each in its process, with their site files in `folder / "sites"`."""
    (folder / "sites").mkdir(parents=True)
    with ExitStack() as stack:
        running = {portal.name: _start(folder, portal, stack) for portal in wanted}
        for one in running.values():
            write_site_file(folder / "sites", one.portal, one.start_urls)
        yield running


def _start(folder: Path, portal: Portal, stack: ExitStack) -> RunningPortal:
    log, truth = folder / f"{portal.name}.requests", folder / f"{portal.name}.truth"
    config = SimulatorConfig(
        sites=(portal.like,),
        properties=portal.adverts,
        distinct=portal.distinct,
        seed=portal.seed,
        port=0,
        faults=portal.faults,
        slow_seconds=portal.slow_seconds,
        log=log,
        truth=truth,
    )
    simulator = stack.enter_context(start_forked(config))
    return RunningPortal(portal, tuple(simulator.start_urls(portal.like)), log, truth)


def write_site_file(folder: Path, portal: Portal, start_urls: Sequence[str]) -> None:
    """A site file like the known portal's, with the name, the rate and the addresses of this one."""
    known = yaml.safe_load((CONFIG_FOLDER / "sites" / f"{portal.like}.yaml").read_text("utf-8"))
    politeness = known["politeness"] | {
        "delay_seconds": SECONDS_PER_MINUTE / (portal.file_per_minute or portal.per_minute),
        "concurrency": portal.concurrency,
    }
    own = known | {"site": portal.name, "politeness": politeness, "start_urls": list(start_urls)}
    (folder / f"{portal.name}.yaml").write_text(yaml.safe_dump(own, allow_unicode=True), "utf-8")


def plan_of(name: str, environ: Mapping[str, str]) -> JobPlan:
    """A crawl of one of our own portals, from its file's start URLs."""
    with surroundings(environ):
        config = load_site_config(name)
    return JobPlan(TableSite(config, page_limits()), config.start_urls, limit=None, fresh=False)


@contextmanager
def silent_portal(folder: Path, portal: Portal) -> Iterator[None]:
    """A portal that takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        start = f"http://127.0.0.1:{listening.getsockname()[1]}/obiavi/prodazhba-apartamenti/sofia"
        write_site_file(folder / "sites", portal, [start])
        yield
