"""Crawls in processes of their own behave as one towards a portal, by the portal's own log."""

import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis

from crawls import crawl_arguments, requests, start
from sale_sofia.resilience.redis_rate_limiter import pace_key
from sale_sofia.simulator.faults import FaultPlan
from sale_sofia.simulator.running import start_in_process
from sale_sofia.simulator.simulator_config import SimulatorConfig

SPACING = 0.1
RETRY_AFTER = 1.0
SHARED = {
    "DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 60 / SPACING}),
    "REDIS_CIRCUIT_BREAKER_ENABLED": "true",
    "REDIS_RATE_LIMITER_ENABLED": "true",
    "RETRY_BASE_DELAY": "0.05",
}

Rows = list[dict[str, Any]]


def crawled_by_two(folder: Path, redis_url: str, faults: str = "") -> Rows:
    """The pages that the portal was asked for by two crawls with nothing in common but a Redis."""
    config = SimulatorConfig(
        sites=("imot.bg",), properties=20, seed=3, port=0, log=folder / "log", faults=faults
    )
    with start_in_process(config) as simulator:
        arguments = crawl_arguments(simulator, "imot.bg")
        crawls = [start(folder / name, *arguments, **SHARED, REDIS_URL=redis_url) for name in "ab"]
        told = [crawl.communicate(timeout=120)[0] for crawl in crawls]
    assert [json.loads(text)["jobs"][0]["adverts"] for text in told] == [20, 20]
    return [row for row in requests(folder / "log") if row["path"] != "/robots.txt"]


def test_two_processes_keep_one_rate_and_one_number_of_places(tmp_path: Path, redis_url: str) -> None:
    rows = crawled_by_two(tmp_path, redis_url)
    times = sorted(row["t"] for row in rows)
    assert len(times) > 40
    assert times[-1] - times[0] >= (len(times) - 2) * SPACING
    assert max(sum(start <= t < start + 1 for t in times) for start in times) <= 1 / SPACING + 1 + 2
    assert max(row["open"] for row in rows) <= 2


def test_a_retry_after_told_to_one_process_stops_both(tmp_path: Path, redis_url: str) -> None:
    rows = crawled_by_two(tmp_path, redis_url, faults="429:0.05")
    refused = [row for row in rows if row["status"] == 429]
    assert refused
    for one in refused:
        # it takes a moment to hear of the refusal; what was on its way by then is not ours to stop
        heard = one["t"] + 0.08
        assert [row["t"] - one["t"] for row in rows if heard < row["t"] < one["t"] + RETRY_AFTER] == []


CRAWLS = 4
PATIENCE = 60.0
HOUR = 3600
SEARCH = "/obiavi/prodazhbi/grad-sofiya"
FEW = "429:0.03"
# Python runs this before anything else when it finds it on its path.
OTHER_CLOCK = """
import os, time
right = time.time
time.time = lambda: right() + int(os.environ["CLOCK_OFF"])
"""


@contextmanager
def crawls_of(
    folder: Path, config: SimulatorConfig, clocks: tuple[int, ...] = (0,) * CRAWLS, **more: str
) -> Iterator[None]:
    """Four crawls of the portal's first search, at work until the block ends."""
    modules = folder / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(OTHER_CLOCK, "utf-8")
    with start_in_process(config) as simulator:
        arguments = ["crawl", "imot.bg", "--start-url", f"{simulator.urls['imot.bg']}{SEARCH}", "--json"]
        others = {
            **SHARED,
            **more,
            "PYTHONPATH": os.pathsep.join([str(modules), os.environ.get("PYTHONPATH", "")]),
        }
        crawls = [
            start(folder / str(number), *arguments, **others, CLOCK_OFF=str(off))
            for number, off in enumerate(clocks)
        ]
        try:
            yield
        finally:
            for crawl in crawls:
                crawl.kill()
            said = [crawl.communicate(timeout=PATIENCE)[1] for crawl in crawls]
    assert "Traceback" not in "".join(said)


def wait_for(log: Path, enough: Callable[[Rows], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not (log.exists() and enough(requests(log))):
        assert time.monotonic() < end, requests(log)[-5:]
        time.sleep(0.1)


def wait_until_all_ask(redis_url: str) -> None:
    """Until each crawl has asked the gate for a turn; that it got one may take long, for two have places."""
    end = time.monotonic() + PATIENCE
    with redis.Redis.from_url(redis_url) as client:
        while (asking := client.zcard(f"{pace_key('imot.bg')}:askers")) < CRAWLS:
            assert time.monotonic() < end, f"{asking} of {CRAWLS} crawls ask"
            time.sleep(0.1)


def pages(log: Path) -> Rows:
    return sorted((row for row in requests(log) if row["path"] != "/robots.txt"), key=lambda row: row["t"])


def test_four_processes_send_together_what_one_may_send(tmp_path: Path, redis_url: str) -> None:
    log, seconds, rate = tmp_path / "log", 5, 4
    config = SimulatorConfig(sites=("imot.bg",), properties=60, seed=3, port=0, log=log)
    limit = json.dumps({"imot.bg": rate * 60})
    with crawls_of(tmp_path, config, REDIS_URL=redis_url, DOMAIN_RATE_LIMITS=limit):
        wait_until_all_ask(redis_url)
        begun = time.time()
        time.sleep(seconds + 0.5)
    times = [row["t"] for row in requests(log)]
    together = [t for t in times if begun <= t < begun + seconds]
    assert len(together) >= seconds * rate * 0.6
    for width in (1, 2, 5):
        most = max(sum(start <= t < start + width for t in times) for start in times)
        # one that comes late falls into the window of the next
        assert most <= width * rate + 2, f"{most} in {width} s"
    assert max(row["open"] for row in requests(log)) <= 2


def seed_of_a_refusal() -> int:
    """With it the portal refuses the second request for the search: each of the four crawls has one."""
    for seed in itertools.count():
        plan = FaultPlan({"429": 0.03}, f"{seed}:imot.bg")
        if [plan.next(SEARCH) is not None for _ in range(6)] == [False, True, False, False, False, False]:
            return seed
    raise AssertionError


@pytest.mark.parametrize(
    ("as_date", "clocks"),
    [(False, (0, 0, 0, 0)), (True, (HOUR, HOUR, -HOUR, -HOUR))],
    ids=["seconds", "a date, and all clocks off"],
)
def test_a_retry_after_told_to_one_of_four_processes_stops_all(
    tmp_path: Path,
    redis_url: str,
    as_date: bool,  # noqa: FBT001
    clocks: tuple[int, ...],
) -> None:
    log, asked = tmp_path / "log", 3
    config = SimulatorConfig(
        sites=("imot.bg",),
        properties=20,
        seed=seed_of_a_refusal(),
        port=0,
        log=log,
        faults=FEW,
        retry_after_seconds=asked,
        retry_after_as_date=as_date,
    )

    def refusal_is_over(rows: Rows) -> bool:
        refused = [row["t"] for row in rows if row["status"] == 429]
        return bool(refused) and any(
            row["t"] > refused[0] and row["status"] == 200 for row in rows if row["path"] != "/robots.txt"
        )

    # Half a second between two requests: the refusal is known everywhere before the next one would go.
    slow = json.dumps({"imot.bg": 120})
    with crawls_of(tmp_path, config, clocks, REDIS_URL=redis_url, DOMAIN_RATE_LIMITS=slow):
        wait_until_all_ask(redis_url)
        wait_for(log, refusal_is_over)
        time.sleep(1.0)
    rows = pages(log)
    first = next(row["t"] for row in rows if row["status"] == 429)
    until = math.floor(first + asked) if as_date else first + asked
    assert [row["t"] - first for row in rows if first < row["t"] < until] == []
    again = min(row["t"] for row in rows if row["t"] > first)
    assert again - until < 60.0
