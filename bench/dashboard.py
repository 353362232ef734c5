"""How long a buyer waits for the dashboard, in a real Chromium, with 100 000 adverts stored.

The server is warm. Each page is opened by its address five times, on an emulated phone (390 x 844, 150 ms of
latency, 1.6 Mbit/s, a processor four times as slow) and on a desk: until its first content, until it can be
used (its scripts have run; the map is drawn), with the bytes and the requests that it took; and what the
server spent on it, with the memory that it has afterwards. Then a star is pressed.
Beside it a plain Streamlit page with a table of 10 000 of the same adverts, in the same run.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import httpx
from playwright.sync_api import Browser, Page

import dashboard_world
import measure
from browser_pages import PAGES, chromium
from dashboards import Dashboard, commanded_dashboard
from sale_sofia.advice.scoring.profile import load_profiles
from sale_sofia.advice.scoring.runs import ScoreRun
from sale_sofia.operations.services.dashboard import free_port
from sale_sofia.settings.model import DATABASE_FILE, Settings
from sale_sofia.storage.database import Database

ROUNDS = 5
HOST = "127.0.0.1"
PATIENCE_SECONDS = 90
GOAL: dict[str, Any] = {
    "phone": {"usable": 2.0, "kilobytes": 300.0},
    "phone_map_kilobytes": 600.0,
    "desk": {"usable": 0.5},
    "star_seconds": 0.1,
    "server_cpu_seconds": 0.05,
    "server_megabytes": 200.0,
}
WEIGHED = ("today", "search", "flat")
"""Pages whose weight has a goal; the map has one of its own."""
READY = {"map": "#map .map-place:not([hidden]) button"}
"""What is there once a page can be used; of the others their heading, after their scripts."""
FIRST_CONTENT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
USABLE = "performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart"
Figures = dict[str, Any]


class Screen(NamedTuple):
    """What the pages are looked at with."""

    width: int
    height: int
    slower: int = 1
    latency_ms: int = 0
    bytes_per_second: int = -1


SCREENS: Mapping[str, Screen] = {
    "phone": Screen(390, 844, slower=4, latency_ms=150, bytes_per_second=1_600_000 // 8),
    "desk": Screen(1440, 900),
}


def main() -> None:
    """Measure both servers on one database."""
    options = measure.options(__doc__)
    adverts = 10_000 if options.quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        database = Database(f"sqlite:///{data / DATABASE_FILE}", busy_timeout_seconds=30, busy_retries=5)
        properties = dashboard_world.fill(database, adverts)
        ScoreRun(Settings(data_dir=data), database, load_profiles(data).profiles).run()  # as each crawl does
        ids = database.run_read(lambda connection: dashboard_world.some_ids(connection, 3))
        with chromium() as browser:
            with commanded_dashboard(data) as dashboard:
                ours = measure_ours(browser, dashboard, ids)
            with peer(data) as url:
                plain = {
                    name: visit(browser, screen, url, "[data-testid=stDataFrame] canvas")
                    for name, screen in SCREENS.items()
                }
    found = {"adverts": adverts, "properties": properties, **ours, "plain_streamlit": plain, "goal": GOAL}
    measure.finish({"bench": "dashboard", **found}, met=is_met(ours), check=options.check)


def is_met(ours: Figures) -> bool:
    """Whether every goal is reached."""
    pages = ours["pages"]
    light = [pages["phone"][name]["kilobytes"] for name in WEIGHED]
    return bool(
        max(one["usable"] for one in pages["phone"].values()) <= GOAL["phone"]["usable"]
        and max(light) <= GOAL["phone"]["kilobytes"]
        and pages["phone"]["map"]["kilobytes"] <= GOAL["phone_map_kilobytes"]
        and max(one["usable"] for one in pages["desk"].values()) <= GOAL["desk"]["usable"]
        and ours["star_seconds"] <= GOAL["star_seconds"]
        and max(ours["server_cpu"].values()) <= GOAL["server_cpu_seconds"]
        and max(ours["server_megabytes"].values()) <= GOAL["server_megabytes"]
    )


def measure_ours(browser: Browser, dashboard: Dashboard, ids: list[int]) -> Figures:
    """Every page on every screen, what the server spends, and a star."""
    addresses = {name: f"{dashboard.url}/{name}" for name in PAGES}
    addresses |= {
        "flat": f"{dashboard.url}/flat/{ids[0]}",
        "compare": f"{dashboard.url}/compare?ids={','.join(map(str, ids))}",
    }
    for url in addresses.values():
        httpx.get(
            url, timeout=PATIENCE_SECONDS, trust_env=False
        )  # warm: flats are read, the profile is scored
    pages = {
        name: {
            page: visit(browser, screen, url, READY.get(page, "main h1")) for page, url in addresses.items()
        }
        for name, screen in SCREENS.items()
    }
    server = _server(dashboard)
    spent, held = {}, {}
    for name, url in addresses.items():
        before = _cpu_seconds(server)
        for _ in range(ROUNDS):
            httpx.get(url, timeout=PATIENCE_SECONDS, trust_env=False)
        spent[name] = round((_cpu_seconds(server) - before) / ROUNDS, 4)
        held[name] = round(_megabytes(server))
    return {
        "pages": pages,
        "server_cpu": spent,
        "server_megabytes": held,
        "star_seconds": star(browser, addresses["search"]),
    }


def visit(browser: Browser, screen: Screen, url: str, selector: str) -> Figures:
    """The middle of some visits with an empty cache."""
    found = [_visit(browser, screen, url, selector) for _ in range(ROUNDS)]
    return {name: round(statistics.median(one[name] for one in found), 3) for name in found[0]}


def _visit(browser: Browser, screen: Screen, url: str, selector: str) -> dict[str, float]:
    context = browser.new_context(viewport={"width": screen.width, "height": screen.height})
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Emulation.setCPUThrottlingRate", {"rate": screen.slower})
    limits = {"downloadThroughput": screen.bytes_per_second, "uploadThroughput": screen.bytes_per_second}
    network.send(
        "Network.emulateNetworkConditions", {"offline": False, "latency": screen.latency_ms, **limits}
    )
    sizes: list[float] = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(url, wait_until="load", timeout=PATIENCE_SECONDS * 1000)
    page.locator(selector).first.wait_for(state="visible", timeout=PATIENCE_SECONDS * 1000)
    ready = float(page.evaluate("performance.now()")) if selector in READY.values() else 0.0
    page.wait_for_load_state("networkidle", timeout=PATIENCE_SECONDS * 1000)
    told = {
        "first_content": (page.evaluate(FIRST_CONTENT) or 0.0) / 1000,
        "usable": max(_usable(page), ready / 1000),
        "kilobytes": sum(sizes) / 1000,
        "requests": float(len(sizes)),
    }
    context.close()
    return told


def _usable(page: Page) -> float:
    return float(page.evaluate(USABLE)) / 1000


def star(browser: Browser, url: str) -> float:
    """From the press to the star that is seen to be pressed."""
    page = browser.new_page()
    page.goto(url)
    times = []
    for place in range(ROUNDS):
        button = page.locator(".keep[aria-pressed=false]").nth(place)
        card = button.evaluate("one => one.closest('.decisions').dataset.flat")
        began = time.perf_counter()
        button.click()
        page.locator(f'.decisions[data-flat="{card}"] .keep[aria-pressed=true]').wait_for()
        times.append(time.perf_counter() - began)
    page.close()
    return round(statistics.median(times), 3)


def _server(dashboard: Dashboard) -> int:
    own = dashboard.process.pid
    return int(Path(f"/proc/{own}/task/{own}/children").read_text("ascii").split()[0])


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _megabytes(process: int) -> float:
    text = Path(f"/proc/{process}/status").read_text("ascii")
    return int(text.partition("VmRSS:")[2].split()[0]) / 1000


@contextmanager
def peer(data: Path) -> Iterator[str]:
    """The plain page."""
    port = free_port(HOST, 0)
    script = str(Path(__file__).with_name("dashboard_peer.py"))
    flags = [
        "--server.headless", "true", "--server.address", HOST, "--server.port", str(port),
        "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none",
    ]  # fmt: skip
    environ = {**os.environ, "PEER_URL": f"sqlite:///{data / DATABASE_FILE}"}
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script, *flags],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://{HOST}:{port}"
    try:
        await_server(process, url)
        yield url
    finally:
        process.terminate()
        process.wait()


def await_server(process: subprocess.Popen[bytes], url: str) -> None:
    """Return once it answers."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{url}/_stcore/health", timeout=2, trust_env=False).is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"the server at {url} did not start")


if __name__ == "__main__":
    main()
