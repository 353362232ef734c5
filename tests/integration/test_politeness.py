"""The portals' own request logs show that we are gentle and stay where we belong."""

import itertools
import json
from pathlib import Path

from crawls import ALONE, FAST, crawl_arguments, requests, run, truth
from forked_simulators import start_forked
from sale_sofia.crawl.resilience.settings import RATE_BURST
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.simulation import SimulatorConfig
from windows import excess


def gaps(rows: list[dict[str, float]]) -> list[float]:
    times = sorted(row["t"] for row in rows)
    return [after - before for before, after in itertools.pairwise(times)]


def busiest_second(rows: list[dict[str, float]]) -> int:
    times = [row["t"] for row in rows]
    return max(sum(start <= time < start + 1 for time in times) for start in times)


def test_rate_and_concurrency_hold(tmp_path: Path) -> None:
    config = SimulatorConfig(properties=12, seed=3, port=0, log=tmp_path / "log")
    rates = json.dumps({"imot.bg": 600, "bazar.bg": 300})
    with start_forked(config) as simulator:
        for site in ("imot.bg", "bazar.bg"):
            told = run(
                tmp_path / "data", *crawl_arguments(simulator, site), DOMAIN_RATE_LIMITS=rates, **ALONE
            )
            assert json.loads(told.stdout)["jobs"][0]["adverts"] == 12
    asked = [row for row in requests(tmp_path / "log") if row["path"] != "/robots.txt"]
    for site, spacing in (("imot.bg", 0.1), ("bazar.bg", 0.2)):
        of_site = [row for row in asked if row["site"] == site]
        assert sum(gaps(of_site)) >= (len(of_site) - 2) * spacing
        # two may be on their way at once, so as many may arrive late and together
        assert busiest_second(of_site) <= 1 / spacing + 1 + 2
        assert max(row["open"] for row in of_site) <= 2


def test_crawl_delay_slows_us_down_and_robots_are_asked_once(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",), properties=5, seed=3, port=0, log=tmp_path / "log", crawl_delay=0.3
    )
    with start_forked(config) as simulator:
        run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST, **ALONE)
    asked = requests(tmp_path / "log")
    pages = [row for row in asked if row["path"] != "/robots.txt"]
    assert len(asked) - len(pages) == 1
    assert sum(gaps(pages)) >= (len(pages) - 2) * 0.3


def test_a_portal_whose_robots_txt_is_broken_is_left_alone(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",), properties=8, seed=3, port=0, log=tmp_path / "log", robots_status=500
    )
    with start_forked(config) as simulator:
        told = run(tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST, **ALONE)
    job = json.loads(told.stdout)["jobs"][0]
    assert (told.returncode, job["state"]) == (1, "FAILED")
    assert "RobotsDisallowed" in job["error"]
    assert {row["path"] for row in requests(tmp_path / "log")} == {"/robots.txt"}


def test_the_operator_can_switch_robots_txt_off(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",), properties=8, seed=3, port=0, log=tmp_path / "log", robots_status=500
    )
    with start_forked(config) as simulator:
        told = run(
            tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), **FAST, **ALONE, ROBOTS_OBEYED="false"
        )
    assert json.loads(told.stdout)["jobs"][0]["state"] == "COMPLETE"
    assert "/robots.txt" not in {row["path"] for row in requests(tmp_path / "log")}


def test_every_step_of_a_redirect_has_its_turn_and_so_has_robots_txt(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",),
        properties=3,
        seed=3,
        port=0,
        log=tmp_path / "log",
        options={"imot.bg": PortalOptions(redirects=4)},
    )
    per_minute = 600
    rates = json.dumps({"imot.bg": per_minute})
    with start_forked(config) as simulator:
        told = run(
            tmp_path / "data", *crawl_arguments(simulator, "imot.bg"), DOMAIN_RATE_LIMITS=rates, **ALONE
        )
    job = json.loads(told.stdout)["jobs"][0]
    asked = requests(tmp_path / "log")
    assert (job["state"], job["adverts"]) == ("COMPLETE", 3), told.stderr
    assert sum(row["status"] == 302 for row in asked) == 4 * 3
    # Two may be on their way at once, so as many may arrive late and together.
    assert excess([row["t"] for row in asked], per_minute, RATE_BURST + 2) == {}
    assert max(row["open"] for row in asked) <= 2
    assert job["requests"] == len(asked) - 1  # robots.txt is no page


def test_a_page_fetched_by_hand_waits_for_its_turn_after_robots_txt(tmp_path: Path) -> None:
    config = SimulatorConfig(
        sites=("imot.bg",),
        properties=3,
        seed=3,
        port=0,
        log=tmp_path / "log",
        truth=tmp_path / "truth",
        options={"imot.bg": PortalOptions(redirects=2)},
    )
    with start_forked(config) as simulator:
        url = next(row["url"] for row in truth(simulator).values() if row["site"] == "imot.bg")
        told = run(
            tmp_path / "data",
            "sites",
            "check",
            "imot.bg",
            "--url",
            url,
            DOMAIN_RATE_LIMITS='{"imot.bg": 120}',
        )
    assert told.returncode == 0, told.stderr
    asked = requests(tmp_path / "log")
    assert [row["status"] for row in asked] == [200, 302, 302, 200]
    assert min(gaps(asked)) > 0.25  # half a second apart when they left
