"""A worker and a Redis killed in a parallel crawl: portals' log and database judge, never our own counts.

`crash/test_lanes.py` goes through every point of the workers' work; the storms are in `bench/chaos.py`.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from crawls import ALONE, IMPATIENT
from parallel_crawls import until
from parallel_faults import PLACES, SITE, with_places
from parallel_world import Party, party
from sale_sofia_simulator.simulation import SimulatorConfig

SEED = 22
RATES = {"DOMAIN_RATE_LIMITS": json.dumps({SITE: 1200})}
ADVERTS = 30
FIRST_PAGES = 15


def kill_worker(crawl: Party) -> None:
    crawl.kill_one(random.Random(SEED))


def kill_redis(crawl: Party) -> None:
    crawl.redis.kill()
    crawl.redis.restart()


@pytest.mark.parametrize("kill", [kill_worker, kill_redis])
def test_a_kill_loses_and_doubles_nothing(tmp_path: Path, kill: Callable[[Party], None]) -> None:
    print(f"seed {SEED}")  # noqa: T201 - by which it can be repeated
    config = SimulatorConfig(
        sites=(SITE,),
        properties=ADVERTS,
        seed=SEED,
        port=0,
        log=tmp_path / "requests.jsonl",
        truth=tmp_path / "truth.jsonl",
    )
    more = {**ALONE, **IMPATIENT, **RATES, **with_places(tmp_path)}
    with party(tmp_path / "p", config, processes=2, **more) as crawl:
        crawl.forked = True
        crawl.start_worker()
        crawl.start_beat()
        crawl.dispatch()
        until(lambda: len(crawl.requests()) >= FIRST_PAGES, "the first pages")
        kill(crawl)
        crawl.wait(150)
        assert crawl.wrong() == {}, crawl.tail()
        assert crawl.fetched_again() <= PLACES
