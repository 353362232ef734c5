"""Parallel crawls while Redis is gone or silent: polite meanwhile, whole afterwards."""

import os
import time
from pathlib import Path

from chaos_proxy import HOST, ChaosProxy
from parallel_crawls import until
from parallel_faults import (
    IN_FLIGHT,
    PER_MINUTE,
    SURROUNDINGS,
    answered,
    begin,
    small_portal,
)
from parallel_world import Party, party
from seeds import SEED
from windows import excess

OUTAGE_SECONDS = float(os.environ.get("OUTAGE_SECONDS", "4"))
PROCESSES = 2
ADVERTS = 100
PATIENCE_SECONDS = 180 + OUTAGE_SECONDS


def over_the_rate(crawl: Party) -> dict[float, float]:
    """Windows over the portal's rate; at the turn of a fault a process may not know of the others."""
    times = [row["t"] for row in crawl.requests() if row["path"] != "/robots.txt"]
    return excess(times, PER_MINUTE, 1 + IN_FLIGHT + PROCESSES)


def test_redis_gone_for_long_makes_nobody_faster_and_the_work_goes_on_when_it_is_back(tmp_path: Path) -> None:
    with party(tmp_path / "p", small_portal(tmp_path, ADVERTS), PROCESSES, **SURROUNDINGS) as crawl:
        begin(crawl)
        answered(crawl, 10)
        crawl.redis.kill()
        time.sleep(OUTAGE_SECONDS)
        meanwhile = len(crawl.requests())
        crawl.redis.restart()
        crawl.wait(PATIENCE_SECONDS)
        assert meanwhile < ADVERTS, "all was read before Redis came back"
        assert crawl.wrong() == {}, f"seed {SEED}"
        assert over_the_rate(crawl) == {}, f"seed {SEED}"
        # Celery ends what runs when it loses its broker: each process once, and once more when it finds it.
        assert crawl.fetched_again() <= 2 * PROCESSES * IN_FLIGHT, f"seed {SEED}"


def test_connections_that_are_only_half_open_are_given_up_and_the_work_goes_on(tmp_path: Path) -> None:
    config = small_portal(tmp_path, 40)
    with (
        ChaosProxy(HOST, 0) as proxy,
        party(tmp_path / "p", config, PROCESSES, **SURROUNDINGS, REDIS_URL=proxy.url) as crawl,
    ):
        proxy.target = HOST, crawl.redis.port
        begin(crawl)
        answered(crawl, 10)
        before = proxy.connections
        proxy.blackhole()
        until(lambda: proxy.connections > before, f"somebody notices{crawl.tail()}")
        proxy.pass_on()  # for new connections: the old ones stay silent for ever
        crawl.wait(PATIENCE_SECONDS)
        assert crawl.wrong() == {}, f"seed {SEED}"
        assert over_the_rate(crawl) == {}, f"seed {SEED}"
        assert crawl.fetched_again() <= 2 * PROCESSES * IN_FLIGHT, f"seed {SEED}"
