"""Crawls in processes of their own behave as one towards a portal, by the portal's own log."""

import itertools
import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from crawls import ALONE, crawl_arguments, end_of, in_background, requests, start
from forked_simulators import start_forked
from sale_sofia.crawl.resilience.redis_parts import pace_key
from sale_sofia_simulator.faults import FaultPlan
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SPACING = 0.1
ADVERTS = 8
RETRY_AFTER = 1.0
SHARED = {
    **ALONE,
    "DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 60 / SPACING}),
    "REDIS_CIRCUIT_BREAKER_ENABLED": "true",
    "REDIS_RATE_LIMITER_ENABLED": "true",
    "RETRY_BASE_DELAY": "0.05",
}

Rows = list[dict[str, Any]]


def crawled_by_two(folder: Path, redis_url: str, faults: str = "") -> Rows:
    """The pages that the portal was asked for by two crawls with nothing in common but a Redis."""
    config = SimulatorConfig(
        sites=("imot.bg",), properties=ADVERTS, seed=3, port=0, log=folder / "log", faults=faults
    )
    with start_forked(config) as simulator:
        arguments = crawl_arguments(simulator, "imot.bg")
        crawls = [in_background(folder / name, *arguments, **SHARED, REDIS_URL=redis_url) for name in "ab"]
        told = [end_of(crawl, 120).stdout for crawl in crawls]
    assert [json.loads(text)["jobs"][0]["adverts"] for text in told] == [ADVERTS, ADVERTS]
    return [row for row in requests(folder / "log") if row["path"] != "/robots.txt"]


def test_two_processes_keep_one_rate_and_one_number_of_places(tmp_path: Path, redis_url: str) -> None:
    rows = crawled_by_two(tmp_path, redis_url)
    times = sorted(row["t"] for row in rows)
    assert len(times) > 2 * ADVERTS
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
def crawls_of(folder: Path, config: SimulatorConfig, count: int, **more: str) -> Iterator[None]:
    """Crawls of the portal's first search, at work until the block ends."""
    with start_forked(config) as simulator:
        words = search_of(simulator)
        crawls = [
            in_background(folder / str(number), *words, **{**SHARED, **more}) for number in range(count)
        ]
        try:
            yield
        finally:
            for crawl in crawls:
                os.kill(crawl.pid, signal.SIGKILL)
            said = [end_of(crawl, PATIENCE).stderr for crawl in crawls]
    assert "Traceback" not in "".join(said)


@contextmanager
def crawls_with_clocks(
    folder: Path, config: SimulatorConfig, clocks: Sequence[int], **more: str
) -> Iterator[None]:
    """The same, by crawls whose clocks are wrong."""
    modules = folder / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(OTHER_CLOCK, "utf-8")
    others = {
        **SHARED,
        **more,
        "PYTHONPATH": os.pathsep.join([str(modules), os.environ.get("PYTHONPATH", "")]),
    }
    with start_forked(config) as simulator:
        words = search_of(simulator)
        crawls = [start(folder / str(off), *words, **others, CLOCK_OFF=str(off)) for off in clocks]
        try:
            yield
        finally:
            for crawl in crawls:
                crawl.kill()
            said = [crawl.communicate(timeout=PATIENCE)[1] for crawl in crawls]
    assert "Traceback" not in "".join(said)


def search_of(simulator: RunningSimulator) -> list[str]:
    return ["crawl", "imot.bg", "--start-url", f"{simulator.urls['imot.bg']}{SEARCH}", "--json"]


def wait_for(log: Path, enough: Callable[[Rows], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not (log.exists() and enough(requests(log))):
        assert time.monotonic() < end, requests(log)[-5:]
        time.sleep(0.1)


def wait_until_all_ask(redis_url: str, crawls: int) -> None:
    """Until each crawl has asked the gate for a turn; that it got one may take long, for two have places."""
    end = time.monotonic() + PATIENCE
    with redis.Redis.from_url(redis_url) as client:
        while (asking := client.zcard(f"{pace_key('imot.bg')}:askers")) < crawls:
            assert time.monotonic() < end, f"{asking} of {crawls} crawls ask"
            time.sleep(0.1)


def pages(log: Path) -> Rows:
    return sorted((row for row in requests(log) if row["path"] != "/robots.txt"), key=lambda row: row["t"])


def test_four_processes_send_together_what_one_may_send(tmp_path: Path, redis_url: str) -> None:
    log, seconds, rate = tmp_path / "log", 3, 4
    config = SimulatorConfig(sites=("imot.bg",), properties=60, seed=3, port=0, log=log)
    limit = json.dumps({"imot.bg": rate * 60})
    with crawls_of(tmp_path, config, CRAWLS, REDIS_URL=redis_url, DOMAIN_RATE_LIMITS=limit):
        wait_until_all_ask(redis_url, CRAWLS)
        begun = time.time()
        time.sleep(seconds + 0.2)
    times = [row["t"] for row in requests(log)]
    together = [t for t in times if begun <= t < begun + seconds]
    assert len(together) >= seconds * rate * 0.6
    for width in (1, 2, 3):
        most = max(sum(start <= t < start + width for t in times) for start in times)
        # one that comes late falls into the window of the next
        assert most <= width * rate + 2, f"{most} in {width} s"
    assert max(row["open"] for row in requests(log)) <= 2


def seed_of_a_refusal() -> int:
    """With it the portal refuses the second request for the search: each of the crawls has one."""
    for seed in itertools.count():
        plan = FaultPlan({"429": 0.03}, f"{seed}:imot.bg")
        if [plan.next(SEARCH) is not None for _ in range(6)] == [False, True, False, False, False, False]:
            return seed
    raise AssertionError


def refusing(log: Path, *, as_date: bool) -> SimulatorConfig:
    return SimulatorConfig(
        sites=("imot.bg",),
        properties=20,
        seed=seed_of_a_refusal(),
        port=0,
        log=log,
        faults=FEW,
        retry_after_seconds=ASKED,
        retry_after_as_date=as_date,
    )


def refusal_is_over(rows: Rows) -> bool:
    refused = [row["t"] for row in rows if row["status"] == 429]
    return bool(refused) and any(
        row["t"] > refused[0] and row["status"] == 200 for row in rows if row["path"] != "/robots.txt"
    )


def check_pause(log: Path, *, as_date: bool) -> None:
    """Nobody asked between the refusal and the end of the pause that it told, and somebody did afterwards."""
    rows = pages(log)
    first = next(row["t"] for row in rows if row["status"] == 429)
    until = math.floor(first + ASKED) if as_date else first + ASKED
    assert [row["t"] - first for row in rows if first < row["t"] < until] == []
    again = min(row["t"] for row in rows if row["t"] > first)
    assert again - until < 60.0


ASKED = 2
# Half a second between two requests: the refusal is known everywhere before the next one would go.
HALF_A_SECOND = {"DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 120})}


def test_a_retry_after_told_to_one_of_four_processes_stops_all(tmp_path: Path, redis_url: str) -> None:
    log = tmp_path / "log"
    with crawls_of(tmp_path, refusing(log, as_date=False), CRAWLS, **HALF_A_SECOND, REDIS_URL=redis_url):
        wait_until_all_ask(redis_url, CRAWLS)
        wait_for(log, refusal_is_over)
    check_pause(log, as_date=False)


def test_a_retry_after_as_a_date_stops_processes_whose_clocks_are_all_off(
    tmp_path: Path, redis_url: str
) -> None:
    log, clocks, more = tmp_path / "log", (HOUR, -HOUR), {**HALF_A_SECOND, "REDIS_URL": redis_url}
    with crawls_with_clocks(tmp_path, refusing(log, as_date=True), clocks, **more):
        wait_until_all_ask(redis_url, len(clocks))
        wait_for(log, refusal_is_over)
    check_pause(log, as_date=True)
