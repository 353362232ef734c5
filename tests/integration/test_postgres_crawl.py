"""A crawl with PostgreSQL as its store: the truth, also when the server is killed (more: bench/chaos.py)."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import (
    ALONE,
    FAST,
    IMPATIENT,
    crawl_arguments,
    differences,
    end_of,
    in_background,
    requests,
    run,
    stored_at,
    truth,
)
from forked_simulators import start_forked
from postgres_servers import READY, PostgresServer, end_server, server_or_skip
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SEED = 22
ADVERTS = 24
FAULTY_ADVERTS = 24
SLOWER = {**ALONE, "DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 900})}


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """One whose plug may be pulled."""
    made = server_or_skip(durable=True)
    yield made
    end_server(made)


def simulated(folder: Path, properties: int, faults: str = "") -> SimulatorConfig:
    (folder / "log").touch()
    return SimulatorConfig(
        sites=("imot.bg",),
        properties=properties,
        seed=SEED,
        port=0,
        faults=faults,
        log=folder / "log",
        truth=folder / "truth",
    )


def wait_for_requests(log: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(requests(log)) < count and time.monotonic() < deadline:
        time.sleep(0.02)


def adverts_asked(log: Path) -> Counter[str]:
    return Counter(row["path"] for row in requests(log) if row["path"].startswith("/obiava-"))


def check_truth(url: str, folder: Path, simulator: RunningSimulator) -> None:
    assert differences(stored_at(url, folder), truth(simulator)) == {}, f"seed {SEED}"


def test_a_crawl_with_faults_stores_exactly_the_truth(server: PostgresServer, tmp_path: Path) -> None:
    url = server.new_database()
    faults = "429:0.05,503:0.03,reset:0.03,captcha:0.03,truncate:0.03"
    with start_forked(simulated(tmp_path, FAULTY_ADVERTS, faults=faults)) as simulator:
        crawl = crawl_arguments(simulator, "imot.bg")
        told = run(tmp_path / "data", *crawl, DATABASE_URL=url, **ALONE, **IMPATIENT)
        assert told.returncode == 0, told.stderr + told.stdout
        again = run(tmp_path / "data", *crawl, DATABASE_URL=url, **ALONE, **IMPATIENT)
    jobs = [json.loads(one.stdout)["jobs"][0] for one in (told, again)]
    assert [(job["state"], job["adverts"], job["new"], job["changed"]) for job in jobs] == [
        ("COMPLETE", FAULTY_ADVERTS, FAULTY_ADVERTS, 0),
        ("COMPLETE", FAULTY_ADVERTS, 0, 0),
    ]
    check_truth(url, tmp_path, simulator)
    assert not (tmp_path / "data" / "sale_sofia.db").exists()
    sound = run(tmp_path / "data", "db", "check", DATABASE_URL=url)
    assert (sound.returncode, sound.stdout.split(": ")[1]) == (0, "sound\n")


def test_a_crawl_outlives_a_server_that_is_killed(server: PostgresServer, tmp_path: Path) -> None:
    print(f"seed {SEED}")  # noqa: T201 - by which it can be repeated
    rng = random.Random(SEED)
    data, log, url = tmp_path / "data", tmp_path / "log", server.new_database(READY)
    with start_forked(simulated(tmp_path, ADVERTS)) as simulator:
        process = in_background(data, *crawl_arguments(simulator, "imot.bg"), DATABASE_URL=url, **SLOWER)
        wait_for_requests(log, rng.randrange(5, ADVERTS // 2))
        server.kill()
        server.start()
        told = end_of(process, 120)
    assert told.returncode == 0, told.stderr + told.stdout
    job = json.loads(told.stdout)["jobs"][0]
    assert (job["state"], job["adverts"], job["new"], job["failed"]) == ("COMPLETE", ADVERTS, ADVERTS, 0)
    check_truth(url, tmp_path, simulator)
    asked = adverts_asked(log)
    assert (len(asked), sum(asked.values())) == (ADVERTS, ADVERTS), "a page was fetched twice"
    assert job["requests"] == len([row for row in requests(log) if row["path"] != "/robots.txt"])


def test_wrong_addresses_are_one_sentence_and_exit_code_2(server: PostgresServer, tmp_path: Path) -> None:
    for command in (["crawl", "imot.bg"], ["jobs"]):
        told = run(tmp_path / "data", *command, DATABASE_URL=server.url("x", password="hunter2"))  # noqa: S106 - a wrong one
        assert told.returncode == 2, told.stderr
        place = f"postgresql://127.0.0.1:{server.port}/x"
        assert told.stderr == f"sale-sofia: {place} refuses the password or the user of DATABASE_URL.\n"


def test_a_password_in_a_file(server: PostgresServer, tmp_path: Path) -> None:
    url = server.new_database()
    secret = tmp_path / "secret"
    secret.write_text("geheim/p@ss word\n")
    bare = url.replace(url.partition("crawler:")[2].partition("@")[0], "wrong")
    told = run(tmp_path / "data", "db", "upgrade", DATABASE_URL=bare, DATABASE_PASSWORD_FILE=str(secret))
    assert (told.returncode, told.stderr) == (0, "")
    shown = run(tmp_path / "data", "settings", DATABASE_URL=bare, DATABASE_PASSWORD_FILE=str(secret))
    assert "geheim" not in shown.stdout
    absent = run(
        tmp_path / "data", "db", "upgrade", DATABASE_URL=bare, DATABASE_PASSWORD_FILE=str(tmp_path / "no")
    )
    assert (absent.returncode, f"the password file {tmp_path / 'no'} cannot be read" in absent.stderr) == (
        2,
        True,
    )


def test_two_machines_do_not_crawl_one_portal_at_once(server: PostgresServer, tmp_path: Path) -> None:
    """Two data folders share no lock on a disk, as on two machines."""
    url = server.new_database(READY)
    with start_forked(simulated(tmp_path, 12)) as simulator:
        crawl = crawl_arguments(simulator, "imot.bg")
        slow = json.dumps({"imot.bg": 60})
        first = in_background(tmp_path / "a", *crawl, DATABASE_URL=url, **ALONE, DOMAIN_RATE_LIMITS=slow)
        wait_for_requests(tmp_path / "log", 3)
        second = run(tmp_path / "b", *crawl, DATABASE_URL=url, **ALONE, **FAST)
        os.kill(first.pid, signal.SIGINT)
        stopped = end_of(first, 60)
        third = run(tmp_path / "b", *crawl, DATABASE_URL=url, **ALONE, **FAST)
    assert second.returncode == 2
    assert second.stderr.startswith("sale-sofia: imot.bg is being crawled by sale-sofia ")
    assert stopped.returncode == 130, stopped.stderr
    assert third.returncode == 0, third.stderr
    assert json.loads(third.stdout)["jobs"][0]["adverts"] == 12
