"""Two processes on one portal, one of them killed half-way: how fast do they ask, and what is lost?"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import crawler
from parallel_modes import PATIENCE_SECONDS, SURROUNDINGS
from parallel_portals import Portal, RunningPortal, plan_of, portals
from parallel_world import team
from process_sizes import children
from sale_sofia.operations.services.redis import RedisServer, connect
from sale_sofia.settings.model import DATABASE_FILE
from windows import most_in

SPIDER = Path(__file__).with_name("scrapy_redis_peer.py")
START_KEY = "imot:start_urls"
PER_MINUTE = 1200
KILLED_AT = 0.4

Crawl = Callable[[Path, RunningPortal], Path]


def run(folder: Path, *, quick: bool) -> dict[str, Any]:
    """The figures of both."""
    portal = Portal("one.test", 120 if quick else 900, PER_MINUTE, like="imot.bg", distinct=100)
    return {name: _measure(folder / name, portal, crawl) for name, crawl in CRAWLERS.items()}


def _measure(folder: Path, portal: Portal, crawl: Crawl) -> dict[str, Any]:
    with portals(folder, [portal]) as running:
        one = running[portal.name]
        database = crawl(folder, one)
        found = {"adverts": portal.adverts, **_speed(one), "lost": len(one.adverts() - _stored(database))}
    print(f"{folder.name:14}{found}", flush=True)
    return found


def _speed(one: RunningPortal) -> dict[str, Any]:
    """Over the limit is a request that comes when a second's worth, and all in flight, have just come."""
    times = one.times()
    allowed = one.portal.per_minute / 60 + 1 + one.portal.concurrency
    over = sum(place + 1 - bisect_left(times, moment - 1.0) > allowed for place, moment in enumerate(times))
    return {"requests": len(times), "most_in_a_second": most_in(times, 1.0), "allowed": allowed, "over": over}


def _ours(folder: Path, one: RunningPortal) -> Path:
    """Two lanes on two processes; the one killed is replaced by Celery."""
    with team(folder / "team", 2, **SURROUNDINGS, SITES_DIR=str(folder / "sites")) as made:
        made.start_worker()
        made.start_beat()
        made.wait_until_ready()
        made.dispatch_plans([plan_of(one.portal.name, made.environment)])
        _wait_for_moment(one)
        os.kill(children(made.workers[0].pid)[0], signal.SIGKILL)
        made.wait(PATIENCE_SECONDS)
    return folder / "team" / "data" / DATABASE_FILE


def _scrapy_redis(folder: Path, one: RunningPortal) -> Path:
    """Two processes with the delay of the portal's rate; the one killed is started again."""
    with RedisServer.start(folder / "redis") as redis:
        with connect(redis.url) as client:
            client.rpush(START_KEY, *(json.dumps({"url": url}) for url in one.start_urls))
        environ = _peer_environment(folder, redis.url, one.portal)
        crawlers = [_start_spider(environ) for _ in range(2)]
        _wait_for_moment(one)
        crawlers[0].kill()
        crawlers[0].wait()
        _wait_for_all([crawlers[1], _start_spider(environ)])
    return folder / crawler.ITEMS_FILE


CRAWLERS: dict[str, Crawl] = {"sale-sofia": _ours, "scrapy-redis": _scrapy_redis}


def _peer_environment(folder: Path, redis_url: str, portal: Portal) -> dict[str, str]:
    return {
        **os.environ,
        "PEER_FOLDER": str(folder),
        "PEER_REDIS_URL": redis_url,
        "PEER_CONCURRENCY": str(portal.concurrency),
        "PEER_DELAY": str(portal.seconds_per_request),
    }


def _start_spider(environ: dict[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, str(SPIDER)], env=environ)


def _wait_for_all(processes: Sequence["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        if process.wait(PATIENCE_SECONDS):
            raise SystemExit("a spider failed")


def _wait_for_moment(one: RunningPortal) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while len(one.times()) < KILLED_AT * one.portal.adverts:
        if time.monotonic() > end:
            raise SystemExit("nobody asked the portal for so many pages")
        time.sleep(0.05)


def _stored(database: Path) -> set[str]:
    with closing(sqlite3.connect(database)) as connection:
        return {str(row[0]) for row in connection.execute("SELECT external_id FROM listings")}
