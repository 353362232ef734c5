"""A crawl of simulated portals stores exactly their truth, whatever goes wrong on the way."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from shutil import copytree

import pytest

from crawls import ALONE, FAST, IMPATIENT, crawl_arguments, differences, requests, run, stored, truth
from forked_simulators import start_forked
from sale_sofia.cli.start import write_simulated_sites
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITES = ("imot.bg", "bazar.bg")
FAULTS = "429:0.02,503:0.03,slow:0.03,reset:0.03,captcha:0.03,truncate:0.03"
ADVERTS = 45
"""Two pages of results."""


@dataclass(frozen=True, slots=True)
class Crawled:
    """Both portals, sound, and a store that has all of them; neither is changed."""

    simulator: RunningSimulator
    data: Path
    log: Path


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("sound")
    with simulated(folder) as simulator:
        for site in SITES:
            crawl(simulator, folder / "data", site, **FAST)
        yield Crawled(simulator, folder / "data", folder / "log")


def simulated(folder: Path, faults: str = "") -> RunningSimulator:
    config = SimulatorConfig(
        properties=ADVERTS,
        seed=7,
        port=0,
        faults=faults,
        slow_seconds=0.2,
        truth=folder / "t.json",
        log=folder / "log",
    )
    return start_forked(config)


def crawl(simulator: RunningSimulator, data: Path, site: str, **more: str) -> None:
    """A first crawl, to its end."""
    told = run(data, *crawl_arguments(simulator, site), **ALONE, **more)
    assert told.returncode == 0, told.stderr + told.stdout
    job = json.loads(told.stdout)["jobs"][0]
    assert (job["state"], job["failed"], job["adverts"]) == ("COMPLETE", 0, job["new"])


def test_a_crawl_stores_exactly_the_truth(crawled: Crawled) -> None:
    assert differences(stored(crawled.data), truth(crawled.simulator)) == {}
    adverts = [row["path"] for row in requests(crawled.log) if "/obiava-" in row["path"]]
    assert len(set(adverts[: 2 * ADVERTS])) == 2 * ADVERTS, "each is asked for once"


def test_a_crawl_of_faulty_portals_stores_exactly_the_truth(tmp_path: Path) -> None:
    with simulated(tmp_path, FAULTS) as simulator:
        for site in SITES:
            crawl(simulator, tmp_path / "data", site, **IMPATIENT)
    assert differences(stored(tmp_path / "data"), truth(simulator)) == {}
    faults = {row["fault"] for row in requests(tmp_path / "log")}
    assert faults >= {"429", "503", "slow", "reset", "captcha", "truncate"}


def test_a_second_crawl_finds_nothing_new(crawled: Crawled, tmp_path: Path) -> None:
    data = copytree(crawled.data, tmp_path / "data")
    for site in SITES:
        told = run(data, *crawl_arguments(crawled.simulator, site), **ALONE, **FAST)
        job = json.loads(told.stdout)["jobs"][0]
        counts = (job["state"], job["adverts"], job["new"], job["changed"])
        assert counts == ("COMPLETE", ADVERTS, 0, 0)


def test_all_simulated_portals_and_no_other_at_once_or_one_by_one(crawled: Crawled, tmp_path: Path) -> None:
    write_simulated_sites(
        tmp_path / "sites",
        {site: crawled.simulator.start_urls(site) for site in crawled.simulator.config.sites},
    )
    asked = []
    for turn, way in enumerate(("--at-once", "--one-by-one")):
        before = len(requests(crawled.log))
        more = {**ALONE, **FAST, "SITES_DIR": str(tmp_path / "sites")}
        told = run(tmp_path / f"data{turn}", "crawl", way, "--limit", "20", "--json", **more)
        assert told.returncode == 0, told.stderr
        assert {job["site"] for job in json.loads(told.stdout)["jobs"]} == set(SITES)
        sites = [row["site"] for row in requests(crawled.log)[before:]]
        asked.append(sum(one != other for one, other in pairwise(sites)))
    assert asked[0] > asked[1] == 1, "how often it went from one portal to the other"
    refused = run(tmp_path / "data", "crawl", "--one-by-one", "--parallel")
    assert refused.returncode == 2
    assert "--one-by-one is for a crawl in this process" in refused.stderr


def test_start_opens_what_fits_and_leaves_the_rest_as_cards(crawled: Crawled, tmp_path: Path) -> None:
    write_simulated_sites(
        tmp_path / "sites",
        {site: crawled.simulator.start_urls(site) for site in crawled.simulator.config.sites},
    )
    more = {**ALONE, **FAST, "SITES_DIR": str(tmp_path / "sites"), "ONE_BY_ONE": "true"}
    given = ("--budget", "150000", "--kinds", "2, 3", "--yes", "--no-dashboard")
    told = run(tmp_path / "data", "start", *given, **more)
    assert told.returncode == 0, told.stderr
    assert "may fit" in told.stderr
    with closing(sqlite3.connect(tmp_path / "data" / "sale_sofia.db")) as database:
        found = Counter(
            database.execute(
                "SELECT site, opened_at IS NOT NULL, price_eur <= 150000 AND coalesce(rooms, 2) >= 2"
                " AND property_type = 'apartment' AND deal = 'sale' FROM listings"
            ).fetchall()
        )
        kept = database.execute("SELECT json_extract(looks_for, '$.names[0]') FROM jobs").fetchall()
    assert kept == [("me",)] * len(SITES)
    for site in SITES:
        assert found[site, 1, 1] > 0, "what fits is opened"
        assert found[site, 0, 1] == 0
        assert found[site, 0, 0] > 0, "and the rest is there as its card says"


def test_a_limit_is_a_limit(crawled: Crawled, tmp_path: Path) -> None:
    told = run(
        tmp_path / "data", *crawl_arguments(crawled.simulator, "imot.bg"), "--limit", "17", **ALONE, **FAST
    )
    job = json.loads(told.stdout)["jobs"][0]
    assert (job["state"], job["adverts"]) == ("COMPLETE", 17)
    assert len(stored(tmp_path / "data")) == 17


def test_reparse_reads_the_archive_and_changes_nothing(crawled: Crawled, tmp_path: Path) -> None:
    data = copytree(crawled.data, tmp_path / "data")
    before = stored(data)
    told = run(data, "reparse", "bazar.bg")
    said = f"{ADVERTS} pages read again: 0 adverts changed, 0 unreadable, 0 no longer in the archive"
    assert said in " ".join(told.stderr.split())
    assert stored(data) == before
    assert "pages removed" in run(data, "prune").stderr
