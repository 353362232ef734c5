"""Proxies from their list to their use, from outside: commands, and a second program on the same Redis."""

import json
import os
import signal
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from check_pages import check_page
from crawls import FAST, crawl_arguments, end_of, in_background, requests, run
from fleet_thread import RunningFleet, fleet_before
from forked_simulators import start_forked
from hurried_services import forked_programs
from integration.test_proxies_services import lasting
from listening import free_port
from parallel_crawls import running_in, services_forked, until, wait_until_said
from proxy_fleet import PASSWORD
from sale_sofia.operations.services.celery import sender
from sale_sofia.operations.services.processes import read_child
from sale_sofia.operations.services.redis import connect
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.proxies.refresh import new_job_id
from sale_sofia.settings.model import load_settings
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "bazar.bg"
TASKS = "sale_sofia.proxies.tasks."
KINDS = {
    "good": 3,
    "socks5": 1,
    "with_password": 1,
    "dead": 2,
    "refusing": 1,
    "wants_password": 1,
    "babbling": 1,
}
USABLE = {"good", "socks5", "with_password"}


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    config = SimulatorConfig(
        properties=30, seed=3, port=0, truth=tmp_path / "truth.json", log=tmp_path / "log"
    )
    with start_forked(config) as running:
        yield running


def portals(folder: Path, simulator: RunningSimulator, **more: object) -> dict[str, str]:
    """Where SITES_DIR says of the simulated portal that it uses proxies."""
    folder.mkdir()
    told = {"start_urls": list(simulator.start_urls(SITE)), "proxies": {"use": True}, **more}
    (folder / f"{SITE}.yaml").write_text(yaml.safe_dump(told), "utf-8")
    return {**FAST, "SITES_DIR": str(folder)}


def found_by_kind(fleet: RunningFleet, told: str) -> dict[str, set[str]]:
    kinds = {one.address.masked: one.kind for one in fleet.members}
    found: dict[str, set[str]] = {}
    for one in json.loads(told)["findings"]:
        found.setdefault(kinds[one["address"]], set()).add(one["found"])
    return found


def test_public_lists_come_with_it_and_are_off_until_switched_on(tmp_path: Path) -> None:
    def used(*arguments: str) -> list[str]:
        told = run(tmp_path, "proxies", "sources", *arguments, "--json")
        assert told.returncode == 0, told.stderr
        rows = json.loads(told.stdout)["sources"]
        assert len(rows) >= 6
        assert all(
            row["address"].startswith("https://") and row["scheme"] in {"http", "socks5"} for row in rows
        )
        return [row["name"] for row in rows if row["on"]]

    assert used() == []
    empty = run(tmp_path, "proxies", "refresh", "--json", **FAST)
    assert (empty.returncode, json.loads(empty.stdout)["candidates"]) == (1, 0)
    assert used("--on", "speedx-socks5", "--on", "monosans-http") == ["monosans-http", "speedx-socks5"]
    kept = json.loads((tmp_path / "proxies" / "sources.json").read_text())
    assert [(one["tier"], one["scheme"]) for one in kept] == [("free", "socks5"), ("free", "http")]
    assert used("--off", "speedx-socks5") == used() == ["monosans-http"]
    wrong = run(tmp_path, "proxies", "sources", "--on", "nobody")
    assert wrong.returncode == 2
    assert "no list 'nobody'; there are monosans-http" in " ".join(wrong.stderr.replace("│", " ").split())


def test_a_second_program_has_all_checked_by_the_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dispatcher, workers, callback: what it reads in Redis, and that the parts were tasks of their own."""
    data = tmp_path / "data"
    with (
        check_page(tmp_path / "page") as (page, named),
        fleet_before(1, KINDS, others=(page,)) as fleet,
    ):
        (tmp_path / "list").write_text(fleet.lines())
        assert run(data, "proxies", "add", tmp_path / "list").returncode == 0
        told = {"DATA_DIR": str(data), "WORKER_PROCESSES": "2", "PROXY_CHECK_CHUNK": "3", **named}
        for name, value in told.items():
            monkeypatch.setenv(name, value)
        with forked_programs(), Orchestrator(load_settings()) as services:
            services.start_celery()
            url, job = services.start_redis(), new_job_id()
            with sender(url) as app, connect(url) as redis:
                app.send_task(f"{TASKS}refresh_proxies", args=[job])

                def key(name: str) -> str:
                    return str(redis.get(f"proxies:{job}:{name}"))

                until(lambda: key("status") == "COMPLETE", "the end of the refresh")
                numbers = {
                    name: int(key(name))
                    for name in ("candidates", "checked", "usable", "total_chunks", "completed_chunks")
                }
                assert float(key("started_at")) <= float(key("completed_at"))
                # What is sent again changes nothing: its parts are checked, its end is known.
                for name, arguments in (("check_proxies", [job, 1]), ("finish_refresh", [job])):
                    app.send_task(f"{TASKS}{name}", args=arguments)
                until(lambda: log_of(data).count("finish_refresh") > 1, "the second call of the end")
                assert (key("checked"), key("status")) == ("10", "COMPLETE")
                assert redis.keys(f"proxies:{job}:chunk:*") == []
            listed = json.loads(run(data, "proxies", "list", "--json").stdout)["proxies"]
            assert services.wait_for_refresh_completion(job, 1).usable == 5
        # Also when Redis is gone with all its keys.
        noted = json.loads((data / "proxies" / "refresh.json").read_text())
        usable = {one.address.id for one in fleet.members if one.kind in USABLE}
    assert numbers == {"candidates": 10, "checked": 10, "usable": 5, "total_chunks": 4, "completed_chunks": 4}
    assert {one["id"] for one in listed} == usable
    assert (noted["job_id"], noted["status"], noted["usable"]) == (job, "COMPLETE", 5)
    assert log_of(data).count("check_proxies") >= 5
    assert PASSWORD not in log_of(data)


def log_of(data: Path) -> str:
    return (data / "logs" / "worker.log").read_text("utf-8")


def test_without_a_judge_only_who_leads_to_the_portal_is_usable(
    tmp_path: Path, simulator: RunningSimulator
) -> None:
    """Each is asked for robots.txt in a turn of the portal's; to take a connection is not enough."""
    sites = portals(tmp_path / "sites", simulator)
    with fleet_before(urlsplit(simulator.urls[SITE]).port or 0, KINDS) as fleet:
        (tmp_path / "list").write_text(fleet.lines())
        told = run(tmp_path / "data", "proxies", "check", tmp_path / "list", "--json", **sites)
        passed = fleet.door.requests
        found = found_by_kind(fleet, told.stdout)
    usable = {kind: {"usable"} for kind in USABLE}
    others = {"dead": {"dead"}, "refusing": {"refuses"}, "wants_password": {"wants_password"}}
    assert found == {**usable, **others, "babbling": {"no_proxy"}}, told.stderr
    assert [one["path"] for one in requests(tmp_path / "log")] == ["/robots.txt"] * passed
    assert passed == 5


def test_a_turn_that_does_not_come_makes_nobody_usable(tmp_path: Path, simulator: RunningSimulator) -> None:
    """One request an hour: the first is asked for, of the others nothing is known, and nothing is said."""
    sites = portals(tmp_path / "sites", simulator)
    slow = {**sites, "DOMAIN_RATE_LIMITS": json.dumps({SITE: 1 / 60})}
    with fleet_before(urlsplit(simulator.urls[SITE]).port or 0, {"good": 3}) as fleet:
        (tmp_path / "list").write_text(fleet.lines())
        told = run(tmp_path / "data", "proxies", "check", tmp_path / "list", "--json", **slow)
    found = sorted(one["found"] for one in json.loads(told.stdout)["findings"])
    assert found == ["unsure", "unsure", "usable"]
    assert len(requests(tmp_path / "log")) == 1


def test_up_starts_the_rotator_where_a_portal_uses_proxies(
    tmp_path: Path, simulator: RunningSimulator
) -> None:
    data, port = tmp_path / "data", free_port()
    sites = portals(tmp_path / "sites", simulator)
    with services_forked(data, ROTATOR_PORT=str(port), **sites) as process:
        wait_until_said(process, f"rotator: http://127.0.0.1:{port}")
        assert status_of(port) == 503  # at work, without a proxy: nothing goes out directly
        record = read_child(data / "run" / "rotator.json")
        assert record is not None
        assert record.process is not None
        os.kill(record.process.pid, signal.SIGKILL)
        wait_until_said(process, "the rotator died; started again")
        until(lambda: answers(port), "the rotator that was started again")
    assert not answers(port)
    assert running_in(data) == {}
    assert requests(tmp_path / "log") == []


def status_of(port: int) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("CONNECT", "www.bazar.bg:443")
    status = connection.getresponse().status
    connection.close()
    return status


def answers(port: int) -> bool:
    try:
        return status_of(port) == 503
    except OSError:
        return False


def test_stats_tell_the_same_while_and_after_a_crawl(tmp_path: Path, simulator: RunningSimulator) -> None:
    """A crawl without Redis: another process is told what it has learnt so far, and all of it at the end."""
    data = tmp_path / "data"
    sites = {**portals(tmp_path / "sites", simulator), "DOMAIN_RATE_LIMITS": json.dumps({SITE: 240})}
    quick = {"PROXY_SPACING": "0", "MIN_PROXIES_FOR_SCRAPING": "0"}

    def uses() -> dict[str, int]:
        told = json.loads(run(data, "proxies", "stats", SITE, "--json", **sites).stdout)
        return {row["id"]: row["uses"] for row in told["stats"][SITE]}

    with fleet_before(urlsplit(simulator.urls[SITE]).port or 0, {"good": 4}) as fleet:
        (tmp_path / "list").write_text(fleet.lines())
        assert run(data, "proxies", "add", tmp_path / "list").returncode == 0
        assert run(data, "proxies", "refresh", **sites, **quick).returncode == 0
        crawl = in_background(data, *crawl_arguments(simulator, SITE), **sites, **quick)
        until(lambda: sum(uses().values()) > 0, "what the crawl has learnt so far")
        during = uses()
        told = end_of(crawl)
        after = run(data, "proxies", "stats", "--json", **sites)
        again = run(data, "proxies", "stats", "--json", **sites)
    assert told.returncode == 0, told.stderr
    last = uses()
    assert set(during) == set(last) == {one.address.id for one in fleet.members}
    assert all(during[name] <= last[name] for name in last)
    assert sum(last.values()) > 30  # a page for each advert, and the search
    assert lasting(json.loads(after.stdout)) == lasting(json.loads(again.stdout))
