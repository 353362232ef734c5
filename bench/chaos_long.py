"""Faults that take their time: a Redis that is gone for long, and the same crawl again and again."""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from parallel_faults import IN_FLIGHT, PER_MINUTE, SITE, SURROUNDINGS, answered, begin, small_portal
from parallel_soak import Size, crawl_again, measure
from parallel_world import Party, party
from windows import excess, most_in

PROCESSES = 4
PATIENCE_SECONDS = 600.0
RESUMED_WITHIN_SECONDS = 15.0
MOST_MORE_FILES = 8
MOST_MORE_MB = 10.0


def outage(folder: Path, seconds: float) -> tuple[dict[str, Any], bool]:
    """Redis is gone for so long in the middle of a crawl: how fast meanwhile, and how soon after."""
    adverts = round(2 * PER_MINUTE / 60 * seconds)
    with party(folder / "p", small_portal(folder, adverts), PROCESSES, **SURROUNDINGS) as crawl:
        begin(crawl)
        answered(crawl, 50)
        crawl.redis.kill()
        gone = time.time()
        time.sleep(seconds)
        back = time.time()
        crawl.redis.restart()
        crawl.wait(PATIENCE_SECONDS)
        times = sorted(row["t"] for row in crawl.requests() if row["path"] != "/robots.txt")
        meanwhile = [moment for moment in times if gone <= moment < back]
        found = {
            "outage_seconds": seconds,
            "wrong": len(crawl.wrong()),
            "requests_meanwhile": len(meanwhile),
            "most_in_a_second_meanwhile": most_in(meanwhile, 1.0),
            "over_the_rate": excess(times, PER_MINUTE, 1 + IN_FLIGHT + PROCESSES),
            "resumed_after": round(next(moment for moment in times if moment > back) - back, 2),
            "fetched_again": crawl.fetched_again(),
        }
    good = not found["wrong"] and not found["over_the_rate"]
    return found, good and found["resumed_after"] <= RESUMED_WITHIN_SECONDS


def soak(folder: Path, minutes: float) -> tuple[dict[str, Any], bool]:
    """Crawls by the same processes for so long: the first sizes beside the last."""
    quick = {**SURROUNDINGS, "DOMAIN_RATE_LIMITS": json.dumps({SITE: 6000})}
    with party(folder / "p", small_portal(folder, 200), PROCESSES, **quick) as crawl:
        begin(crawl)
        crawl.wait(PATIENCE_SECONDS)
        crawl_again(crawl, PATIENCE_SECONDS)
        before, crawls = measure(crawl), _crawl_until(crawl, time.monotonic() + 60 * minutes)
        after, wrong = measure(crawl), len(crawl.wrong())
    more = after.lasting_keys - before.lasting_keys
    found = {"minutes": minutes, "crawls": crawls, "wrong": wrong, "new_lasting_keys": sorted(more)}
    grown = _grown(before, after)
    return {**found, **grown}, not wrong and not more and _is_flat(before, after)


def _crawl_until(crawl: Party, end: float) -> int:
    crawls = 0
    while time.monotonic() < end:
        crawl_again(crawl, PATIENCE_SECONDS)
        time.sleep(random.random())  # not always at the same moment of the beat
        crawls += 1
    return crawls


def _grown(before: Size, after: Size) -> dict[str, Any]:
    return {
        "open_files": [before.most.open_files, after.most.open_files],
        "megabytes": [round(before.most.megabytes, 1), round(after.most.megabytes, 1)],
    }


def _is_flat(before: Size, after: Size) -> bool:
    files = after.most.open_files - before.most.open_files <= MOST_MORE_FILES
    return files and after.most.megabytes - before.most.megabytes <= MOST_MORE_MB
