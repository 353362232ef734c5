"""`doctor --robots` against simulated portals: what their robots.txt says, asked for once and in turn."""

import socket
from pathlib import Path

import pytest
from pydantic import SecretStr

from crawls import requests, run
from forked_simulators import start_forked
from parallel_portals import Portal, write_site_file
from sale_sofia.operations import checks
from sale_sofia.operations.checks import check_robots
from sale_sofia.operations.doctor import CheckResult
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.websites.registry import UnknownSite
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "own.test"
LATER = "Nothing of the portal is crawled while its robots.txt cannot be had; try later."


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "sites").mkdir()
    monkeypatch.setenv("SITES_DIR", str(tmp_path / "sites"))
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(checks, "AVAILABLE_SITES", (SITE,))
    return load_settings()


def simulated(folder: Path, *, status: int = 200, delay: float | None = None) -> RunningSimulator:
    """A portal of whose addresses robots.txt closes one, and its site file."""
    config = SimulatorConfig(
        sites=("bazar.bg",), properties=1, port=0, robots_status=status, crawl_delay=delay, log=folder / "log"
    )
    simulator = start_forked(config)
    name_starts(folder, *simulator.start_urls("bazar.bg"))
    return simulator


def name_starts(folder: Path, *urls: str) -> None:
    write_site_file(folder / "sites", Portal(SITE, 1, 60), urls)


def asked(folder: Path) -> list[str]:
    return [row["path"] for row in requests(folder / "log")]


@pytest.mark.slow
def test_the_next_start_is_named_where_the_first_is_forbidden(settings: Settings, tmp_path: Path) -> None:
    with simulated(tmp_path) as simulator:
        closed, start = f"{simulator.urls['bazar.bg']}/ads/save", simulator.start_urls("bazar.bg")[0]
        name_starts(tmp_path, closed)
        with (tmp_path / "sites" / f"{SITE}.yaml").open("a") as file:
            file.write(f"\nother_starts: [[{start}]]\n")
        (check,) = check_robots(settings, [SITE])
    assert check.ok
    assert check.detail.endswith(f"a crawl begins at {start}, for robots.txt forbids {closed}")


@pytest.mark.slow
def test_what_is_allowed_and_how_often(settings: Settings, tmp_path: Path) -> None:
    with simulated(tmp_path, delay=7.5) as simulator:
        said = "2 of 2 start URLs allowed, Crawl-delay 7.5 s, one request every 7.5 s"
        assert check_robots(settings) == [CheckResult(f"robots {SITE}", ok=True, detail=said)]
        assert asked(tmp_path) == ["/robots.txt"], "once for both addresses"
        closed = f"{simulator.urls['bazar.bg']}/ads/save"
        name_starts(tmp_path, *simulator.start_urls("bazar.bg"), closed)
        (check,) = check_robots(settings, [SITE])
    assert check.detail == (
        "2 of 3 start URLs allowed, Crawl-delay 7.5 s, one request every 7.5 s; forbidden: " + closed
    )
    assert check.advice == "Take them out of the start URLs; they are left alone."
    assert asked(tmp_path) == ["/robots.txt"] * 2


@pytest.mark.slow
def test_no_file_allows_everything_and_one_that_cannot_be_had_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    with simulated(tmp_path, status=404):
        said = "2 of 2 start URLs allowed, no Crawl-delay, one request every 1 s"
        assert check_robots(settings) == [CheckResult(f"robots {SITE}", ok=True, detail=said)]
    with simulated(tmp_path, status=503) as simulator:
        said = f"HttpServer: {simulator.urls['bazar.bg']}/robots.txt: answered 503"
        assert check_robots(settings) == [CheckResult(f"robots {SITE}", ok=False, detail=said, advice=LATER)]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    name_starts(tmp_path, f"http://127.0.0.1:{port}/obiavi/prodazhba-apartamenti/sofia")
    (check,) = check_robots(settings)
    assert check.detail.startswith(f"NetworkConnection: http://127.0.0.1:{port}/robots.txt: ")
    assert check.advice == LATER


def test_a_portal_that_all_workers_leave_alone_is_not_asked(
    settings: Settings, tmp_path: Path, redis_server: RedisServer
) -> None:
    shared = settings.model_copy(
        update={
            "redis_url": SecretStr(redis_server.url),
            "parallel_scraping": True,
            "circuit_breaker_fail_max": 1,
        }
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    name_starts(tmp_path, f"http://127.0.0.1:{port}/obiavi/prodazhba-apartamenti/sofia")
    (first,) = check_robots(shared)
    assert "NetworkConnection" in first.detail
    (second,) = check_robots(shared)
    assert second.detail == "not asked, the portal is to be left alone (circuit_open)"


def test_a_portal_behind_proxies_is_not_asked_and_a_wrong_name_is_told(
    settings: Settings, tmp_path: Path
) -> None:
    name_starts(tmp_path, "http://127.0.0.1:9/obiavi/prodazhba-apartamenti/sofia")
    with (tmp_path / "sites" / f"{SITE}.yaml").open("a", encoding="utf-8") as file:
        file.write("proxies: {use: true}\n")
    said = "not asked: this portal is asked through proxies alone"
    assert check_robots(settings) == [CheckResult(f"robots {SITE}", ok=True, detail=said)]
    with pytest.raises(UnknownSite, match=r"no site 'nowhere\.bg'; allowed: own\.test"):
        check_robots(settings, ["nowhere.bg"])


@pytest.mark.slow
def test_the_command(settings: Settings, tmp_path: Path) -> None:
    with simulated(tmp_path):
        told = run(tmp_path / "data", "doctor", "--robots", "--site", SITE, MIN_FREE_DISK_MB="0")
    assert told.returncode == 0, told.stdout + told.stderr
    assert "2 of 2 start URLs allowed, no Crawl-delay" in " ".join(told.stdout.split())
    assert settings.sites_dir is not None
    assert asked(tmp_path) == ["/robots.txt"]


def test_a_site_file_that_cannot_be_read_is_a_failed_check(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "sites" / f"{SITE}.yaml").write_text("site: [")
    (check,) = check_robots(settings, [SITE])
    assert not check.ok
    assert f"{SITE}.yaml" in check.detail
