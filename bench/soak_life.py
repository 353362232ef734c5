"""The life that a soak watches: portals with faults and days, crawls without end, alerts, an open window."""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from alert_servers import AlertServers, alert_servers
from browser_pages import PAGES, Window, chromium, window
from crawls import run, site_folder
from dashboards import commanded_dashboard
from parallel_crawls import QUICK, services_up
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig

SITES = ("imot.bg", "bazar.bg", "homes.bg")
ADVERTS = 150
FAULTS = "429:0.005,503:0.01,reset:0.01,truncate:0.005,slow:0.01"
FULL_EVERY = 5
"""One crawl in so many opens every advert; the others what is new or changed."""
POLL_SECONDS = 5.0
RULES = """
channels:
  mail: {mail}
  hook: {hook}
buyer:
  - name: Апартаменти
    profile: default
    tell: [new, cut, back]
    channels: [mail, hook]
operator:
  - name: Обхождане
    channels: [hook]
"""


@dataclass(frozen=True, slots=True)
class Life:
    """A data folder at work."""

    data: Path
    environment: dict[str, str]
    simulator: RunningSimulator
    servers: AlertServers

    def crawl(self, number: int) -> list[str]:
        """One more crawl of all portals by the command, as the next day; the states of its jobs."""
        if number:
            self.simulator.advance()
        full = ("--full",) if number % FULL_EVERY == FULL_EVERY - 1 else ()
        told = run(self.data, "crawl", *SITES, "--parallel", "--json", *full, **self.environment)
        return [job["state"] for job in json.loads(told.stdout)["jobs"]] if told.stdout else [told.stderr]


@contextmanager
def life(folder: Path) -> Iterator[tuple[Life, Window]]:
    """Everything up; gone without a trace at the end."""
    data = folder / "data"
    data.mkdir(parents=True)
    config = SimulatorConfig(
        sites=SITES, properties=ADVERTS, seed=11, port=0, faults=FAULTS, slow_seconds=1.0
    )
    with start_in_process(config) as simulator, alert_servers() as servers, chromium() as browser:
        environment = _environment(folder / "sites", simulator)
        rules = RULES.format(mail=servers.mail_url, hook=servers.hook_url)
        (data / "alerts.yaml").write_text(rules, "utf-8")
        with (
            services_up(data, **environment),
            commanded_dashboard(data, **environment) as dashboard,
            window(browser, dashboard.url) as view,
        ):
            yield Life(data, environment, simulator, servers), view


def _environment(folder: Path, simulator: RunningSimulator) -> dict[str, str]:
    for site in SITES:
        site_folder(folder, site, start_urls=simulator.start_urls(site))
    more = {
        "DOMAIN_RATE_LIMITS": json.dumps(dict.fromkeys(SITES, 3000)),
        "SITES_DIR": str(folder),
        "ARCHIVE_ENABLED": "true",
        "CIRCUIT_BREAKER_RESET_TIMEOUT": "1",
        "RETRY_MAX_ATTEMPTS": "10",
    }
    return {**QUICK, **more}


def look_at_a_page(view: Window, chance: random.Random) -> str | None:
    """Open one of the dashboard's pages as a reader would; what was wrong with it."""
    name = chance.choice([page for page in PAGES if page not in {"property", "compare"}])
    view.open(name)
    return f"{name}: {view.wrong()}" if view.wrong() else None


class Crawling(threading.Thread):
    """Crawl after crawl, until it is told to stop; between two it can be held, for a quiet moment."""

    def __init__(self, lived: Life) -> None:
        super().__init__(daemon=True)
        self._life = lived
        self._stop_asked = threading.Event()
        self.between = threading.Lock()
        """Held while a crawl goes on."""
        self.states: list[str] = []
        self.crawls = 0

    def run(self) -> None:
        """See the class."""
        while not self._stop_asked.is_set():
            with self.between:
                self.states += self._life.crawl(self.crawls)
                self.crawls += 1
            time.sleep(1)  # whoever wants the lock gets it

    def stop(self) -> None:
        """Returns when the last crawl has ended."""
        self._stop_asked.set()
        self.join()
