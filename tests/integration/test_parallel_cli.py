"""`crawl --parallel`, `up`, `down`, `cancel`, `resume`: whole commands against simulated portals."""

import base64
import http.client
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from celery_server import server_variables
from command_server import ForkedProcess
from crawls import (
    Row,
    crawl_arguments,
    differences,
    end_of,
    environment,
    fork,
    in_background,
    requests,
    run,
    stored,
    truth,
)
from forked_simulators import start_forked
from hurried_services import forked_programs
from integration.test_bad_input import SEARCH, portal
from listening import free_port
from parallel_crawls import (
    PATIENCE_SECONDS,
    QUICK,
    kill_everything,
    running_in,
    services_forked,
    until,
    wait_until_said,
)
from parallel_world import HURRIED, surroundings
from ready_files import put_ready_file
from sale_sofia.crawl.runners.runners import site_lock
from sale_sofia.crawl.settings import EVENTS_CHANNEL
from sale_sofia.operations.services.celery import sender
from sale_sofia.operations.services.redis import RedisServer, connect
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.settings.model import DATABASE_FILE, load_settings
from sale_sofia.storage.database import Database
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

TASK = "sale_sofia.crawl.runners.tasks."


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with services for all, as `sale-sofia up` runs them; no test may stop them."""
    data = tmp_path_factory.mktemp("up")
    put_ready_file(data / DATABASE_FILE)
    with surroundings(environment(data, QUICK)):
        settings = load_settings()
    with forked_programs(), Orchestrator(settings, shared=True) as services:
        services.start_celery()
        yield data
    assert running_in(data) == {}


def simulated(folder: Path, properties: int, faults: str = "") -> RunningSimulator:
    log = folder / "log"
    log.touch()
    config = SimulatorConfig(
        properties=properties,
        seed=7,
        port=0,
        truth=folder / "truth",
        log=log,
        faults=faults,
        slow_seconds=3.0,
    )
    return start_forked(config)


def job_of(told: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return dict(json.loads(told.stdout)["jobs"][0])


def send_raw(data: Path, task: str, *arguments: object) -> str:
    server = RedisServer.find(data / "redis")
    assert server is not None
    with sender(server.url) as app:
        return str(app.send_task(TASK + task, args=arguments).id)


def worker_log(data: Path) -> str:
    return (data / "logs" / "worker.log").read_text("utf-8")


WRONG_MESSAGES: tuple[tuple[str, tuple[object, ...], str], ...] = (
    ("scrape_all_sites", (["imot.bg"],), "sites: expected {site: [start URL, …]}"),
    (
        "scrape_all_sites",
        ({"imot.bg": {"job_id": 5, "start_urls": []}},),
        "job_id: expected 1 to 40 letters, digits",
    ),
    ("dispatch_site_scraping", ("nowhere.bg", [], "j"), "site: no portal 'nowhere.bg'"),
    ("scrape_all_sites", ({}, 99), "the message is of version 99, this worker speaks 2"),
    ("scrape_chunk", (None, "j", "imot.bg", 1, "2"), "the message is of version '2', this worker speaks 2"),
    ("scrape_chunk", (None, "../../j", "imot.bg"), "job_id: expected 1 to 40 letters, digits"),
    ("scrape_chunk", (["x", 5], "j", "imot.bg"), "urls: expected a list of addresses"),
    ("aggregate_results", (None, "j", "../../etc/x"), "site: no portal '../../etc/x'"),
    ("aggregate_results", (["x"], "j", "imot.bg"), "summaries: expected what lanes return"),
    ("lanes_failed", ("j" * 41, "imot.bg"), "job_id: expected 1 to 40 letters, digits"),
)


def is_logged(data: Path, *words: str) -> bool:
    told = worker_log(data).replace('"', "'")
    return all(one in told for one in words)


def test_a_wrong_message_is_refused_in_the_log(up: Path) -> None:
    for task, arguments, sentence in WRONG_MESSAGES:
        sent = send_raw(up, task, *arguments)
        refused = f"{sent}] raised unexpected: WrongMessage({sentence[:9]!r}"[:-1]
        until(partial(is_logged, up, refused, sentence), f"{refused}: {sentence}")


def test_a_portal_without_adverts(up: Path, tmp_path: Path) -> None:
    with simulated(tmp_path, 0) as simulator:
        told = run(up, *crawl_arguments(simulator, "bazar.bg"), "--parallel", **QUICK)
    assert told.returncode == 1, told.stderr
    job = job_of(told)
    assert (job["state"], job["error"]) == ("EMPTY", "the portal shows no advert for this search")
    late = run(up, "cancel", job["job_id"])
    assert late.returncode == 2
    assert late.stderr.endswith("has ended already (EMPTY); there is nothing to cancel\n")


def test_all_pages_failing_are_counted_by_reason(up: Path) -> None:
    with portal("<html><body>Здравейте</body></html>".encode(), Content_Type="text/html") as base:
        urls = [part for number in (1, 2, 3) for part in ("--start-url", f"{base}{SEARCH}/p-{number}")]
        told = run(up, "crawl", "imot.bg", *urls, "--parallel", **QUICK)
    assert told.returncode == 1, told.stderr
    assert "FAILED" in told.stdout
    assert "pages that failed, by reason: " in told.stderr
    assert told.stderr.rstrip().endswith(" 3")
    assert "Traceback" not in told.stderr


def test_one_job_of_a_portal_at_a_time(up: Path, tmp_path: Path) -> None:
    # Every page takes three seconds: there is more than can be read before it is cancelled.
    with simulated(tmp_path, 400, "slow:1") as simulator:
        crawl = crawl_arguments(simulator, "imot.bg")
        first = in_background(up, *crawl, "--parallel", **QUICK, RETRY_MAX_ATTEMPTS="1")
        until(lambda: requests(tmp_path / "log"), "the first request")
        local = run(up, *crawl, "--local", **QUICK)
        other = run(up, *crawl, "--limit", "3", "--parallel", **QUICK)
        same = in_background(up, *crawl, "--parallel", **QUICK)
        until(lambda: waiting_for_jobs(up) == 2, "the same crawl, which joins the first")
        (job,) = [
            one for one in json.loads(run(up, "jobs", "--json").stdout)["jobs"] if not one["finished_at"]
        ]
        cancelled = [run(up, "cancel", job["id"]) for _ in range(2)]
        told = list(map(end_of, (first, same)))
    busy = f"sale-sofia: imot.bg is being crawled by the Celery workers; wait for job {job['id']}"
    refused = [(one.returncode, one.stderr.startswith(busy)) for one in (local, other)]
    assert refused == [(2, True)] * 2, (local, other, told)
    assert [one.stderr for one in cancelled] == [
        f"job {job['id']} is cancelled\n",
        f"job {job['id']} was cancelled before\n",
    ]
    assert [one.returncode for one in cancelled] == [0, 0]
    assert [one.returncode for one in told] == [1, 1], told
    assert job_of(told[0])["state"] == "CANCELLED"
    assert job_of(told[1])["job_id"] == job["id"]


def waiting_for_jobs(data: Path) -> int:
    """How many commands listen for the end of a job."""
    server = RedisServer.find(data / "redis")
    assert server is not None
    with connect(server.url) as client:
        ((_, count),) = client.pubsub_numsub(EVENTS_CHANNEL)
    return int(count)


def test_a_local_crawl_keeps_the_workers_away(up: Path, tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'none.db'}", busy_timeout_seconds=1, busy_retries=0)
    with simulated(tmp_path, 1) as simulator, site_lock(database, up / "locks", "bazar.bg"):
        told = run(up, *crawl_arguments(simulator, "bazar.bg"), "--parallel", **QUICK)
    assert told.returncode == 2
    assert told.stderr.startswith(f"sale-sofia: bazar.bg is being crawled by process {os.getpid()};")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("crawl", "nowhere.bg", "--parallel"),
            "no site 'nowhere.bg'; allowed: alo.bg, bazar.bg, homes.bg, imot.bg",
        ),
        (("crawl", "imot.bg", "--parallel", "--start-url", "x"), "'x' is not an address; allowed: http://"),
        (("resume", "nothing", "--parallel"), "no job nothing; `sale-sofia jobs` lists them"),
        (("cancel", "nothing"), "no job nothing; `sale-sofia jobs` lists them"),
        (("flower",), "FLOWER_PASSWORD: not set; Flower can stop tasks"),
        (("up",), "; stop it first."),
    ],
)
def test_wrong_words(up: Path, arguments: tuple[str, ...], sentence: str) -> None:
    told = run(up, *arguments)
    assert told.returncode == 2
    assert sentence in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr


def test_status_is_shown_until_ctrl_c(up: Path) -> None:
    watching = in_background(up, "status", "--watch")
    until(lambda: watching.output.read_text("utf-8").count("Portals") > 1, "a second picture")
    os.kill(watching.pid, signal.SIGINT)
    told = end_of(watching)
    assert (told.returncode, told.stderr) == (0, "")
    assert "imot.bg" in told.stdout


def answer(port: int, login: str) -> int | None:
    """The status Flower answers with; None while nobody does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    headers = {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()} if login else {}
    try:
        connection.request("GET", "/workers", headers=headers)
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


ADVERTS = 40
"""Of each portal; more than is read before the kill."""
GENTLY = {**QUICK, "DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 120})}


def test_stopped_then_killed_then_resumed_beside_another_portal_and_down_stops_all(tmp_path: Path) -> None:
    data, log, port = tmp_path / "data", tmp_path / "log", free_port()
    viewer = {"FLOWER_PASSWORD": "correct horse", "FLOWER_PORT": str(port)}
    with simulated(tmp_path, ADVERTS) as simulator:
        stop_by_ctrl_c(data, log, crawl_arguments(simulator, "imot.bg"))
        kill_while_resumed(data, log)
        shutil.rmtree(data / "redis")  # what was in Redis is lost with it
        with services_forked(data, **viewer) as services:
            words = (["resume", "--json"], crawl_arguments(simulator, "bazar.bg"))
            crawls = [in_background(data, *one, "--parallel", **QUICK) for one in words]
            told = [end_of(crawl, PATIENCE_SECONDS) for crawl in crawls]
            assert [one.returncode for one in told] == [0, 0], told
            assert [job_of(one)["state"] for one in told] == ["COMPLETE", "COMPLETE"]
            assert differences(stored(data), truth(simulator)) == {}
            check_matched(data)
            check_flower(services, port)
            assert len(running_in(data)) >= 5
            assert run(data, "down").stderr == "stopped\n"
            assert running_in(data) == {}
            assert run(data, "down").stderr == "nothing of `sale-sofia up` is left running\n"
    # Two ends, each with two lanes of four visitors; nobody stopped the other portal's crawl.
    assert fetched_again(log, "imot.bg") <= 2 * 2 * 4
    assert fetched_again(log, "bazar.bg") == 0


def stop_by_ctrl_c(data: Path, log: Path, crawl: list[str]) -> None:
    """A crawl that has its services to itself goes, with all of them, and says how to go on."""
    more = {**GENTLY, "WORKER_PROCESSES": "3", **server_variables(HURRIED)}
    first = fork(data, *crawl, "--parallel", **more)
    # Said once the services are at work; their first requests may be earlier.
    idle = "1 of 3 worker processes stay idle: 1 portal feeds 1 lane at the rates that are set"
    wait_until_said(first, idle)
    until(lambda: len(requests(log)) > 4, "some requests")
    second = run(data, "crawl", "bazar.bg", "--parallel", **QUICK)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=PATIENCE_SECONDS)
    assert first.returncode == 130, err
    assert json.loads(out)["stopped"] is True
    assert err.endswith("stopped; go on with: sale-sofia resume --parallel\n")
    assert running_in(data) == {}
    assert second.returncode == 2
    assert f"are run by process {first.pid}; wait for it or stop it." in second.stderr


def kill_while_resumed(data: Path, log: Path) -> None:
    """`resume --parallel` goes on, until all its processes are killed."""
    done = len(requests(log))
    resumed = fork(data, "resume", "--parallel", **GENTLY, **server_variables(HURRIED))
    until(lambda: len(requests(log)) > done + 4, "more requests")
    resumed.kill()
    assert kill_everything(data) >= 5
    assert resumed.wait() == -signal.SIGKILL


def check_matched(data: Path) -> None:
    """The crawls' end matched their adverts; it follows the end that the commands tell of."""
    assert json.loads(run(data, "jobs", "--json").stdout)["jobs"][0]["runner"] == "celery"
    until(lambda: _matched(data)["adverts"] == 2 * ADVERTS, "all adverts in properties")
    assert _matched(data)["total"] < 2 * ADVERTS


def _matched(data: Path) -> Row:
    found: Row = json.loads(run(data, "properties", "--json").stdout)
    return found


def check_flower(services: ForkedProcess, port: int) -> None:
    """`up` tells of it, and it wants the password."""
    told = [services.stderr.readline() for _ in range(2)][1]
    assert told == f"Flower: http://127.0.0.1:{port}, user sale-sofia, password FLOWER_PASSWORD\n"
    logins = ("", "sale-sofia:wrong", "sale-sofia:correct horse")
    assert [answer(port, login) for login in logins] == [401, 401, 200]


def fetched_again(log: Path, site: str) -> int:
    """Answers of an advert's page beyond the first of each, of which there are all."""
    asked = [row["path"] for row in requests(log) if row["site"] == site and "/obiava-" in row["path"]]
    assert len(set(asked)) == ADVERTS
    return len(asked) - ADVERTS


def test_a_redis_url_that_leads_to_something_else(tmp_path: Path) -> None:
    with portal(b"not Redis") as base:
        url = f"redis://127.0.0.1:{base.rpartition(':')[2]}/0"
        told = run(tmp_path / "data", "crawl", "imot.bg", "--parallel", **QUICK, REDIS_URL=url)
    assert told.returncode == 2
    assert "does not speak like a Redis server" in told.stderr
    assert "Traceback" not in told.stderr
    assert running_in(tmp_path / "data") == {}


@pytest.mark.parametrize("command", [("up",), ("crawl", "imot.bg", "--parallel")])
def test_a_data_folder_that_cannot_be_written(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    told = run(tmp_path / "file", *command, **QUICK)
    assert told.returncode == 2
    assert told.stderr == f"sale-sofia: {tmp_path}/file/run cannot be made: Not a directory.\n"
    assert running_in(tmp_path / "file") == {}
