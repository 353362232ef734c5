"""A crawl on a clock that is a day ahead, killed; then the clock is set right: it goes on at once."""

import json
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from crawls import ALONE, IMPATIENT, fork, run, start
from forked_simulators import start_forked
from portal_fronts import Front, Sent, always, in_front
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "bazar.bg"
DAY = 86_400.0
AHEAD = {
    "PYTHONPATH": str(Path(__file__).parents[1] / "shifted_clock"),
    "CLOCK_AHEAD_SECONDS": str(DAY),
}
DOWN = {r"/obiava-.*": always(Sent(503))}


def put_off(data: Path) -> tuple[int, float]:
    """How many pages wait for a later moment, and in how many seconds the last of them may be asked for."""
    with closing(sqlite3.connect(data / "sale_sofia.db", timeout=60)) as connection:
        waiting = "SELECT count(*), max(not_before) FROM frontier WHERE state = 'pending' AND not_before > 1"
        count, last = connection.execute(waiting).fetchone()
        return count, (last or 0.0) - time.time()


def crawl_ahead(data: Path, front: Front, url: str) -> None:
    """A crawl on the clock of tomorrow, until a portal that is down has put off its pages."""
    crawling = start(data, "crawl", SITE, "--start-url", url, **ALONE, **IMPATIENT, **AHEAD)
    try:
        deadline = time.monotonic() + 120
        while sum(path.startswith("/obiava-") for path in front.asked) < 5 or not put_off(data)[0]:
            assert crawling.poll() is None, crawling.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        crawling.kill()
        crawling.communicate()


def resumed(data: Path) -> dict[str, Any]:
    """`resume` on the right clock, which may take a minute and not a day."""
    going_on = fork(data, "resume", "--json", **ALONE, **IMPATIENT)
    try:
        out, err = going_on.communicate(timeout=100)
    finally:
        going_on.kill()
    assert going_on.returncode == 0, err
    found: dict[str, Any] = json.loads(out)["jobs"][0]
    return found


def test_resume_goes_on_at_once_and_the_future_is_marked(tmp_path: Path) -> None:
    config = SimulatorConfig(sites=(SITE,), properties=12, seed=3, port=0, log=tmp_path / "log")
    data = tmp_path / "data"
    with start_forked(config) as portal, in_front(portal.urls[SITE], DOWN) as front:
        crawl_ahead(data, front, front.here(portal.start_urls(SITE)[0]))
        count, seconds = put_off(data)
        assert count >= 1
        assert seconds > DAY - 600
        front.instead = {}
        job = resumed(data)
    assert (job["state"], job["failed"]) == ("COMPLETE", 0)
    assert job["adverts"] >= 8
    check_marked(data)


def check_marked(data: Path) -> None:
    """By `status`, by `doctor`, and by the sweep, which makes nothing gone."""
    ahead = r"jobs(, \w+)* of the database are up to 2[34]\.\d hours ahead of the clock"
    told = json.loads(run(data, "status", "--json").stdout)
    assert re.fullmatch(ahead, told["clock"]), told["clock"]
    assert re.search(f"clock: {ahead}", run(data, "status").stdout)
    checked = run(data, "doctor", "--json")
    (clock,) = [one for one in json.loads(checked.stdout)["checks"] if one["name"] == "clock"]
    assert (checked.returncode, clock["ok"]) == (1, False)
    assert re.fullmatch(ahead, clock["detail"])
    with closing(sqlite3.connect(data / "sale_sofia.db")) as connection:
        complete, reason = connection.execute("SELECT complete, reason FROM sweeps").fetchone()
    assert (complete, json.loads(reason)) == (0, {"code": "sweep.clock", "values": {}})
