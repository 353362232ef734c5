"""Crawls of a portal whose pages want a browser, by the real command and with a real Chromium."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from browsers import chromium_or_skip
from crawls import ALONE, Row, crawl_arguments, differences, requests, run, site_folder, start, stored, truth
from fleet_thread import fleet_before
from forked_simulators import start_forked
from parallel_crawls import running_in, until
from process_sizes import children
from proxy_fleet import PASSWORD
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.sources import SourceList
from sale_sofia_simulator.faults import SCRIPT_PATH
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "bazar.bg"
PER_SECOND = 20
ADVERTS = 6
ON = {
    **ALONE,
    "BROWSER_ENABLED": "true",
    "DOMAIN_RATE_LIMITS": json.dumps({SITE: PER_SECOND * 60}),
    "RETRY_BASE_DELAY": "0.05",
    "RETRY_MAX_DELAY": "0.5",
}
STRAIGHT_UP = {
    "MIN_PROXIES_FOR_SCRAPING": "0",
    "PROXY_SPACING": "0",
    "PROXY_ROTATE_BUDGET": "0",
    "PROXY_RESTART_BUDGET": "0",
    "PROXY_REFRESH_BUDGET": "0",
    "CIRCUIT_BREAKER_FAIL_MAX": "50",
}


@contextmanager
def simulated(folder: Path, faults: str) -> Iterator[RunningSimulator]:
    chromium_or_skip()
    (folder / "log").touch()
    config = SimulatorConfig(
        properties=ADVERTS, seed=3, port=0, truth=folder / "truth.json", log=folder / "log", faults=faults
    )
    with start_forked(config) as running:
        yield running


def asked(folder: Path) -> list[Row]:
    return [row for row in requests(folder / "log") if row["path"] != "/robots.txt"]


def in_browser(rows: list[Row]) -> int:
    """How often the browser was used: each time it asks for the script."""
    return sum(row["path"] == SCRIPT_PATH for row in rows)


def check_all_adverts(simulator: RunningSimulator, data: Path) -> None:
    true = {key: row for key, row in truth(simulator).items() if key[0] == SITE}
    assert differences(stored(data), true) == {}


def test_a_challenged_crawl_gets_through_and_remembers_the_way(tmp_path: Path) -> None:
    data, sites = tmp_path / "data", site_folder(tmp_path / "sites", SITE, browser_allowed=True)
    more = {**ON, "SITES_DIR": str(sites)}
    with simulated(tmp_path, "challenge:1.0") as simulator:
        told = run(data, *crawl_arguments(simulator, SITE), **more)
        job = json.loads(told.stdout)["jobs"][0]
        assert (job["state"], job["failed"], job["adverts"]) == ("COMPLETE", 0, ADVERTS), told.stderr
        check_all_adverts(simulator, data)
        first = asked(tmp_path)
        assert in_browser(first) == 1
        assert {row["path"].partition("/challenge/")[2] for row in first} == {"", "pass.js"}
        # Whatever the browser asked for had its turn: so many requests cannot come in less time.
        assert first[-1]["t"] - first[0]["t"] >= (len(first) - 3) / PER_SECOND
        again = run(data, *crawl_arguments(simulator, SITE), "--full", **more)
        assert json.loads(again.stdout)["jobs"][0]["state"] == "COMPLETE"
        second = asked(tmp_path)[len(first) :]
        assert [row["fault"] for row in second] == [None] * len(second)
        assert len(second) > ADVERTS
    until(lambda: not running_in(data), "the end of every process of the crawl")


class Watch:
    """Looks at the process list for as long as it is open."""

    def __init__(self, data: Path) -> None:
        self.seen: set[str] = set()
        self._data = data
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.seen |= set(running_in(self._data).values())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def test_through_proxies_and_never_round_them_without_a_word_of_passwords(tmp_path: Path) -> None:
    data = tmp_path / "data"
    table = {"use": True, "tiers": ["free"]}
    # With more visitors one page could have all the tries that the ladder takes, and be given up.
    sites = site_folder(tmp_path / "sites", SITE, one_visitor=True, browser_allowed=True, proxies=table)
    with (
        simulated(tmp_path, "challenge:1.0") as simulator,
        fleet_before(
            urlsplit(simulator.urls[SITE]).port or 0, {"with_password": 8, "socks5_login": 2}
        ) as fleet,
        Watch(data) as watch,
    ):
        SourceList(data).remember([Proxy(one.address) for one in fleet.members])
        told = run(data, *crawl_arguments(simulator, SITE), SITES_DIR=str(sites), **ON, **STRAIGHT_UP)
        job = json.loads(told.stdout)["jobs"][0]
        assert (job["state"], job["failed"], job["adverts"]) == ("COMPLETE", 0, ADVERTS), told.stderr
        check_all_adverts(simulator, data)
        assert set(fleet.door.sources) <= {one.host for one in fleet.members}
        assert fleet.door.requests == len(requests(tmp_path / "log"))
        assert 1 <= in_browser(asked(tmp_path)) <= len(fleet.members)
    assert any("chromium" in line for line in watch.seen)
    assert not any(PASSWORD in line for line in watch.seen)
    kept = [path for path in data.rglob("*") if path.is_file() and path.name != "known.json"]
    assert not any(PASSWORD.encode() in path.read_bytes() for path in kept)
    assert PASSWORD not in told.stdout + told.stderr
    until(lambda: not running_in(data), "the end of every process of the crawl")


def test_captchas_are_not_solved_and_the_budget_ends_every_loop(tmp_path: Path) -> None:
    """Half of them are challenges that lead nowhere, the others are for a person."""
    data, sites = tmp_path / "data", site_folder(tmp_path / "sites", SITE, browser_allowed=True)
    with simulated(tmp_path, "captcha:1.0") as simulator:
        more = {**ON, "SITES_DIR": str(sites), "RETRY_MAX_ATTEMPTS": "2", "CIRCUIT_BREAKER_FAIL_MAX": "50"}
        few = {"BROWSER_TIMEOUT": "3", "BROWSER_PAGES_PER_HOUR": "1"}
        told = run(data, *crawl_arguments(simulator, SITE), **more, **few)
        searches = len(simulator.start_urls(SITE))
    job = json.loads(told.stdout)["jobs"][0]
    assert (job["state"], job["adverts"]) == ("FAILED", 0)
    pages = [row for row in asked(tmp_path) if row["path"].startswith("/obiavi/")]
    assert len(pages) <= 2 * searches + 1
    until(lambda: not running_in(data), "the end of every process of the crawl")


def family(pid: int) -> dict[int, str]:
    """All processes that came from one, with their commands."""
    found: dict[int, str] = {}
    for child in children(pid):
        found |= {child: command_of(child), **family(child)}
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").exists()


def test_a_killed_crawl_leaves_no_browser_behind(tmp_path: Path) -> None:
    data, sites = tmp_path / "data", site_folder(tmp_path / "sites", SITE, browser_allowed=True)
    with simulated(tmp_path, "challenge:1.0") as simulator:
        # A turn comes every three seconds: the browser waits for its next one when the crawl is killed.
        slow = {**ON, "SITES_DIR": str(sites), "DOMAIN_RATE_LIMITS": json.dumps({SITE: 20})}
        crawl = start(data, *crawl_arguments(simulator, SITE), **slow)
        until(lambda: any("--type=renderer" in one for one in family(crawl.pid).values()), "a browser")
        left = family(crawl.pid)
        crawl.send_signal(signal.SIGKILL)
        crawl.communicate()
        until(lambda: not any(alive(pid) for pid in left), "the end of every process of the crawl")


def test_without_a_browser_there_is_one_sentence(tmp_path: Path) -> None:
    sites = site_folder(tmp_path / "sites", SITE, browser_allowed=True)
    (tmp_path / "file").touch()
    more = {"BROWSER_ENABLED": "true", "SITES_DIR": str(sites), "BROWSER_PATH": str(tmp_path / "file")}
    (tmp_path / "data").mkdir()
    told = run(tmp_path / "data", "crawl", SITE, **more)
    sentence = f"sale-sofia: BROWSER_PATH: {tmp_path / 'file'} is no program; a Chromium is wanted."
    assert (told.returncode, told.stdout, " ".join(told.stderr.split())) == (2, "", sentence)
    assert list((tmp_path / "data").iterdir()) == []
