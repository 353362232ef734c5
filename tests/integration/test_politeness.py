"""The portals' own request logs show that we are gentle and stay where we belong."""

import itertools
import json
from pathlib import Path

from crawls import FAST, crawl_arguments, requests, run
from sale_sofia.simulator.running import start_in_process
from sale_sofia.simulator.simulator_config import SimulatorConfig


def gaps(rows: list[dict[str, float]]) -> list[float]:
    times = sorted(row["t"] for row in rows)
    return [after - before for before, after in itertools.pairwise(times)]


def busiest_second(rows: list[dict[str, float]]) -> int:
    times = [row["t"] for row in rows]
    return max(sum(start <= time < start + 1 for time in times) for start in times)


def test_rate_and_concurrency_hold(tmp_path: Path) -> None:
    config = SimulatorConfig(properties=25, seed=3, port=0, log=tmp_path / "log")
    rates = json.dumps({"imot.bg": 600, "bazar.bg": 300})
    with start_in_process(config) as simulator:
        for site in ("imot.bg", "bazar.bg"):
            told = run(tmp_path / "data", *crawl_arguments(simulator, site), DOMAIN_RATE_LIMITS=rates)
            assert json.loads(told.stdout)["jobs"][0]["adverts"] == 25
    asked = [row for row in requests(tmp_path / "log") if row["path"] != "/robots.txt"]
    for site, spacing in (("imot.bg", 0.1), ("bazar.bg", 0.2)):
        of_site = [row for row in asked if row["site"] == site]
        assert sum(gaps(of_site)) >= (len(of_site) - 2) * spacing
        # two may be on their way at once, so as many may arrive late and together
        assert busiest_second(of_site) <= 1 / spacing + 1 + 2
        assert max(row["open"] for row in of_site) <= 2


def test_crawl_delay_slows_us_down_and_robots_are_asked_once(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",), properties=8, seed=3, port=0, log=tmp_path / "log", crawl_delay=0.3
    )
    with start_in_process(config) as simulator:
        run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
    asked = requests(tmp_path / "log")
    pages = [row for row in asked if row["path"] != "/robots.txt"]
    assert len(asked) - len(pages) == 1
    assert sum(gaps(pages)) >= (len(pages) - 2) * 0.3


def test_a_portal_whose_robots_txt_is_broken_is_left_alone(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",), properties=8, seed=3, port=0, log=tmp_path / "log", robots_status=500
    )
    with start_in_process(config) as simulator:
        told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST)
    job = json.loads(told.stdout)["jobs"][0]
    assert (told.returncode, job["state"]) == (1, "FAILED")
    assert "RobotsDisallowed" in job["error"]
    assert {row["path"] for row in requests(tmp_path / "log")} == {"/robots.txt"}


def test_the_operator_can_switch_robots_txt_off(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",), properties=8, seed=3, port=0, log=tmp_path / "log", robots_status=500
    )
    with start_in_process(config) as simulator:
        told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST, ROBOTS_OBEYED="false")
    assert json.loads(told.stdout)["jobs"][0]["state"] == "COMPLETE"
    assert "/robots.txt" not in {row["path"] for row in requests(tmp_path / "log")}
