"""How long a buyer waits for the dashboard, in a real Chromium, with 100 000 adverts stored.

The server is warm. Each page is opened by its address five times, from the request to the first row of data
on the screen; then the search is filtered five times, from the key that ends the number to the new count on
the screen. Beside it the same table in a plain Streamlit page (`st.dataframe` of all rows, read once and
cached, no scores, no photos, no history), on the same machine in the same run.

The goal is 3 s at most for every page and 1 s for a filter, and at most 5 000 points on the map.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import httpx
from playwright.sync_api import Page

import dashboard_world
import measure
from browser_pages import PAGES, Window, chromium, window
from dashboards import commanded_dashboard
from sale_sofia.app.settings import MAP_POINTS
from sale_sofia.operations.services.dashboard import free_port
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia.storage.database import Database

ROUNDS = 5
GOAL = {"page_seconds": 3.0, "filter_seconds": 1.0, "map_points": MAP_POINTS}
QUICK_GOAL = {"page_seconds": 6.0, "filter_seconds": 2.0, "map_points": MAP_POINTS}  # on a busy machine
HOST = "127.0.0.1"
PATIENCE_SECONDS = 90
ROW = ", ".join(
    f'[data-testid="stMain"] {one}'
    for one in (
        ".ss-card", ".ss-table tbody tr", '[data-testid="stDataFrame"] canvas',
        '[data-testid="stDeckGlJsonChart"] canvas', '[data-testid="stVegaLiteChart"] canvas',
        '[data-testid="stVegaLiteChart"] svg', '[data-testid="stMetric"]',
    )
)  # fmt: skip
DRAWN = '[data-testid="stApp"][data-test-script-state="notRunning"] [data-testid="stMain"] h1'
"""Pages without rows (no alert was ever sent here): drawn to their end."""
WITHOUT_ROWS = frozenset({"alerts", "criteria", "cross_site", "health"})
MAP_CANVAS = '[data-testid="stDeckGlJsonChart"] canvas'
Figures = dict[str, Any]
PEER_ROW = '[data-testid="stDataFrame"] canvas'


def main() -> None:
    """Measure both servers on one database."""
    options = measure.options(__doc__)
    adverts = 10_000 if options.quick else 100_000
    goal = QUICK_GOAL if options.quick else GOAL
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        database = Database(f"sqlite:///{data / DATABASE_FILE}", busy_timeout_seconds=30, busy_retries=5)
        properties = dashboard_world.fill(database, adverts)
        ids = database.run_read(lambda connection: dashboard_world.some_ids(connection, 3))
        with chromium() as browser:
            with commanded_dashboard(data) as dashboard, window(browser, dashboard.url) as view:
                ours = measure_ours(view, ids)
            with peer(data) as url, window(browser, url) as view:
                plain = measure_peer(view)
    found = {"adverts": adverts, "properties": properties, **ours, "plain_streamlit": plain, "goal": goal}
    met = (
        max(ours["pages"].values()) <= goal["page_seconds"]
        and ours["filter"] <= goal["filter_seconds"]
        and ours["map_points"] <= goal["map_points"]
    )
    measure.finish({"bench": "dashboard", **found}, met=met, check=options.check)


def measure_ours(view: Window, ids: list[int]) -> Figures:
    """Every page, and a filter of the search."""
    parameters: dict[str, dict[str, object]] = {
        "property": {"id": ids[0]},
        "compare": {"ids": ",".join(map(str, ids))},
    }
    addresses = {name: address(view.url, name, parameters.get(name, {})) for name in PAGES}
    rows = {name: DRAWN if name in WITHOUT_ROWS else ROW for name in PAGES}
    for name, url in addresses.items():
        seconds = first_row(view.page, url, rows[name])  # warm: the flats are read, the profile is scored
        print(f"first visit of {name}: {seconds:.1f} s", file=sys.stderr)
    pages = {}
    for name, url in addresses.items():
        pages[name] = median(partial(first_row, view.page, url, rows[name]))
        print(f"{name}: {pages[name]} s", file=sys.stderr)
    drawn = median(partial(first_row, view.page, addresses["map"], MAP_CANVAS))
    points = map_points(view)
    view.open("search")
    prices = iter(range(120_000, 400_000, 7_000))
    filtered = median(lambda: filter_seconds(view.page, "Цена до, €", str(next(prices)), "Намерени"))
    return {"pages": pages, "map_drawn": drawn, "filter": filtered, "map_points": points}


def measure_peer(view: Window) -> Figures:
    """The plain page and its one filter."""
    first_row(view.page, view.url, PEER_ROW)
    opened = median(lambda: first_row(view.page, view.url, PEER_ROW))
    prices = iter(range(120_000, 400_000, 7_000))
    filtered = median(lambda: filter_seconds(view.page, "price up to", str(next(prices)), "found"))
    return {"page": opened, "filter": filtered}


def median(work: Callable[[], float]) -> float:
    """The middle of so many tries, in seconds."""
    return round(statistics.median(work() for _ in range(ROUNDS)), 2)


def first_row(page: Page, url: str, selector: str) -> float:
    """From asking for the page to its first row of data."""
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(selector).first.wait_for(state="visible", timeout=PATIENCE_SECONDS * 1000)
    return time.perf_counter() - began


def filter_seconds(page: Page, label: str, value: str, counted: str) -> float:
    """From the key that ends a number to another count on the page."""
    count = page.get_by_test_id("stMain").get_by_text(re.compile(counted)).first
    before = count.inner_text()
    field = page.get_by_label(label, exact=True).first
    field.fill(value)
    began = time.perf_counter()
    field.press("Enter")
    page.wait_for_function(
        "([text, before]) => [...document.querySelectorAll('[data-testid=stMain] p')].some("
        "one => one.innerText.includes(text) && one.innerText !== before)",
        arg=[counted, before],
        timeout=PATIENCE_SECONDS * 1000,
    )
    return time.perf_counter() - began


def map_points(view: Window) -> int:
    """How many points the map says that it draws."""
    view.open("map")
    view.main.get_by_text("всички", exact=True).first.click()
    view.settle()
    found = re.search(r"на ([\d ]+) точки", view.text())
    return int(found[1].replace(" ", "")) if found else 0


def address(url: str, name: str, parameters: dict[str, object]) -> str:
    """A page's address."""
    query = "&".join(f"{key}={value}" for key, value in parameters.items())
    return f"{url}/{name}" + (f"?{query}" if query else "")


@contextmanager
def peer(data: Path) -> Iterator[str]:
    """The plain page."""
    port = free_port(HOST, 0)
    script = str(Path(__file__).with_name("dashboard_peer.py"))
    flags = [
        "--server.headless", "true", "--server.address", HOST, "--server.port", str(port),
        "--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none",
    ]  # fmt: skip
    command = [sys.executable, "-m", "streamlit", "run", script, *flags]
    with running(command, {"PEER_URL": f"sqlite:///{data / DATABASE_FILE}"}, port) as url:
        yield url


@contextmanager
def running(command: list[str], environ: dict[str, str], port: int) -> Iterator[str]:
    """A server of ours, until the block ends."""
    process = subprocess.Popen(
        command, env={**os.environ, **environ}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
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
