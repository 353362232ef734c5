"""What every crawler under test shares: its arguments, its last line with what it used, the peers' store.

A crawler runs in a process of its own. The clock starts when everything is imported and the tables are made,
and stops when the crawl has ended by itself.
"""

import argparse
import json
import resource
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ITEMS_FILE = "items.db"
FIELDS = (
    "external_id", "title", "price_eur", "price_bgn", "vat", "area_sqm", "city", "neighbourhood", "views",
    "photo_urls",
)  # fmt: skip
"""What is compared; named here, as who crawls without the peers' libraries is not to load them."""
CARDS = 'div.item[id^="ida"] a.title'
NEXT_PAGE = 'link[rel="next"]'
_COLUMNS = ", ".join(FIELDS)
_PLACES = ", ".join("?" for _ in FIELDS)


def arguments() -> argparse.Namespace:
    """`FOLDER CONCURRENCY URL...`: the same folder again goes on with the crawl that was cut short there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("urls", nargs="+")
    return parser.parse_args()


def run_measured(crawl: Callable[[], object]) -> None:
    """Crawl, and print the wall time, the CPU time of all threads and children, and the peak memory."""
    started, cpu = time.perf_counter(), _cpu_seconds()
    crawl()
    used = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": _cpu_seconds() - cpu,
        "peak_mb": peak_megabytes(),
    }
    print(json.dumps(used))


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_megabytes() -> float:
    """The kernel's high-water mark of this program; `ru_maxrss` would count the parent's at the fork too."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


class ItemStore:
    """The peers' SQLite table: one commit per advert, as durable as sale-sofia's."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / ITEMS_FILE)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        keyed = _COLUMNS.replace("external_id", "external_id TEXT PRIMARY KEY")
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS listings ({keyed})")
        self._connection.commit()

    def save(self, item: Mapping[str, Any]) -> None:
        """Store one advert and commit."""
        values = [_plain(item[field]) for field in FIELDS]
        self._connection.execute(f"INSERT OR REPLACE INTO listings VALUES ({_PLACES})", values)  # noqa: S608
        self._connection.commit()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _plain(value: object) -> object:
    return json.dumps(value) if isinstance(value, tuple) else value
