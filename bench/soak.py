"""Does anything grow that should not? A time of everything at once, measured between crawls.

`sale-sofia up` with workers and beat crawls three simulated portals again and again, a day of theirs for each
crawl, with broken, slow and refused answers among the good ones; adverts are matched, scored and told of, and
a browser goes through the dashboard. Between two crawls memory, open files and threads of every process that
stays, keys and memory of Redis, database, archive and logs are measured. A line through the second half says
what still grows then.

The goal: memory, open files and threads flat; every key with a time to live, and a bounded number for each
job; database, archive and logs growing by no more than the rows, pages and requests that came in.
"""

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from playwright.sync_api import Error as BrowserError

import measure
from browser_pages import Window
from soak_life import POLL_SECONDS, SITES, Crawling, Life, life, look_at_a_page
from soak_samples import SECONDS_PER_HOUR, Figures, Sample, grown, take_sample

MINUTES, QUICK_MINUTES = 8.0, 2.0
LEAST_SAMPLES = 6
MOST = {"all_mb": 24.0, "all_files": 12.0, "all_threads": 6.0, "redis_lasting_keys": 0.5}
"""Growth over the second half of the run that still counts as flat: caches that fill late, and noise."""
MOST_PER = {
    "database_bytes_per_row": 1500.0,
    "archive_bytes_per_page": 40_000.0,
    "log_bytes_per_request": 1500.0,
    "redis_keys_per_job": 40.0,
    "redis_bytes_per_job": 64_000.0,
}
"""Growth that is explained by what it came from."""
FILES = ("database_bytes", "archive_bytes", "log_bytes")
FOUND_ROWS = ("frontier", "scrape_history", "listings", "listing_changes", "price_points")


def main() -> None:
    """Measure, and end with one JSON object."""
    options = measure.options(__doc__, numbers={"minutes": "how long, 8 unless told"})
    minutes = options.minutes or (QUICK_MINUTES if options.quick else MINUTES)
    with tempfile.TemporaryDirectory(prefix="bench-soak-") as folder, life(Path(folder)) as (lived, view):
        samples, crawling, wrong = soak(lived, view, 60 * minutes)
        told = lived.servers.counted()
    second = samples[len(samples) // 2 :]
    growth = grown(second, (one.figures for one in second))
    rows = grown(second, (one.rows for one in second))
    explained = explain(growth, rows)
    found = {
        "minutes": minutes,
        "crawls": crawling.crawls,
        "jobs_not_complete": len([one for one in crawling.states if one != "COMPLETE"]),
        "messages": len(told),
        "told_twice": sum(count > 1 for count in told.values()),
        "pages_broken": wrong,
        "samples": len(samples),
        "last": _rounded(samples[-1].figures),
        "per_hour": _rounded(_per_hour(growth, second)),
        "rows_per_hour": _rounded(_per_hour(rows, second)),
        "explained": _rounded(explained),
        "goal": {**MOST, **MOST_PER},
    }
    measure.finish({"bench": "soak", **found}, met=is_flat(found, growth, explained), check=options.check)


def soak(lived: Life, view: Window, seconds: float) -> tuple[list[Sample], Crawling, list[str]]:
    """Live for so long; a sample after each crawl, and what was wrong with pages that were looked at."""
    chance, samples, wrong = random.Random(1), list[Sample](), list[str]()
    end = time.monotonic() + seconds
    crawling = Crawling(lived)
    crawling.start()
    while time.monotonic() < end or len(samples) < LEAST_SAMPLES:
        if trouble := _looked(view, chance):
            wrong.append(trouble)
        if crawling.crawls > len(samples):
            with crawling.between:
                samples.append(take_sample(lived.data))
            _say(samples[-1], crawling.crawls)
        time.sleep(POLL_SECONDS)
    crawling.stop()
    return samples, crawling, wrong


def _looked(view: Window, chance: random.Random) -> str | None:
    try:
        return look_at_a_page(view, chance)
    except BrowserError as error:
        return str(error).splitlines()[0]


def _say(sample: Sample, crawls: int) -> None:
    names = (
        "all_mb",
        "all_files",
        "all_threads",
        "redis_keys",
        "redis_bytes",
        "database_bytes",
        "archive_bytes",
    )
    told = ", ".join(f"{name} {sample.figures[name]:.0f}" for name in names)
    print(f"after {crawls} crawls: {told}", file=sys.stderr)


def explain(growth: Figures, rows: Figures) -> Figures:
    """What each new row, page, request and job has cost."""
    new = max(sum(rows.get(name, 0.0) for name in FOUND_ROWS), 1.0)
    pages, jobs = max(rows.get("pages", 0.0), 1.0), max(rows.get("jobs", 0.0), len(SITES))
    requests = max(rows.get("scrape_history", 0.0), 1.0)
    return {
        "database_bytes_per_row": growth["database_bytes"] / new,
        "archive_bytes_per_page": growth["archive_bytes"] / pages,
        "log_bytes_per_request": growth["log_bytes"] / requests,
        "redis_keys_per_job": growth["redis_keys"] / jobs,
        "redis_bytes_per_job": growth["redis_bytes"] / jobs,
    }


def is_flat(found: dict[str, Any], growth: Figures, explained: Figures) -> bool:
    """Whether the goal is met."""
    flat = all(growth[name] <= most for name, most in MOST.items())
    paid = all(explained[name] <= most for name, most in MOST_PER.items())
    mistakes = (found[name] for name in ("jobs_not_complete", "told_twice", "pages_broken"))
    return flat and paid and not any(mistakes) and not found["last"]["redis_lasting_keys_of_ours"]


def _per_hour(growth: Figures, samples: list[Sample]) -> Figures:
    hours = (samples[-1].at - samples[0].at) / SECONDS_PER_HOUR
    return {name: value / hours for name, value in growth.items()}


def _rounded(figures: Figures) -> Figures:
    return {name: round(value, 1) for name, value in figures.items()}


if __name__ == "__main__":
    main()
