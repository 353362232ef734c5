"""A crawl of simulated portals stores exactly their truth, whatever goes wrong on the way."""

import json
from pathlib import Path

import pytest

from crawls import FAST, IMPATIENT, Row, crawl_arguments, differences, requests, run, stored, truth
from sale_sofia.simulator.running import start_in_process
from sale_sofia.simulator.simulator_config import SimulatorConfig

SITES = ("imot.bg", "bazar.bg")
FAULTS = "429:0.03,503:0.03,slow:0.05,reset:0.03,captcha:0.03,truncate:0.03"
ADVERTS = 100
"""Three pages of results."""


@pytest.mark.parametrize("faults", ["", FAULTS], ids=["sound", "faulty"])
def test_a_crawl_stores_exactly_the_truth(tmp_path: Path, faults: str) -> None:
    config = SimulatorConfig(
        properties=ADVERTS,
        seed=7,
        port=0,
        faults=faults,
        slow_seconds=0.2,
        truth=tmp_path / "t.json",
        log=tmp_path / "log",
    )
    with start_in_process(config) as simulator:
        for site in SITES:
            told = run(
                tmp_path / "data", *crawl_arguments(simulator, site), **(IMPATIENT if faults else FAST)
            )
            assert told.returncode == 0, told.stderr + told.stdout
            job = json.loads(told.stdout)["jobs"][0]
            assert (job["state"], job["failed"], job["adverts"]) == ("COMPLETE", 0, job["new"])
    assert differences(stored(tmp_path / "data"), truth(simulator)) == {}
    asked = requests(tmp_path / "log")
    if faults:
        assert {row["fault"] for row in asked} >= {"429", "503", "slow", "reset", "captcha", "truncate"}
    else:
        adverts = [row["path"] for row in asked if "/obiava-" in row["path"]]
        assert len(adverts) == len(set(adverts)) == 2 * ADVERTS


def test_both_portals_at_once_and_a_second_crawl_finds_nothing_new(tmp_path: Path) -> None:
    config = SimulatorConfig(properties=20, seed=3, port=0, truth=tmp_path / "truth.json")
    with start_in_process(config) as simulator:
        for expected in (20, 0):
            for site in SITES:
                told = run(tmp_path / "data", *crawl_arguments(simulator, site), **FAST)
                job = json.loads(told.stdout)["jobs"][0]
                assert (job["state"], job["adverts"], job["new"], job["changed"]) == (
                    "COMPLETE",
                    20,
                    expected,
                    0,
                )


def test_a_changed_price_is_a_change_and_a_price_point(tmp_path: Path) -> None:
    config = SimulatorConfig(properties=120, seed=3, port=0, truth=tmp_path / "truth.json")
    with start_in_process(config) as simulator:
        run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
        before = {row["external_id"]: row for row in stored(tmp_path / "data")}
        simulator.advance()
        told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
    after = {row["external_id"]: row for row in stored(tmp_path / "data")}
    reused = [key for key in before if _another_flat(before[key], after[key])]
    same = before.keys() - set(reused)
    repriced = [key for key in same if before[key]["price_eur"] != after[key]["price_eur"]]
    assert len(repriced) >= 1
    assert json.loads(told.stdout)["jobs"][0]["changed"] >= len(repriced)
    assert json.loads(told.stdout)["jobs"][0]["new"] == len(after) - len(before) + len(reused) > 0


def _another_flat(old: Row, new: Row) -> bool:
    return bool(old["area_sqm"] != new["area_sqm"] and old["floor"] != new["floor"])


def test_a_limit_is_a_limit(tmp_path: Path) -> None:
    with start_in_process(SimulatorConfig(properties=200, seed=3, port=0)) as simulator:
        told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), "--limit", "17", **FAST)
    job = json.loads(told.stdout)["jobs"][0]
    assert (job["state"], job["adverts"]) == ("COMPLETE", 17)
    assert len(stored(tmp_path / "data")) == 17


def test_reparse_reads_the_archive_and_changes_nothing(tmp_path: Path) -> None:
    with start_in_process(SimulatorConfig(properties=20, seed=3, port=0)) as simulator:
        run(tmp_path / "data", *crawl_arguments(simulator, "bazar.bg"), **FAST)
    before = stored(tmp_path / "data")
    told = run(tmp_path / "data", "reparse")
    assert "20 pages read again: 0 adverts changed, 0 unreadable, 0 no longer in the archive" in told.stderr
    assert stored(tmp_path / "data") == before
    assert "pages removed" in run(tmp_path / "data", "prune").stderr
