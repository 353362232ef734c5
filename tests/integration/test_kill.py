"""The plug is pulled, or somebody asks for an end: nothing is lost, nothing is stored twice.

`crash/test_local_crawl.py` goes through every point of a crawl; storms of kills are in `bench/kill9.py`.
"""

import json
import random
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from command_server import ForkedProcess
from crawls import ALONE, crawl_arguments, differences, fork, requests, run, stored, truth
from forked_simulators import start_forked
from sale_sofia.websites.site_file import load_site_config
from sale_sofia_simulator.simulation import SimulatorConfig

SEED = 22
ADVERTS = 25
RATE = {**ALONE, "DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 3000})}


def wait_for_a_request(log: Path, before: int, process: ForkedProcess) -> None:
    """Until the crawl has asked for something, or has ended because nothing was left."""
    deadline = time.monotonic() + 60
    while log.read_bytes().count(b"\n") <= before and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)


def job_seconds(data: Path) -> float:
    """What the only job is known to have worked."""
    with closing(sqlite3.connect(data / "sale_sofia.db")) as connection:
        ((seconds,),) = connection.execute("SELECT seconds FROM jobs").fetchall()
    return float(seconds)


def test_kill_9_of_a_crawl_loses_nothing(tmp_path: Path) -> None:
    print(f"seed {SEED}")  # noqa: T201 - by which it can be repeated
    rng = random.Random(SEED)
    data, log = tmp_path / "data", tmp_path / "log"
    log.touch()
    config = SimulatorConfig(
        sites=("imot.bg",), properties=ADVERTS, seed=SEED, port=0, log=log, truth=tmp_path / "truth"
    )
    with start_forked(config) as simulator:
        process = fork(data, *crawl_arguments(simulator, "imot.bg"), **RATE)
        wait_for_a_request(log, rng.randrange(5, ADVERTS // 2), process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL, "it was killed in the middle"
        killed_after = job_seconds(data)
        assert killed_after > 0, "what was worked until the last commit is known"
        began = time.monotonic()
        told = run(data, "resume", "--json", **RATE)
        took = time.monotonic() - began
    assert told.returncode == 0, told.stderr + told.stdout
    (job,) = json.loads(told.stdout)["jobs"]
    assert job["state"] == "COMPLETE"
    assert killed_after < job["seconds"] < killed_after + took
    assert differences(stored(data), truth(simulator)) == {}
    asked = Counter(row["path"] for row in requests(log) if row["path"].startswith("/obiava-"))
    assert len(asked) == ADVERTS
    assert sum(asked.values()) - ADVERTS <= load_site_config("imot.bg").politeness.concurrency
    assert run(data, "db", "check").returncode == 0


def test_a_stop_is_clean_and_the_next_run_goes_on(tmp_path: Path) -> None:
    data, log = tmp_path / "data", tmp_path / "log"
    log.touch()
    config = SimulatorConfig(
        sites=("imot.bg",), properties=ADVERTS, seed=5, port=0, log=log, truth=tmp_path / "truth"
    )
    with start_forked(config) as simulator:
        crawl = crawl_arguments(simulator, "imot.bg")
        for stop in (signal.SIGINT, signal.SIGTERM):
            process = fork(data, *crawl, **ALONE, DOMAIN_RATE_LIMITS=json.dumps({"imot.bg": 600}))
            wait_for_a_request(log, len(requests(log)) + 3, process)
            process.send_signal(stop)
            out, err = process.communicate(timeout=120)
            assert process.returncode == 130, err
            assert json.loads(out)["stopped"] is True
            assert "sale-sofia resume" in err
            assert "Traceback" not in err
        told = run(data, *crawl, **RATE)
    assert json.loads(told.stdout)["jobs"][0]["state"] == "COMPLETE"
    assert differences(stored(data), truth(simulator)) == {}
    asked = Counter(row["path"] for row in requests(log) if row["path"].startswith("/obiava-"))
    assert sum(asked.values()) - len(asked) <= 4
