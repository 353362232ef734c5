"""Whole crawls through a fleet by the real command; the portal's door says from where each one came."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from check_pages import check_page
from crawls import ALONE, FAST, crawl_arguments, differences, requests, run, site_folder, stored, truth
from fleet_thread import fleet_before
from forked_simulators import start_forked
from proxy_fleet import PASSWORD
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.sources import SourceList
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "bazar.bg"
KINDS = {"good": 4, "socks5": 1, "with_password": 1, "dead": 2, "refusing": 1, "wants_password": 1}
QUICK = {
    **FAST,
    **ALONE,
    "MIN_PROXIES_FOR_SCRAPING": "0",
    "PROXY_SPACING": "0",
    "RETRY_BASE_DELAY": "0.05",
    "RETRY_MAX_DELAY": "0.5",
}


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    config = SimulatorConfig(
        properties=30, seed=3, port=0, truth=tmp_path / "truth.json", log=tmp_path / "log"
    )
    with start_forked(config) as running:
        yield running


def port_of(simulator: RunningSimulator) -> int:
    return urlsplit(simulator.urls[SITE]).port or 0


def everything_written(data: Path) -> str:
    """All files of the data folder but the two that are for their owner alone."""
    secret = {data / "proxies" / "sources.json", data / "proxies" / "known.json"}
    files = [path for path in data.rglob("*") if path.is_file() and path not in secret]
    return "".join(path.read_bytes().decode("latin-1") for path in files)


def test_a_crawl_goes_through_the_pool_and_never_round_it(
    tmp_path: Path, simulator: RunningSimulator
) -> None:
    data, sites = tmp_path / "data", str(site_folder(tmp_path / "sites", SITE, proxies={"use": True}))
    with (
        check_page(tmp_path / "page") as (page, named),
        fleet_before(port_of(simulator), KINDS, others=(page,)) as fleet,
    ):
        (tmp_path / "list").write_text(fleet.lines() + "\nnonsense\n")
        added = run(data, "proxies", "add", tmp_path / "list")
        assert added.returncode == 0
        assert "10 proxies, 0 duplicates, 1 malformed" in added.stderr
        checked = run(data, "proxies", "refresh", "--json", **named)
        found = {"usable": 6, "dead": 2, "refuses": 1, "wants_password": 1}
        assert json.loads(checked.stdout)["found"] == found
        told = run(data, "crawl", SITE, *crawl_arguments(simulator, SITE)[2:], SITES_DIR=sites, **QUICK)
        sources, passed = set(fleet.door.sources), fleet.door.requests
        hosts = {one.host for one in fleet.members if one.kind in {"good", "socks5", "with_password"}}
    job = json.loads(told.stdout)["jobs"][0]
    assert (job["state"], job["failed"], job["adverts"]) == ("COMPLETE", 0, 30), told.stderr
    true = {key: row for key, row in truth(simulator).items() if key[0] == SITE}
    assert differences(stored(data), true) == {}
    assert sources <= hosts
    assert passed == len(requests(tmp_path / "log")) > 30
    assert PASSWORD not in added.stderr + checked.stdout + told.stdout + told.stderr + everything_written(
        data
    )


@pytest.mark.parametrize("kinds", [{}, {"dead": 1, "refusing": 1, "wants_password": 1}], ids=["none", "bad"])
def test_without_a_usable_proxy_nothing_goes_out(
    tmp_path: Path, simulator: RunningSimulator, kinds: dict[str, int]
) -> None:
    data, sites = tmp_path / "data", str(site_folder(tmp_path / "sites", SITE, proxies={"use": True}))
    with fleet_before(port_of(simulator), kinds) as fleet:
        SourceList(data).remember([Proxy(one.address) for one in fleet.members])
        more = {**QUICK, "RETRY_MAX_ATTEMPTS": "1", "SITES_DIR": sites}
        told = run(data, "crawl", SITE, *crawl_arguments(simulator, SITE)[2:], **more)
        assert fleet.door.sources == {}
    assert requests(tmp_path / "log") == []
    assert told.returncode != 0
    assert json.loads(told.stdout)["jobs"][0]["adverts"] == 0
