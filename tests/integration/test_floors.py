"""A site file that does not read its portal: found by the first run, nothing shown, until it is mended."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from contract.storage.helpers import ready_database
from crawls import FAST, answer, crawl_arguments, run, site_folder, stored
from forked_simulators import start_forked
from sale_sofia.buyer.searches import save_search
from sale_sofia.websites.site_file import CONFIG_FOLDER
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "bazar.bg"
BROKEN_PRICE = ".adPrice .price-that-was"
ALERTS = """
channels: {hook: 'json://127.0.0.1:1/'}
buyer: [{name: All, search: All, tell: [new, cut, back], channels: [hook]}]
"""
Row = dict[str, Any]


@dataclass
class Portal:
    """A simulated portal, a store, and a folder of site files that is empty or wrong."""

    simulator: RunningSimulator
    data: Path
    sites: Path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        done = run(self.data, *arguments, SITES_DIR=str(self.sites), **FAST)
        return done.returncode, done.stdout, done.stderr

    def crawl(self, *more: str) -> tuple[int, Row]:
        code, out, _ = self.run(*crawl_arguments(self.simulator, SITE), *more)
        return code, json.loads(out)["jobs"][0]

    def told_as_new(self) -> list[str]:
        """What `changes` shows as new; as often as it does."""
        _, out, _ = self.run("changes", "--since", "7d", "--kind", "new", "--json")
        return [json.loads(line)["external_id"] for line in out.splitlines()]

    def changed(self) -> int:
        return len(
            self.run("changes", "--since", "7d", "--kind", "price", "--kind", "edit", "--json")[
                1
            ].splitlines()
        )

    def count(self, query: str) -> int:
        with sqlite3.connect(self.data / "sale_sofia.db") as connection:
            return int(connection.execute(query).fetchone()[0])

    def alerts(self) -> int:
        return self.count("SELECT count(*) FROM alert_items WHERE property_id IS NOT NULL")

    def break_file(self) -> None:
        """The price is looked for where none is, and the rows' values where their labels are."""
        content = yaml.safe_load((CONFIG_FOLDER / "sites" / f"{SITE}.yaml").read_text("utf-8"))
        listing = content["listing"]
        listing["fields"]["price"]["from"] = [{"css": BROKEN_PRICE}]
        listing["rows"]["params"]["value"] = ".span4"
        site_folder(self.sites, SITE, listing=listing)

    def mend_file(self) -> None:
        (self.sites / f"{SITE}.yaml").unlink()


@pytest.fixture(scope="module")
def simulator() -> Iterator[RunningSimulator]:
    config = SimulatorConfig(sites=(SITE,), properties=16, seed=3, port=0)
    with start_forked(config) as running:
        yield running


@pytest.fixture(scope="module")
def begun(simulator: RunningSimulator, tmp_path_factory: pytest.TempPathFactory) -> Portal:
    """With rules that have begun, and a file that does not read the portal; to be copied."""
    folder = tmp_path_factory.mktemp("begun")
    made = Portal(simulator, folder / "data", folder / "sites")
    made.break_file()
    made.data.mkdir()
    (made.data / "alerts.yaml").write_text(ALERTS, "utf-8")
    database = ready_database(made.data / "sale_sofia.db")
    with database.write() as connection:
        save_search(connection, "All", {}, now=1.0)
    database.dispose()
    assert made.run("alerts", "run")[0] == 0
    return made


@pytest.fixture(scope="module")
def first_run(begun: Portal, tmp_path_factory: pytest.TempPathFactory) -> tuple[Portal, tuple[int, Row]]:
    """The same after its first crawl, and what that said; to be copied."""
    made = copied(begun, tmp_path_factory.mktemp("crawled"))
    return made, made.crawl()


@pytest.fixture
def portal(begun: Portal, tmp_path: Path) -> Portal:
    return copied(begun, tmp_path)


@pytest.fixture
def crawled(first_run: tuple[Portal, tuple[int, Row]], tmp_path: Path) -> Portal:
    return copied(first_run[0], tmp_path)


def copied(portal: Portal, folder: Path) -> Portal:
    data, sites = (copytree(one, folder / one.name) for one in (portal.data, portal.sites))
    return Portal(portal.simulator, data, sites)


def test_the_first_run_says_what_is_not_read_and_shows_nothing_as_new(
    first_run: tuple[Portal, tuple[int, Row]],
) -> None:
    portal, (code, job) = first_run
    adverts = job["adverts"]
    assert (code, job["state"], job["held_back"]) == (1, "COMPLETE", adverts)
    assert adverts == 16
    assert job["shortfalls"][0] == f"price on 0 of {adverts} opened adverts (at least 80% expected)"
    assert [one.partition(" ")[0] for one in job["shortfalls"]] == ["price", "area"]
    check_told(portal, adverts)
    assert portal.told_as_new() == []
    assert portal.alerts() == 0
    assert portal.count("SELECT count(*) FROM market_events WHERE kind = 'gone'") == 0
    assert portal.count("SELECT count(*) FROM sweeps WHERE complete") == 0


def check_told(portal: Portal, adverts: int) -> None:
    """By `report`, by the incident in it, and by `sites drift`."""
    found = answer(run(portal.data, "report", "--json", SITES_DIR=str(portal.sites)))["runs"][0]
    assert found["health"]["state"] == "critical"
    assert f"price on 0 of {adverts} opened adverts (at least 80% expected)" in found["health"]["reasons"]
    assert found["summary"]["held_back"] == found["summary"]["new"] == adverts
    (incident,) = found["incidents"]
    price, area = sorted(incident["details"]["findings"], key=lambda one: str(one["found"]), reverse=True)
    assert (incident["kind"], price["field"], area["field"]) == (
        "drift_floor", "listing.price", "listing.area_sqm",
    )  # fmt: skip
    assert BROKEN_PRICE in price["selector"] in incident["message"]
    assert "/obiava-" in price["url"] in incident["message"]
    code, out, _ = portal.run("sites", "drift", SITE, "--json")
    drifted = [one for one in json.loads(out)["checks"] if one["verdict"] == "drifted"]
    assert (code, {one["kind"] for one in drifted}) == (1, {"drift_floor"})
    code, out, _ = portal.run("report")
    assert f"{adverts} new adverts are held back" in " ".join(out.split())


def test_a_mended_file_ends_it_with_the_next_run_and_all_is_new_once(crawled: Portal) -> None:
    portal = crawled
    code, job = portal.crawl()  # still wrong: they are opened again, and still not shown
    assert (code, portal.told_as_new()) == (1, [])
    assert (
        portal.count("SELECT count(*) FROM scrape_history WHERE verdict = 'ok' AND listing_id")
        == 2 * job["adverts"]
    )
    portal.mend_file()
    code, job = portal.crawl()
    assert (code, job["shortfalls"], job["held_back"]) == (0, [], 0)
    assert sorted(portal.told_as_new()) == sorted(row["external_id"] for row in stored(portal.data))
    assert portal.changed() == 0
    assert portal.count("SELECT count(*) FROM incidents WHERE closed_at IS NULL") == 0
    assert answer(run(portal.data, "report", "--json"))["health"] == "healthy"
    told = portal.alerts()
    assert told > 0
    assert portal.crawl()[0] == 0
    assert (len(portal.told_as_new()), portal.alerts()) == (job["adverts"], told)


def test_reading_the_archive_again_shows_what_it_reads_right(crawled: Portal) -> None:
    portal = crawled
    assert portal.run("reparse", SITE)[0] == 0
    assert portal.told_as_new() == []
    portal.mend_file()
    assert portal.run("reparse", SITE)[0] == 0
    adverts = len(stored(portal.data))
    assert len(portal.told_as_new()) == adverts
    assert portal.count("SELECT count(*) FROM incidents WHERE closed_at IS NULL") == 0
    code, job = portal.crawl()
    assert (code, job["held_back"]) == (0, 0)
    assert len(portal.told_as_new()) == adverts
    assert portal.count("SELECT count(*) FROM incidents WHERE closed_at IS NULL") == 0


def test_a_person_may_say_that_the_adverts_are_so(crawled: Portal) -> None:
    portal, adverts = crawled, len(stored(crawled.data))
    assert portal.run("sites", "drift", SITE, "--accept")[0] == 0
    assert len(portal.told_as_new()) == adverts
    assert portal.run("sites", "drift", SITE)[0] == 0
    assert answer(run(portal.data, "report", "--json"))["health"] == "healthy"


def test_a_few_adverts_of_a_wrong_file_are_enough(portal: Portal) -> None:
    code, job = portal.crawl("--limit", "5")
    assert code == 1
    assert "price on 0 of 5 opened adverts (at least 80% expected)" in job["shortfalls"]
    assert portal.told_as_new() == []


def test_a_few_adverts_of_a_right_file_cry_no_wolf(portal: Portal) -> None:
    portal.mend_file()
    (portal.data / "alerts.yaml").unlink()  # nobody is to be told here, which takes its time
    for limit in ("1", "3", "5"):
        code, job = portal.crawl("--limit", limit, "--fresh")
        assert (code, job["shortfalls"]) == (0, []), limit
    assert len(portal.told_as_new()) >= 5
