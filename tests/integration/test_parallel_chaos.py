"""Parallel crawls under kills: the portals' log and the database are the judges, never our own counts."""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import IMPATIENT
from parallel_world import Party, party
from postgres_servers import PostgresServer, end_server, server_or_skip
from sale_sofia.config.site_config import load_site_config
from sale_sofia.simulator.simulator_config import SimulatorConfig

SEED = random.SystemRandom().randrange(10**6)
SITES = ("imot.bg", "bazar.bg")
RATES = {"DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 1200, "bazar.bg": 1200})}
FAULTS = "429:0.01,503:0.01,reset:0.01,truncate:0.01,captcha:0.005"
KILLS = 12


def simulated(folder: Path, adverts: int, faults: str = "") -> SimulatorConfig:
    return SimulatorConfig(
        sites=SITES,
        properties=adverts,
        seed=SEED,
        port=0,
        faults=faults,
        log=folder / "requests.jsonl",
        truth=folder / "truth.jsonl",
    )


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """One whose plug may be pulled."""
    made = server_or_skip(durable=True)
    yield made
    end_server(made)


def check(crawl: Party) -> None:
    """Every advert as it is, once, and every job complete."""
    assert crawl.wrong() == {}, f"seed {SEED}{crawl.tail()}"


def most_in_flight() -> int:
    return max(load_site_config(site).politeness.concurrency for site in SITES)


def test_kills_of_workers_and_redis_lose_and_double_nothing(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    more = {**IMPATIENT, **RATES}
    with party(tmp_path / "p", simulated(tmp_path, 150, FAULTS), processes=3, **more) as crawl:
        crawl.start_worker()
        crawl.start_beat()
        crawl.dispatch()
        for number in range(KILLS):
            time.sleep(rng.uniform(0.2, 1.5))
            crawl.kill_one(rng)
            if number == KILLS // 2:
                crawl.redis.kill()
                crawl.redis.restart()
        crawl.wait(150)
        check(crawl)


def test_kills_of_workers_redis_and_postgresql_lose_and_double_nothing(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    rng = random.Random(SEED)
    more = {**IMPATIENT, **RATES, "DATABASE_URL": postgres.new_database()}
    with party(tmp_path / "p", simulated(tmp_path, 100, FAULTS), processes=3, **more) as crawl:
        crawl.start_worker()
        crawl.start_beat()
        crawl.dispatch()
        for number in range(9):
            time.sleep(rng.uniform(0.2, 1.5))
            crawl.kill_one(rng)
            if number % 3 == 1:
                postgres.kill()
                time.sleep(rng.uniform(0, 2))
                postgres.start()
            if number == 5:
                crawl.redis.kill()
                crawl.redis.restart()
        crawl.wait(150)
        check(crawl)


def test_everything_killed_at_once_goes_on_after_a_restart(tmp_path: Path) -> None:
    with party(tmp_path / "p", simulated(tmp_path, 70), processes=3, **RATES) as crawl:
        crawl.start_worker()
        crawl.start_beat()
        crawl.dispatch()
        while len(crawl.requests()) < 40:
            time.sleep(0.1)
        crawl.kill_everything()
        crawl.redis.restart()
        crawl.start_worker()
        crawl.start_beat()
        crawl.wait(120)
        check(crawl)
        assert crawl.fetched_again() <= 2 * most_in_flight(), f"seed {SEED}"
