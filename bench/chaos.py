"""A parallel crawl of 2 000 adverts under fire: is anything lost, doubled, stuck, or too fast?

Two simulated portals with faults of their own (429, 503, resets, cut and captcha pages), Celery workers, a
beat and a Redis. At random moments one of the workers' processes is killed with -9, fifty times; Redis is
killed five times and wiped once; with `--postgres` the store is a PostgreSQL that is killed three times.
The judges are the portals' request log, their truth, and the database: never a count of our own. There is no
peer: a crawl that loses one advert has failed.
`--outage SECONDS` and `--soak MINUTES` measure one fault instead: Redis gone for so long, crawls for so long.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import chaos_long
import measure
from crawls import IMPATIENT, differences, truth
from parallel_world import Party, party
from postgres_servers import PostgresServer, end_server, start_server
from sale_sofia.config.site_config import load_site_config
from sale_sofia.simulator.simulator_config import SimulatorConfig
from windows import excess

SITES = ("imot.bg", "bazar.bg")
PER_MINUTE = 1200
FAULTS = "429:0.02,503:0.01,slow:0.01,reset:0.01,captcha:0.01,truncate:0.01"
PROCESSES = 4
PATIENCE_SECONDS = 900.0


def main() -> None:
    """Crawl under fire and judge."""
    numbers = {"outage": "only Redis gone for so many seconds", "soak": "only crawls for so many minutes"}
    options = measure.options(__doc__, numbers, postgres="store in PostgreSQL, and kill that too")
    for name, run in (("outage", chaos_long.outage), ("soak", chaos_long.soak)):
        if (amount := getattr(options, name)) is not None:
            with tempfile.TemporaryDirectory(prefix="bench-chaos-") as folder:
                found, met = run(Path(folder), amount)
            measure.finish({"bench": f"chaos --{name}", **found}, met=met, check=options.check)
    fire_at_all(options)


def fire_at_all(options: argparse.Namespace) -> None:
    """The crawl of all portals."""
    adverts, kills, redis_kills = (200, 12, 2) if options.quick else (1000, 50, 5)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-chaos-") as name:
        folder = Path(name)
        config = SimulatorConfig(
            sites=SITES, properties=adverts, seed=seed, port=0, faults=FAULTS, slow_seconds=1.0,
            log=folder / "requests.jsonl", truth=folder / "truth.jsonl",
        )  # fmt: skip
        more = {**IMPATIENT, "DOMAIN_RATE_LIMITS": json.dumps(dict.fromkeys(SITES, PER_MINUTE))}
        with store(wanted=options.postgres) as server:
            if server:
                more["DATABASE_URL"] = server.new_database()
            with party(folder / "p", config, PROCESSES, **more) as crawl:
                fire(crawl, random.Random(seed), Shots(kills, redis_kills), server)
                found = judge(crawl, kills)
    good = not (found["wrong"] or found["stuck"] or found["over_the_rate"]) and found["again_within_bound"]
    measure.finish(
        {"bench": "chaos", "seed": seed, "adverts": 2 * adverts, "kills": kills, **found},
        met=good,
        check=options.check,
    )


class Shots(NamedTuple):
    """How often what is killed; the store only where it is a server."""

    workers: int
    redis: int
    store: int = 3


@contextmanager
def store(*, wanted: bool) -> Iterator[PostgresServer | None]:
    """A PostgreSQL whose plug may be pulled, or none."""
    if not wanted:
        yield None
        return
    server = start_server(durable=True)
    try:
        yield server
    finally:
        end_server(server)


def fire(crawl: Party, rng: random.Random, shots: Shots, server: PostgresServer | None) -> None:
    """Kill at random moments until all shots are spent, then let it finish."""
    crawl.start_worker()
    crawl.start_beat()
    crawl.dispatch()
    redis_turns = set(rng.sample(range(2, shots.workers), shots.redis))
    store_turns = set(rng.sample(range(2, shots.workers), shots.store))
    wipe = rng.randrange(2, shots.workers)
    for number in range(shots.workers):
        time.sleep(rng.uniform(0.1, 1.5))
        crawl.kill_one(rng)
        if number in redis_turns:
            crawl.redis.kill()
            time.sleep(rng.uniform(0, 2))
            crawl.redis.restart()
        if server and number in store_turns:
            server.kill()
            time.sleep(rng.uniform(0, 2))
            server.start()
        if number == wipe:
            crawl.wipe_redis()
    crawl.wait(PATIENCE_SECONDS)


def judge(crawl: Party, kills: int) -> dict[str, Any]:
    """What the portals and the database say."""
    asked = crawl.requests()
    faults = sum(row["fault"] is not None for row in asked)
    in_flight = max(load_site_config(site).politeness.concurrency for site in SITES)
    again = crawl.fetched_again()
    over = {site: excess([row["t"] for row in asked if row["site"] == site and row["path"] != "/robots.txt"],
                         PER_MINUTE, 1 + PROCESSES + in_flight) for site in SITES}  # fmt: skip
    return {
        "wrong": len(differences(crawl.stored(), truth(crawl.simulator))),
        "stuck": [site for site, one in crawl.progress().items() if one.status != "COMPLETE"],
        "requests": len(asked),
        "faults": faults,
        "fetched_again": again,
        "again_within_bound": again <= kills * in_flight + faults,
        "over_the_rate": {site: windows for site, windows in over.items() if windows},
    }


if __name__ == "__main__":
    main()
