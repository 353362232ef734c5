"""A crawl on Celery workers through proxies that nobody has checked yet, of a portal that wants a browser."""

import json
import re
from pathlib import Path
from urllib.parse import urlsplit

from browsers import chromium_or_skip
from celery_server import server_variables
from crawls import ALONE, crawl_arguments, differences, requests, run, site_folder, stored, truth
from fleet_thread import fleet_before
from forked_simulators import start_forked
from parallel_crawls import running_in, until
from parallel_world import HURRIED
from proxy_fleet import PASSWORD
from sale_sofia.proxies.sources import ProxySource, SourceList
from sale_sofia_simulator.faults import SCRIPT_PATH
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "bazar.bg"
MORE = {
    **ALONE,
    "BROWSER_ENABLED": "true",
    "DOMAIN_RATE_LIMITS": json.dumps({SITE: 6000}),
    "WORKER_PROCESSES": "2",
    "MIN_PROXIES_TO_START": "13",
    "MIN_PROXIES_FOR_SCRAPING": "0",
    "PROXY_SPACING": "0",
    "PROXY_ROTATE_BUDGET": "0",
    "PROXY_RESTART_BUDGET": "0",
    "PROXY_REFRESH_BUDGET": "0",
    "CIRCUIT_BREAKER_FAIL_MAX": "50",
    "RETRY_BASE_DELAY": "0.05",
    "RETRY_MAX_DELAY": "0.5",
}


def test_workers_wait_for_proxies_and_crawl_through_them_alone(tmp_path: Path) -> None:
    chromium_or_skip()
    data = tmp_path / "data"
    table = {"use": True, "tiers": ["free"]}
    config = SimulatorConfig(
        properties=12, seed=3, port=0, truth=tmp_path / "truth", log=tmp_path / "log", faults="challenge:1.0"
    )
    with (
        start_forked(config) as simulator,
        fleet_before(urlsplit(simulator.urls[SITE]).port or 0, {"with_password": 12, "dead": 2}) as fleet,
    ):
        more = {"proxies": table, "start_urls": list(simulator.start_urls(SITE))}
        sites = site_folder(tmp_path / "sites", SITE, one_visitor=True, browser_allowed=True, **more)
        (tmp_path / "list").write_text(fleet.lines())
        SourceList(data).add(ProxySource(str(tmp_path / "list")))
        forked = server_variables(HURRIED)
        told = run(
            data, *crawl_arguments(simulator, SITE), "--parallel", SITES_DIR=str(sites), **MORE, **forked
        )
        job = json.loads(told.stdout)["jobs"][0]
        assert (job["state"], job["failed"], job["adverts"]) == ("COMPLETE", 0, 12), told.stderr
        true = {key: row for key, row in truth(simulator).items() if key[0] == SITE}
        assert differences(stored(data), true) == {}
        sources, passed = set(fleet.door.sources), fleet.door.requests
    # The refresh had ended, with fewer than were wanted: no need to wait any longer.
    assert re.search(rf"{SITE}: \d+ of 13 proxies are ready; its pages wait for proxies", told.stderr)
    # Without a judge they were checked by the portal's robots.txt; what they did is told after the end.
    asked = requests(tmp_path / "log")
    stats = json.loads(run(data, "proxies", "stats", SITE, "--json", SITES_DIR=str(sites)).stdout)
    assert sum(row["successes"] for row in stats["stats"][SITE]) >= 12
    assert sources <= {one.host for one in fleet.members if one.kind == "with_password"}
    assert passed == len(asked)
    assert 1 <= sum(row["path"] == SCRIPT_PATH for row in asked) <= 12
    logs = "".join(path.read_text("utf-8", errors="replace") for path in (data / "logs").glob("*"))
    assert PASSWORD not in told.stdout + told.stderr + logs
    until(lambda: not running_in(data), "the end of every process of the crawl")
